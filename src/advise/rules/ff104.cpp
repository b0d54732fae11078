// FF104: a block reads the same global bytes many times; shared memory would hold them. What lanes that lie apart fetch
// beside their bytes is no such reading (FF101 has it), so each request counts with its ideal sectors.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff104_reread(const RuleContext& context) {
    const LaunchFacts& facts = context.facts();
    if (!facts.footprint.block_sectors || *facts.footprint.block_sectors <= 0) return {};
    double sectors = 0;
    for (const PhaseFacts& phase : facts.phases) sectors += phase.global_load_sectors;
    std::size_t worst = facts.accesses.size();
    double worst_sectors = 0, wanted = 0;
    for (std::size_t i = 0; i < facts.accesses.size(); ++i) {
        const AccessDescription& what = context.kernel().accesses[i];
        if (what.space != MemorySpace::global || !what.reads || what.atomic || !facts.accesses[i].sectors_per_request) continue;
        const double fetched = *facts.accesses[i].sectors_per_request;
        const double requests = requests_per_block(facts, facts.accesses[i]);
        wanted += requests * std::min(fetched, facts.accesses[i].ideal_sectors_per_request.value_or(fetched));
        const double mine = requests * fetched;
        if (mine > worst_sectors) {
            worst = i;
            worst_sectors = mine;
        }
    }
    const double times = wanted / *facts.footprint.block_sectors;
    if (times < 4 || worst == facts.accesses.size()) return {};
    // The ideal: each sector comes once from global memory, the rest is read from shared memory without conflicts.
    LaunchFacts ideal = facts;
    const double kept = *facts.footprint.block_sectors / sectors;
    for (PhaseFacts& phase : ideal.phases) {
        const double moved = phase.global_requests * (1 - kept);
        phase.global_load_sectors *= kept;
        phase.global_lines *= kept;
        phase.global_requests *= kept;
        phase.shared_wavefronts += moved;
        phase.shared_requests += moved;
    }
    const Cost cost = cost_against(context, ideal);
    if (!cost.us || *cost.us < 0.03 * context.now.time.total.value) return {};
    return {make_finding(context, "FF104", worst,
        fmt::format("each block reads its {} KiB of global data {} times over, most of it at {}", short_number(*facts.footprint.block_sectors * 32 / 1024),
                    short_number(times), place_of(context.kernel().accesses[worst])),
        cost, "load a tile into shared memory once, then read it from there; or keep what a thread needs again in registers")};
}

}  // namespace flipflop::advise
