// Owns: the short forms of analyze's text: one sorted line a kernel (more than ten kernels), one line a board (many GPUs).
#pragma once

#include <string>

#include "flipflop/report.hpp"

namespace flipflop::report {

/// Up to so many results of one kernel are shown in full.
inline constexpr std::size_t kBoardsInFull = 3;

/// One line a kernel and board, costliest first, with totals.
[[nodiscard]] std::string overview_text(const Analysis& analysis, const TextStyle& style);
/// One line a board and case, fastest first.
[[nodiscard]] std::string boards_text(const KernelAnalysis& kernel, const TextStyle& style);

}  // namespace flipflop::report
