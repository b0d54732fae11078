// Owns: from estimates of time and energy to an order, a Pareto front, probabilities of being best, and a short list.
// Pure: numbers in, numbers out. Invariant: the order is total and does not depend on the order of the input beyond ties.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flipflop/advise.hpp"

namespace flipflop::advise {

struct Scored {
    double time_us{};
    std::optional<double> energy_mj;
    std::uint64_t threads{};                 ///< of the block, to break ties
    bool unverified{};                       ///< ranks below what is known to be safe
    bool doubtful{};                         ///< something speaks against it: unverified, and not kept while others are sound
    bool barred{};                           ///< unsafe: ranks last, is never kept
};

/// Log-scale standard deviation of the error of a ratio of two configurations.
struct RankError { double time_log_sigma{}, energy_log_sigma{}; };

/// Least is best. energy@95 puts what is slower than best / 0.95 behind everything else. Needs energies for all but time.
[[nodiscard]] std::vector<double> objective_values(const std::vector<Scored>& all, Objective objective);

/// Indices, best first: safe before unverified before barred; equal values (to 1e-9) by energy, then by how near the
/// block is to 256 threads (the middle of what hardware likes), then as given.
[[nodiscard]] std::vector<std::size_t> rank(const std::vector<Scored>& all, Objective objective);

/// Not dominated in time and energy, where a difference below `resolution` is none (models cannot tell 0.5 %): from the
/// fastest on, a configuration joins the front when it saves at least that share of energy over the front so far.
[[nodiscard]] std::vector<bool> pareto_front(const std::vector<Scored>& all, double resolution = 0.005);

/// Probability that configuration i lies within `margin` of the best of all, when each log(value) carries an independent
/// error of sigma / sqrt(2) (so that a ratio of two carries sigma). Integrated on a grid; sigma 0 gives 0 or 1.
[[nodiscard]] std::vector<double> probability_within(const std::vector<double>& values, double log_sigma, double margin = 0.05);

/// The short list. `alternatives` are the same configurations under other policies for branches that depend on data:
/// each gets its share of the places. At least one; the front whole; then what may well be within 5 % of the best, as
/// long as the list stays within `share` of all; then ties, which have at least half the first's chance of that, up to
/// twice the share (four where that is less).
[[nodiscard]] std::vector<bool> short_list(const std::vector<Scored>& all, const std::vector<std::vector<Scored>>& alternatives,
                                           Objective objective, const RankError& error, double share = 0.066);

}  // namespace flipflop::advise
