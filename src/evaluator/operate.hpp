// Owns: what each micro-operation does to the lanes of a warp, and for which part of the Domain that is true.
// Input: slots, the active lanes. Invariant: after an operation every known lane of its result is exact, at every point
// of the (possibly smaller) domain.
#pragma once

#include "evaluator/program.hpp"

namespace flipflop::eval {

/// The lanes an operation is carried out for.
struct Lanes {
    u32 active{};        ///< executing
    u32 alive{};         ///< whose registers still matter: the rest may be overwritten
};

/// Carries out one operation of the slice that is neither memory nor control.
void operate(const FunctionProgram& fn, const MicroOp& op, Value* slots, Lanes lanes, Domain& domain, u32 reason);

/// Writes `lanes.active` of a register; other living lanes keep theirs (strides that disagree tie their axes).
void write_lanes(Value& d, const u64* values, u32 known, bool uniform, const Strides& stride, Axes axes, Lanes lanes,
                 Domain& domain, u32 reason);
void write_unknown(Value& d, Lanes lanes, u32 reason);

/// Shrinks the domain so that the value, read as an integer of that width, does not wrap.
void keep_in_range(const Value& v, u32 lanes, unsigned width, bool is_signed, Domain& domain);

[[nodiscard]] i128 typed(u64 value, unsigned width, bool is_signed);

// exchange.cpp
void exchange(const FunctionProgram& fn, const MicroOp& op, Value* slots, Lanes lanes, Domain& domain, u32 reason);
// scalar.cpp: one lane of an operation that has no vector form worth having
[[nodiscard]] u64 scalar(const MicroOp& op, u64 a, u64 b, u64 c);
[[nodiscard]] u64 convert(const MicroOp& op, u64 a);         // convert.cpp
[[nodiscard]] u64 floating(const MicroOp& op, u64 a, u64 b, u64 c);   // floats.cpp
[[nodiscard]] u64 bit_field_insert(u64 a, u64 b, unsigned pos, unsigned len, unsigned width);
/// slct on a float: is it at least zero, -0 included? A NaN is not.
[[nodiscard]] bool not_negative(u64 bits, bool ftz);
[[nodiscard]] bool compare_lane(const MicroOp& op, u64 a, u64 b);
/// Sum with carry: the result and the carry out.
[[nodiscard]] std::pair<u64, bool> with_carry(const MicroOp& op, u64 a, u64 b, u64 c, bool carry);

}  // namespace flipflop::eval
