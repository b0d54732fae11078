// FF107: a lane's address is no multiple of the bytes it moves: the GPU stops the kernel there.
#include "advise/rules/rule.hpp"

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff107_unaligned(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().accesses.size(); ++i) {
        const AccessFacts& access = context.facts().accesses[i];
        if (access.unaligned_share <= 0) continue;
        const AccessDescription& what = context.kernel().accesses[i];
        found.push_back(make_finding(context, "FF107", i,
            fmt::format("the {} {} of {} bytes at {} is not aligned to them in {:.0f} % of its requests", to_string(what.space), kind_of(what), what.bytes_per_lane,
                        place_of(what), 100 * access.unaligned_share),
            {}, "vectors need addresses that are multiples of their whole size: start rows at such, or load single elements"));
        found.back().severity = Severity::error;
    }
    return found;
}

}  // namespace flipflop::advise
