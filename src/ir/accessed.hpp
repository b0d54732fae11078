// Owns: which registers one instruction reads and writes. Input: a parsed instruction. Invariant: no recursion.
#pragma once

#include <cstdint>
#include <vector>

#include "flipflop/ptx.hpp"

namespace flipflop {

/// Number of leading operands that `instruction` writes, `p|q` counted as two.
[[nodiscard]] std::uint32_t written_operands(const ptx::Module& module, const ptx::Instruction& instruction);

/// Appends the registers inside an operand: itself, the base of an address, the parts of a vector or list.
void append_registers(const ptx::Module& module, const ptx::Operand& operand, std::vector<ptx::RegId>& out);

/// The function that a call names directly, or none.
[[nodiscard]] const ptx::Function* called_function(const ptx::Module& module, const ptx::Instruction& instruction);

/// Is this operand a place in memory ([...] of any kind)?
[[nodiscard]] bool is_address(const ptx::Operand& operand);

}  // namespace flipflop
