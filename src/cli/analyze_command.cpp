// flipflop analyze INPUT... --gpu NAME: the main job.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/gate_session.hpp"
#include "cli/launch_options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/session.hpp"
#include "flipflop/gate_report.hpp"
#include "flipflop/html_report.hpp"

namespace flipflop::cli {
namespace {

struct AnalyzeArguments {
    std::vector<std::string> inputs;
    LaunchArguments launch;
    OutputArguments output;
    unsigned top{8};
    std::size_t markdown_limit{kSummaryBytes};
    bool all{}, findings{}, strict{};
};

void write_format(const Analysis& analysis, const AnalyzeArguments& arguments, const Destination& destination, const TextSink& sink) {
    switch (destination.format) {
        case Format::json: write_json(analysis, sink); return;
        case Format::csv: sink(csv_report(analysis)); return;
        case Format::markdown: sink(markdown_report(analysis, arguments.markdown_limit)); return;
        case Format::html: sink(html_report(analysis, {sources_of(analysis, here(arguments.inputs.front()))})); return;
        case Format::sarif:
        case Format::github: {
            const gate::Snapshot snapshot = gate::take_snapshot(analysis, {});
            const std::vector<gate::Alert> alerts = gate::alerts_of(snapshot, {}, here(arguments.inputs.front()));
            if (destination.format == Format::github) {
                sink(github_annotations(alerts));
            } else {
                write_sarif(alerts, gpu_ids(snapshot), sink);
            }
            return;
        }
        case Format::text: break;
    }
    TextStyle style;
    style.color = use_color(arguments.output, destination);
    style.width = text_width(destination);
    style.top = arguments.top;
    style.all = arguments.all;
    style.findings = arguments.findings;
    style.full_detail = arguments.launch.detail == "full";
    style.operating_points = arguments.launch.clocks.size() > 1 || arguments.launch.power_limits.size() > 1;
    style.named_blocks = !arguments.launch.blocks.empty();
    sink(text_report(analysis, style));
}

bool has_unknown_instructions(const Analysis& analysis) {
    return std::any_of(analysis.kernels.begin(), analysis.kernels.end(), [](const KernelAnalysis& k) { return k.facts.mix.unknown_share > 0; });
}

int run(const AnalyzeArguments& arguments) {
    Complaints complaints;
    int code = kDone;
    const auto opened = open_session(arguments.launch, arguments.output, {Format::text, Format::json, Format::csv, Format::markdown, Format::sarif, Format::github, Format::html},
                                     arguments.inputs, complaints, code);
    if (!opened) { return code; }
    AnalyzeOptions options = opened->options;
    options.lines_only = !options.full_detail && std::all_of(opened->plan.begin(), opened->plan.end(), [](const Destination& d) { return d.format == Format::text; });
    Progress progress("kernels");
    options.on_progress = [&](std::size_t done, std::size_t all) { progress(done, all); };
    const Result<Analysis> analysis = analyze(opened->inputs, options);
    progress.end();
    if (!analysis) { return give_up(analysis.error(), exit_code_of(analysis.error()), complaints); }
    say_what_was_found(analysis->inputs, analysis->notes, !analysis->kernels.empty(), "no kernel to analyse: no .entry with a body inside", complaints);
    for (const Destination& destination : opened->plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) { write_format(*analysis, arguments, destination, sink); });
        if (!written) { return give_up(written.error(), kUsageError, complaints); }
    }
    complaints.finish();
    return exit_code(complaints, arguments.strict, has_unknown_instructions(*analysis));
}

}  // namespace

void add_analyze_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("analyze", "time, power and energy of every launch configuration, the best of them, and why");
    const auto arguments = std::make_shared<AnalyzeArguments>();
    command->add_option("INPUT", arguments->inputs, ".ptx, a directory, object, executable, library, fatbin; - for standard input")->required();
    command->add_option("--block", arguments->launch.blocks, "exactly this block, repeatable; without it the space is searched")
        ->allow_extra_args(false)->type_name("X[,Y[,Z]]")->group("Launch");
    add_launch_options(*command, arguments->launch);
    add_output_options(*command, arguments->output, "text, json, csv, markdown, html, sarif or github");
    command->add_option("--top", arguments->top, "rows of the kept table")->type_name("N")->group("Output");
    command->add_option("--markdown-limit", arguments->markdown_limit, "most bytes of a Markdown report: 900000 for a step summary (default), 64000 for a comment")
        ->check(CLI::Range(std::size_t{1000}, std::size_t{1} << 30))->type_name("N")->group("Output");
    command->add_flag("--all", arguments->all, "every launchable configuration")->group("Output");
    command->add_flag("--findings", arguments->findings, "every finding")->group("Output");
    command->add_flag("--strict", arguments->strict, "warnings and unknown instructions count as errors (exit 3)")->group("Output");
    command->get_option("--gpu")->required();
    command->callback([arguments, &result] {
        arguments->launch.source.flags = result.compiler_flags;
        result.exit_code = run(*arguments);
    });
}

}  // namespace flipflop::cli
