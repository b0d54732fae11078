// Owns: what each parameter of a tuned kernel is worth by itself. Input: rows with their costs. Invariant: an effect comes
// from configurations that differ in that parameter alone; what a sample mixes up is not told apart, and said to be so.
#pragma once

#include <string>
#include <vector>

#include "flipflop/tune.hpp"

namespace flipflop::tuning {

/// By spread, the largest first; then those that no two configurations tell. Unsafe rows count for nothing.
[[nodiscard]] std::vector<ParameterEffect> effects_of(const TuneResult& result, const TuneReport& report, bool energy);

/// One line a parameter that matters (`most` of them), what does not, and what the sample cannot tell.
[[nodiscard]] std::vector<std::string> effects_in_words(const std::vector<ParameterEffect>& effects, bool energy, std::size_t most);

}  // namespace flipflop::tuning
