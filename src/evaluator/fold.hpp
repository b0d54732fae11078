// Owns: where a grid repeats itself. An index of 32 bits comes round: when a block's number reaches the code only through
// products, shifts and masks of 32 bits, block b + period does what block b does. Input: a program, a launch. Invariant: a
// period is a proof, read off the operations; without one the axis is not folded.
#pragma once

#include <array>

#include "evaluator/program.hpp"

namespace flipflop::eval {

struct Folding {
    static constexpr u64 kNever = ~u64{0};
    std::array<u64, kBlockAxes> period{kNever, kNever, kNever};
    /// The block that does the same in the first period.
    [[nodiscard]] std::array<u64, kBlockAxes> folded(std::array<u64, kBlockAxes> block) const {
        for (unsigned k = 0; k < kBlockAxes; ++k) block[k] %= period[k];
        return block;
    }
};
[[nodiscard]] Folding folding_of(const Program& program, const Launch& launch);

}  // namespace flipflop::eval
