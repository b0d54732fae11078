// FF901: an address comes from memory, so its sectors cannot be known.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff901_unknown_address(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().accesses.size(); ++i) {
        const AccessFacts& access = context.facts().accesses[i];
        const AccessDescription& what = context.kernel().accesses[i];
        const bool counted = what.space == MemorySpace::shared ? access.wavefronts_per_request.has_value() : access.sectors_per_request.has_value();
        const bool executed = access.requests.value_or(access.requests_assumed.value_or(1)) > 0;
        if (counted || !executed || what.space == MemorySpace::texture || what.space == MemorySpace::constant) continue;
        found.push_back(make_finding(context, "FF901", i,
            fmt::format("the address of the {} {} at {} is not known{}{}", to_string(what.space), kind_of(what), place_of(what), access.why.empty() ? "" : ": ", access.why),
            {}, "give the array that it is read from with --data NAME=FILE, if the host knows it"));
    }
    return found;
}

}  // namespace flipflop::advise
