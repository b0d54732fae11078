// FF401: the clock buys no speed where memory is the bound.
#include "advise/rules/rule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff401_clock(const RuleContext& context) {
    if (!context.now.power || context.point.clock_mhz) return {};
    const double clock = context.now.power->clock_mhz;
    Cost best;
    double best_clock = 0, slower = 0;
    for (const double share : {0.9, 0.8, 0.7, 0.6}) {
        OperatingPoint point = context.point;
        point.clock_mhz = std::round(clock * share / 15) * 15;   // NVIDIA's clocks come in steps of 15 MHz
        const Prediction then = predict(context.stage, context.trial, context.facts(), point);
        if (!then.power || then.time.total.value > 1.02 * context.now.time.total.value) break;
        const double saved = context.now.power->energy.value - then.power->energy.value;
        if (saved > best.mj.value_or(0)) {
            best.mj = saved;
            best_clock = *point.clock_mhz;
            slower = then.time.total.value / context.now.time.total.value - 1;
        }
    }
    if (!best.mj || *best.mj < 0.05 * context.now.power->energy.value) return {};
    return {make_finding(context, "FF401",
        fmt::format("{:.0f} MHz in place of {:.0f} buys {:.1f} % of time for {:.0f} % of the energy", clock, best_clock, 100 * slower,
                    100 * *best.mj / context.now.power->energy.value),
        best, "lock the clock where you may (nvidia-smi -lgc), or set a power limit")};
}

}  // namespace flipflop::advise
