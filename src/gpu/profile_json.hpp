// Owns: the shapes of gpu_profiles/*.json (schema/gpu.schema.json, schema/compute-capability.schema.json) and what makes one valid.
// Input: a text. Invariant: what comes back without a Diagnostic has known names, the right units, numbers in range, a
// basis and a source for every number, and consistent quantities.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/gpu.hpp"

namespace flipflop::profile {

/// What a listing needs; read without building the rest of the file where it stands first in it.
struct Head {
    GpuName names;
    std::map<std::string, std::vector<std::string>> alias_also;   ///< alias -> the other boards it could mean
};
[[nodiscard]] Head read_head(std::string_view text);

/// Resolves `inherits`: a built-in name or a path; must refuse a profile that inherits itself.
using BaseLoader = std::function<Result<GpuProfile>(const std::string& name)>;

/// `base` null: `inherits` is refused. `built_in`: texts that the library carries (no origin).
[[nodiscard]] Result<GpuProfile> read_board(std::string_view text, const std::string& file, bool built_in, const BaseLoader* base);
[[nodiscard]] Result<ComputeCapability> read_capability(std::string_view text, const std::string& file);

}  // namespace flipflop::profile
