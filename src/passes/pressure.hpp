// Owns: how many registers a function's values need at once. Input: a function's code and its value classes.
// Output: the pressure of the text's own order, and of orders that ptxas's scheduler may choose.
// Invariant: no recursion; time and memory linear in code plus live ranges (times a logarithm for the scheduler).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flipflop/passes.hpp"
#include "passes/if_conversion.hpp"
#include "passes/value_classes.hpp"

namespace flipflop {

/// Most registers alive at once, outside loops and in them.
struct Peaks {
    std::uint32_t straight{}, in_loops{};
};

class PressureModel {
public:
    /// `callee` gives the registers that a called function needs of its own.
    PressureModel(const FunctionCode& function, std::uint32_t sm, const std::function<std::uint32_t(const ptx::Function&)>& callee);

    /// The fewest that an order of each block was found to need: the text's, a greedy one, or one on demand.
    [[nodiscard]] Peaks least() const;

    /// Registers of values that pass untouched through the block of highest pressure and that are cheap to make again.
    [[nodiscard]] std::uint32_t remade_at_peak() const;

    /// The most when each block is scheduled for latency, and for few registers once more than `limit` are alive.
    [[nodiscard]] Peaks scheduled(std::uint32_t limit) const;

    /// The instructions of a block in the order that the scheduler chooses, for tests.
    [[nodiscard]] std::vector<std::uint32_t> order_of_block(class BlockScheduler& scheduler, std::uint32_t block, std::uint32_t limit) const;

private:
    struct Node {
        std::uint32_t instruction{};
        std::uint32_t defs_begin{}, uses_begin{}, end{};   ///< ranges of `values_`: definitions, then uses
        std::uint8_t temporaries{};                        ///< of the machine code it expands to
        std::uint16_t latency{};
        std::uint32_t side{};                              ///< of a branch, counted in its block, that it is predicated for; 0: none
        bool synthetic{};                                  ///< a load from the constant bank that PTX does not show
    };
    struct Block {
        std::uint32_t begin{}, end{};
        std::uint32_t unrolled_begin{}, unrolled_end{};    ///< the body of a counted loop, several times; empty: none
        std::vector<std::uint32_t> live_out;
    };

    /// A pointer or an element size that code brings into a register in `block` for the addition `user`.
    struct Base {
        std::uint32_t block{}, user{}, value{};
        bool hoisted{};                                    ///< out of a loop: `user` is in another block
    };

    [[nodiscard]] std::vector<bool> cheap_values() const;
    void append_values(std::span<const ptx::RegId> registers);
    [[nodiscard]] std::int64_t element_size(const ptx::Instruction& addition) const;
    [[nodiscard]] std::uint32_t before_loop(std::uint32_t block) const;
    void find_bases(std::uint32_t sm);
    void make_base(const Base& base);
    void make_node(std::uint32_t i, const std::function<std::uint32_t(const ptx::Function&)>& callee);
    void make_nodes(std::uint32_t sm, const std::function<std::uint32_t(const ptx::Function&)>& callee);
    void find_live_values();
    void merge_live_blocks();
    void find_stored();
    void keep_old_value(Node& n, std::span<const std::uint32_t> kept);
    void unroll_loops();
    void append_copies(Block& block, unsigned copies);
    [[nodiscard]] std::span<const std::uint32_t> defs(const Node& n) const { return {values_.data() + n.defs_begin, n.uses_begin - n.defs_begin}; }
    [[nodiscard]] std::span<const std::uint32_t> uses(const Node& n) const { return {values_.data() + n.uses_begin, n.end - n.uses_begin}; }
    [[nodiscard]] std::uint32_t block_in_order(const std::vector<std::uint32_t>& live_out, std::span<const std::uint32_t> order) const;
    friend class BlockScheduler;

    const FunctionCode& function_;
    const KernelIr& ir_;
    const ptx::Module& module_;
    ValueClasses classes_;
    MergedBlocks merged_;
    std::vector<bool> stored_;                         ///< by value: data of a store to a 64-bit address
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> values_;                ///< registers; numbers past the last register are copies of unrolling
    std::vector<Block> blocks_;
    std::vector<Base> bases_;                          ///< by block
    std::vector<std::uint32_t> base_of_;               ///< by instruction: the value that it takes beside its operands
    mutable std::vector<std::uint32_t> stamp_;   ///< by value: scratch of block_in_order
    mutable std::uint32_t round_{};
};

}  // namespace flipflop
