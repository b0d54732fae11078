// Owns: the numerics of a calibration: robust least squares of a few positive parameters with bounds, and what the rows say of
// each parameter. Input: residuals as a function of the parameters. Invariant: values lie inside their bounds; deterministic.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flipflop::calibrate {

/// Row-major, square.
struct Matrix {
    std::size_t n{};
    std::vector<double> cells;
    Matrix() = default;
    explicit Matrix(std::size_t size) : n(size), cells(size * size) {}
    double& at(std::size_t row, std::size_t column) { return cells[row * n + column]; }
    [[nodiscard]] double at(std::size_t row, std::size_t column) const { return cells[row * n + column]; }
};

/// Inverse of a symmetric positive matrix by Cholesky, empty where a pivot falls below 1e-12 of its diagonal.
[[nodiscard]] std::optional<Matrix> inverse(const Matrix& symmetric);

/// A positive quantity, fitted in its logarithm.
struct Unknown { std::string key; double start{}, low{}, high{}; };

/// What earlier rows said: logarithms of the values, and their precision matrix.
struct Prior { std::vector<double> at; Matrix precision; };

struct Problem {
    std::vector<Unknown> unknowns;
    std::size_t rows{};
    /// Fills one residual a row: a logarithm of measured over predicted, or a relative error.
    std::function<void(std::span<const double> values, std::span<double> residuals)> residuals;
    std::optional<Prior> prior;
};

struct Fit {
    std::vector<double> values;
    std::vector<double> standard_error;      ///< of the logarithms; infinite where the rows say nothing
    std::vector<double> inflation;           ///< how often larger the variance is for the other unknowns' sake (1: independent)
    std::vector<std::size_t> partner;        ///< the unknown that each is most correlated with
    std::vector<bool> at_bound;
    Matrix information;                      ///< precision of the logarithms, the prior included
    double scale{};                          ///< robust spread of the residuals (1.4826 times the median of their sizes)
};

/// Huber's M-estimate by Levenberg-Marquardt steps on reweighted rows (tuning constant 1.345).
[[nodiscard]] Fit robust_fit(const Problem& problem);

/// The fit that `alone` and earlier rows make together, each by its information: what both say of a coefficient is weighed, what
/// only one says stays. Inside the bounds of `unknowns`.
[[nodiscard]] Fit combine(const Fit& alone, const Prior& earlier, const std::vector<Unknown>& unknowns);

}  // namespace flipflop::calibrate
