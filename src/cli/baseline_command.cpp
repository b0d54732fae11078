// flipflop baseline INPUT... --gpu NAME -o FILE: today's figures, as a file for the repository.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/gate_session.hpp"
#include "cli/output.hpp"
#include "flipflop/gate_report.hpp"

namespace flipflop::cli {
namespace {

struct BaselineArguments {
    std::vector<std::string> inputs;
    LaunchArguments launch;
    PolicyArguments policy;
    OutputArguments output;
};

/// A gate over a size that nobody launches may see nothing of a change: said once, where the baseline is made.
void note_assumed_work(const Analysis& analysis, Complaints& complaints) {
    const auto assumed = [](const KernelAnalysis& kernel) {
        return std::any_of(kernel.results.begin(), kernel.results.end(), [](const KernelResult& result) {
            return std::any_of(result.assumptions.begin(), result.assumptions.end(), [](const Assumption& a) { return a.name == "work"; });
        });
    };
    const auto count = std::count_if(analysis.kernels.begin(), analysis.kernels.end(), assumed);
    if (count == 0) { return; }
    Diagnostic d;
    d.id = "FF0791";
    d.severity = Severity::note;
    d.message = fmt::format("{} of {} kernels {} judged at an assumed size of the work", count, analysis.kernels.size(), count == 1 ? "is" : "are");
    d.help = "say yours for a gate that sees your times: --work, --arg, or --launches launches.toml (flipflop inspect --scaffold writes one)";
    complaints.say(d);
}

int run(BaselineArguments& arguments, const CLI::App& command) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) {
        complaints.say(diagnostic);
        complaints.finish();
        return code;
    };
    if (arguments.launch.gpus.empty()) {
        const Result<gate::Policy> policy = load_policy(arguments.policy, arguments.inputs.front(), complaints);
        if (!policy) { return stop(policy.error(), kUsageError); }
        arguments.launch.gpus = policy->gpus;
    }
    Result<AnalyzeOptions> options = to_analyze_options(arguments.launch);
    if (!options) { return stop(options.error(), kUsageError); }
    arguments.output.formats = {"json"};
    const auto plan = plan_output(arguments.output, {Format::json});
    if (!plan) { return stop(plan.error(), kUsageError); }
    int code = kDone;
    options->source_text = source_reader(here(arguments.inputs.front()));
    const std::optional<Analysis> analysis = analyze_for_gate(arguments.inputs, *options, complaints, code);
    if (!analysis) { return complaints.finish(), code; }
    // A baseline of half of the inputs would pass what it does not hold.
    if (complaints.errors() > 0) { return complaints.finish(), kInputError; }
    const gate::Snapshot snapshot = gate::take_snapshot(*analysis, given_launch_options(command));
    const Result<void> written = write_report(plan->front(), [&](const TextSink& sink) { write_baseline(snapshot, sink); });
    if (!written) { return stop(written.error(), kUsageError); }
    note_assumed_work(*analysis, complaints);
    complaints.finish();
    return kDone;
}

}  // namespace

void add_baseline_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("baseline", "write today's figures to a file that check compares with");
    const auto arguments = std::make_shared<BaselineArguments>();
    command->add_option("INPUT", arguments->inputs, ".ptx, a directory, object, executable, library, fatbin; - for standard input")->required();
    command->add_option("--block", arguments->launch.blocks, "the team's own block (the first of several)")
        ->allow_extra_args(false)->type_name("X[,Y[,Z]]")->group("Launch");
    add_launch_options(*command, arguments->launch);
    add_policy_options(*command, arguments->policy);
    command->add_option("-o,--output", arguments->output.output, "write there instead of standard output")->type_name("FILE")->group("Output");
    command->callback([arguments, command, &result] {
        arguments->launch.source.flags = result.compiler_flags;
        result.exit_code = run(*arguments, *command);
    });
}

}  // namespace flipflop::cli
