// Owns: what charts show of a configuration, as numbers: what its time and energy are made of, how far from the roofs it
// stays, what each line of code costs. Made from terms and facts that the analysis already holds; reports draw it.
// Invariant: shares add up to the value they share out (1e-9 relative).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/analysis.hpp"

namespace flipflop {

struct Share { std::string id; double value{}; };

/// What a term's value is made of, largest first. A sum is shared by its parts' values, a norm by their p-th powers, a
/// maximum falls to the largest part, a minimum to the demand that a limit cuts; a product or ratio is its part that has parts
/// in the same or a kindred unit.
/// "time": launch, dram, atomic, block_issue, l2, pipe.NAME, start (of blocks), chains (waiting for latency).
[[nodiscard]] std::vector<Share> time_shares(const ConfigResult& config);
/// In mJ: idle, awake, sms, and operations, tensor, shared, l1, l2, dram of what moves and computes. Empty without power.
[[nodiscard]] std::vector<Share> energy_shares(const ConfigResult& config);

/// One resource of the speed of light: what the launch needs of it over its peak, and what the launch reaches.
struct SpeedOfLight {
    std::string resource;                    ///< "dram", "l2", "fp32", ...
    double amount{}, peak_per_us{};          ///< bytes or operations; peak_per_us 0: not a rate (tensor)
    double floor_us{};
    double reached{};                        ///< floor over predicted time, 0..1
};
[[nodiscard]] std::vector<SpeedOfLight> speeds_of_light(const ConfigResult& config);

/// A roofline over the slowest memory level that the launch uses. Empty where it computes or moves nothing that the
/// floor knows a peak of.
struct Roofline {
    std::string memory, compute;             ///< "dram" or "l2"; "fp32", ...
    double bytes_per_us{}, operations_per_us{};   ///< the roofs
    double intensity{};                      ///< operations a byte of that level
    double reached_per_us{};                 ///< operations
};
[[nodiscard]] std::optional<Roofline> roofline_of(const ConfigResult& config);

/// What a line of code costs in one launch.
struct LineCost {
    std::uint32_t file{};                    ///< index into Listing::files plus one; 0: a line of the PTX
    std::uint32_t line{};
    double executed{};                       ///< warp instructions
    double executed_share{};                 ///< of the launch's
    std::optional<double> sectors;           ///< 32-byte sectors of global and local memory
    std::optional<double> sectors_ideal;
    std::optional<double> wavefronts;        ///< passes of shared memory
};
/// By line of the PTX, or of the sources; in order of file and line. Empty where nothing is known.
[[nodiscard]] std::vector<LineCost> cost_of_ptx_lines(const Listing& listing, const ConfigResult& config);
[[nodiscard]] std::vector<LineCost> cost_of_source_lines(const Listing& listing, const ConfigResult& config);

}  // namespace flipflop
