// Owns: which outside tools are there, for `flipflop --version`. Input: where to look. Output: name and version of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flipflop/source.hpp"

namespace flipflop {

struct FoundTool {
    std::string name;                        ///< "ptxas", "nvcc", ...
    std::optional<std::string> version;      ///< empty: not there, or it does not answer
};

/// ptxas, nvrtc, nvcc, clang and llc, in this order; each that is found is asked its version.
[[nodiscard]] std::vector<FoundTool> find_tools(const SourceOptions& surroundings);

}  // namespace flipflop
