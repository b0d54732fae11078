// What one evaluation of the models costs, given a launch's facts: numbers as a search asks for them, and with the tree of terms.
#include <benchmark/benchmark.h>

#include "flipflop/models.hpp"

using namespace flipflop;

namespace {

void put(PhaseFacts& phase, MachineOp op, double n) { phase.warp_ops[static_cast<std::size_t>(op)] += n; }

/// A tiled matrix product's block: three barrier phases, shared memory, global loads, FMAs.
LaunchFacts tiled(std::uint32_t grid) {
    LaunchFacts launch;
    launch.block = {16, 16, 1};
    launch.grid = {grid, grid, 1};
    launch.blocks = static_cast<double>(launch.grid.count());
    launch.warps_per_block = 8;
    for (int i = 0; i < 3; ++i) {
        PhaseFacts phase;
        using enum MachineOp;
        put(phase, fp32_fma, 8 * 1024);
        put(phase, load_shared, 8 * 640);
        put(phase, load_global, 8 * 32);
        put(phase, store_shared, 8 * 32);
        put(phase, int_add, 8 * 128);
        put(phase, branch, 8 * 16);
        phase.shared_requests = 8 * 672;
        phase.shared_wavefronts = 8 * 700;
        phase.global_requests = phase.global_lines = 8 * 32;
        phase.global_load_sectors = 8 * 128;
        phase.chain.ops[static_cast<std::size_t>(fp32_fma)] = phase.chain_miss.ops[static_cast<std::size_t>(fp32_fma)] = 128;
        phase.chain.ops[static_cast<std::size_t>(load_global)] = phase.chain_miss.ops[static_cast<std::size_t>(load_global)] = 4;
        launch.phases.push_back(phase);
    }
    for (std::size_t i = 0; i < kMachineOps; ++i)
        for (const PhaseFacts& phase : launch.phases) launch.thread_machine_ops[i] += phase.warp_ops[i] * launch.blocks * 32;
    launch.footprint.block_sectors = launch.footprint.block_instruction_sectors = 3.0 * 8 * 128;
    launch.footprint.grid_read_sectors = 2.0 * 16 * grid * 16 * grid / 8;
    launch.footprint.grid_written_sectors = 16.0 * grid * 16 * grid / 8;
    return launch;
}

ResourceUse use_on(const GpuProfile& gpu) {
    ResourceUse use;
    use.resources.registers_per_thread = 40;
    OccupancyInput input;
    input.block_threads = 256;
    input.registers_per_thread = 40;
    use.occupancy = occupancy(gpu.cc, input);
    return use;
}

template <bool power, bool terms>
void evaluate(benchmark::State& state) {
    const GpuProfile gpu = *load_gpu("a100");
    const GpuModel model(gpu);
    const KernelFacts kernel;
    const LaunchFacts launch = tiled(64);
    const ResourceUse use = use_on(gpu);
    OperatingPoint point;
    point.terms = terms;
    if (state.range(0) > 0) point.power_limit_w = static_cast<double>(state.range(0));
    for (auto _ : state) {
        if constexpr (power) benchmark::DoNotOptimize(estimate_power(kernel, launch, use, model, point));
        else benchmark::DoNotOptimize(estimate_time(kernel, launch, use, model, point));
    }
}

}  // namespace

BENCHMARK(evaluate<false, false>)->Name("time, numbers")->Arg(0);
BENCHMARK(evaluate<true, false>)->Name("time, power and energy, numbers")->Arg(0);
BENCHMARK(evaluate<true, false>)->Name("the same, a limit lowers the clock")->Arg(80);
BENCHMARK(evaluate<true, true>)->Name("time, power and energy, terms")->Arg(0);
