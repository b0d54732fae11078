// Owns: what several cases on one GPU say together: one launch for all (least worst regret, least weighted cost), what a
// second one would gain, and a dispatch table with its crossing points. Input: the cases' results and their stages.
// Invariant: no launch that is unsafe in a case is chosen for it; one that cannot be judged there comes behind those that are safe.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "advise/gpu_result.hpp"

namespace flipflop::advise {

/// The costs that are compared: rows are launches (a block at an operating point), columns cases. Pure numbers.
struct CostTable {
    struct Launch { Dim3 block; std::optional<double> clock_mhz, power_limit_w; };
    std::vector<Launch> launches;
    std::vector<std::vector<std::optional<double>>> cost;   ///< [launch][case]; empty: cannot launch there, or is unsafe
    std::vector<double> best;                ///< by case: the cost of its own recommendation
    std::vector<double> weight;              ///< by case

    [[nodiscard]] bool everywhere(std::size_t launch) const;
    [[nodiscard]] double weighted_cost(std::size_t launch) const;
    [[nodiscard]] double worst_regret(std::size_t launch) const;
    /// The weighted cost when each case takes the cheapest of `set`; empty when one case can take none.
    [[nodiscard]] std::optional<double> cost_of_set(const std::vector<std::size_t>& set) const;
    /// Which of `set` a case takes.
    [[nodiscard]] std::optional<std::size_t> taken_by(const std::vector<std::size_t>& set, std::size_t one_case) const;
};

/// A second launch pays when the best pair costs at least this share less than the best single one.
inline constexpr double kSecondPays = 0.02;
inline constexpr std::size_t kMostLaunches = 4;

/// The best set of `count` launches: exhaustive up to two, then one more at a time. Empty when no set serves every case.
[[nodiscard]] std::vector<std::size_t> best_set(const CostTable& table, std::size_t count);

/// Between `low` and `high`, where `first` is better at `low` and not at `high`: the point where they change places, to 1 %
/// or one whole number. `difference(x)`: cost of the first minus cost of the second; empty where one cannot launch.
[[nodiscard]] std::optional<double> crossing_between(double low, double high, bool whole, const std::function<std::optional<double>(double)>& difference);

[[nodiscard]] AcrossCases across_cases(std::span<const Stage> stages, std::span<const KernelResult> results, const ResultOptions& options,
                                       const Requests& requests, const Evaluator& evaluator);

}  // namespace flipflop::advise
