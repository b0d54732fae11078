// Owns: what a kernel's code is, whatever it is called. Input: a kernel's call tree. Output: 32 hexadecimal digits that do
// not change with the names of kernel, parameters, registers, labels and symbols, nor with lines and comments, and do with
// every instruction, constant, parameter type and order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flipflop/ptx.hpp"

namespace flipflop {

/// `tree`: indices into module.functions, the entry first.
[[nodiscard]] std::string code_fingerprint(const ptx::Module& module, const std::vector<std::uint32_t>& tree);

}  // namespace flipflop
