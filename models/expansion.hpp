// Owns: what one PTX operation becomes on a pipe: the table models/expansion*.def, by architecture. Input: a compute
// capability. Invariant: every MachineOp has a row; counts are native warp instructions.
#pragma once

#include <array>
#include <cstdint>

#include "flipflop/facts.hpp"

namespace flipflop {

/// Pipes of an SM, as Nsight Compute names them. `imad` is the half of the FMA pipe that multiplies integers.
enum class Pipe : std::uint8_t { fma, imad, alu, half, xu, fp64, lsu, control, uniform, count_ };
inline constexpr std::size_t kPipes = static_cast<std::size_t>(Pipe::count_);
using PipeCounts = std::array<float, kPipes>;

struct Expansion {
    std::array<PipeCounts, kMachineOps> by_op{};
    [[nodiscard]] const PipeCounts& of(MachineOp op) const { return by_op[static_cast<std::size_t>(op)]; }
};

/// The table for a compute capability (80 for 8.0): the newest row not newer than it, or the oldest there is.
[[nodiscard]] Expansion expansion_for(int capability);

}  // namespace flipflop
