// Owns: from values to places on paper: linear and logarithmic axes with round ticks.
#pragma once

#include <string>
#include <vector>

namespace flipflop::report {

class Scale {
public:
    /// Covers [low, high] and a little more, from `from` to `to` on paper. A logarithmic one needs low > 0.
    Scale(double low, double high, bool log, double from, double to);
    [[nodiscard]] double at(double value) const;
    /// Round values inside, about `wanted` of them.
    [[nodiscard]] std::vector<double> ticks(int wanted) const;

    [[nodiscard]] std::vector<double> powers_of_two() const;   ///< of a logarithmic one

private:
    double low_, high_, from_, to_;
    bool log_;
};

/// 12500 -> "12.5k": short, for axes.
[[nodiscard]] std::string tick_text(double value);

}  // namespace flipflop::report
