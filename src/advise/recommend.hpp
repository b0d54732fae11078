// Owns: the advice in words and figures: which configuration, how much better than the baselines, why, how sure, and
// what would change the answer. Input: candidates that have been ranked. Computes no new physics.
#pragma once

#include "advise/gpu_result.hpp"

namespace flipflop::advise {

/// A baseline at the recommendation's operating point; empty when it cannot launch.
struct Baseline {
    const Trial* trial{};
    std::optional<Prediction> predicted;
};

struct Advice {
    std::optional<Recommendation> recommendation;
    std::string none_because;
};

[[nodiscard]] Gain gain_over(const Dim3& other, const Prediction& recommended, const Prediction& baseline, bool same, const PairedError& error);

/// "high", "medium" or "low" and why. `compared`: how many candidates there were.
struct Confidence { std::string level, reason; };
[[nodiscard]] Confidence confidence_in(const Stage& stage, const Candidate& recommended, std::size_t compared, const std::vector<Assumption>& assumptions);

/// What remains to be changed where the block is not: in words, for the end of a sentence.
[[nodiscard]] std::string levers_of(const Stage& stage);

/// `best`: the first of the ranking, or null; `compared`: how many there were.
[[nodiscard]] Advice recommend(const Stage& stage, const ResultOptions& options, const Candidate* best, std::size_t compared, const Baseline& heuristic,
                               const Baseline& current, const std::vector<Assumption>& assumptions);

/// The answer at a low and a high end of every assumption that could change it, over the blocks in `shortlist`.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const Stage& stage, const ResultOptions& options, const Candidate& recommended,
                                                     const std::vector<Dim3>& shortlist, const Requests& requests, const Evaluator& evaluator);

}  // namespace flipflop::advise
