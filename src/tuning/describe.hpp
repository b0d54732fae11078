// Owns: the part of a TuneReport that is known before anything is compiled: what is tuned, over which configurations, and
// how each is launched. Input: a Plan.
#pragma once

#include "tuning/plan.hpp"

namespace flipflop::tuning {

[[nodiscard]] TuneReport describe(const Plan& plan, const TuneOptions& options);

/// The configurations and their launches, for --list.
void list(const Plan& plan, TuneReport& report);

/// A row with its launch, or with why it has none.
[[nodiscard]] TuneRow blank_row(const Plan& plan, std::size_t configuration);

}  // namespace flipflop::tuning
