// flipflop diff BASE HEAD: what a change does, as differences of terms. Each side is an input or a baseline file.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/gate_session.hpp"
#include "cli/output.hpp"
#include "flipflop/gate_report.hpp"

namespace flipflop::cli {
namespace {

struct DiffArguments {
    std::string base, head, fail_on;
    LaunchArguments launch;
    PolicyArguments policy;
    OutputArguments output;
    bool strict{};
};

/// One side: what was read or analysed. The snapshot points into the analysis.
struct Side {
    std::optional<Analysis> analysis;
    gate::Snapshot snapshot;
};

Result<void> complete_launch(DiffArguments& arguments, const gate::Policy& policy, const gate::Snapshot* file, std::vector<std::string>& described) {
    if (arguments.launch.gpus.empty()) { arguments.launch.gpus = policy.gpus; }
    if (file == nullptr) { return {}; }
    if (arguments.launch.gpus.empty()) {
        for (const gate::GpuBasis& gpu : file->gpus) { arguments.launch.gpus.push_back(gpu.id); }
    }
    if (!described.empty()) { return {}; }
    described = file->options;
    return apply_launch_options(described, file->origin, arguments.launch);
}

/// A file does not hold how well two predictions can be told apart: that is the profile's.
void fill_paired_errors(gate::Snapshot& snapshot) {
    for (gate::GpuBasis& gpu : snapshot.gpus) {
        if (const Result<GpuProfile> profile = load_gpu(gpu.id)) { gpu.paired = paired_error(*profile); }
    }
}

int run(DiffArguments& arguments, const CLI::App& command) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) {
        complaints.say(diagnostic);
        complaints.finish();
        return code;
    };
    const auto plan = plan_output(arguments.output, {Format::text, Format::json, Format::markdown});
    if (!plan) { return stop(plan.error(), kUsageError); }
    const Result<gate::Policy> policy = load_policy(arguments.policy, arguments.head, complaints);
    if (!policy) { return stop(policy.error(), kUsageError); }
    const std::string* const paths[] = {&arguments.base, &arguments.head};
    Side sides[2];
    bool from_file[2] = {};
    const gate::Snapshot* file = nullptr;
    for (std::size_t i = 0; i < 2; ++i) {
        from_file[i] = *paths[i] != "-" && gate::is_baseline(*paths[i]);
        if (!from_file[i]) { continue; }
        Result<gate::Snapshot> read = gate::read_baseline(*paths[i]);
        if (!read) { return stop(read.error(), kUsageError); }
        sides[i].snapshot = std::move(*read);
        fill_paired_errors(sides[i].snapshot);
        if (file == nullptr) { file = &sides[i].snapshot; }
    }
    std::vector<std::string> described = given_launch_options(command);
    if (const auto completed = complete_launch(arguments, *policy, file, described); !completed) { return stop(completed.error(), kUsageError); }
    const Result<AnalyzeOptions> options = to_analyze_options(arguments.launch);
    if (!options) { return stop(options.error(), kUsageError); }
    for (std::size_t i = 0; i < 2; ++i) {
        if (from_file[i]) { continue; }
        int code = kDone;
        sides[i].analysis = analyze_for_gate({*paths[i]}, *options, complaints, code);
        if (!sides[i].analysis) { return complaints.finish(), code; }
        sides[i].snapshot = gate::take_snapshot(*sides[i].analysis, described);
    }

    gate::CheckOptions check_options;
    check_options.today = today();
    check_options.kernels = arguments.launch.kernels;
    check_options.fail_on = arguments.fail_on == "error" ? std::optional(Severity::error) : arguments.fail_on == "warning" ? std::optional(Severity::warning)
                          : arguments.fail_on == "note" ? std::optional(Severity::note) : std::nullopt;
    const gate::CheckReport report = gate::check(&sides[0].snapshot, sides[1].snapshot, *policy, check_options);
    const std::vector<gate::KernelDiff> diffs = gate::explain_changes(report);
    for (const Destination& destination : *plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) {
            TextStyle style;
            style.color = use_color(arguments.output, destination);
            style.width = text_width(destination);
            style.full_detail = arguments.launch.detail == "full";
            if (destination.format == Format::json) {
                write_diff(report, diffs, sides[1].snapshot, sink);
            } else if (destination.format == Format::markdown) {
                sink(markdown_report(report));
            } else {
                sink(text_report(report, diffs, style));
            }
        });
        if (!written) { return stop(written.error(), kUsageError); }
    }
    complaints.finish();
    if (const int inputs = exit_code(complaints, arguments.strict, false); inputs != kDone) { return inputs; }
    if (arguments.fail_on.empty()) { return kDone; }
    const bool changed = std::any_of(report.kernels.begin(), report.kernels.end(), [](const gate::KernelCheck& k) { return k.status != gate::Status::same; });
    return report.fail || (arguments.fail_on == "change" && changed) ? kGateFailed : kDone;
}

}  // namespace

void add_diff_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("diff", "what a change does, as differences of terms");
    const auto arguments = std::make_shared<DiffArguments>();
    command->add_option("BASE", arguments->base, "an input, or what flipflop baseline wrote")->required();
    command->add_option("HEAD", arguments->head, "the same, after the change")->required();
    add_policy_options(*command, arguments->policy);
    command->add_option("--fail-on", arguments->fail_on, "exit 1: on a regression, on any change, or also on new findings of a severity")
        ->check(CLI::IsMember({"regression", "change", "error", "warning", "note"}))->type_name("WHAT")->group("Gate");
    command->add_option("--block", arguments->launch.blocks, "the team's own block (the first of several)")
        ->allow_extra_args(false)->type_name("X[,Y[,Z]]")->group("Launch");
    add_launch_options(*command, arguments->launch);
    add_output_options(*command, arguments->output, "text, json or markdown");
    command->add_flag("--strict", arguments->strict, "warnings count as errors (exit 3)")->group("Output");
    command->callback([arguments, command, &result] {
        arguments->launch.source.flags = result.compiler_flags;
        result.exit_code = run(*arguments, *command);
    });
}

}  // namespace flipflop::cli
