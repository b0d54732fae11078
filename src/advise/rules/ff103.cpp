// FF103: a contiguous access that does not start at a sector.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff103_misaligned(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().accesses.size(); ++i) {
        const AccessFacts& access = context.facts().accesses[i];
        const AccessDescription& what = context.kernel().accesses[i];
        if (access.pattern != Pattern::misaligned || !access.sectors_per_request || !access.ideal_sectors_per_request) continue;
        if (*access.sectors_per_request < 1.05 * *access.ideal_sectors_per_request) continue;
        found.push_back(make_finding(context, "FF103", i,
            fmt::format("misaligned {} at {}: {} sectors a request where {} would do", kind_of(what), place_of(what),
                        short_number(*access.sectors_per_request), short_number(*access.ideal_sectors_per_request)),
            cost_against(context, with_ideal_sectors(context.facts(), context.kernel(), i)),
            "start rows at multiples of 32 bytes (pitch), or shift the work so that a warp starts at one"));
    }
    return found;
}

}  // namespace flipflop::advise
