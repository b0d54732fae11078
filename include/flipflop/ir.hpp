// Owns: one function of a module as blocks and values: control-flow graph, dominators, loops, definitions and uses.
// Input: a parsed Module. Invariant: blocks partition the instructions in text order; block 0 is the entry.
#pragma once

#include <cstdint>
#include <vector>

#include "flipflop/ptx.hpp"

namespace flipflop {

enum class BlockId : std::uint32_t { none = 0xffffffff };
enum class LoopId : std::uint32_t { none = 0xffffffff };

struct BasicBlock {
    std::uint32_t begin{}, end{};              ///< instruction indices [begin, end)
    std::vector<BlockId> successors;           ///< fall-through first, then branch targets in operand order
    std::vector<BlockId> predecessors;
    BlockId immediate_dominator{BlockId::none};
    BlockId immediate_post_dominator{BlockId::none};  ///< none: only the exit post-dominates it
    LoopId loop{LoopId::none};                 ///< innermost loop that holds it
    std::uint32_t order{};                     ///< position in loop-aware topological order: a loop's blocks are contiguous
    bool reachable{};
};

/// A natural loop; irreducible regions are reported as one loop with `irreducible` set.
struct Loop {
    BlockId header{BlockId::none};
    std::vector<BlockId> blocks;               ///< header first
    std::vector<BlockId> latches;
    std::vector<BlockId> exiting;              ///< blocks with a successor outside
    LoopId parent{LoopId::none};
    std::uint32_t depth{1};                    ///< 1 = outermost
    bool irreducible{};
};

/// What one instruction reads and writes, guard included in the reads. Half-open ranges into KernelIr::register_lists.
struct Accessed {
    std::uint32_t reads_begin{}, writes_begin{}, end{};
};

struct KernelIr {
    const ptx::Module* module{};
    const ptx::Function* function{};
    std::vector<BasicBlock> blocks;
    std::vector<BlockId> topological;          ///< reachable blocks by BasicBlock::order
    std::vector<Loop> loops;                   ///< outer before inner, by header position
    std::vector<BlockId> block_of;             ///< by instruction index
    std::vector<Accessed> accessed;            ///< by instruction index
    std::vector<ptx::RegId> register_lists;
    std::vector<std::uint32_t> definitions_begin;  ///< by RegId, size registers+1, into `definitions`
    std::vector<std::uint32_t> definitions;        ///< instruction indices that write a register

    [[nodiscard]] const BasicBlock& block(BlockId id) const { return blocks[static_cast<std::uint32_t>(id)]; }
    [[nodiscard]] std::span<const ptx::RegId> reads(std::uint32_t instruction) const {
        const Accessed& a = accessed[instruction];
        return {register_lists.data() + a.reads_begin, a.writes_begin - a.reads_begin};
    }
    [[nodiscard]] std::span<const ptx::RegId> writes(std::uint32_t instruction) const {
        const Accessed& a = accessed[instruction];
        return {register_lists.data() + a.writes_begin, a.end - a.writes_begin};
    }
    [[nodiscard]] std::span<const std::uint32_t> definitions_of(ptx::RegId reg) const {
        const auto r = static_cast<std::uint32_t>(reg);
        return {definitions.data() + definitions_begin[r], definitions_begin[r + 1] - definitions_begin[r]};
    }
};

/// Builds the IR of one function with a body. Linear in its size; no recursion. A branch to a missing label was a parse
/// error already and ends the block as an exit would.
[[nodiscard]] KernelIr build_ir(const ptx::Module& module, const ptx::Function& function);

}  // namespace flipflop
