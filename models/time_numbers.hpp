// Owns: the time model in plain numbers: what `estimate_time` dresses as terms. Input: BlockWork and Machine. Invariant:
// monotone: no figure falls when a rate falls or a latency rises.
#pragma once

#include <string_view>

#include "models/work.hpp"

namespace flipflop {

/// One SM with `blocks` resident blocks, from their start to the end of all.
struct Wave {
    double blocks{};
    double imbalance{1};      ///< of warps over sub-partitions
    double pipes{};           ///< cycles a block on its pipes, phases of different blocks overlapping
    double l2{};              ///< cycles a block at the L2 port
    double block{};           ///< cycles a block at the busiest resource
    double alone{};           ///< cycles of a lone block, phase after phase: start, dependence chains, its own pipes
    double unhidden{};        ///< of them, what is not `block`: other blocks may hide it
    double value{};
};

struct TimeNumbers {
    double clock_mhz{};
    double full_waves{}, rest_blocks{};
    double resident{};        ///< blocks an SM can hold
    double active_sms{};      ///< mean over the launch
    Wave full, rest;
    double sm_cycles{}, issue_cycles{};
    double sm_us{}, dram_us{}, atomic_us{}, launch_us{};
    double dram_gbs{};
    double execution_us{}, total_us{};
    double waves{}, tail_idle_share{};
};

[[nodiscard]] double norm(std::initializer_list<double> values, double p);
[[nodiscard]] Wave wave_of(const BlockWork& work, const Machine& gpu, double blocks, double active_sms);
[[nodiscard]] TimeNumbers time_numbers(const BlockWork& work, const ResourceUse& use, const Machine& gpu, double clock_mhz);

/// The numbers dressed: terms, interval, floor, traffic.
[[nodiscard]] TimeEstimate describe_time(const LaunchFacts& launch, const BlockWork& work, const TimeNumbers& n, const Machine& gpu,
                                         const OperatingPoint& point);

/// Is this load shared out over the SM's four sub-partitions, so that an uneven number of warps leaves some idle?
[[nodiscard]] constexpr bool per_scheduler(Load load) { return load != Load::lsu && load != Load::constant; }

}  // namespace flipflop
