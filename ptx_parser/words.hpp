// Owns: from words of the text to enumerators.
#pragma once

#include <optional>
#include <string_view>

#include "flipflop/ptx.hpp"

namespace flipflop::ptx::detail {

/// "f32" to Type::f32; Type::none when it is no type.
[[nodiscard]] Type type_from(std::string_view word);
/// Registers with components: %tid, %ntid, ...
[[nodiscard]] bool is_axis_special(std::string_view name);
/// A special register without a number in its name; `axis` is 'x', 'y', 'z' or 0.
[[nodiscard]] std::optional<Special> special_from(std::string_view name, char axis);

}  // namespace flipflop::ptx::detail
