// Owns: a GPU's coefficients fitted from measurements. Input: tables of measured launches, and the kernels that they ran or a
// benchmark that is known by its description. Invariant: a coefficient that the rows do not tell is left as it was and named; a
// reading of zero, one at the power limit and one of another board are never fitted. Deterministic; prints nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/gpu.hpp"
#include "flipflop/inputs.hpp"
#include "flipflop/validate.hpp"

namespace flipflop::calibrate {

struct Options {
    std::vector<std::string> coefficients;   ///< keys to fit, or "power", "time"; empty: all that the rows tell
    std::vector<std::pair<std::string, std::string>> where;   ///< COLUMN, VALUE: rows of these values only
    std::vector<std::string> arguments;      ///< NAME=VALUE for every row, beside the columns arg.NAME
    std::optional<double> taken;             ///< probability of branches on data
    std::string update;                      ///< text of an earlier fit whose rows are to count as well, or empty
    std::string update_path;
};

/// One fitted coefficient.
struct Coefficient {
    std::string key, unit, follows;          ///< follows: tied to this key at a fixed ratio, or empty
    double value{}, standard_error{};        ///< of its logarithm
    std::string quantity;                    ///< "power" or "time"
};
struct Refused { std::string key, reason; };

/// What one fit (of power, or of time) predicts of rows that it did not see.
struct HeldOut {
    std::string quantity, split;             ///< "kernel" or "configuration"
    std::map<std::string, double> mape;      ///< by what was left out
    double mean{}, before{};                 ///< of rows: with the fit that did not see them, and without any fit
    double log_sigma{};                      ///< half of the central 90 % of held-out residuals over 1.645
    std::size_t rows{}, kernels{};
};

struct Outcome {
    std::string gpu;
    std::vector<Coefficient> fitted;
    std::vector<Refused> refused;
    std::vector<HeldOut> held_out;
    std::vector<std::pair<std::string, std::size_t>> left_out;   ///< why rows were not fitted, and how many
    std::size_t rows{}, updated_rows{};      ///< of these tables; of the earlier fit
    std::string json;                        ///< "flipflop.coefficients/1"
};

/// FF0792: no row can be used; FF0793: nothing can be told from the rows, or a coefficient that was asked for; FF0794: the
/// earlier fit is none, or of another GPU; FF0795: no such coefficient or column.
[[nodiscard]] Result<Outcome> calibrate(const std::vector<validate::Table>& tables, const std::vector<Input>& kernels, const GpuProfile& gpu, const Options& options);

/// The text of an earlier fit, for Options::update. FF08nn when it cannot be read.
[[nodiscard]] Result<std::string> read_fit(const std::string& path);

[[nodiscard]] std::string text_report(const Outcome& outcome);

}  // namespace flipflop::calibrate
