// FF303: a barrier for the whole block that part of it does not reach.
#include "advise/rules/rule.hpp"

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff303_partial_barrier(const RuleContext& context) {
    std::vector<Finding> found;
    for (const PartialBarrierFacts& barrier : context.facts().partial_barriers) {
        const std::string where = place_of(barrier.ptx_line, barrier.source);
        const std::string message =
            barrier.part_of_warp ? fmt::format("only part of a warp reaches the barrier at {} while its other lanes are elsewhere", where)
                                 : fmt::format("{} of {} warps of a block reach the barrier at {}, or reach it more often than the others", short_number(barrier.warps_reaching),
                                               short_number(barrier.warps), where);
        found.push_back(make_finding_at(context, "FF303", barrier.ptx_line, barrier.source, message, {},
            barrier.part_of_warp ? "move the barrier out of the condition: every thread of the block has to pass it"
                                 : "threads that have exited count as arrived, others must pass it: let the whole block take the way to the barrier"));
        if (barrier.part_of_warp) found.back().severity = Severity::warning;
    }
    return found;
}

}  // namespace flipflop::advise
