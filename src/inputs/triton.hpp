// Owns: what Triton writes beside a kernel's PTX: NAME.json with num_warps, num_stages, shared, ...
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flipflop {

/// The scalars of a Triton metadata file, as text; nothing when `json` is none (no object with "num_warps").
[[nodiscard]] std::optional<std::map<std::string, std::string>> triton_metadata(std::string_view json);

}  // namespace flipflop
