// flipflop check INPUT... [--baseline FILE | --base INPUT]: the gate for pull requests.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/gate_session.hpp"
#include "cli/output.hpp"
#include "flipflop/gate_report.hpp"
#include "flipflop/html_report.hpp"

namespace flipflop::cli {
namespace {

struct CheckArguments {
    std::vector<std::string> inputs, bases;
    std::string baseline, fail_on, day;
    LaunchArguments launch;
    PolicyArguments policy;
    OutputArguments output;
    bool exit_zero{}, strict{};
};

/// A day of the calendar, as 2027-01-31.
bool is_day(const std::string& text) {
    int year = 0, month = 0, day = 0, length = 0;
    if (text.size() != 10 || std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &length) != 3 || length != 10) { return false; }
    return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)), std::chrono::day(static_cast<unsigned>(day))).ok();
}

/// Failures and findings that are news; what was there before is no annotation.
std::vector<gate::Alert> news_of(std::vector<gate::Alert> alerts) {
    std::erase_if(alerts, [](const gate::Alert& alert) { return alert.state == "unchanged"; });
    return alerts;
}

void write_format(const gate::CheckReport& report, const gate::Snapshot& head, const gate::Policy& policy, const CheckArguments& arguments,
                  const Destination& destination, const TextSink& sink) {
    switch (destination.format) {
        case Format::json: write_json(report, head, sink); return;
        case Format::markdown: sink(markdown_report(report)); return;
        case Format::html: sink(html_report(report, head)); return;
        case Format::sarif:
        case Format::github: {
            const std::string fallback = !policy.file.empty() ? policy.file : !arguments.baseline.empty() ? arguments.baseline : arguments.inputs.front();
            const std::vector<gate::Alert> alerts = gate::alerts_of(report, policy, here(fallback));
            if (destination.format == Format::github) {
                sink(github_annotations(news_of(alerts)));
            } else {
                write_sarif(alerts, gpu_ids(head), sink);
            }
            return;
        }
        default: break;
    }
    TextStyle style;
    style.color = use_color(arguments.output, destination);
    style.width = text_width(destination);
    sink(text_report(report, style));
}

/// --gpu, else the policy's, else the baseline's; the launch as given, else as the baseline has it.
Result<void> complete_launch(CheckArguments& arguments, const gate::Policy& policy, const std::optional<gate::Snapshot>& baseline, std::vector<std::string>& described) {
    if (arguments.launch.gpus.empty()) { arguments.launch.gpus = policy.gpus; }
    if (arguments.launch.gpus.empty() && baseline) {
        for (const gate::GpuBasis& gpu : baseline->gpus) { arguments.launch.gpus.push_back(gpu.id); }
    }
    const auto describes = [](const std::string& option) { return !option.starts_with("--kernel="); };
    const bool silent = std::none_of(described.begin(), described.end(), describes);
    if (!silent || !baseline) { return {}; }
    std::vector<std::string> taken = described.empty() ? baseline->options : std::vector<std::string>{};
    if (!described.empty()) {   // a selection of one's own, the launch of the baseline
        std::copy_if(baseline->options.begin(), baseline->options.end(), std::back_inserter(taken), describes);
    }
    const Result<void> applied = apply_launch_options(taken, arguments.baseline, arguments.launch);
    if (applied) { described.insert(described.end(), taken.begin(), taken.end()); }
    return applied;
}

gate::CheckOptions check_options(const CheckArguments& arguments, const gate::Policy& policy) {
    gate::CheckOptions options;
    options.today = arguments.day.empty() ? today() : arguments.day;
    options.kernels = arguments.launch.kernels;
    const std::string word = !arguments.fail_on.empty() ? arguments.fail_on : policy.fail_on.value_or("error");
    options.fail_on = word == "error" ? std::optional(Severity::error) : word == "warning" ? std::optional(Severity::warning)
                    : word == "note" ? std::optional(Severity::note) : std::nullopt;
    return options;
}

int run(CheckArguments& arguments, const CLI::App& command) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) {
        complaints.say(diagnostic);
        complaints.finish();
        return code;
    };
    const auto plan = plan_output(arguments.output, {Format::text, Format::json, Format::markdown, Format::sarif, Format::github, Format::html});
    if (!plan) { return stop(plan.error(), kUsageError); }
    const Result<gate::Policy> policy = load_policy(arguments.policy, arguments.inputs.front(), complaints);
    if (!policy) { return stop(policy.error(), kUsageError); }
    std::optional<gate::Snapshot> base;
    if (!arguments.baseline.empty()) {
        Result<gate::Snapshot> read = gate::read_baseline(arguments.baseline);
        if (!read) { return stop(read.error(), kUsageError); }
        base = std::move(*read);
    }
    std::vector<std::string> described = given_launch_options(command);
    if (const auto completed = complete_launch(arguments, *policy, base, described); !completed) { return stop(completed.error(), kUsageError); }
    Result<AnalyzeOptions> options = to_analyze_options(arguments.launch);
    if (!options) { return stop(options.error(), kUsageError); }

    int code = kDone;
    options->source_text = source_reader(here(arguments.inputs.front()));
    const std::optional<Analysis> analysis = analyze_for_gate(arguments.inputs, *options, complaints, code);
    options->source_text = nullptr;   // the sources at hand are head's, not the base's
    if (!analysis) { return complaints.finish(), code; }
    std::optional<Analysis> base_analysis;
    if (!arguments.bases.empty()) {
        base_analysis = analyze_for_gate(arguments.bases, *options, complaints, code);
        if (!base_analysis) { return complaints.finish(), code; }
        base = gate::take_snapshot(*base_analysis, described);
    }
    const gate::Snapshot head = gate::take_snapshot(*analysis, described);
    gate::CheckReport report = gate::check(base ? &*base : nullptr, head, *policy, check_options(arguments, *policy));
    report.yearly = gate::yearly_of(report, *policy);
    complaints.say(report.warnings);
    const bool unknown = std::any_of(analysis->kernels.begin(), analysis->kernels.end(), [](const KernelAnalysis& k) { return k.facts.mix.unknown_share > 0; });
    const int inputs = exit_code(complaints, arguments.strict, unknown);
    if (inputs != kDone) { report.incomplete = complaints.errors() > 0 ? "not everything could be read" : "--strict counts warnings and unknown instructions as errors"; }
    for (const Destination& destination : *plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) { write_format(report, head, *policy, arguments, destination, sink); });
        if (!written) { return stop(written.error(), kUsageError); }
    }
    complaints.finish();
    if (inputs != kDone) { return inputs; }
    const bool never = arguments.exit_zero || arguments.fail_on == "never" || (arguments.fail_on.empty() && policy->fail_on == "never");
    return report.fail && !never ? kGateFailed : kDone;
}

}  // namespace

void add_check_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("check", "the gate for pull requests: compare with a baseline, fail on a regression");
    const auto arguments = std::make_shared<CheckArguments>();
    command->add_option("INPUT", arguments->inputs, ".ptx, a directory, object, executable, library, fatbin; - for standard input")->required();
    auto* const baseline = command->add_option("--baseline", arguments->baseline, "what flipflop baseline wrote")->type_name("FILE")->group("Gate");
    command->add_option("--base", arguments->bases, "the other side as an input, evaluated with today's models; repeatable")
        ->allow_extra_args(false)->type_name("INPUT")->excludes(baseline)->group("Gate");
    add_policy_options(*command, arguments->policy);
    command->add_option("--fail-on", arguments->fail_on, "new findings of this severity or worse fail: error (default), warning, note; regression: only metrics do; never: as --exit-zero")
        ->check(CLI::IsMember({"error", "warning", "note", "regression", "never"}))->type_name("WHAT")->group("Gate");
    command->add_flag("--exit-zero", arguments->exit_zero, "report a failure, and exit 0")->group("Gate");
    command->add_option("--today", arguments->day, "the day that waivers are held against; else today in UTC, or SOURCE_DATE_EPOCH")
        ->check([](const std::string& text) { return is_day(text) ? std::string() : std::string("a day is written 2027-01-31"); })
        ->type_name("DATE")->group("Gate");
    command->add_option("--block", arguments->launch.blocks, "the team's own block (the first of several)")
        ->allow_extra_args(false)->type_name("X[,Y[,Z]]")->group("Launch");
    add_launch_options(*command, arguments->launch);
    add_output_options(*command, arguments->output, "text, json, markdown, html, sarif or github");
    command->add_flag("--strict", arguments->strict, "warnings and unknown instructions count as errors (exit 3)")->group("Output");
    command->callback([arguments, command, &result] {
        arguments->launch.source.flags = result.compiler_flags;
        result.exit_code = run(*arguments, *command);
    });
}

}  // namespace flipflop::cli
