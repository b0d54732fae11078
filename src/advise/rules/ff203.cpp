// FF203: shared memory limits occupancy, and the launch waits for latency.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff203_shared_limit(const RuleContext& context) {
    const Occupancy& now = context.trial.occupancy;
    if (std::find(now.limiters.begin(), now.limiters.end(), "shared") == now.limiters.end() || now.fraction >= 0.75) return {};
    const std::uint64_t bytes = context.stage.resources.static_shared_bytes + context.trial.dynamic_shared_bytes;
    Trial trial = context.trial;
    Stage stage = context.stage;
    for (std::uint64_t less = bytes - std::min<std::uint64_t>(bytes, 128);; less -= 128) {
        stage.resources.static_shared_bytes = less;
        trial.dynamic_shared_bytes = 0;
        trial.occupancy = occupancy(stage.gpu->cc, occupancy_input(stage, trial.block, 0));
        if (trial.occupancy.active_blocks_per_sm > now.active_blocks_per_sm) {
            const Prediction then = predict(stage, trial, *trial.facts, context.point);
            Cost cost;
            cost.us = std::max(0.0, context.now.time.total.value - then.time.total.value);
            if (context.now.power && then.power) cost.mj = std::max(0.0, context.now.power->energy.value - then.power->energy.value);
            if (*cost.us < 0.03 * context.now.time.total.value) return {};
            return {make_finding(context, "FF203",
                fmt::format("{} bytes of shared memory a block limit the occupancy to {:.0f} %; with {} one more block would fit ({:.0f} %)", bytes,
                            100 * now.fraction, less, 100 * trial.occupancy.fraction),
                cost, "smaller tiles or fewer stages, or a larger carve-out where one is left")};
        }
        if (less < 128) return {};
    }
}

}  // namespace flipflop::advise
