// Owns: where in a JSON text the value of a pointer stands. Input: a text that has been parsed without error. Invariant:
// an answer lies within the text; a pointer that does not exist yields the innermost part that does.
#pragma once

#include <string_view>

#include "flipflop/diagnostic.hpp"

namespace flipflop::profile {

[[nodiscard]] std::size_t offset_of(std::string_view text, std::string_view json_pointer);
[[nodiscard]] LineColumn position_of(std::string_view text, std::size_t offset);
[[nodiscard]] std::string_view line_at(std::string_view text, std::size_t offset);

}  // namespace flipflop::profile
