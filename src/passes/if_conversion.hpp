// Owns: which blocks ptxas makes one by predicating short sides of branches. Input: a function's IR and which of its
// instructions become machine code. Output: runs of neighbouring blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "flipflop/passes.hpp"

namespace flipflop {

struct MergedBlocks {
    std::vector<std::uint32_t> leader;     ///< by block: the first of the blocks that it is one with; itself mostly
    std::vector<std::uint32_t> decided_by; ///< by block: the block whose branch its code is predicated on; itself when it is not
};

/// Blocks follow one another in text where they are merged: a branch over a short side, and what only
/// falls through to the next. `needed` is by instruction: does it become machine code?
[[nodiscard]] MergedBlocks merge_blocks(const FunctionCode& function, const std::vector<bool>& needed);

}  // namespace flipflop
