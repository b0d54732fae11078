// flipflop explain INPUT --gpu NAME --block X,Y,Z: the whole tree of terms behind one configuration.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/launch_options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "flipflop/explain.hpp"
#include "flipflop/report.hpp"

namespace flipflop::cli {
namespace {

struct ExplainArguments {
    std::string input;
    std::string block, versus, why_not;
    LaunchArguments launch;
    OutputArguments output;
    bool strict{};
};

Result<ExplainRequest> to_request(const ExplainArguments& arguments) {
    ExplainRequest request;
    struct Asked { const std::string& text; const char* option; std::optional<Dim3>& out; };
    for (const Asked& asked : {Asked{arguments.block, "--block", request.block}, Asked{arguments.versus, "--versus", request.versus},
                               Asked{arguments.why_not, "--why-not", request.why_not}}) {
        if (asked.text.empty()) { continue; }
        Result<Dim3> dim = parse_dim3(asked.text, asked.option);
        if (!dim) { return tl::unexpected(dim.error()); }
        asked.out = *dim;
    }
    return request;
}

int run(const ExplainArguments& arguments) {
    Complaints complaints;
    const Result<ExplainRequest> request = to_request(arguments);
    if (!request) { return give_up(request.error(), kUsageError, complaints); }
    int code = kDone;
    const auto opened = open_session(arguments.launch, arguments.output, {Format::text, Format::json}, {arguments.input}, complaints, code);
    if (!opened) { return code; }
    const Result<Explanation> explanation = explain(opened->inputs, opened->options, *request);
    if (!explanation) { return give_up(explanation.error(), exit_code_of(explanation.error()), complaints); }
    say_what_was_found(explanation->inputs, explanation->notes, !explanation->kernels.empty(), "no kernel to explain: no .entry with a body inside", complaints);
    for (const Destination& destination : opened->plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) {
            if (destination.format == Format::json) {
                write_json(*explanation, sink);
                return;
            }
            TextStyle style;
            style.color = use_color(arguments.output, destination);
            style.width = text_width(destination);
            style.full_detail = arguments.launch.detail == "full";
            sink(text_report(*explanation, style));
        });
        if (!written) { return give_up(written.error(), kUsageError, complaints); }
    }
    complaints.finish();
    return exit_code(complaints, arguments.strict, false);
}

}  // namespace

void add_explain_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("explain", "the whole tree of terms behind one configuration, or beside another");
    const auto arguments = std::make_shared<ExplainArguments>();
    command->add_option("INPUT", arguments->input, ".ptx or anything that holds PTX; - for standard input")->required();
    command->add_option("--block", arguments->block, "the configuration to explain; without it the recommended one")->type_name("X[,Y[,Z]]")->group("Launch");
    command->add_option("--versus", arguments->versus, "set it beside this one")->type_name("X[,Y[,Z]]")->group("Launch");
    command->add_option("--why-not", arguments->why_not, "say why this one is not recommended")->type_name("X[,Y[,Z]]")->group("Launch");
    add_launch_options(*command, arguments->launch);
    add_output_options(*command, arguments->output, "text or json");
    command->add_flag("--strict", arguments->strict, "warnings count as errors (exit 3)")->group("Output");
    command->get_option("--gpu")->required();
    command->callback([arguments, &result] {
        arguments->launch.source.flags = result.compiler_flags;
        result.exit_code = run(*arguments);
    });
}

}  // namespace flipflop::cli
