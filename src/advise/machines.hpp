// Owns: the boards and operating points that the options name, checked once before anything is read.
#pragma once

#include <vector>

#include "flipflop/advise.hpp"
#include "flipflop/gpu.hpp"

namespace flipflop::advise {

/// Every clock with every power limit, at least one; without terms. FF0754.
[[nodiscard]] Result<std::vector<OperatingPoint>> operating_points(const AnalyzeOptions& options);

/// FF0756: none named; FF0757: --sms; FF09nn: not known.
[[nodiscard]] Result<std::vector<GpuProfile>> load_gpus(const AnalyzeOptions& options);

}  // namespace flipflop::advise
