// FF201: one more block would fit with fewer registers, and the launch waits for latency.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff201_registers_limit(const RuleContext& context) {
    const Occupancy& occupancy_now = context.trial.occupancy;
    if (std::find(occupancy_now.limiters.begin(), occupancy_now.limiters.end(), "registers") == occupancy_now.limiters.end()) return {};
    if (occupancy_now.fraction >= 0.75) return {};
    Resources ideal = context.stage.resources;
    for (std::uint32_t registers = ideal.registers_per_thread; registers > 16; --registers) {
        ideal.registers_per_thread = registers - 1;
        Stage stage = context.stage;
        stage.resources = ideal;
        const Occupancy then = occupancy(stage.gpu->cc, occupancy_input(stage, context.trial.block, context.trial.dynamic_shared_bytes));
        if (then.active_blocks_per_sm <= occupancy_now.active_blocks_per_sm) continue;
        const Cost cost = cost_against(context, ideal);
        if (!cost.us || *cost.us < 0.03 * context.now.time.total.value) return {};
        return {make_finding(context, "FF201",
            fmt::format("{} registers a thread limit the occupancy to {:.0f} %; with {} one more block would fit ({:.0f} %)",
                        context.stage.resources.registers_per_thread, 100 * occupancy_now.fraction, registers - 1, 100 * then.fraction),
            cost, "try another block size, or __launch_bounds__ with a minimum of blocks, and look whether it spills")};
    }
    return {};
}

}  // namespace flipflop::advise
