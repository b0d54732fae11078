// Owns: how a result moves with the axes of the domain, given how its sources do; and where in the domain that holds.
// Input: an operation and the lanes it is carried out for. Invariant: called before the result overwrites a source.
#pragma once

#include "evaluator/operate.hpp"

namespace flipflop::eval {

struct Movement { Strides stride{}; Axes axes{}; };

/// `lanes` are those that matter: active and with known sources. Shrinks the domain where the result would not be linear.
[[nodiscard]] Movement movement(const MicroOp& op, const Value* a, const Value* b, const Value* c, u32 lanes, Domain& domain);

/// Strides modulo the width, and which of them are left.
[[nodiscard]] Movement wrapped(Movement m, unsigned width);

}  // namespace flipflop::eval
