// Owns: what a kernel's parameters are for. Input: the functions of a kernel with their IR. Output: ParameterFacts.
#pragma once

#include "flipflop/passes.hpp"

namespace flipflop {

/// Sets the parameters of `code.facts`; the rest of it must be filled. Narrows `dimensions` where a grid barrier from
/// cooperative groups reads ids of axes that nothing else does (it asks for thread 0 of block 0 on all three).
void describe_parameters(const ptx::Module& module, KernelCode& code);

}  // namespace flipflop
