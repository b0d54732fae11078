// Owns: a seeded maker of small PTX kernels that may or may not do the same when their block changes, with two launches of
// each: what threads read (their own element, a permuted one), exchange (shared memory, shuffles), combine (sums, maxima,
// choices, factors made from thread numbers) and write (their own place, the block's, one for several threads).
#pragma once

#include <cstdint>
#include <string>

#include "flipflop/facts.hpp"

namespace naive {

struct RandomReblocking {
    std::string text;
    flipflop::Dim3 reference, candidate, reference_grid, candidate_grid;
    std::uint32_t n{};
};
[[nodiscard]] RandomReblocking random_reblocking(std::uint64_t seed);

}  // namespace naive
