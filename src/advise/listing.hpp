// Owns: from a kernel's code to the Listing that reports show: its text, and where each instruction comes from.
#pragma once

#include "flipflop/analysis.hpp"
#include "flipflop/passes.hpp"

namespace flipflop::advise {

[[nodiscard]] Listing listing_of(const KernelCode& code);

}  // namespace flipflop::advise
