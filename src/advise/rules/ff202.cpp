// FF202: values that did not fit in registers go through local memory.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff202_spills(const RuleContext& context) {
    const Resources& resources = context.stage.resources;
    const std::uint64_t stores = resources.spill_store_bytes.value_or(0), loads = resources.spill_load_bytes.value_or(0);
    if (stores + loads == 0) return {};
    Resources ideal = resources;
    ideal.spill_store_bytes = 0;
    ideal.spill_load_bytes = 0;
    return {make_finding(context, "FF202", fmt::format("{} bytes of spill stores and {} of spill loads a thread at {} registers", stores, loads, resources.registers_per_thread),
                         cost_against(context, ideal), "relax the launch bounds or the register cap, or shorten what is live at once")};
}

}  // namespace flipflop::advise
