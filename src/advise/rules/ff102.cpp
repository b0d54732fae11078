// FF102: lanes of a warp meet in one bank of shared memory.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff102_bank_conflict(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().accesses.size(); ++i) {
        const AccessFacts& access = context.facts().accesses[i];
        const AccessDescription& what = context.kernel().accesses[i];
        if (what.space != MemorySpace::shared || !access.wavefronts_per_request || *access.wavefronts_per_request < 1.1) continue;
        found.push_back(make_finding(context, "FF102", i,
            fmt::format("bank conflict in the shared {} at {}: {} passes a request where 1 would do", kind_of(what), place_of(what), short_number(*access.wavefronts_per_request)),
            cost_against(context, without_conflicts(context.facts(), i)),
            "pad the rows of the array by one element, or swizzle the column with the row"));
    }
    return found;
}

}  // namespace flipflop::advise
