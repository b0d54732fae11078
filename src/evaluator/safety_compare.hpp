// Owns: the step from two launches' records to a verdict. Invariant: `true` only when nothing was left open on either side;
// `false` only when the rule is certainly broken.
#pragma once

#include "evaluator/safety_launch.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop::eval {

struct SafetySubject {
    const Program& program;
    const Launch& reference;
    bool assumed{};                          ///< the reference is nobody's launch: a mismatch says nothing
    u64 limit{};                             ///< store executions that may be listed
    /// The candidate's, where it is other code than the reference's (a variant): operations have no common numbers then.
    const Program* other{};
};

[[nodiscard]] SafetyVerdict compare_launches(const SafetySubject& subject, const LaunchRecord& reference, const LaunchRecord& candidate);

}  // namespace flipflop::eval
