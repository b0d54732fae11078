// FF101: lanes of a warp touch more 32-byte sectors than their bytes fill.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff101_uncoalesced(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().accesses.size(); ++i) {
        const AccessFacts& access = context.facts().accesses[i];
        const AccessDescription& what = context.kernel().accesses[i];
        if (what.space != MemorySpace::global && what.space != MemorySpace::generic) continue;
        if (!access.sectors_per_request || !access.ideal_sectors_per_request || access.pattern == Pattern::misaligned) continue;
        if (*access.sectors_per_request < 1.5 * *access.ideal_sectors_per_request) continue;
        found.push_back(make_finding(context, "FF101", i,
            fmt::format("uncoalesced {} at {}: {} sectors a request where {} would do", kind_of(what), place_of(what),
                        short_number(*access.sectors_per_request), short_number(*access.ideal_sectors_per_request)),
            cost_against(context, with_ideal_sectors(context.facts(), context.kernel(), i)),
            "let neighbouring lanes (x first) touch neighbouring addresses: swap the index order, use a block that is wide in x, or go through shared memory"));
    }
    return found;
}

}  // namespace flipflop::advise
