#include "report/html/scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/text_format.hpp"

namespace flipflop::report {

Scale::Scale(double low, double high, bool log, double from, double to) : low_(low), high_(high), from_(from), to_(to), log_(log) {
    if (log_) {
        low_ = std::log10(low_);
        high_ = std::log10(high_);
    }
    if (!(high_ > low_)) {
        const double half = log_ ? 0.3 : std::max(std::abs(low_) * 0.5, 0.5);
        low_ -= half;
        high_ += half;
    }
    const double margin = (high_ - low_) * 0.06;
    // Counts start at nothing: no margin below zero.
    low_ = !log_ && low_ >= 0 && low_ - margin < 0 ? 0 : low_ - margin;
    high_ += margin;
}

double Scale::at(double value) const {
    const double x = log_ ? std::log10(value) : value;
    return from_ + (x - low_) / (high_ - low_) * (to_ - from_);
}

std::vector<double> Scale::ticks(int wanted) const {
    std::vector<double> out;
    if (log_) {
        // Fewer decades, finer steps.
        const double decades = high_ - low_;
        const std::vector<double> steps = decades > 2.5 ? std::vector<double>{1} : decades > 1.2 ? std::vector<double>{1, 3} : decades > 0.6 ? std::vector<double>{1, 2, 5} : std::vector<double>{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8};
        const int stride = decades > wanted ? static_cast<int>(std::ceil(decades / wanted)) : 1;
        for (int decade = static_cast<int>(std::floor(low_)); decade <= static_cast<int>(std::ceil(high_)); ++decade) {
            if (decade % stride != 0) { continue; }
            for (const double step : steps) {
                const double value = step * std::pow(10.0, decade);
                if (std::log10(value) >= low_ && std::log10(value) <= high_) { out.push_back(value); }
            }
        }
        return out;
    }
    const double raw = (high_ - low_) / wanted;
    const double magnitude = std::pow(10.0, std::floor(std::log10(raw)));
    double step = magnitude * 10;
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
        if (factor * magnitude >= raw) {
            step = factor * magnitude;
            break;
        }
    }
    for (double value = std::ceil(low_ / step - 1e-9) * step; value <= high_ + step * 1e-9; value += step) { out.push_back(std::abs(value) < step * 1e-9 ? 0 : value); }
    return out;
}

std::vector<double> Scale::powers_of_two() const {
    std::vector<double> out;
    for (double value = 1; std::log10(value) <= high_; value *= 2) {
        if (std::log10(value) >= low_) { out.push_back(value); }
    }
    return out;
}

std::string tick_text(double value) {
    constexpr std::array<std::string_view, 5> kUnits{"", "k", "M", "G", "T"};
    std::size_t unit = 0;
    while (std::abs(value) >= 1e4 && unit + 1 < kUnits.size()) {
        value /= 1e3;
        ++unit;
    }
    return significant(value, 4) + std::string(kUnits[unit]);
}

}  // namespace flipflop::report
