// Owns: where in a JSON text a value stands, which the parser does not tell. Input: a text that has been parsed, and a
// pointer (RFC 6901). Output: line and column for messages.
#pragma once

#include <string_view>

#include "flipflop/diagnostic.hpp"

namespace flipflop::tuning {

/// Of the value at `pointer` ("/ConfigurationSpace/Conditions/2"), or of the innermost part of it that is there.
[[nodiscard]] LineColumn json_place(std::string_view text, std::string_view pointer);

}  // namespace flipflop::tuning
