// Owns: why one configuration is faster than another, in words and shares that add up. Method: from the recommended
// launch, one demand after another is set to what the baseline asks of the GPU (the same totals over the grid), and the
// models answer again; what remains is how the launch fills the GPU, and is shared out over the terms of its time.
// Invariant: the deltas of all reasons, small ones included, add up to the whole difference.
#pragma once

#include "advise/trials.hpp"

namespace flipflop::advise {

struct ReasonOptions { std::size_t most{4}; double least_share{0.01}; };   ///< of the baseline's time

/// Deltas are recommended minus baseline: negative is better. Largest first; what is left out is too small to matter.
[[nodiscard]] std::vector<Reason> reasons_for(const Stage& stage, const Trial& baseline, const Trial& recommended, OperatingPoint point,
                                              ReasonOptions options = {});

}  // namespace flipflop::advise
