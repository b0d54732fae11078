// Owns: what a kernel's parameters are for. Input: the functions of a kernel with their IR. Output: ParameterFacts.
#pragma once

#include "flipflop/passes.hpp"

namespace flipflop {

/// `code.functions` must be filled; `code.facts.parameters` is not read.
[[nodiscard]] std::vector<ParameterFacts> describe_parameters(const ptx::Module& module, const KernelCode& code);

}  // namespace flipflop
