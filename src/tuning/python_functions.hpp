// Owns: the names of the functions that tuning expressions may call. Everything else is refused when it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flipflop::tuning {

enum class Function : std::uint32_t { range, list, tuple, set, sorted, reversed, min, max, abs, len, sum, integer, real, truth, text, round, any, all, pow, ceil, floor, sqrt, log2 };

[[nodiscard]] std::optional<std::uint32_t> find_function(std::string_view name);
[[nodiscard]] std::string known_functions();                 ///< "range, list, ..."

}  // namespace flipflop::tuning
