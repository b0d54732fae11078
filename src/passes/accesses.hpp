// Owns: which instructions touch memory, and what each touches. Input: one instruction. Output: no, one or two sides
// (an asynchronous copy has two: CONTRACT.md section 5).
#pragma once

#include <array>
#include <cstdint>

#include "flipflop/facts.hpp"
#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop {

struct AccessSides {
    std::array<AccessDescription, 2> side;   ///< `op`, `space`, `bytes_per_lane`, `reads`, `writes`, `atomic` are set
    unsigned count{};
};
[[nodiscard]] AccessSides access_sides(const ptx::Module& module, const ptx::Instruction& instruction);

/// Sets the bytes of tensor copies from what their barrier is told to expect, where that is a number; in one block of code.
void settle_tensor_bytes(const FunctionCode& code, std::vector<AccessDescription>& accesses);

/// Multiply-adds of one warp-level execution of mma, wmma or wgmma, from the shape in its text; 0 for other instructions
/// and where the text does not tell (tcgen05 keeps the shape in a descriptor).
[[nodiscard]] std::uint32_t tensor_fma_of(const ptx::Form& form);

}  // namespace flipflop
