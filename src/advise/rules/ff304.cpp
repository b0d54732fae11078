// FF304 and FF305, behind --experimental: races in shared memory, barriers that order nothing.
#include "advise/rules/rule.hpp"

#include <fmt/format.h>

#include "advise/subject.hpp"

namespace flipflop::advise {
namespace {

HazardFacts hazards_of(const RuleContext& context) {
    const FactsBook& book = *context.stage.facts;
    const Trial& trial = context.trial;
    return Evaluator(book.code()).hazards(book.launch(trial.block, trial.grid, trial.dynamic_shared_bytes));
}

}  // namespace

std::vector<Finding> ff304_shared_race(const RuleContext& context) {
    if (!context.stage.options.experimental) return {};
    std::vector<Finding> found;
    for (const HazardFacts::Race& race : hazards_of(context).races) {
        const bool itself = race.ptx_line == race.other_line;
        found.push_back(make_finding_at(context, "FF304", race.ptx_line, race.source,
            itself ? fmt::format("two warps store to the same shared bytes at {} without a barrier between", place_of(race.ptx_line, race.source))
                   : fmt::format("what {} stores in shared memory another warp touches at {} without a barrier between ({} bytes)", place_of(race.ptx_line, race.source),
                                 place_of(race.other_line, race.other_source), race.bytes),
            {}, "put a barrier between the two, or let each warp have its own part"));
        found.back().severity = Severity::warning;
    }
    return found;
}

std::vector<Finding> ff305_redundant_barrier(const RuleContext& context) {
    if (!context.stage.options.experimental) return {};
    std::vector<Finding> found;
    constexpr auto op = static_cast<std::size_t>(MachineOp::barrier);
    for (const HazardFacts::Barrier& barrier : hazards_of(context).redundant_barriers) {
        LaunchFacts ideal = context.facts();
        // The barrier opens the phase that follows it in the text.
        const double passes = barrier.barrier + 1 < ideal.phases.size() ? ideal.phases[barrier.barrier + 1].executions * ideal.warps_per_block : 0;
        double all = 0;
        for (const PhaseFacts& phase : ideal.phases) all += phase.warp_ops[op];
        if (all > 0)
            for (PhaseFacts& phase : ideal.phases) phase.warp_ops[op] *= std::max(0.0, 1 - passes / all);
        found.push_back(make_finding_at(context, "FF305", barrier.ptx_line, barrier.source,
            fmt::format("nothing that a warp does before the barrier at {} is seen by another after it", place_of(barrier.ptx_line, barrier.source)),
            cost_against(context, ideal), "leave it out, if no other launch of the kernel needs it"));
    }
    return found;
}

}  // namespace flipflop::advise
