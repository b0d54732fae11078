// Owns: one kernel on one GPU in one case, from blocks to a KernelResult: tries, estimates, ranks, judges, recommends.
#pragma once

#include "advise/ranking.hpp"
#include "advise/trials.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop::advise {

struct ResultOptions {
    Objective objective{Objective::time};
    std::vector<OperatingPoint> points;      ///< at least one; the first is where findings and baselines are looked at
    bool full_detail{};
    bool own_launch{};                       ///< AnalyzeOptions::own_launch
    unsigned threads{1};
    bool brief{};                            ///< one of many kernels: what a line of the overview needs, no sensitivity
};

/// A trial at an operating point, with what ranking and judging say of it.
struct Candidate {
    const Trial* trial{};
    std::size_t point{};
    std::optional<Prediction> predicted, taken, not_taken;
    SafetyVerdict safety;
    bool judged{};
    bool suspect{};                          ///< something speaks against it, though no verdict does
    bool pareto{}, kept{};
    std::optional<std::uint32_t> rank;
    std::optional<double> p_within;
};

/// Ranks and keeps, asking for verdicts until nothing unsafe is kept. `reference` is what is safe by definition.
void choose(const Stage& stage, const Trial& reference, const ResultOptions& options, bool named, std::vector<Candidate>& candidates);

/// What one launch of this search may take (Stage::budget); empty: the book's budget. The reference launch is tried first:
/// where all launches at its cost would take more than a search may, each gets its share. Counted work: the same everywhere.
[[nodiscard]] std::optional<std::uint64_t> share_of_search(const Stage& stage);

/// The usage error of an expression without an answer, or of an objective that needs a power that is not known.
[[nodiscard]] Result<KernelResult> result_on_gpu(const Stage& stage, const ResultOptions& options, const Requests& requests, const Evaluator& evaluator);

[[nodiscard]] Scored scored(const Candidate& candidate, const std::optional<Prediction>& prediction);

}  // namespace flipflop::advise
