// Launch facts written by hand, for tests of the models: what the evaluator would say of kernels that are known well.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "flipflop/models.hpp"

namespace facts {

using flipflop::LaunchFacts;
using flipflop::MachineOp;
using flipflop::OccupancyInput;
using flipflop::PhaseFacts;
using flipflop::ResourceUse;

inline void put(PhaseFacts& phase, MachineOp op, double warp_executions) { phase.warp_ops[static_cast<std::size_t>(op)] += warp_executions; }
inline void chain(PhaseFacts& phase, MachineOp op, double n) {
    phase.chain.ops[static_cast<std::size_t>(op)] += n;
    phase.chain_miss.ops[static_cast<std::size_t>(op)] += n;
}

/// Closes a launch: thread-level counts from warp-level ones, all lanes active.
inline void finish(LaunchFacts& launch) {
    for (std::size_t i = 0; i < flipflop::kMachineOps; ++i) {
        double warps = 0;
        for (const PhaseFacts& phase : launch.phases) warps += phase.warp_ops[i];
        launch.thread_machine_ops[i] = warps * launch.blocks * 32;
        launch.warp_instructions += warps * launch.blocks;
    }
    launch.threads = launch.blocks * launch.warps_per_block * 32;
    launch.active_lane_share = 1;
}

/// One element a thread: `reads` loads and `writes` stores of `bytes` each, from distinct arrays; `flops` FMAs.
/// `extra_sectors`: stencil neighbours, loaded by their own instructions from the block's own lines.
inline LaunchFacts stream(double elements, std::uint32_t block, int reads, int writes, double bytes, bool fp64, int stencil_loads = 0) {
    LaunchFacts launch;
    launch.block = {block, 1, 1};
    launch.grid = {static_cast<std::uint32_t>(std::ceil(elements / block)), 1, 1};
    launch.blocks = launch.grid.x;
    launch.warps_per_block = std::ceil(block / 32.0);
    PhaseFacts phase;
    const double warps = launch.warps_per_block, loads = reads + stencil_loads;
    put(phase, MachineOp::read_special, 3 * warps);
    put(phase, MachineOp::int_mad, warps);
    put(phase, MachineOp::int_compare, warps);
    put(phase, MachineOp::branch, warps);
    put(phase, MachineOp::int_mul_wide, warps);
    put(phase, MachineOp::int_add64, (loads + writes) * warps);
    put(phase, MachineOp::exit, warps);
    put(phase, MachineOp::load_global, loads * warps);
    put(phase, MachineOp::store_global, writes * warps);
    put(phase, fp64 ? MachineOp::fp64_fma : MachineOp::fp32_fma, std::max(1.0, loads) * warps);
    const double sectors = 32 * bytes / 32 * warps;
    phase.global_load_sectors = reads * sectors + stencil_loads * (sectors + warps);
    phase.global_store_sectors = writes * sectors;
    phase.global_requests = (loads + writes) * warps;
    phase.global_lines = (loads + writes) * std::max(1.0, 32 * bytes / 128) * warps;
    chain(phase, MachineOp::read_special, 1);
    chain(phase, MachineOp::int_mad, 1);
    chain(phase, MachineOp::int_mul_wide, 1);
    chain(phase, MachineOp::int_add64, 1);
    if (loads > 0) chain(phase, MachineOp::load_global, 1);
    chain(phase, fp64 ? MachineOp::fp64_fma : MachineOp::fp32_fma, 1);
    if (writes > 0) chain(phase, MachineOp::store_global, 1);
    launch.phases.push_back(phase);
    launch.footprint.block_sectors = reads * sectors + (stencil_loads > 0 ? 2.0 : 0.0);
    launch.footprint.block_instruction_sectors = reads * sectors + stencil_loads * (sectors + 1);
    launch.footprint.block_store_sectors = writes * sectors;
    launch.footprint.overlap_x = launch.footprint.overlap_y = launch.footprint.overlap_z = 0;
    launch.footprint.grid_read_sectors = reads * elements * bytes / 32;
    launch.footprint.grid_written_sectors = writes * elements * bytes / 32;
    launch.footprint.unique_read_bytes = reads * elements * bytes;
    launch.footprint.unique_written_bytes = writes * elements * bytes;
    finish(launch);
    return launch;
}

/// C = A B, n x n, one output a thread, no tiling: the textbook kernel.
inline LaunchFacts naive_gemm(double n, std::uint32_t bx, std::uint32_t by) {
    LaunchFacts launch;
    launch.block = {bx, by, 1};
    launch.grid = {static_cast<std::uint32_t>(std::ceil(n / bx)), static_cast<std::uint32_t>(std::ceil(n / by)), 1};
    launch.blocks = static_cast<double>(launch.grid.count());
    launch.warps_per_block = std::ceil(bx * by / 32.0);
    const double warps = launch.warps_per_block;
    const double rows_per_warp = std::max(1.0, 32.0 / bx), columns = std::min(32.0, static_cast<double>(bx));
    PhaseFacts phase;
    put(phase, MachineOp::fp32_fma, n * warps);
    put(phase, MachineOp::load_global, 2 * n * warps);
    put(phase, MachineOp::int_add64, 0.5 * n * warps);
    put(phase, MachineOp::int_add, 0.25 * n * warps);
    put(phase, MachineOp::branch, 0.25 * n * warps);
    put(phase, MachineOp::store_global, warps);
    phase.global_requests = (2 * n + 1) * warps;
    const double b_sectors = std::max(1.0, columns / 8);
    phase.global_load_sectors = n * warps * (rows_per_warp + b_sectors);
    phase.global_lines = n * warps * (rows_per_warp + 1);
    phase.global_store_sectors = rows_per_warp * b_sectors * warps;
    chain(phase, MachineOp::fp32_fma, n);
    chain(phase, MachineOp::load_global, n / 4);
    launch.phases.push_back(phase);
    launch.footprint.block_sectors = n / 8 * by + n * bx / 8;
    launch.footprint.block_instruction_sectors = launch.footprint.block_sectors;
    launch.footprint.block_store_sectors = bx * by / 8.0;
    launch.footprint.overlap_x = n / 8 * by / *launch.footprint.block_sectors;
    launch.footprint.overlap_y = n * bx / 8 / *launch.footprint.block_sectors;
    launch.footprint.overlap_z = 0;
    launch.footprint.grid_read_sectors = 2 * n * n * 4 / 32;
    launch.footprint.grid_written_sectors = n * n * 4 / 32;
    finish(launch);
    return launch;
}

inline ResourceUse resources(const flipflop::ComputeCapability& cc, std::uint32_t block, std::uint32_t registers, std::uint64_t shared = 0) {
    ResourceUse use;
    use.resources.registers_per_thread = registers;
    use.resources.static_shared_bytes = shared;
    OccupancyInput input;
    input.block_threads = block;
    input.registers_per_thread = registers;
    input.static_shared_bytes = shared;
    use.occupancy = flipflop::occupancy(cc, input);
    return use;
}

}  // namespace facts
