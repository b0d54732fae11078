// Robust least squares with bounds: Huber 1964 weights, Levenberg-Marquardt steps, all unknowns in their logarithm.
#include "calibrate/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flipflop::calibrate {
namespace {

constexpr double kHuber = 1.345;         // 95 % efficiency for a normal error
constexpr double kStep = 1e-4;           // of a logarithm, for slopes
constexpr double kLeastScale = 0.01;     // no measurement here is better than one per cent: exact rows do not make exact coefficients
constexpr int kIterations = 60;

struct State {
    std::vector<double> logs, residuals;
    double scale{}, cost{};
};

double robust_scale(std::vector<double> residuals) {
    if (residuals.empty()) return kLeastScale;
    for (double& r : residuals) r = std::abs(r);
    const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() / 2);
    std::nth_element(residuals.begin(), middle, residuals.end());
    return std::max(kLeastScale, 1.4826 * *middle);
}

double weight_of(double residual, double scale) {
    const double size = std::abs(residual) / scale;
    return size <= kHuber ? 1 : kHuber / size;
}

double huber(double residual, double scale) {
    const double size = std::abs(residual) / scale;
    return size <= kHuber ? 0.5 * size * size : kHuber * (size - 0.5 * kHuber);
}

/// Values, errors and likenesses from the logarithms and the information matrix.
void settle(Fit& fit, const std::vector<double>& logs, const std::vector<Unknown>& unknowns) {
    const std::size_t n = unknowns.size();
    fit.values.clear();
    fit.at_bound.clear();
    for (std::size_t i = 0; i < n; ++i) {
        fit.values.push_back(std::exp(logs[i]));
        fit.at_bound.push_back(logs[i] <= std::log(unknowns[i].low) + 1e-6 || logs[i] >= std::log(unknowns[i].high) - 1e-6);
    }
    fit.standard_error.assign(n, std::numeric_limits<double>::infinity());
    fit.inflation.assign(n, std::numeric_limits<double>::infinity());
    fit.partner.assign(n, 0);
    Matrix scaled(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < n; ++k) {
            const double both = std::sqrt(fit.information.at(i, i) * fit.information.at(k, k));
            scaled.at(i, k) = i == k ? 1 + 1e-9 : both > 0 ? fit.information.at(i, k) / both : 0;
        }
    const auto covariance = inverse(scaled);
    for (std::size_t i = 0; i < n; ++i) {
        double closest = -1;
        for (std::size_t k = 0; k < n; ++k)
            if (k != i && std::abs(scaled.at(i, k)) > closest) {
                closest = std::abs(scaled.at(i, k));
                fit.partner[i] = k;
            }
        if (!covariance || fit.information.at(i, i) <= 0) continue;
        fit.inflation[i] = covariance->at(i, i);
        fit.standard_error[i] = std::sqrt(covariance->at(i, i) / fit.information.at(i, i));
    }
}

class Solver {
public:
    explicit Solver(const Problem& problem) : problem_(problem), n_(problem.unknowns.size()) {}

    Fit run() {
        State now;
        for (const Unknown& unknown : problem_.unknowns) now.logs.push_back(std::log(std::clamp(unknown.start, unknown.low, unknown.high)));
        now.residuals = residuals_at(now.logs);
        double damping = 1e-3;
        for (int i = 0; i < kIterations && n_ > 0; ++i) {
            now.scale = robust_scale(now.residuals);
            now.cost = cost_of(now.logs, now.residuals, now.scale);
            const auto slopes = slopes_at(now);
            const double before = now.cost;
            if (!step(now, slopes, damping)) break;
            if (before - now.cost < 1e-9 * (1 + before)) break;
        }
        now.scale = robust_scale(now.residuals);
        return describe(now);
    }

private:
    std::vector<double> residuals_at(const std::vector<double>& logs) const {
        std::vector<double> values(n_), result(problem_.rows);
        std::transform(logs.begin(), logs.end(), values.begin(), [](double x) { return std::exp(x); });
        problem_.residuals(values, result);
        for (double& r : result)
            if (!std::isfinite(r)) r = 10;   // a launch that the model refuses: far off, and no slope
        return result;
    }

    double cost_of(const std::vector<double>& logs, const std::vector<double>& residuals, double scale) const {
        double sum = 0;
        for (double r : residuals) sum += huber(r, scale);
        if (problem_.prior)
            for (std::size_t i = 0; i < n_; ++i)
                for (std::size_t k = 0; k < n_; ++k)
                    sum += 0.5 * (logs[i] - problem_.prior->at[i]) * problem_.prior->precision.at(i, k) * (logs[k] - problem_.prior->at[k]);
        return sum;
    }

    std::vector<std::vector<double>> slopes_at(const State& now) const {
        std::vector<std::vector<double>> slopes;
        for (std::size_t i = 0; i < n_; ++i) {
            std::vector<double> logs = now.logs;
            logs[i] += kStep;
            std::vector<double> moved = residuals_at(logs);
            for (std::size_t row = 0; row < moved.size(); ++row) moved[row] = (moved[row] - now.residuals[row]) / kStep;
            slopes.push_back(std::move(moved));
        }
        return slopes;
    }

    /// J'WJ / s^2 and, in `right`, minus the gradient; the prior added to both.
    Matrix normal(const State& now, const std::vector<std::vector<double>>& slopes, std::vector<double>& right) const {
        Matrix matrix(n_);
        right.assign(n_, 0);
        const double unit = 1 / (now.scale * now.scale);
        for (std::size_t row = 0; row < problem_.rows; ++row) {
            const double weight = weight_of(now.residuals[row], now.scale) * unit;
            for (std::size_t i = 0; i < n_; ++i) {
                right[i] -= weight * slopes[i][row] * now.residuals[row];
                for (std::size_t k = 0; k <= i; ++k) matrix.at(i, k) += weight * slopes[i][row] * slopes[k][row];
            }
        }
        for (std::size_t i = 0; i < n_; ++i)
            for (std::size_t k = 0; k < i; ++k) matrix.at(k, i) = matrix.at(i, k);
        if (problem_.prior)
            for (std::size_t i = 0; i < n_; ++i)
                for (std::size_t k = 0; k < n_; ++k) {
                    matrix.at(i, k) += problem_.prior->precision.at(i, k);
                    right[i] -= problem_.prior->precision.at(i, k) * (now.logs[k] - problem_.prior->at[k]);
                }
        return matrix;
    }

    /// Tries larger and larger damping until the cost falls; false where it does not.
    bool step(State& now, const std::vector<std::vector<double>>& slopes, double& damping) const {
        std::vector<double> right;
        const Matrix matrix = normal(now, slopes, right);
        double largest = 0;
        for (std::size_t i = 0; i < n_; ++i) largest = std::max(largest, matrix.at(i, i));
        for (int attempt = 0; attempt < 12; ++attempt, damping *= 10) {
            Matrix damped = matrix;
            for (std::size_t i = 0; i < n_; ++i) damped.at(i, i) += damping * matrix.at(i, i) + 1e-12 * largest + 1e-300;
            const auto inverted = inverse(damped);
            if (!inverted) continue;
            std::vector<double> logs = now.logs;
            for (std::size_t i = 0; i < n_; ++i) {
                double change = 0;
                for (std::size_t k = 0; k < n_; ++k) change += inverted->at(i, k) * right[k];
                const Unknown& unknown = problem_.unknowns[i];
                logs[i] = std::clamp(logs[i] + std::clamp(change, -1.0, 1.0), std::log(unknown.low), std::log(unknown.high));
            }
            std::vector<double> residuals = residuals_at(logs);
            const double cost = cost_of(logs, residuals, now.scale);
            if (cost >= now.cost) continue;
            now.logs = std::move(logs);
            now.residuals = std::move(residuals);
            now.cost = cost;
            damping = std::max(1e-9, damping / 10);
            return true;
        }
        return false;
    }

    Fit describe(const State& now) const {
        Fit fit;
        fit.scale = now.scale;
        std::vector<double> right;
        fit.information = normal(now, slopes_at(now), right);
        settle(fit, now.logs, problem_.unknowns);
        return fit;
    }

    const Problem& problem_;
    std::size_t n_;
};

}  // namespace

std::optional<Matrix> inverse(const Matrix& symmetric) {
    const std::size_t n = symmetric.n;
    Matrix lower(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k <= i; ++k) {
            double sum = symmetric.at(i, k);
            for (std::size_t j = 0; j < k; ++j) sum -= lower.at(i, j) * lower.at(k, j);
            if (i == k) {
                if (!(sum > 1e-12 * symmetric.at(i, i))) return std::nullopt;
                lower.at(i, i) = std::sqrt(sum);
            } else {
                lower.at(i, k) = sum / lower.at(k, k);
            }
        }
    Matrix result(n);
    for (std::size_t column = 0; column < n; ++column) {
        std::vector<double> x(n);
        for (std::size_t i = 0; i < n; ++i) {
            double sum = i == column ? 1 : 0;
            for (std::size_t j = 0; j < i; ++j) sum -= lower.at(i, j) * x[j];
            x[i] = sum / lower.at(i, i);
        }
        for (std::size_t i = n; i-- > 0;) {
            double sum = x[i];
            for (std::size_t j = i + 1; j < n; ++j) sum -= lower.at(j, i) * result.at(j, column);
            result.at(i, column) = sum / lower.at(i, i);
        }
    }
    return result;
}

Fit robust_fit(const Problem& problem) { return Solver(problem).run(); }

Fit combine(const Fit& alone, const Prior& earlier, const std::vector<Unknown>& unknowns) {
    const std::size_t n = unknowns.size();
    Fit both = alone;
    std::vector<double> right(n), logs(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < n; ++k) {
            both.information.at(i, k) += earlier.precision.at(i, k);
            right[i] += alone.information.at(i, k) * std::log(alone.values[k]) + earlier.precision.at(i, k) * earlier.at[k];
        }
    const auto covariance = inverse(both.information);
    if (!covariance) return alone;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n; ++k) logs[i] += covariance->at(i, k) * right[k];
        logs[i] = std::clamp(logs[i], std::log(unknowns[i].low), std::log(unknowns[i].high));
    }
    settle(both, logs, unknowns);
    return both;
}

}  // namespace flipflop::calibrate
