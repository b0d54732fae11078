// Owns: one function of a module as blocks and values: control-flow graph, dominators, loops, definitions and uses.
// Input: a parsed Module. Invariant: blocks partition the instructions in text order; block 0 is the entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flipflop/ptx.hpp"

namespace flipflop {

enum class BlockId : std::uint32_t { none = 0xffffffff };
enum class LoopId : std::uint32_t { none = 0xffffffff };

/// A few blocks: nearly all have two neighbours at most, and a library has millions of blocks.
class BlockList {
public:
    void push_back(BlockId id) {
        if (count_ < few_.size()) few_[count_] = id;
        else {
            if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
            many_.push_back(id);
        }
        ++count_;
    }
    [[nodiscard]] const BlockId* begin() const { return count_ <= few_.size() ? few_.data() : many_.data(); }
    [[nodiscard]] const BlockId* end() const { return begin() + count_; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] BlockId operator[](std::size_t i) const { return begin()[i]; }

private:
    std::array<BlockId, 2> few_{};
    std::uint32_t count_{};
    std::vector<BlockId> many_;                ///< all of them, once there are more
};

struct BasicBlock {
    std::uint32_t begin{}, end{};              ///< instruction indices [begin, end)
    BlockList successors;                      ///< fall-through first, then branch targets in operand order
    BlockList predecessors;
    BlockId immediate_dominator{BlockId::none};
    BlockId immediate_post_dominator{BlockId::none};  ///< none: only the exit post-dominates it
    LoopId loop{LoopId::none};                 ///< innermost loop that holds it
    std::uint32_t order{};                     ///< position in loop-aware topological order: a loop's blocks are contiguous
    bool reachable{};
};

/// A natural loop; irreducible regions are reported as one loop with `irreducible` set.
struct Loop {
    BlockId header{BlockId::none};
    std::uint32_t order_begin{}, order_end{};  ///< its blocks are KernelIr::topological[order_begin, order_end), header first
    std::vector<BlockId> latches;
    std::vector<BlockId> exiting;              ///< blocks with a successor outside
    LoopId parent{LoopId::none};
    std::uint32_t depth{1};                    ///< 1 = outermost
    bool irreducible{};
};

/// Does control leave this instruction for another place than the next one (also when only some lanes do)?
/// bra, brx.idx, ret, exit, trap, and calls to functions that do not return.
[[nodiscard]] bool ends_block(const ptx::Module& module, const ptx::Instruction& instruction);

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

    /// Blocks of a loop, those of loops inside it included, header first. (A range and no list of its own: nested lists
    /// would need quadratic memory in deep nests.)
    [[nodiscard]] std::span<const BlockId> blocks_of(const Loop& loop) const {
        return {topological.data() + loop.order_begin, loop.order_end - loop.order_begin};
    }
    [[nodiscard]] bool contains(const Loop& loop, BlockId id) const {
        const BasicBlock& b = block(id);
        return b.reachable && b.order >= loop.order_begin && b.order < loop.order_end;
    }
    [[nodiscard]] const Loop& loop(LoopId id) const { return loops[static_cast<std::uint32_t>(id)]; }
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
/// `with_dominators` false leaves the two dominator fields of the blocks empty.
[[nodiscard]] KernelIr build_ir(const ptx::Module& module, const ptx::Function& function, bool with_dominators = true);

}  // namespace flipflop
