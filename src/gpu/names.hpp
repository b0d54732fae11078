// Owns: how people write GPU names. Input: any string. Invariant: two spellings of one board have one key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flipflop::profile {

/// Lower case, letters and digits only, without a leading "nvidia": "NVIDIA A100-SXM4-80GB" -> "a100sxm480gb".
[[nodiscard]] std::string name_key(std::string_view name);

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates nearest to `wrong`, best first, none when all are far off.
[[nodiscard]] std::vector<std::string> did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates,
                                                    std::size_t most = 3);

/// "did you mean a, b or c?", or empty.
[[nodiscard]] std::string did_you_mean_text(std::string_view wrong, const std::vector<std::string>& candidates);

}  // namespace flipflop::profile
