// Owns: findings that their authors have answered in the source: `// flipflop: ignore FF101 reason`, on the line that a
// finding points to or in a comment right above it. Input: an analysis and the sources' texts. Invariant: a comment
// without a reason suppresses nothing, and says so; nothing is ever dropped, only set apart.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/analysis.hpp"

namespace flipflop::advise {

struct Suppression { std::vector<std::string> rules; std::string reason; };
/// What a line's comment says, if it says anything to us.
[[nodiscard]] std::optional<Suppression> suppression_of(std::string_view line);

using SourceText = std::function<std::optional<std::string>(const std::string& file, const std::string& module)>;

/// Moves what is suppressed from each result's findings to its suppressed ones; complaints go to the analysis' notes.
void suppress(Analysis& analysis, const SourceText& source_text);

}  // namespace flipflop::advise
