#include "ir/graph.hpp"

#include <algorithm>

namespace flipflop::graph {

Graph::Graph(std::uint32_t nodes, std::span<const std::pair<std::uint32_t, std::uint32_t>> edges) : nodes_(nodes) {
    out_begin_.assign(nodes + 1, 0);
    in_begin_.assign(nodes + 1, 0);
    for (const auto& [from, to] : edges) {
        ++out_begin_[from + 1];
        ++in_begin_[to + 1];
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
        out_begin_[n + 1] += out_begin_[n];
        in_begin_[n + 1] += in_begin_[n];
    }
    out_.resize(edges.size());
    in_.resize(edges.size());
    std::vector<std::uint32_t> out_next(out_begin_.begin(), out_begin_.end() - 1);
    std::vector<std::uint32_t> in_next(in_begin_.begin(), in_begin_.end() - 1);
    for (const auto& [from, to] : edges) {
        out_[out_next[from]++] = to;
        in_[in_next[to]++] = from;
    }
}

Graph Graph::reversed() const {
    Graph other;
    other.nodes_ = nodes_;
    other.out_begin_ = in_begin_;
    other.out_ = in_;
    other.in_begin_ = out_begin_;
    other.in_ = out_;
    return other;
}

DepthFirst depth_first(const Graph& graph, std::uint32_t root) {
    DepthFirst d;
    d.preorder.assign(graph.size(), kNone);
    d.last.assign(graph.size(), kNone);
    d.parent.assign(graph.size(), kNone);
    if (graph.size() == 0) return d;
    struct Frame { std::uint32_t node, next; };
    std::vector<Frame> stack{{root, 0}};
    d.preorder[root] = 0;
    d.nodes.push_back(root);
    while (!stack.empty()) {
        Frame& top = stack.back();
        const auto out = graph.successors(top.node);
        if (top.next == out.size()) {
            d.last[top.node] = static_cast<std::uint32_t>(d.nodes.size() - 1);
            stack.pop_back();
            continue;
        }
        const std::uint32_t to = out[top.next++];
        if (d.preorder[to] != kNone) continue;
        d.preorder[to] = static_cast<std::uint32_t>(d.nodes.size());
        d.parent[to] = top.node;
        d.nodes.push_back(to);
        stack.push_back({to, 0});
    }
    return d;
}

namespace {

/// Lengauer-Tarjan's forest with path compression, on preorder numbers, without recursion.
class SemiForest {
public:
    explicit SemiForest(std::uint32_t size) : ancestor_(size, kNone), label_(size), semi_(size) {
        for (std::uint32_t i = 0; i < size; ++i) label_[i] = semi_[i] = i;
    }
    std::uint32_t& semi(std::uint32_t v) { return semi_[v]; }
    void link(std::uint32_t parent, std::uint32_t v) { ancestor_[v] = parent; }
    /// Node of least semidominator on the path from v to its tree's root, the root apart.
    std::uint32_t eval(std::uint32_t v) {
        if (ancestor_[v] == kNone) return v;
        path_.clear();
        for (std::uint32_t u = v; ancestor_[ancestor_[u]] != kNone; u = ancestor_[u]) path_.push_back(u);
        for (auto it = path_.rbegin(); it != path_.rend(); ++it) {
            const std::uint32_t a = ancestor_[*it];
            if (semi_[label_[a]] < semi_[label_[*it]]) label_[*it] = label_[a];
            ancestor_[*it] = ancestor_[a];
        }
        return label_[v];
    }

private:
    std::vector<std::uint32_t> ancestor_, label_, semi_, path_;
};

}  // namespace

std::vector<std::uint32_t> dominators(const Graph& graph, std::uint32_t root) {
    std::vector<std::uint32_t> result(graph.size(), kNone);
    if (graph.size() == 0) return result;
    const DepthFirst d = depth_first(graph, root);
    const auto reached = static_cast<std::uint32_t>(d.nodes.size());
    SemiForest forest(reached);
    std::vector<std::uint32_t> idom(reached, kNone);
    std::vector<std::uint32_t> bucket_head(reached, kNone), bucket_next(reached, kNone);
    for (std::uint32_t w = reached; w-- > 1;) {
        const std::uint32_t parent = d.preorder[d.parent[d.nodes[w]]];
        for (const std::uint32_t from : graph.predecessors(d.nodes[w])) {
            if (!d.reached(from)) continue;
            forest.semi(w) = std::min(forest.semi(w), forest.semi(forest.eval(d.preorder[from])));
        }
        const std::uint32_t semi = forest.semi(w);
        bucket_next[w] = bucket_head[semi];
        bucket_head[semi] = w;
        forest.link(parent, w);
        for (std::uint32_t v = bucket_head[parent]; v != kNone; v = bucket_next[v]) {
            const std::uint32_t u = forest.eval(v);
            idom[v] = forest.semi(u) < forest.semi(v) ? u : parent;
        }
        bucket_head[parent] = kNone;
    }
    for (std::uint32_t w = 1; w < reached; ++w) {
        if (idom[w] != forest.semi(w)) idom[w] = idom[idom[w]];
        result[d.nodes[w]] = d.nodes[idom[w]];
    }
    return result;
}

}  // namespace flipflop::graph
