// flipflop inspect INPUT...: what is inside. No GPU needed.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/launch_options.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/source_options.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/inspect.hpp"
#include "flipflop/report.hpp"

namespace flipflop::cli {
namespace {

struct InspectArguments {
    std::vector<std::string> inputs, kernels;
    OutputArguments output;
    std::string detail{"summary"};
    bool strict{}, keep_going{true}, scaffold{};
    SourceArguments source;
};

/// Reads and inspects text by text. `digest`: a report names the SHA-256 of the inputs. `keep_going` false stops after the first input that has an error.
InspectReport inspect_all(const InspectArguments& arguments, bool digest, Complaints& complaints) {
    constexpr unsigned kMostThreads = 8;
    Inspector inspector({arguments.kernels, arguments.detail == "full", std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads)});
    ReadOptions options;
    options.source = to_source_options(arguments.source, {});
    options.digest = digest;
    options.on_text = [&](const Input& input, PtxText text) { inspector.add_text(input, std::move(text)); };
    for (const std::string& path : arguments.inputs) {
        Result<std::vector<Input>> read = read_input(path, options);
        if (!read) {
            complaints.say(read.error());
        } else {
            for (const Input& input : *read) { inspector.add_input(input); }
        }
        if (!arguments.keep_going && (!read || inspector.errors() > 0)) { break; }
    }
    return std::move(inspector).finish();
}

int run(const InspectArguments& arguments) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) {
        complaints.say(diagnostic);
        complaints.finish();
        return code;
    };
    const auto plan = plan_output(arguments.output, arguments.scaffold ? std::vector{Format::text} : std::vector{Format::text, Format::json});
    if (!plan) { return stop(plan.error(), kUsageError); }
    if (const Result<void> kept = keep_inputs(*plan, arguments.inputs); !kept) { return stop(kept.error(), kUsageError); }
    const bool any_json = std::any_of(plan->begin(), plan->end(), [](const Destination& d) { return d.format == Format::json; });
    const InspectReport report = inspect_all(arguments, any_json, complaints);
    if (report.inputs.empty()) { return complaints.finish(), complaints.input_failure(); }
    for (const InspectedInput& input : report.inputs) {
        complaints.say(input.diagnostics);
        for (const InspectedModule& module : input.modules) { complaints.say(module.diagnostics); }
    }
    // What a pattern misses may be in the part that could not be read: the input's error is the one that counts.
    if (report.selection) { return stop(*report.selection, complaints.errors() > 0 ? kInputError : exit_code_of(*report.selection)); }
    if (report.summary.kernels == 0 && complaints.errors() == 0) { std::fputs("flipflop: note: no kernel (.entry) inside\n", stderr); }
    for (const Destination& destination : *plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) {
            if (arguments.scaffold) {
                sink(launches_scaffold(report));
                return;
            }
            if (destination.format == Format::json) {
                write_json(report, sink);
                return;
            }
            TextStyle style;
            style.color = use_color(arguments.output, destination);
            style.width = text_width(destination);
            style.full_detail = arguments.detail == "full";
            sink(text_report(report, style));
        });
        if (!written) { return stop(written.error(), kUsageError); }
    }
    complaints.finish();
    return exit_code(complaints, arguments.strict, report.summary.unknown_instructions > 0);
}

}  // namespace

void add_inspect_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("inspect", "what is inside: modules, kernels, parameters and their uses, resources, instruction mix");
    const auto arguments = std::make_shared<InspectArguments>();
    command->add_option("INPUT", arguments->inputs, ".ptx, a directory, object, executable, library, fatbin; - for standard input")->required();
    add_kernel_option(*command, arguments->kernels);
    add_source_options(*command, arguments->source);
    add_output_options(*command, arguments->output, "text or json");
    command->add_option("--detail", arguments->detail, "summary or full: every kernel and module in full")
        ->check(CLI::IsMember({"summary", "full"}))->type_name("LEVEL")->group("Output");
    command->add_flag("--scaffold", arguments->scaffold, "write a launches.toml to fill in (for analyze --launches) instead of the report")->group("Output");
    command->add_flag("--keep-going,!--no-keep-going", arguments->keep_going, "report all modules even when one has errors (default)")->group("Output");
    command->add_flag("--strict", arguments->strict, "warnings and unknown instructions count as errors (exit 3)")->group("Output");
    command->callback([arguments, &result] {
        arguments->source.flags = result.compiler_flags;
        result.exit_code = run(*arguments);
    });
}

}  // namespace flipflop::cli
