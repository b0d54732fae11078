// Owns: which loops of the PTX its assembler unrolls once more. Input: a function's code.
#pragma once

#include "flipflop/ir.hpp"

namespace flipflop {

/// ptxas unrolls what counts by a constant, is one block, and is not forbidden by a pragma.
[[nodiscard]] bool counts_by_constant(const KernelIr& ir, const ptx::Module& module, const Loop& loop);

/// How many iterations of the loop stand in one of ptxas's: four for a counted body of up to 48 instructions. Read off the code of ptxas
/// 13.0 for sm_86: a body of 42 was taken four (and sixteen as 4 x 4 of the source's) times, one of 53 once.
[[nodiscard]] unsigned assembler_copies(const KernelIr& ir, const ptx::Module& module, const Loop& loop);

}  // namespace flipflop
