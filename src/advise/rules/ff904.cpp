// FF904: instructions without a row in the table count as one slot each and cost nothing else.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff904_unknown_instruction(const RuleContext& context) {
    const double share = context.kernel().mix.unknown_share;
    if (share <= 0) return {};
    return {make_finding(context, "FF904", fmt::format("{:.1f} % of the instructions are not known to this version", 100 * share), {},
                         "the figures leave them out; flipflop inspect lists them")};
}

}  // namespace flipflop::advise
