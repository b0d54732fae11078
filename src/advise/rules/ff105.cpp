// FF105: an array indexed by a variable, or a stack, lives in local memory.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff105_local_memory(const RuleContext& context) {
    const Resources& resources = context.stage.resources;
    const std::uint64_t spilled = resources.spill_store_bytes.value_or(0) + resources.spill_load_bytes.value_or(0);
    double sectors = 0;
    for (const PhaseFacts& phase : context.facts().phases) sectors += phase.local_sectors;
    if (sectors <= 0 || spilled > 0) return {};
    std::size_t first = 0;
    const auto& accesses = context.kernel().accesses;
    while (first < accesses.size() && accesses[first].space != MemorySpace::local) ++first;
    LaunchFacts ideal = context.facts();
    for (PhaseFacts& phase : ideal.phases) phase.local_sectors = 0;
    const Cost cost = cost_against(context, ideal);
    const std::string message = fmt::format("{} bytes a thread in local memory, {} sectors a block", resources.local_bytes.value_or(0), short_number(sectors));
    const std::string help = "unroll the loops that index the array, so that it can stay in registers";
    if (first == accesses.size()) return {make_finding(context, "FF105", message, cost, help)};
    return {make_finding(context, "FF105", first, message + ", first at " + place_of(accesses[first]), cost, help)};
}

}  // namespace flipflop::advise
