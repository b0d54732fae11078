// flipflop tune SPEC.json --gpu NAME: compiles, ranks and exports the variants of a kernel with tuning parameters.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/launch_options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/session.hpp"
#include "flipflop/tune_report.hpp"

namespace flipflop::cli {
namespace {

constexpr std::uint64_t kMostConfigurations = 10'000'000;   ///< of one run; what is known of each is held in memory

struct TuneArguments {
    TuneOptions tune;
    LaunchArguments launch;
    OutputArguments output;
    std::string export_as;
    unsigned top{20};
    bool all{}, strict{};
};

Diagnostic usage(const char* id, const char* option, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = id;
    d.file = option;
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

/// --export KIND[=FILE]. Without a file it goes where the report would, and the report is left out unless it was asked for.
struct Export { std::string kind, file; };

Result<std::optional<Export>> read_export(const std::string& text) {
    if (text.empty()) { return std::optional<Export>{}; }
    const std::size_t equals = text.find('=');
    Export out{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (out.kind != "kernel-tuner" && out.kind != "t4" && out.kind != "csv") {
        return tl::unexpected(usage("FF0773", "--export", fmt::format("there is no export '{}'; there are kernel-tuner, t4 and csv", out.kind)));
    }
    return std::optional(out);
}

void write_export(const TuneReport& report, const Export& what, const TextSink& sink) {
    if (what.kind == "kernel-tuner") { sink(kernel_tuner_script(report)); }
    else if (what.kind == "t4") { write_t4(report, sink); }
    else { write_csv(report, sink); }
}

int run(TuneArguments& arguments) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) {
        complaints.say(diagnostic);
        complaints.finish();
        return code;
    };
    Result<AnalyzeOptions> options = to_analyze_options(arguments.launch);
    if (!options) { return stop(options.error(), kUsageError); }
    if (arguments.launch.gpus.empty() && !arguments.tune.list_only) { return stop(usage("FF0756", "--gpu", "no GPU was named", "flipflop gpus lists them"), kUsageError); }
    if (!arguments.launch.ptxas_log.empty()) { return stop(usage("FF0789", "--ptxas-log", "one log cannot tell of many variants"), kUsageError); }
    const auto wanted = read_export(arguments.export_as);
    if (!wanted) { return stop(wanted.error(), kUsageError); }
    OutputArguments output = arguments.output;
    const bool in_place = *wanted && (*wanted)->file.empty();
    if (in_place) { output.output.clear(); }
    auto plan = plan_output(output, {Format::text, Format::json, Format::csv});
    if (!plan) { return stop(plan.error(), kUsageError); }
    if (in_place) {
        std::erase_if(*plan, [](const Destination& d) { return d.file.empty() || d.file == "-"; });
        if (!arguments.output.formats.empty() && plan->size() < arguments.output.formats.size()) {
            return stop(usage("FF0773", "--export", "the export and the report cannot both go to standard output", "give one a file: --export kernel-tuner=tune.py"), kUsageError);
        }
    }
    std::vector<std::string> inputs{arguments.tune.spec};
    if (!arguments.tune.configurations.empty()) { inputs.push_back(arguments.tune.configurations); }
    if (const Result<void> kept = keep_inputs(*plan, inputs); !kept) { return stop(kept.error(), kUsageError); }
    if (*wanted) {
        const Destination destination{Format::text, in_place ? arguments.output.output : (*wanted)->file};
        if (const Result<void> kept = keep_inputs({destination}, inputs); !kept) { return stop(kept.error(), kUsageError); }
    }

    TuneOptions tune_options = arguments.tune;
    tune_options.source = options->source;
    tune_options.analyze = std::move(*options);
    Progress progress("variants");
    tune_options.on_progress = [&](std::size_t done, std::size_t all) { progress(done, all); };
    const Result<TuneReport> report = tune(tune_options);
    progress.end();
    if (!report) { return stop(report.error(), exit_code_of(report.error())); }
    complaints.say(report->notes);
    for (const Destination& destination : *plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) {
            if (destination.format == Format::json) { return write_json(*report, sink); }
            if (destination.format == Format::csv) { return write_csv(*report, sink); }
            TextStyle style;
            style.color = use_color(arguments.output, destination);
            style.width = text_width(destination);
            style.top = arguments.top;
            style.all = arguments.all;
            sink(text_report(*report, style));
        });
        if (!written) { return stop(written.error(), kUsageError); }
    }
    if (*wanted) {
        const Destination destination{Format::text, in_place ? arguments.output.output : (*wanted)->file};
        const Result<void> written = write_report(destination, [&](const TextSink& sink) { write_export(*report, **wanted, sink); });
        if (!written) { return stop(written.error(), kUsageError); }
    }
    complaints.finish();
    return exit_code(complaints, arguments.strict, false);
}

}  // namespace

void add_tune_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("tune", "a kernel with compile-time parameters: compiles each variant, ranks all, keeps a few, exports them");
    const auto arguments = std::make_shared<TuneArguments>();
    TuneOptions& tune = arguments->tune;
    constexpr const char* space = "Space";
    command->add_option("SPEC", tune.spec, "a T1 file (Kernel Tuner, FAIR tuning data), or a .cu file with --define")->required();
    command->add_option("--define", tune.defines, "a tuning parameter: NAME=8,16,32 or NAME='[2**i for i in range(3, 6)]'; repeatable")
        ->allow_extra_args(false)->type_name("NAME=VALUES")->group(space);
    command->add_option("--restrict", tune.restricts, "a condition on parameters, as 'TILE*BY<=1024'; repeatable")->allow_extra_args(false)->type_name("EXPR")->group(space);
    command->add_option("--block", tune.block, "threads of a block, as expressions of parameters; default block_size_x/y/z")->type_name("X[,Y[,Z]]")->group(space);
    command->add_option("--configs", tune.configurations, "exactly these configurations: columns named as the parameters")->type_name("FILE.csv")->group(space);
    command->add_option("--sample", tune.sample, "so many configurations at random")->type_name("N")->check(CLI::Range(std::uint64_t{1}, kMostConfigurations))->group(space);
    command->add_option("--seed", tune.seed, "of the sample")->type_name("S")->group(space);
    command->add_option("--most", tune.most, "configurations of one run; a larger space is refused (default 1000000)")->type_name("N")->check(CLI::Range(std::uint64_t{1}, kMostConfigurations))->group(space);
    command->add_option("--reference", tune.reference, "the variant in use: 'safe' says whether another computes the same")->type_name("PARAM=VALUE,...")->group(space);
    command->add_flag("--list", tune.list_only, "the configurations and their launches only: nothing is compiled")->group(space);
    add_launch_options(*command, arguments->launch);
    add_output_options(*command, arguments->output, "text, json or csv");
    command->add_option("--export", arguments->export_as, "kernel-tuner (a script that measures what is kept), t4 or csv")->type_name("KIND[=FILE]")->group("Output");
    command->add_option("--top", arguments->top, "rows of the table")->type_name("N")->group("Output");
    command->add_flag("--all", arguments->all, "every configuration")->group("Output");
    command->add_flag("--strict", arguments->strict, "warnings count as errors (exit 3)")->group("Output");
    command->callback([arguments, &result] {
        arguments->launch.source.flags = result.compiler_flags;
        result.exit_code = run(*arguments);
    });
}

}  // namespace flipflop::cli
