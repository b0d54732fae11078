// Owns: how this stage complains about what the user asked for: one maker of FF07nn diagnostics, and did-you-mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::advise {

/// A usage error (exit 2). `file` names the option or file at fault, such as "--arg".
[[nodiscard]] Diagnostic complain(std::string id, std::string file, std::string message, std::string help = {});

/// The same with a caret under column `column` (1-based) of `text`.
[[nodiscard]] Diagnostic complain_at(std::string id, std::string file, std::string text, std::uint32_t column, std::string message,
                                     std::string help = {});

/// Levenshtein distance, case-insensitive.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// "did you mean 'x' or 'y'?" from the (at most three) names nearest to `wanted`; else empty. Ties in the order given.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known);

/// "a, b, c and 4 more"
[[nodiscard]] std::string list_some(const std::vector<std::string>& names, std::size_t most = 6);

}  // namespace flipflop::advise
