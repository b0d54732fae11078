// FF205: the grid leaves multiprocessors without a block.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff205_small_grid(const RuleContext& context) {
    const double sms = context.stage.gpu->sm_count(), blocks = context.facts().blocks;
    if (blocks >= sms) return {};
    // What a smaller block would do is in the ranking; what more work for each launch would do cannot be costed here.
    return {make_finding(context, "FF205", fmt::format("{} blocks for {} multiprocessors: {} are idle all the time", short_number(blocks), short_number(sms), short_number(sms - blocks)),
                         {}, "smaller blocks, more work in one launch, or several launches at once (streams)")};
}

}  // namespace flipflop::advise
