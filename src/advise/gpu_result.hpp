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

/// The usage error of an expression without an answer, or of an objective that needs a power that is not known.
[[nodiscard]] Result<KernelResult> result_on_gpu(const Stage& stage, const ResultOptions& options, const Requests& requests, const Evaluator& evaluator);

[[nodiscard]] Scored scored(const Candidate& candidate, const std::optional<Prediction>& prediction);

}  // namespace flipflop::advise
