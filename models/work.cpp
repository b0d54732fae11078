// A block's pipe cycles and dependence chains from its operation counts. Equations: docs/models/time.md section 2.
#include "models/work.hpp"

#include <algorithm>
#include <cmath>

namespace flipflop {
namespace {

double ratio_or_zero(double value, const Quantity& rate) { return value > 0 ? value / std::max(rate.value, 1e-9) : 0; }

bool is_tensor(MachineOp op) { return !tensor_key(op).empty(); }

/// Clocks the tensor pipe needs for one execution of each class, when multiply-adds are shared out by executions.
double tensor_cycles(const LaunchFacts& launch, const PhaseFacts& phase, const Machine& gpu) {
    double all = 0;
    for (const PhaseFacts& each : launch.phases)
        for (std::size_t i = 0; i < kMachineOps; ++i)
            if (each.warp_ops[i] > 0 && is_tensor(static_cast<MachineOp>(i))) all += each.warp_ops[i];
    if (all <= 0 || launch.tensor_fma <= 0 || launch.blocks <= 0) return 0;
    const double fma_an_execution = launch.tensor_fma / launch.blocks / all;
    double cycles = 0;
    for (std::size_t i = 0; i < kMachineOps; ++i)
        if (phase.warp_ops[i] > 0 && is_tensor(static_cast<MachineOp>(i)))
            cycles += phase.warp_ops[i] * fma_an_execution / std::max(gpu.tensor_rate[i].value, 1.0);
    return cycles;
}

struct Latencies { double hit_cycles{}, miss_cycles{}, miss{}, atomic{}, local{}; };

double chain_cycles(const LatencyChain& chain, const Machine& gpu, const Latencies& at, double loads_a_warp) {
    double cycles = 0;
    // Loads beside those of the chain are in flight with them, and a step waits for the slowest: it misses with the sum of
    // their miss rates (at most 1).
    const double steps = chain.ops[static_cast<std::size_t>(MachineOp::load_global)];
    const double missing = steps > 0 ? std::min(1.0, at.miss * std::max(1.0, loads_a_warp / steps)) : at.miss;
    const double global_load = at.hit_cycles + missing * (at.miss_cycles - at.hit_cycles);
    for (std::size_t i = 0; i < kMachineOps; ++i) {
        if (chain.ops[i] <= 0) continue;
        double each = gpu.latency[i];
        switch (static_cast<MachineOp>(i)) {
            case MachineOp::load_global: each = global_load; break;
            case MachineOp::bulk_copy:
            case MachineOp::tensor_copy: each = global_load + 100; break;
            case MachineOp::atomic_global: each = at.atomic; break;
            case MachineOp::texture:
            case MachineOp::surface: each = global_load + 50; break;
            case MachineOp::load_local: each = at.local; break;
            default: break;
        }
        cycles += chain.ops[i] * each;
    }
    return cycles;
}

void add_operations(PhaseWork& work, const PhaseFacts& phase, const Machine& gpu) {
    auto at = [&](Load load) -> double& { return work.ops[static_cast<std::size_t>(load)]; };
    std::array<double, kPipes> sums{};
    for (std::size_t i = 0; i < kMachineOps; ++i) {
        const double n = phase.warp_ops[i];
        if (n <= 0) continue;
        const PipeCounts& counts = gpu.expansion.by_op[i];
        for (std::size_t pipe = 0; pipe < kPipes; ++pipe) sums[pipe] += n * static_cast<double>(counts[pipe]);
    }
    for (double sum : sums) work.instructions += sum;
    auto of = [&](Pipe pipe) { return sums[static_cast<std::size_t>(pipe)]; };
    at(Load::issue) = work.instructions;
    at(Load::imad) = of(Pipe::imad);
    at(Load::fma) = of(Pipe::fma) + of(Pipe::imad);   // integer multiplies run on the FMA pipe's heavy half
    at(Load::alu) = of(Pipe::alu);
    at(Load::half) = of(Pipe::half);
    at(Load::xu) = of(Pipe::xu);
    at(Load::fp64) = of(Pipe::fp64);
    // Boards with few FP64 lanes convert from and to 64 bits in that unit, not in the XU (Programming Guide: 2 a clock on 8.6 and 8.9).
    if (gpu.convert64.value < gpu.rate[static_cast<std::size_t>(Load::xu)].value) {
        const double conversions = phase.warp_ops[static_cast<std::size_t>(MachineOp::convert_fp64_any)] + phase.warp_ops[static_cast<std::size_t>(MachineOp::convert_64_any)];
        at(Load::xu) = std::max(0.0, at(Load::xu) - conversions);
        at(Load::fp64) += conversions * gpu.rate[static_cast<std::size_t>(Load::fp64)].value / gpu.convert64.value;
    }
    at(Load::uniform) = of(Pipe::uniform);
    at(Load::constant) = phase.warp_ops[static_cast<std::size_t>(MachineOp::load_const_indexed)];
}

/// What waiting for asynchronous copies costs a block alone, phase by phase. Tiles copied before the loop, over those that one
/// iteration copies, are how many are in flight; a loop that copies beside its arithmetic (the next tile while this one is used)
/// is that far ahead, one that refills a tile after its last use one less. What the iterations in between do not cover is waited for.
void add_copy_waits(BlockWork& block, const LaunchFacts& launch, double latency) {
    constexpr auto kCopy = static_cast<std::size_t>(MachineOp::async_copy);
    double prologue = 0, an_iteration = 0, loop_cycles = 0, arithmetic = 0, beside_copies = 0;
    for (std::size_t i = 0; i < launch.phases.size(); ++i) {
        const PhaseFacts& facts = launch.phases[i];
        const PhaseWork& work = block.phases[i];
        auto cycles = [&](Load load) { return work.cycles[static_cast<std::size_t>(load)]; };
        const double copies = facts.warp_ops[kCopy], times = std::max(1.0, facts.executions);
        if (times <= 1) {
            prologue += copies;
            continue;
        }
        an_iteration += copies / times;
        loop_cycles += std::hypot(work.chain, *std::max_element(work.cycles.begin(), work.cycles.end())) / times;
        const double done = std::max({cycles(Load::fma), cycles(Load::tensor), cycles(Load::half), cycles(Load::fp64)});
        arithmetic += done;
        if (copies > 0) beside_copies += done;
    }
    const double in_flight = an_iteration > 0 ? std::round(prologue / an_iteration) : 0;
    const double ahead = std::max(0.0, 2 * beside_copies >= arithmetic ? in_flight : in_flight - 1);
    const double each = std::max(0.0, latency - ahead * loop_cycles);
    for (std::size_t i = 0; i < launch.phases.size(); ++i) {
        const PhaseFacts& facts = launch.phases[i];
        if (facts.warp_ops[kCopy] <= 0) continue;
        block.phases[i].chain += facts.executions <= 1 ? latency : facts.executions * each;
    }
}

/// The memory input/output queue: shared passes and L1 passes follow each other.
void add_queue(PhaseWork& work, const PhaseFacts& phase, const Machine& gpu, double global_bytes) {
    auto count = [&](MachineOp op) { return phase.warp_ops[static_cast<std::size_t>(op)]; };
    using enum MachineOp;
    work.shared_cycles = std::max(ratio_or_zero(phase.shared_requests, gpu.shared_instructions),
                                  ratio_or_zero(phase.shared_wavefronts, gpu.shared_wavefronts));
    const double load_bytes = (phase.global_load_sectors + phase.local_sectors) * 32;
    const double local_requests = count(load_local) + count(store_local);
    // A request returns 32 lanes of its width (at least four bytes) whatever its addresses; each further line is a tag pass of its own.
    const double requests = phase.global_requests + local_requests;
    const double lines_beyond = std::max(0.0, phase.global_lines - phase.global_requests);
    work.l1_cycles = std::max({ratio_or_zero(requests, gpu.global_requests), requests * 32 * global_bytes / gpu.l1_bytes_per_clk.value,
                               load_bytes / gpu.l1_bytes_per_clk.value, ratio_or_zero(requests + lines_beyond, gpu.l1_lines)});
    work.shuffle_cycles = ratio_or_zero(count(shuffle), gpu.shuffles);
    work.texture_cycles = ratio_or_zero(count(texture) + count(surface), gpu.textures);
    work.ops[static_cast<std::size_t>(Load::lsu)] = work.shared_cycles + work.l1_cycles + work.shuffle_cycles + work.texture_cycles;
}

/// ptxas counts a spill once, where it stands; it runs as often as the code around it.
void add_spills(PhaseWork& work, const ResourceUse& use, double warps, double repeats) {
    const double words = repeats * static_cast<double>(use.resources.spill_store_bytes.value_or(0) + use.resources.spill_load_bytes.value_or(0)) / 4;
    if (words <= 0) return;
    work.ops[static_cast<std::size_t>(Load::issue)] += words * warps;
    work.ops[static_cast<std::size_t>(Load::lsu)] += words * warps;
    work.l1_cycles += words * warps;
    work.instructions += words * warps;
}

}  // namespace

CodeShape code_shape(const KernelFacts& kernel, const LaunchFacts& launch) {
    CodeShape shape;
    const double warps = launch.blocks * launch.warps_per_block;
    if (kernel.instructions > 0 && warps > 0) shape.repeats = std::max(1.0, launch.warp_instructions / warps / kernel.instructions);
    double bytes = 0, requests = 0;
    for (std::size_t i = 0; i < std::min(kernel.accesses.size(), launch.accesses.size()); ++i) {
        const AccessDescription& access = kernel.accesses[i];
        const double n = launch.accesses[i].requests.value_or(launch.accesses[i].requests_assumed.value_or(0));
        if (access.space != MemorySpace::global || !access.reads || access.bytes_per_lane == 0 || access.op == "cp.async") continue;
        bytes += n * std::max<std::uint32_t>(4, access.bytes_per_lane);
        requests += n;
    }
    if (requests > 0) shape.global_bytes = bytes / requests;
    return shape;
}

BlockWork block_work(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const Machine& gpu, bool warm, double clock_mhz) {
    BlockWork result;
    result.warps = std::max(1.0, launch.warps_per_block);
    result.blocks = std::max(0.0, launch.blocks);
    const CodeShape code = code_shape(kernel, launch);
    result.memory = memory_traffic(code, launch, use, gpu, warm);
    const Memory& memory = result.memory;

    // Beyond L2 a latency is a time, not a number of clocks: it shrinks in cycles as the clock falls.
    const double beyond = std::max(0.0, gpu.lat_dram.value - gpu.lat_l2.value) * clock_mhz / gpu.boost_mhz.value;
    const double below_l1 = gpu.lat_l2.value + (1 - memory.l2_hit) * beyond;
    Latencies at;
    at.hit_cycles = gpu.lat_l1.value;
    at.miss_cycles = std::max(below_l1, gpu.lat_l1.value);
    at.miss = 1 - memory.l1_hit;
    at.atomic = gpu.lat_l2.value + 50;
    at.local = gpu.lat_l1.value;

    result.phases.reserve(launch.phases.size());
    for (const PhaseFacts& phase : launch.phases) {
        PhaseWork work;
        add_operations(work, phase, gpu);
        add_queue(work, phase, gpu, code.global_bytes);
        work.ops[static_cast<std::size_t>(Load::tensor)] = tensor_cycles(launch, phase, gpu);
        if (result.phases.empty()) add_spills(work, use, result.warps, code.repeats);
        for (std::size_t k = 0; k < kLoads; ++k) {
            work.cycles[k] = ratio_or_zero(work.ops[k], gpu.rate[k]);
            result.total[k] += work.cycles[k];
        }
        const double loads = phase.warp_ops[static_cast<std::size_t>(MachineOp::load_global)] / result.warps;
        work.chain = std::max({chain_cycles(phase.chain, gpu, at, loads), chain_cycles(phase.chain_miss, gpu, at, loads),
                               work.instructions / result.warps});
        result.phases.push_back(work);
    }
    add_copy_waits(result, launch, at.hit_cycles + std::min(1.0, at.miss) * (at.miss_cycles - at.hit_cycles));
    if (result.phases.empty()) result.phases.emplace_back();
    return result;
}

}  // namespace flipflop
