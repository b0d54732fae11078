// Owns: the graph algorithms of the IR on plain integers, so that they can be tested without any PTX.
// Input: a graph in compressed rows. Invariant: no recursion; linear, or linear times a logarithm.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace flipflop::graph {

inline constexpr std::uint32_t kNone = 0xffffffff;

/// Directed graph; parallel edges and self loops allowed. Both directions are stored.
class Graph {
public:
    Graph(std::uint32_t nodes, std::span<const std::pair<std::uint32_t, std::uint32_t>> edges);
    [[nodiscard]] std::uint32_t size() const { return nodes_; }
    [[nodiscard]] std::span<const std::uint32_t> successors(std::uint32_t node) const {
        return {out_.data() + out_begin_[node], out_begin_[node + 1] - out_begin_[node]};
    }
    [[nodiscard]] std::span<const std::uint32_t> predecessors(std::uint32_t node) const {
        return {in_.data() + in_begin_[node], in_begin_[node + 1] - in_begin_[node]};
    }
    [[nodiscard]] Graph reversed() const;

private:
    Graph() = default;
    std::uint32_t nodes_{};
    std::vector<std::uint32_t> out_begin_, out_, in_begin_, in_;
};

/// Depth-first numbering from a root. `preorder[n]` is kNone for nodes that are not reached; `last[n]` is the highest
/// preorder number among the descendants of n in the search tree.
struct DepthFirst {
    std::vector<std::uint32_t> preorder, last, parent, nodes;  ///< nodes: by preorder number
    [[nodiscard]] bool reached(std::uint32_t n) const { return preorder[n] != kNone; }
    [[nodiscard]] bool is_ancestor(std::uint32_t a, std::uint32_t n) const {
        return preorder[a] <= preorder[n] && preorder[n] <= last[a];
    }
};
[[nodiscard]] DepthFirst depth_first(const Graph& graph, std::uint32_t root);

/// Immediate dominators from a root; kNone for the root and for nodes that are not reached.
/// Lengauer and Tarjan, TOPLAS 1(1), 1979, the simple variant.
[[nodiscard]] std::vector<std::uint32_t> dominators(const Graph& graph, std::uint32_t root);

/// One loop of the nesting forest.
struct LoopNode {
    std::uint32_t header{kNone};
    std::uint32_t parent{kNone};     ///< index into LoopForest::loops
    std::uint32_t depth{1};
    bool irreducible{};
    std::uint32_t order_begin{}, order_end{};
};

struct LoopForest {
    std::vector<LoopNode> loops;             ///< outer before inner, by header
    std::vector<std::uint32_t> loop_of;      ///< innermost loop by node, kNone for none
    std::vector<std::uint32_t> order;        ///< reached nodes in loop-aware topological order
};

/// Loop nesting forest (Havlak, TOPLAS 19(4), 1997) and the order in which a loop's nodes are contiguous with the header
/// first, and, retreating edges apart, sources stand before targets. Among free choices the lower node number comes first.
[[nodiscard]] LoopForest loop_forest(const Graph& graph, std::uint32_t root);

}  // namespace flipflop::graph
