// Owns: instructions.def as a sorted array, and the rules that turn an opcode and its modifiers into a contract class.
#pragma once

#include <array>

#include "flipflop/ptx.hpp"

namespace flipflop::ptx::detail {

/// How an opcode's InstructionClass follows from its types and spaces.
enum class ClassRule : std::uint8_t {
    arith,    ///< by the first type
    divide,   ///< as arith, but 32-bit float division is SFU work
    sfu,      ///< as arith for f64, else sfu
    integer,  ///< int32
    logic,    ///< predicate when the type is .pred
    load, store,  ///< by the space
    conversion, predicate, move, control, tensor, texture, atomic, async_copy, barrier, fence, shuffle, vote, other,
};

inline constexpr std::size_t kOpcodeCount = static_cast<std::size_t>(Opcode::count_);

struct OpcodeRow {
    OpcodeInfo info;
    ClassRule rule{ClassRule::other};
};

[[nodiscard]] const OpcodeRow& row_of(Opcode opcode);

/// The row with the longest name that `text` starts with, part by part; Opcode::unknown when there is none.
[[nodiscard]] Opcode match_opcode(std::string_view text);

/// The known opcode closest to an unknown one (its first parts), or nothing when none is close.
[[nodiscard]] std::string_view closest_opcode(std::string_view text);

[[nodiscard]] InstructionClass classify(const Form& form);

}  // namespace flipflop::ptx::detail
