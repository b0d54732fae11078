// FF106: an access reaches past the shared memory that the block has.
#include "advise/rules/rule.hpp"

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff106_shared_overrun(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().accesses.size(); ++i) {
        const AccessFacts& access = context.facts().accesses[i];
        if (!access.shared_overrun_bytes) continue;
        const AccessDescription& what = context.kernel().accesses[i];
        found.push_back(make_finding(context, "FF106", i,
            fmt::format("the shared {} at {} reaches {} bytes past what the block has", kind_of(what), place_of(what), *access.shared_overrun_bytes), {},
            "declare the array as large as the block needs it, or give more --dynamic-smem; the access faults or reads what is not its own"));
        found.back().severity = Severity::error;
    }
    return found;
}

}  // namespace flipflop::advise
