// FF301: executions with idle lanes: divergence, guards, or partial warps.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff301_divergence(const RuleContext& context) {
    const LaunchFacts& facts = context.facts();
    if (!facts.active_lane_share || *facts.active_lane_share >= 0.85) return {};
    LaunchFacts ideal = facts;
    for (PhaseFacts& phase : ideal.phases)
        for (double& count : phase.warp_ops) count *= *facts.active_lane_share;
    ideal.warp_instructions *= *facts.active_lane_share;
    return {make_finding(context, "FF301",
        fmt::format("only {:.0f} % of the lanes work on average{}", 100 * *facts.active_lane_share,
                    facts.divergent_branches == 1 ? "; 1 branch parts the lanes of a warp"
                    : facts.divergent_branches ? fmt::format("; {} branches part the lanes of a warp", facts.divergent_branches) : ""),
        cost_against(context, ideal), "let whole warps take the same side: branch on the warp's index, sort the work, or compact it first")};
}

}  // namespace flipflop::advise
