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

/// What a launch is charged for, whatever each costs. A byte from DRAM passes L2 and L1 too, and the board-level figure holds
/// all three: each byte counts once, at the furthest level it came from.
struct EnergyCounts { double operations{}, tensor_flops{}, shared_bytes{}, l1_bytes{}, l2_bytes{}, dram_bytes{}; };   ///< operations: in FMAs' worth
struct Joules { double operations{}, tensor{}, shared{}, l1{}, l2{}, dram{}; };   ///< microjoules, at the voltage of boost
[[nodiscard]] EnergyCounts energy_counts(const LaunchFacts& launch, const Memory& memory, const Machine& gpu);
[[nodiscard]] Joules joules(const EnergyCounts& counts, const Machine& gpu);
/// Fills what a board would draw without a limit, from the times in `out.time`.
void demand(PowerNumbers& out, const Joules& energy, const Machine& gpu, double clock_mhz);

/// Voltage is flat up to the ridge, then linear in the clock (Schoonhoven 2022, EnergAIzer 2026).
[[nodiscard]] double voltage_squared(const Machine& gpu, double clock_mhz);
[[nodiscard]] double idle_power(const Machine& gpu, double clock_mhz);
/// What a chip that runs anything draws beyond idle, before the first operation, at boost; it falls with the clock and V^2.
[[nodiscard]] double awake_power(const Machine& gpu);

}  // namespace flipflop
