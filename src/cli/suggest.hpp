// Owns: "did you mean": the known words nearest to one that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flipflop::cli {

/// "did you mean 'analyze'?", or empty when nothing is near (a third of the letters at most may differ).
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace flipflop::cli
