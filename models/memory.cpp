// L1, L2 and DRAM traffic of a launch from its footprints. Equations: docs/models/time.md section 3.
#include <algorithm>
#include <cmath>

#include "models/work.hpp"

namespace flipflop {
namespace {

constexpr double kSector = 32, kWordsOfSector = 8;

/// Distinct sectors that a block reads; a set that came out empty beside loads says nothing.
std::optional<double> read_set(const Footprint& print) {
    return print.block_sectors && *print.block_sectors > 0 ? print.block_sectors : std::nullopt;
}

struct PerBlock {
    double loads{}, stores{}, locals{}, atomics{}, serial{}, spill{};
};

PerBlock sum_phases(const CodeShape& code, const LaunchFacts& launch, const ResourceUse& use) {
    PerBlock sum;
    for (const PhaseFacts& phase : launch.phases) {
        sum.loads += phase.global_load_sectors;
        sum.stores += phase.global_store_sectors;
        sum.locals += phase.local_sectors;
        sum.atomics += phase.atomic_sectors;
        sum.serial += phase.atomic_serial_max;
    }
    const double spilled = static_cast<double>(use.resources.spill_store_bytes.value_or(0) + use.resources.spill_load_bytes.value_or(0));
    sum.spill = code.repeats * spilled * launch.warps_per_block;  // sectors: 32 lanes of a byte are one sector
    return sum;
}

/// Share of a block's footprint that is live at a time. A loop that streams through it takes as many dependent steps as its
/// longest chain has loads; a sector's eight words follow each other within eight steps where a step loads one word of a
/// stream, and within fewer where it is unrolled: then a step's loads, of two streams as in a product, take more words each.
double live_share(const LaunchFacts& launch) {
    constexpr auto kLoad = static_cast<std::size_t>(MachineOp::load_global);
    double steps = 0, loads = 0;
    for (const PhaseFacts& phase : launch.phases) {
        steps += phase.chain.ops[kLoad];
        loads += phase.warp_ops[kLoad] / std::max(1.0, launch.warps_per_block);
    }
    if (steps <= 1) return 1;
    const double words = std::clamp(loads / steps / 2, 1.0, kWordsOfSector);
    return std::min(1.0, kWordsOfSector / words / steps);
}

/// Distinct sectors a block asks L2 for: what its instructions share (neighbours, unrolled copies) is lost where L1 cannot hold
/// what is live between them.
double l2_reads(const LaunchFacts& launch, const PerBlock& block, double l1_free, double resident) {
    const Footprint& print = launch.footprint;
    const double by_instruction = print.block_instruction_sectors.value_or(block.loads);
    const double unique = read_set(print).value_or(std::min(by_instruction, block.loads));
    const double live = unique * live_share(launch);
    const double fit = std::min(1.0, l1_free / std::max(resident * live * kSector, 1.0));
    return std::min(unique + std::max(0.0, by_instruction - unique) * (1 - fit), std::max(block.loads, unique));
}

/// What remains of a block's reads when its resident neighbours have fetched the shared part already. What is shared along x
/// and along y overlaps no more than it must: the panels of a matrix product are disjoint, a table that all read is one.
double after_neighbours(const LaunchFacts& launch, double unique, double together) {
    const bool shaped = static_cast<double>(launch.grid.count()) == launch.blocks;
    const double grid_x = shaped ? launch.grid.x : launch.blocks, grid_y = shaped ? launch.grid.y : 1;
    const double along_x = std::min(grid_x, together);
    const double along_y = std::clamp(together / grid_x, 1.0, grid_y);
    const double along_z = std::max(1.0, together / (grid_x * grid_y));
    const Footprint& print = launch.footprint;
    const auto share = [](const std::optional<double>& overlap) { return std::clamp(overlap.value_or(0), 0.0, 1.0); };
    const double x = share(print.overlap_x), y = share(print.overlap_y), z = share(print.overlap_z);
    const double both = std::max(0.0, x + y - 1);
    const double plane = (1 - x - y + both) + (x - both) / along_x + (y - both) / along_y + both / (along_x * along_y);
    return unique * plane * (1 - z * (1 - 1 / along_z));
}

/// The same where nobody knows which blocks share: those that run together are as likely as any others to do it.
double after_anyone(double blocks, double unique, double distinct, double together) {
    if (distinct <= 0 || blocks <= together) return std::min(unique, distinct / std::max(1.0, blocks));
    const double sharers = std::max(1.0, blocks * unique / distinct), waves = blocks / together;
    return std::min(unique, waves * distinct * (1 - std::pow(1 - 1 / waves, sharers)) / blocks);
}

void spill_traffic(Memory& memory, const CodeShape& code, const LaunchFacts& launch, const ResourceUse& use, const Machine& gpu, double l1_free, double resident) {
    const double threads = launch.warps_per_block * 32;
    const auto stored = static_cast<double>(use.resources.spill_store_bytes.value_or(0));
    const auto loaded = static_cast<double>(use.resources.spill_load_bytes.value_or(0));
    if (stored + loaded <= 0) return;
    const double l1_fit = std::min(1.0, l1_free / std::max(resident * threads * stored, 1.0));
    const double reads = code.repeats * launch.warps_per_block * loaded * (1 - l1_fit), writes = code.repeats * launch.warps_per_block * stored;
    const double sectors = reads + writes;
    memory.l2_read_block += reads;
    memory.l2_write_block += writes;
    const double l2_fit = std::min(1.0, gpu.l2_capacity.value / std::max(gpu.sms.value * resident * threads * stored, 1.0));
    memory.spill_bytes = launch.blocks * sectors * kSector * (1 - l2_fit);
}

}  // namespace

double cyclic_hit_rate(double bytes, double capacity) {
    if (bytes <= 0) return 1;
    if (capacity <= 0) return 0;
    // Least recently used is all or nothing on a sweep; hashed sets blur the edge. Measured: no hit left at 1.4 times L2 on an
    // RTX 4070 and at 2.3 times on an RTX 2080 Ti and a TITAN V.
    const double ratio = bytes / capacity;
    const double r4 = ratio * ratio * ratio * ratio, r8 = r4 * r4;
    return 1 / (1 + r8 * r8);
}

Memory memory_traffic(const CodeShape& code, const LaunchFacts& launch, const ResourceUse& use, const Machine& gpu, bool warm) {
    Memory memory;
    const Footprint& print = launch.footprint;
    const PerBlock block = sum_phases(code, launch, use);
    const double resident = std::max(1.0, std::min<double>(use.occupancy.active_blocks_per_sm, std::ceil(launch.blocks / gpu.sms.value)));
    const double shared = static_cast<double>(use.occupancy.allocated_shared_per_block) * resident;
    const double l1_free = std::max(gpu.l1_capacity.value - shared, 8.0 * 1024);
    memory.known = block.loads == 0 || (print.block_sectors && *print.block_sectors > 0);
    memory.why = print.why;

    memory.read_sectors_block = block.loads + block.locals;
    memory.l2_read_block = l2_reads(launch, block, l1_free, resident) + block.locals * 0.5;
    memory.l2_write_block = block.stores + block.atomics;
    memory.l1_hit = block.loads > 0 ? std::clamp(1 - (memory.l2_read_block - block.locals * 0.5) / block.loads, 0.0, 1.0) : 0;
    memory.l1_bytes = launch.blocks * (block.loads + block.stores + block.locals + block.spill) * kSector;

    // Reads below L2: what neighbours do not share, but never less than what the grid must touch once.
    const double unique = read_set(print).value_or(memory.l2_read_block);
    const double together = gpu.sms.value * resident;
    const bool neighbours = print.overlap_x || print.overlap_y || print.overlap_z;
    const double from_l2 = launch.blocks * kSector * (neighbours || !print.grid_read_sectors ? after_neighbours(launch, unique, together)
                                                                                             : after_anyone(launch.blocks, unique, *print.grid_read_sectors, together));
    const double distinct_read = print.grid_read_sectors ? *print.grid_read_sectors * kSector : from_l2;
    const double written = launch.blocks * (block.stores + block.atomics) * kSector;
    const double distinct_written = print.grid_written_sectors ? *print.grid_written_sectors * kSector : written;
    const double footprint = distinct_read + distinct_written;
    memory.held = cyclic_hit_rate(footprint, gpu.l2_capacity.value);
    const double again = std::max(0.0, from_l2 - distinct_read);
    memory.dram_read = distinct_read * (warm ? 1 - memory.held : 1) + again * (1 - memory.held);
    // L2 writes back: what resident blocks write into one sector leaves it once, where all they touch meanwhile fits.
    const double window = gpu.sms.value * resident * (unique + print.block_store_sectors.value_or(block.stores + block.atomics)) * kSector;
    const double merged = cyclic_hit_rate(std::min(window, footprint), gpu.l2_capacity.value);
    memory.dram_write = (distinct_written + std::max(0.0, written - distinct_written) * (1 - merged)) * (warm ? 1 - memory.held : 1);
    memory.compulsory_bytes = distinct_read + distinct_written;
    spill_traffic(memory, code, launch, use, gpu, l1_free, resident);
    memory.l2_bytes = launch.blocks * (memory.l2_read_block + memory.l2_write_block) * kSector;
    const double l2_reads_bytes = launch.blocks * memory.l2_read_block * kSector;
    memory.l2_hit = l2_reads_bytes > 0 ? std::clamp(1 - memory.dram_read / l2_reads_bytes, 0.0, 1.0) : 1;

    // Atomics: each sector is read and written in its slice; lanes on one address take turns. How many addresses take
    // turns side by side is bounded by the sectors the grid writes.
    const double slices = std::max(1.0, gpu.l2_bytes_per_clk.value / 64);
    const double side_by_side = std::clamp(print.grid_written_sectors.value_or(1), 1.0, slices);
    memory.atomic_cycles = launch.blocks * block.atomics / gpu.atomic_sectors_per_clk.value;
    memory.atomic_serial_cycles = launch.blocks * block.serial / (gpu.atomic_same_per_clk.value * side_by_side);
    return memory;
}

}  // namespace flipflop
