// Owns: what all kernels of a step cost together (`calls` of the launches file), and which of them dominates.
#pragma once

#include <vector>

#include "flipflop/analysis.hpp"

namespace flipflop::advise {

/// One summary a GPU; none when no kernel has calls.
[[nodiscard]] std::vector<StepSummary> summarise_steps(const std::vector<KernelAnalysis>& kernels);

}  // namespace flipflop::advise
