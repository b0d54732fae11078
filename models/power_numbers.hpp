// Owns: the power model in plain numbers. Input: BlockWork, TimeNumbers, Machine. Invariant: power falls with the clock.
#pragma once

#include "models/time_numbers.hpp"

namespace flipflop {

struct PowerNumbers {
    TimeNumbers time;
    double voltage_squared{1};   ///< (V / V at boost) squared
    double core_uj{}, dram_uj{};
    double idle_w{}, awake_w{}, sm_w{}, active_share{}, dynamic_w{}, power_w{};
};

/// Voltage is flat up to the ridge, then linear in the clock (Schoonhoven 2022, EnergAIzer 2026).
[[nodiscard]] double voltage_squared(const Machine& gpu, double clock_mhz);
[[nodiscard]] double idle_power(const Machine& gpu, double clock_mhz);
/// What a chip that runs anything draws beyond idle at its clock, before the first operation.
[[nodiscard]] double awake_power(const Machine& gpu);

}  // namespace flipflop
