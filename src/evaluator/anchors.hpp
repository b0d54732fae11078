// Owns: which addresses that nobody gave stand in a value. The evaluator puts arrays where it likes; a decision must not
// depend on how far apart two of them came to lie. Input: a launch's pointers, operations. Invariant: 0 means that no such
// address is in the value, or that it cancelled out. Otherwise it is a sum of one odd number for each address, as often as
// the address itself is added (mod 2^64), or, after what is not linear, a number that follows from those and the operation.
#pragma once

#include "evaluator/program.hpp"

namespace flipflop::eval {

/// Marks an unknown's reason (Value::reason): the distance of two pointers, at that instruction.
inline constexpr u32 kDistanceReason = 0x40000000u;
[[nodiscard]] constexpr bool by_distance(u32 reason) { return (reason >> 30) == 1; }   // the highest bit: a special register

/// The anchor of an address that was assumed.
[[nodiscard]] u64 anchor_of_address(u64 address);

/// The anchor of an operation's result, for these lanes.
[[nodiscard]] u64 anchor_of_result(const FunctionProgram& fn, const MicroOp& op, const Value* slots, u32 active);

/// Would the comparison of these two depend on where arrays lie? Not so for a pointer with itself moved on, nor with null.
[[nodiscard]] bool compares_distance(const MicroOp& op, const Value& a, const Value& b);

/// Gives a register its anchor after `lanes` were written; what other living lanes hold may have another.
void set_anchor(Value& v, u64 anchor, u32 active, u32 alive);

}  // namespace flipflop::eval
