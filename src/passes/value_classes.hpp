// Owns: which PTX registers become machine registers, and how wide. Input: a function's IR. PTX has a register for
// everything; ptxas gives none to copies, to constants and parameters (they are operands from the constant bank), to
// what can be folded into an address or a multiply-add, and to what nobody reads.
#pragma once

#include <cstdint>
#include <vector>

#include "flipflop/passes.hpp"

namespace flipflop {

struct ValueClasses {
    std::vector<std::uint32_t> representative;  ///< by RegId: the register whose value this one holds; itself mostly
    std::vector<std::uint8_t> width;            ///< by RegId: 32-bit machine registers of a representative, 0 for none
    std::vector<bool> needed;                   ///< by instruction: not dead, and not folded into its users
    std::vector<bool> address_base;             ///< by RegId: constant-bank value that a memory operand needs in registers
    std::vector<bool> from_bank;                ///< by RegId: a parameter (or part of one) in the constant bank
};

/// `sm` is 80 for sm_80.
[[nodiscard]] ValueClasses classify_values(const FunctionCode& function, std::uint32_t sm);

}  // namespace flipflop
