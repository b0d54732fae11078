// Owns: one block's demands on an SM, phase by phase, and the launch's bytes at each level. Input: LaunchFacts, Machine.
// Invariant: every figure is finite and not negative.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/machine.hpp"

namespace flipflop {

/// Cycles of one block in one barrier phase.
struct PhaseWork {
    std::array<double, kLoads> ops{};     ///< warp instructions (tensor: cycles; lsu: cycles)
    std::array<double, kLoads> cycles{};  ///< ops over the rate, no imbalance
    double shared_cycles{}, l1_cycles{}, shuffle_cycles{}, texture_cycles{};   ///< what makes up lsu
    double instructions{};                ///< native warp instructions of the block
    double chain{};                       ///< cycles of the longest dependence chain of a mean warp
};

/// Bytes of the whole launch and where they are served.
struct Memory {
    double l1_bytes{}, l2_bytes{}, dram_read{}, dram_write{};
    double l1_hit{}, l2_hit{};            ///< shares of read sectors
    double held{};                        ///< share of the footprint that L2 still holds from the launch before
    double read_sectors_block{}, l2_read_block{}, l2_write_block{};   ///< sectors a block
    double compulsory_bytes{};            ///< distinct bytes read and written
    double spill_bytes{};
    double atomic_cycles{}, atomic_serial_cycles{};                  ///< chip-wide
    bool known{true};                     ///< false: no footprint; requests times sectors stand in
    std::string why;
};

struct BlockWork {
    std::vector<PhaseWork> phases;
    std::array<double, kLoads> total{};   ///< cycles, summed over phases
    double warps{1}, blocks{};
    double tensor_share{};                ///< of the block's busiest pipe
    Memory memory;
};

/// Share of a footprint that a cache still holds when it is swept again and again: 1 / (1 + (bytes / capacity)^16).
[[nodiscard]] double cyclic_hit_rate(double bytes, double capacity);

/// What the PTX text alone says of a launch's code.
struct CodeShape {
    double repeats{1};        ///< executions of a mean instruction by a warp: how often a spill, wherever it lies, is run
    double global_bytes{4};   ///< a lane and global load request, mean over requests
};
[[nodiscard]] CodeShape code_shape(const KernelFacts& kernel, const LaunchFacts& launch);

[[nodiscard]] Memory memory_traffic(const CodeShape& code, const LaunchFacts& launch, const ResourceUse& use, const Machine& gpu, bool warm);
[[nodiscard]] BlockWork block_work(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const Machine& gpu, bool warm, double clock_mhz);

}  // namespace flipflop
