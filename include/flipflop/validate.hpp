// Owns: how good predictions are against measurements (CONTRACT.md section 11): two tables joined, ranked and compared, beside
// baselines that anyone could have used. Input: texts of tables. Deterministic; prints nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::validate {

/// Rows of named cells; an empty cell is a value that is not known.
struct Table {
    std::string path;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
    [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};

/// CSV (RFC 4180), our JSON (analyze, tune), a Kernel Tuner cache or a T4 file; told apart by content. FF0780: none of these.
[[nodiscard]] Result<Table> read_table(std::string_view text, const std::string& path);
/// The same from a file, "-" for standard input. FF08nn where it cannot be read.
[[nodiscard]] Result<Table> read_table_file(const std::string& path);

struct Options {
    std::vector<std::string> on;             ///< columns to join by; empty: all that both share
    std::vector<std::string> block_columns;  ///< what a block's shape is; empty: block_x, block_size_y and the like
    double keep_share{0.066};                ///< of a set, where the predictions have no `kept` column
};

/// How well an order finds the fast ones. Regrets are measured time over the best, minus one. Ties are averaged over.
struct Ranking {
    std::optional<double> spearman, kendall;      ///< null where all scores or all measurements are equal
    double first_regret{};
    double kept_holds_best{}, kept_within_5pct{}; ///< 0 or 1; with ties, or at random, a probability
    double kept_regret{};
};
struct ByBlock {                                  ///< groups whose members differ in block shape only
    std::size_t groups{}, rows{};
    double within_5pct{}, within_10pct{}, regret{};
};
struct Scores { std::string name; std::optional<Ranking> all; std::optional<ByBlock> by_block; std::string why_not; };

struct Coverage { std::size_t n{}; double share{}, below{}, above{}; };

/// One kernel on one GPU (and problem), one quantity.
struct Set {
    std::string gpu, kernel, problem, quantity;   ///< "time", "energy" or "power"
    std::size_t n{};
    double median_over_best{};
    Scores model;
    std::vector<Scores> baselines;                ///< occupancy_heuristic, threads_per_block, roofline, random
    double mape{}, mape_one_scale{}, scale{};     ///< measured = scale * predicted
    std::size_t kept{};
    std::string kept_basis;                       ///< "predictions" or "share"
    std::optional<Coverage> interval;             ///< of the predictions' own intervals
};

/// A figure over sets: mean, and a 90 % interval from resampling whole kernels. Null interval: one kernel only.
struct Overall { std::string quantity, figure; std::size_t sets{}, kernels{}; double mean{}; std::optional<double> low, high; };

struct Report {
    std::string predictions, measurements;
    std::vector<std::string> joined_on, block_columns;
    std::size_t prediction_rows{}, measurement_rows{}, joined{}, unmatched_predictions{}, unmatched_measurements{}, invalid_measurements{}, repeats{};
    double keep_share{};
    std::vector<Set> sets;
    std::vector<Overall> overall;
    std::vector<std::string> notes;
};

/// FF0781: nothing to join by, or nothing joins; FF0782: no time, power or energy in a table; FF0783: the key is ambiguous.
[[nodiscard]] Result<Report> compare(const Table& predictions, const Table& measurements, const Options& options);

/// The accuracy card as shipped: docs/accuracy.json, written by `make accuracy` ("flipflop.accuracy/1").
[[nodiscard]] std::string_view accuracy_card();

}  // namespace flipflop::validate
