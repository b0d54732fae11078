// FF204: the blocks do not fill the last wave.
#include "advise/rules/rule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff204_tail(const RuleContext& context) {
    const TimeEstimate& time = context.now.time;
    const double room = context.trial.occupancy.active_blocks_per_sm * context.stage.gpu->sm_count();
    const LaunchFacts& facts = context.facts();
    if (time.tail_idle_share < 0.1 || room <= 0 || facts.blocks <= room) return {};
    // The ideal: as many whole waves, and of their time the share that this grid is of them.
    const double whole = std::ceil(facts.blocks / room) * room, share = whole / facts.blocks;
    LaunchFacts ideal = facts;
    ideal.blocks = whole;
    ideal.threads *= share;
    ideal.warp_instructions *= share;
    for (double& count : ideal.thread_ops) count *= share;
    for (double& count : ideal.thread_machine_ops) count *= share;
    const Prediction then = predict(context.stage, context.trial, ideal, context.point);
    Cost cost;
    cost.us = std::max(0.0, time.total.value - then.time.total.value / share);
    if (context.now.power && then.power) cost.mj = std::max(0.0, context.now.power->energy.value - then.power->energy.value / share);
    return {make_finding(context, "FF204",
        fmt::format("{} blocks are {:.2f} waves of {}: with the last, partly filled one {:.0f} % of all places stay empty", short_number(facts.blocks), time.waves, short_number(room), 100 * time.tail_idle_share),
        cost, "a smaller block, or a grid of one wave whose blocks loop over the work (gpu.sms * blocks_per_sm)")};
}

}  // namespace flipflop::advise
