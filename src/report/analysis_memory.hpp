// Owns: the parts of analyze's text that speak of one configuration's memory accesses and loops.
#pragma once

#include <string>

#include "flipflop/report.hpp"

namespace flipflop::report {

/// Lines of a list that are shown without --detail full.
inline constexpr std::size_t kBriefLines = 6;

/// The configuration that the headline speaks of: today's launch, else the recommended one, else the first that runs.
[[nodiscard]] const ConfigResult* headline_config(const KernelResult& result);

/// What binds it, and the finding that costs most where it costs enough to be news. Printable.
[[nodiscard]] std::string headline_sentence(const KernelResult& result, const ConfigResult& config);

/// What each memory instruction does in the headline's configuration, costliest first.
[[nodiscard]] std::string accesses_text(const KernelFacts& facts, const KernelResult& result, const TextStyle& style);
/// The loops' trip counts there; only with --detail full.
[[nodiscard]] std::string loops_text(const KernelFacts& facts, const KernelResult& result, const TextStyle& style);

}  // namespace flipflop::report
