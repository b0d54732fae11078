// Owns: how many registers a function's values need at once. Input: a function's code and its value classes.
// Output: the pressure of the text's own order, and of orders that ptxas's scheduler may choose.
// Invariant: no recursion; time and memory linear in code plus live ranges (times a logarithm for the scheduler).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flipflop/passes.hpp"
#include "passes/value_classes.hpp"

namespace flipflop {

class PressureModel {
public:
    /// `callee` gives the registers that a called function needs of its own.
    PressureModel(const FunctionCode& function, const std::function<std::uint32_t(const ptx::Function&)>& callee);

    /// Most 32-bit registers alive at once when nothing is moved.
    [[nodiscard]] std::uint32_t in_text_order() const;

    /// The same when each block is scheduled for latency, and for few registers once more than `limit` are alive.
    [[nodiscard]] std::uint32_t scheduled(std::uint32_t limit) const;

private:
    struct Node {
        std::uint32_t instruction{};
        std::uint32_t defs_begin{}, uses_begin{}, end{};   ///< ranges of `values_`: definitions, then uses
        std::uint8_t temporaries{};                        ///< of the machine code it expands to
        std::uint16_t latency{};
    };
    struct Block { std::uint32_t begin{}, end{}; std::vector<std::uint32_t> live_out; };

    void make_nodes(const std::function<std::uint32_t(const ptx::Function&)>& callee);
    void find_live_values();
    [[nodiscard]] std::span<const std::uint32_t> defs(const Node& n) const { return {values_.data() + n.defs_begin, n.uses_begin - n.defs_begin}; }
    [[nodiscard]] std::span<const std::uint32_t> uses(const Node& n) const { return {values_.data() + n.uses_begin, n.end - n.uses_begin}; }
    [[nodiscard]] std::uint32_t block_in_order(const Block& block, std::span<const std::uint32_t> order) const;
    friend class BlockScheduler;

    const FunctionCode& function_;
    const KernelIr& ir_;
    const ptx::Module& module_;
    ValueClasses classes_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> values_;
    std::vector<Block> blocks_;
    mutable std::vector<std::uint32_t> stamp_;   ///< by register: scratch of block_in_order
    mutable std::uint32_t round_{};
};

}  // namespace flipflop
