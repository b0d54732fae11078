// Owns: what a level of confidence means: how often picks told with such a chance were near the measured best (docs/accuracy.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flipflop {

struct HitRate {
    double within_5pct{};      ///< of the picks of this level
    std::string source;        ///< how many groups, and where
};

/// Of "high", "medium" or "low"; empty where none was measured.
[[nodiscard]] std::optional<HitRate> measured_hit_rate(std::string_view level);

}  // namespace flipflop
