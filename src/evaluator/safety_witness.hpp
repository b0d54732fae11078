// Owns: the search for one source that a written byte derives from in one launch and not in the other. Sums that differ
// only say that sources count differently, which a maximum or a running mean does not mind; a source that is missing is
// another computation. Method: the blocks that write the byte are run again and only some sources count, by their hash;
// where the sums differ the search goes on among fewer. Input: two records that disagree. Output: certainty, or none.
#pragma once

#include <optional>

#include "evaluator/safety_launch.hpp"

namespace flipflop::eval {

/// One launch and what it wrote.
struct WitnessSide { const Program& program; const SafetyTraits& traits; const Launch& launch; const LaunchRecord& record; };

/// A written byte that certainly derives from a source in one launch and not in the other, among the first `limit` listed.
[[nodiscard]] std::optional<u64> byte_with_other_sources(const WitnessSide& reference, const WitnessSide& candidate, const SafetyLimits& limits);

}  // namespace flipflop::eval
