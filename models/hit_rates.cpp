#include "flipflop/hit_rates.hpp"

#include "models/coefficients.hpp"

namespace flipflop {

std::optional<HitRate> measured_hit_rate(std::string_view level) {
    const Coefficients& common = coefficients_for("common");
    const auto found = common.find("pick_hit_rate_" + std::string(level));
    if (found == common.end() || !found->second.value) return std::nullopt;
    return HitRate{*found->second.value, found->second.source};
}

}  // namespace flipflop
