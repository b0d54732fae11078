#include "models/time_numbers.hpp"

#include <algorithm>
#include <cmath>

namespace flipflop {
namespace {

double imbalance_of(double warps, double schedulers) {
    return warps > 0 ? std::ceil(warps / schedulers) * schedulers / warps : 1;
}

double norm_of(const std::array<double, kLoads>& cycles, double imbalance, double p) {
    std::array<double, kLoads> scaled{};
    double largest = 0;
    for (std::size_t k = 0; k < kLoads; ++k) {
        scaled[k] = cycles[k] * (per_scheduler(static_cast<Load>(k)) ? imbalance : 1);
        largest = std::max(largest, scaled[k]);
    }
    if (largest <= 0) return 0;
    double sum = 0;
    for (double value : scaled)
        if (value > 0) sum += p == 3 ? value / largest * (value / largest) * (value / largest) : std::pow(value / largest, p);
    return largest * (p == 3 ? std::cbrt(sum) : std::pow(sum, 1 / p));
}

double largest_of(const std::array<double, kLoads>& cycles, double imbalance) {
    double largest = 0;
    for (std::size_t k = 0; k < kLoads; ++k)
        largest = std::max(largest, cycles[k] * (per_scheduler(static_cast<Load>(k)) ? imbalance : 1));
    return largest;
}

}  // namespace

double norm(std::initializer_list<double> values, double p) {
    const double largest = std::max(values);
    if (largest <= 0) return 0;
    double sum = 0;
    for (double value : values) sum += std::pow(std::max(value, 0.0) / largest, p);
    return largest * std::pow(sum, 1 / p);
}

Wave wave_of(const BlockWork& work, const Machine& gpu, double blocks, double active_sms) {
    Wave wave;
    wave.blocks = blocks;
    if (blocks <= 0) return wave;
    const double q = gpu.q_latency.value, p = gpu.q_pipes.value;
    wave.imbalance = imbalance_of(blocks * work.warps, gpu.schedulers.value);
    wave.pipes = norm_of(work.total, wave.imbalance, p);
    const double bytes = (work.memory.l2_read_block + work.memory.l2_write_block) * 32;
    wave.l2 = std::max(bytes / gpu.l2_bytes_per_clk_sm.value, bytes * active_sms / gpu.l2_bytes_per_clk.value);
    wave.block = std::max(wave.pipes, wave.l2);

    const double lone = imbalance_of(work.warps, gpu.schedulers.value);
    wave.alone = gpu.block_cycles.value + gpu.warp_cycles.value * (work.warps - 1);
    for (const PhaseWork& phase : work.phases) wave.alone += norm({phase.chain, largest_of(phase.cycles, lone)}, q);
    // A closed queue of `blocks` customers: one needs `alone`, many need `block` each, and the others hide what is left.
    wave.unhidden = std::max(0.0, wave.alone - wave.block);
    wave.value = wave.block + norm({(blocks - 1) * wave.block, wave.unhidden}, q);
    return wave;
}

TimeNumbers time_numbers(const BlockWork& work, const ResourceUse& use, const Machine& gpu, double clock_mhz) {
    TimeNumbers out;
    const double sms = gpu.sms.value, blocks = work.blocks;
    out.clock_mhz = clock_mhz;
    out.resident = std::max<double>(1, use.occupancy.active_blocks_per_sm);
    const double capacity = sms * out.resident;
    out.full_waves = std::floor(blocks / capacity);
    const double left = std::max(0.0, blocks - out.full_waves * capacity);
    out.rest_blocks = std::ceil(left / sms);
    const double spread = std::min(sms, std::max(1.0, left));   // SMs that the last wave uses
    out.full = wave_of(work, gpu, out.full_waves > 0 ? out.resident : 0, sms);
    out.rest = wave_of(work, gpu, out.rest_blocks, spread);
    out.sm_cycles = out.full_waves * out.full.value + out.rest.value;
    out.issue_cycles = gpu.block_issue.value * blocks;
    out.sm_us = std::max(out.sm_cycles, out.issue_cycles) / clock_mhz;

    const Memory& memory = work.memory;
    const double bytes = memory.dram_read + memory.dram_write + memory.spill_bytes;
    // Turning the bus between reads and writes costs most when they are half and half.
    const double writes = bytes > 0 ? memory.dram_write / bytes : 0;
    out.dram_gbs = gpu.dram_pure.value - (gpu.dram_pure.value - gpu.dram_mixed.value) * 4 * writes * (1 - writes);
    out.dram_us = bytes / (out.dram_gbs * 1e3);
    out.atomic_us = std::max(memory.atomic_cycles, memory.atomic_serial_cycles) / clock_mhz;
    out.execution_us = norm({out.sm_us, out.dram_us, out.atomic_us}, gpu.q_memory.value);
    out.launch_us = gpu.launch_us.value;
    out.total_us = out.launch_us + out.execution_us;

    out.waves = capacity > 0 ? blocks / capacity : 0;
    // Block slots without a block in the last, partly filled wave.
    const double slots = std::ceil(out.waves) * capacity;
    out.tail_idle_share = slots > 0 ? 1 - blocks / slots : 0;
    const double cycles = out.full_waves * out.full.value + out.rest.value;
    out.active_sms = cycles > 0 ? (out.full_waves * out.full.value * sms + out.rest.value * std::min(spread, blocks)) / cycles : 0;
    return out;
}

}  // namespace flipflop
