// Owns: the step from two launches' records to a verdict. Invariant: `true` only when nothing was left open on either side;
// `false` only when the rule is certainly broken.
#pragma once

#include "evaluator/safety_launch.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop::eval {

struct SafetySide { const Program& program; const SafetyTraits& traits; const Launch& launch; };

struct SafetySubject {
    SafetySide reference, candidate;         ///< of one program, or of two variants of one computation
    bool assumed{};                          ///< the reference is nobody's launch: a mismatch says nothing
    const SafetyLimits& limits;
    [[nodiscard]] bool same_code() const { return &reference.program == &candidate.program; }
};

[[nodiscard]] SafetyVerdict compare_launches(const SafetySubject& subject, const LaunchRecord& reference, const LaunchRecord& candidate);

}  // namespace flipflop::eval
