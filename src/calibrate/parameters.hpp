// Owns: the coefficients that a calibration may fit: key, unit, bounds, and where they act. Input: a Machine. Invariant: setting
// a coefficient changes nothing but its own quantity and what is tied to it.
#pragma once

#include <span>
#include <string_view>

#include "flipflop/gpu.hpp"
#include "models/machine.hpp"

namespace flipflop::calibrate {

struct Parameter {
    std::string_view key, unit, quantity;    ///< quantity: "power" or "time"
    double down, up;                         ///< bounds as factors of the start
    double (*get)(const Machine&);           ///< the value that the models use now; 0: there is no such term
    void (*set)(Machine&, double);
};

[[nodiscard]] std::span<const Parameter> parameters();
[[nodiscard]] const Parameter* find_parameter(std::string_view key);

/// Keys whose values follow another's at the ratio that the models have now (AccelWattch's, by operation class).
struct Tied { std::string_view key, follows, unit; double (*get)(const Machine&); };
[[nodiscard]] std::span<const Tied> tied();

/// The value of `parameter` to start from: the model's, or one of the right order where the models have no such term.
[[nodiscard]] double start_of(const Parameter& parameter, const Machine& gpu);

}  // namespace flipflop::calibrate
