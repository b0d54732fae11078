// Owns: how far two short names are apart, for "did you mean".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace flipflop::ptx::detail {

/// Levenshtein distance of two names of at most 64 characters (longer ones are cut).
[[nodiscard]] inline std::size_t edit_distance_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    a = a.substr(0, 64);
    b = b.substr(0, 64);
    std::array<std::size_t, 65> row{};
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substituted = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace flipflop::ptx::detail
