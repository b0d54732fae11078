// FF302: a branch that lanes of one warp take differently, with what whole warps would save.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff302_divergent_branch(const RuleContext& context) {
    constexpr double kLeastShare = 0.01;     // of the time: an edge of the grid is no finding
    std::vector<Finding> found;
    for (const BranchFacts& branch : context.facts().branches) {
        LaunchFacts ideal = context.facts();
        double saved = 0;
        for (std::size_t op = 0; op < kMachineOps; ++op) {
            if (branch.excess[op] <= 0) continue;
            double all = 0;
            for (const PhaseFacts& phase : ideal.phases) all += phase.warp_ops[op];
            if (all <= 0) continue;
            const double kept = std::max(0.0, 1 - branch.excess[op] / all);
            for (PhaseFacts& phase : ideal.phases) phase.warp_ops[op] *= kept;
            saved += branch.excess[op] * context.facts().blocks;
        }
        ideal.warp_instructions = std::max(0.0, ideal.warp_instructions - saved);
        const Cost cost = cost_against(context, ideal);
        if (!cost.us || *cost.us < kLeastShare * context.now.time.total.value) continue;
        const double share = branch.executions > 0 ? std::min(1.0, branch.divergent / branch.executions) : 1;
        found.push_back(make_finding_at(context, "FF302", branch.ptx_line, branch.source,
            fmt::format("the {} at {} parts the lanes of a warp in {:.0f} % of its executions", branch.ends_loop ? "end of a loop" : "branch",
                        place_of(branch.ptx_line, branch.source), 100 * share),
            cost, branch.ends_loop ? "give lanes of a warp loops of one length: sort the work by length, or share the long ones out"
                                   : "let whole warps take the same side: branch on the warp's index, or compact the work first"));
    }
    return found;
}

}  // namespace flipflop::advise
