// FF903: a branch depends on data; both ways were followed.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff903_data_branch(const RuleContext& context) {
    const std::uint32_t count = context.facts().unknown_branches;
    if (count == 0 || context.stage.facts->subject().policy.taken_probability) return {};
    return {make_finding(context, "FF903", fmt::format("{} on data: both ways were followed", count == 1 ? "1 branch depends" : fmt::format("{} branches depend", count)),
                         {}, "say how often they are taken: --taken file:line=P, or --assume-taken P for all")};
}

}  // namespace flipflop::advise
