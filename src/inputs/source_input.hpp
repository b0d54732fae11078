// Owns: source code as an input: compiled to PTX and then read as PTX is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flipflop/inputs.hpp"
#include "inputs/sniff.hpp"

namespace flipflop {

[[nodiscard]] std::optional<InputKind> source_kind(Content content);

/// FF06nn: no compiler, or one that failed. What the compiler says of the source are the Input's diagnostics.
[[nodiscard]] Result<Input> read_source(std::string_view bytes, const std::string& path, InputKind kind, const ReadOptions& options);

}  // namespace flipflop
