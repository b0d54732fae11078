// Owns: the names a profile may use, each with its unit and the range in which a number can be true. Input: none.
// Invariant: sorted by name within a table (checked at compile time), so that look-up and help texts are stable.
#pragma once

#include <span>
#include <string_view>

namespace flipflop::profile {

struct Quantity {
    std::string_view name, unit;
    double low{}, high{};
};

[[nodiscard]] std::span<const Quantity> board_values();
[[nodiscard]] std::span<const Quantity> capability_limits();
[[nodiscard]] std::span<const Quantity> throughput_rates();
[[nodiscard]] std::span<const Quantity> board_curves();   ///< x is the SM clock in MHz
[[nodiscard]] const Quantity* find(std::span<const Quantity> table, std::string_view name);

}  // namespace flipflop::profile
