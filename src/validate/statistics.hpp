// Owns: the statistics of `validate`, on plain numbers. Scores are smaller-is-better. Invariant: ties never depend on the order
// of rows: every figure is the mean over all orders of what is tied.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "flipflop/validate.hpp"

namespace flipflop::validate {

[[nodiscard]] std::vector<double> average_ranks(const std::vector<double>& values);
[[nodiscard]] std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);
/// tau-b, in n log n.
[[nodiscard]] std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b);
[[nodiscard]] double mean_absolute_error(const std::vector<double>& predicted, const std::vector<double>& measured, double scale = 1);
/// The factor on the predictions that makes the mean absolute relative error least: a weighted median.
[[nodiscard]] double best_scale(const std::vector<double>& predicted, const std::vector<double>& measured);
[[nodiscard]] double median(std::vector<double> values);

/// What a choice of `count` rows by score is worth: rows of better score surely, of the score at the edge by lot.
struct Choice { double holds_best{}, within_5pct{}, regret{}; };
[[nodiscard]] Choice choose(const std::vector<double>& scores, const std::vector<double>& measured, std::size_t count);
/// What is chosen is given.
[[nodiscard]] Choice choose(const std::vector<bool>& chosen, const std::vector<double>& measured);
[[nodiscard]] Ranking rank(const std::vector<double>& scores, const std::vector<double>& measured, std::size_t kept);

/// Of the first pick in each group (members by index into the other two): shares within 5 and 10 %, mean regret.
[[nodiscard]] ByBlock rank_groups(const std::vector<std::vector<std::size_t>>& groups, const std::vector<double>& scores, const std::vector<double>& measured);

/// Mean of `values` and its 5th and 95th percentile when whole clusters are drawn anew. Null for fewer than two clusters.
struct Spread { double low{}, high{}; };
[[nodiscard]] std::optional<Spread> cluster_bootstrap(const std::vector<double>& values, const std::vector<std::size_t>& cluster, std::size_t clusters);

}  // namespace flipflop::validate
