// Benchmarks known by their description: what the evaluator would say of them. gpu-benches (Ernst et al. 2023): the streams over
// block size and the roofline; Kernel Tuner's fp32_kernel (Schoonhoven et al. 2022).
#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/rows.hpp"

namespace flipflop::calibrate {
namespace {

void put(PhaseFacts& phase, MachineOp op, double warp_executions) { phase.warp_ops[static_cast<std::size_t>(op)] += warp_executions; }
void chain(PhaseFacts& phase, MachineOp op, double n) {
    phase.chain.ops[static_cast<std::size_t>(op)] += n;
    phase.chain_miss.ops[static_cast<std::size_t>(op)] += n;
}

LaunchFacts begin(double blocks, double block) {
    LaunchFacts launch;
    launch.block = {static_cast<std::uint32_t>(block), 1, 1};
    launch.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
    launch.blocks = blocks;
    launch.warps_per_block = std::ceil(block / 32);
    return launch;
}

/// Thread-level counts from warp-level ones, all lanes active.
void finish(LaunchFacts& launch, PhaseFacts phase) {
    for (std::size_t i = 0; i < kMachineOps; ++i) {
        launch.thread_machine_ops[i] = phase.warp_ops[i] * launch.blocks * 32;
        launch.warp_instructions += phase.warp_ops[i] * launch.blocks;
    }
    launch.phases.push_back(phase);
    launch.threads = launch.blocks * launch.warps_per_block * 32;
    launch.active_lane_share = 1;
}

struct StreamShape { std::string_view kernel; double reads, writes, stencil; };
constexpr std::array kStreams{StreamShape{"stream_init fp64", 0, 1, 0},  StreamShape{"stream_read fp64", 1, 0, 0}, StreamShape{"stream_scale fp64", 1, 1, 0},
                              StreamShape{"stream_triad fp64", 2, 1, 0}, StreamShape{"stream_3pt fp64", 1, 1, 2},  StreamShape{"stream_5pt fp64", 1, 1, 4}};

/// One double a thread; stencil neighbours are loaded by their own instructions from the block's own lines.
LaunchFacts stream(const StreamShape& shape, double elements, double block) {
    LaunchFacts launch = begin(std::ceil(elements / block), block);
    const double warps = launch.warps_per_block, loads = shape.reads + shape.stencil, sectors = 8 * warps;
    PhaseFacts phase;
    using enum MachineOp;
    put(phase, read_special, 3 * warps);
    for (const MachineOp op : {int_mad, int_compare, branch, int_mul_wide, exit}) put(phase, op, warps);
    put(phase, int_add64, (loads + shape.writes) * warps);
    put(phase, load_global, loads * warps);
    put(phase, store_global, shape.writes * warps);
    put(phase, fp64_fma, std::max(1.0, loads) * warps);
    phase.global_load_sectors = shape.reads * sectors + shape.stencil * (sectors + warps);
    phase.global_store_sectors = shape.writes * sectors;
    phase.global_requests = (loads + shape.writes) * warps;
    phase.global_lines = (loads + shape.writes) * 2 * warps;
    for (const MachineOp op : {read_special, int_mad, int_mul_wide, int_add64, fp64_fma}) chain(phase, op, 1);
    if (loads > 0) chain(phase, load_global, 1);
    if (shape.writes > 0) chain(phase, store_global, 1);
    Footprint& print = launch.footprint;
    print.block_sectors = shape.reads * sectors + (shape.stencil > 0 ? 2.0 : 0.0);
    print.block_instruction_sectors = shape.reads * sectors + shape.stencil * (sectors + 1);
    print.block_store_sectors = shape.writes * sectors;
    print.overlap_x = print.overlap_y = print.overlap_z = 0;
    print.grid_read_sectors = shape.reads * elements / 4;
    print.grid_written_sectors = shape.writes * elements / 4;
    finish(launch, phase);
    return launch;
}

/// Each thread takes one float of each of two arrays a step, with `fma` steps of v = v * a - b on it; the loop is not unrolled.
LaunchFacts roofline(double blocks, double block, double fma, double steps) {
    LaunchFacts launch = begin(blocks, block);
    const double warps = launch.warps_per_block;
    PhaseFacts phase;
    using enum MachineOp;
    put(phase, load_global, 2 * steps * warps);
    put(phase, fp32_fma, (fma + 1) * steps * warps);
    for (const MachineOp op : {int_add64, int_add, int_compare, branch}) put(phase, op, steps * warps);
    chain(phase, load_global, steps);
    chain(phase, fp32_fma, fma / 2 * steps);
    phase.global_load_sectors = 2 * steps * warps * 4;
    phase.global_requests = phase.global_lines = 2 * steps * warps;
    Footprint& print = launch.footprint;
    print.block_sectors = print.block_instruction_sectors = phase.global_load_sectors;
    print.block_store_sectors = 0;
    print.overlap_x = print.overlap_y = print.overlap_z = 0;
    print.grid_read_sectors = phase.global_load_sectors * blocks;
    print.grid_written_sectors = 0;
    finish(launch, phase);
    return launch;
}

/// `outer` x `inner` times four FMAs in two dependent pairs a thread, and one store of eight bytes.
LaunchFacts fma_loop(double blocks, double block, double steps) {
    LaunchFacts launch = begin(blocks, block);
    const double warps = launch.warps_per_block;
    PhaseFacts phase;
    using enum MachineOp;
    put(phase, fp32_fma, 4 * steps * warps);
    put(phase, int_add, steps / 4 * warps);
    put(phase, branch, steps / 4 * warps);
    put(phase, store_global, warps);
    chain(phase, fp32_fma, 2 * steps);
    phase.global_store_sectors = 8 * warps;
    phase.global_requests = warps;
    phase.global_lines = 2 * warps;
    launch.footprint.block_sectors = launch.footprint.block_instruction_sectors = 0;
    launch.footprint.block_store_sectors = 8 * warps;
    launch.footprint.grid_read_sectors = 0;
    launch.footprint.grid_written_sectors = 8 * warps * blocks;
    finish(launch, phase);
    return launch;
}

}  // namespace

std::optional<Row> described_launch(const Cells& cells, const GpuProfile& gpu) {
    const std::string kernel = cells.text("kernel");
    const auto block = cells.number("block_x"), grid_x = cells.number("grid_x");
    if (!block || !grid_x || *block < 1 || *block > 1024 || *grid_x < 1) return std::nullopt;
    const double blocks = *grid_x * cells.number("grid_y").value_or(1);
    Row row;
    std::optional<double> resident = cells.number("blocks_per_sm");
    const auto* const shape = std::find_if(kStreams.begin(), kStreams.end(), [&](const StreamShape& s) { return s.kernel == kernel; });
    if (shape != kStreams.end()) {
        constexpr double kElements = 134217730;
        row.launch = stream(*shape, kElements, *block);
    } else if (kernel == "roofline testfun") {
        const auto fma = cells.number("N");
        if (!fma) return std::nullopt;
        constexpr double kSteps = 4000;   // M of the published runs
        row.launch = roofline(blocks, *block, *fma, kSteps);
        if (!resident) resident = std::floor(blocks / gpu.sm_count());   // one wave by construction
    } else if (kernel == "fp32_kernel (FMA peak)") {
        row.launch = fma_loop(blocks, *block, cells.number("nr_outer").value_or(64) * cells.number("nr_inner").value_or(1024));
    } else {
        return std::nullopt;
    }
    constexpr std::uint32_t kRegisters = 32;
    row.use.resources.registers_per_thread = kRegisters;
    OccupancyInput input;
    input.block_threads = static_cast<std::uint32_t>(*block);
    input.registers_per_thread = kRegisters;
    row.use.occupancy = occupancy(gpu.cc, input);
    if (resident && *resident >= 1) row.use.occupancy.active_blocks_per_sm = static_cast<std::uint32_t>(*resident);
    return row;
}

}  // namespace flipflop::calibrate
