// Owns: fitted coefficients, models/coefficients/GPU.json: what measurement tables said, with data set, rows, method and
// cross-validated error. Input: a GPU's id. Invariant: a file that does not parse is an error of the build's tests.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "flipflop/gpu.hpp"

namespace flipflop {

using Coefficients = std::map<std::string, SourcedValue, std::less<>>;

/// Of this GPU; empty when nothing was fitted for it. "common" holds what was fitted over several GPUs.
[[nodiscard]] const Coefficients& coefficients_for(std::string_view gpu_id);

}  // namespace flipflop
