// Owns: which of the blocks that matter are asked whether they compute the same as the reference launch, and the answer.
#pragma once

#include "advise/trials.hpp"

namespace flipflop::advise {

/// Whether the evaluator follows what a launch writes. Until it does, only the reference itself is known to be safe, and
/// nothing is ranked by a verdict that nobody has made.
inline constexpr bool kSafetyIsFollowed = true;

/// Most blocks that are asked for one kernel on one GPU (the verdict costs more than an estimate).
inline constexpr std::size_t kMostVerdicts = 48;

/// What the facts of two launches show at once, for every candidate and before any verdict: bytes that one writes and the
/// other does not, or more stores for the same bytes. Empty: nothing speaks against the candidate, which proves nothing.
struct Contradiction {
    std::string reason;
    bool proof{};            ///< other bytes are written: the launches differ whatever the data
};
[[nodiscard]] Contradiction contradiction(const LaunchFacts& reference, const LaunchFacts& candidate);

/// Takes what it cost from `work`.
[[nodiscard]] SafetyVerdict verdict_on(const Stage& stage, const Trial& reference, const Trial& candidate, VerdictWork& work);
/// What all verdicts of one search may take; named blocks have no limit together.
[[nodiscard]] VerdictWork verdict_work(const Stage& stage);

}  // namespace flipflop::advise
