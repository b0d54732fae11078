// Owns: the prose of `explain`: what bounds a launch, why, what to change, what it would gain. Every number in it is one of the
// explanation's own.
#pragma once

#include <string>

#include "flipflop/explain.hpp"
#include "flipflop/report.hpp"

namespace flipflop::report {

/// Of the first configuration; empty where nothing is predicted for it.
[[nodiscard]] std::string explain_prose(const ExplainedKernel& kernel, const TextStyle& style);

}  // namespace flipflop::report
