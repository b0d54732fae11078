// Owns: the register need of a function by the stretches of text over which its values live: no graph, no scheduling.
// Input: a function's IR (blocks and loops). Output: 32-bit registers alive at once. Invariant: linear in code and loops.
#pragma once

#include <cstdint>

#include "flipflop/passes.hpp"

namespace flipflop {

/// A value lives from its first definition to its last use; one that a loop carries or reads from outside, to the loop's
/// end. Predicates and what sits in the constant bank (parameters, their copies) need none.
[[nodiscard]] std::uint32_t live_registers(const KernelIr& ir);

}  // namespace flipflop
