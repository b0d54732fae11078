// FF206: the last warp of each block is not full.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff206_partial_warp(const RuleContext& context) {
    const std::uint64_t threads = context.trial.block.count();
    if (threads % 32 == 0) return {};
    const std::uint64_t warps = (threads + 31) / 32;
    const double share = static_cast<double>(threads) / static_cast<double>(32 * warps);
    return {make_finding(context, "FF206", fmt::format("{} threads fill {} of {} lanes of the block's warps", threads, threads, 32 * warps),
                         {}, fmt::format("a multiple of 32 threads uses what {:.0f} % of the issue slots do now", 100 * share))};
}

}  // namespace flipflop::advise
