// Loop nesting forest and loop-aware order. Everything happens on preorder numbers of one depth-first search: an edge is
// retreating when its target is an ancestor of its source in that search.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "ir/graph.hpp"

namespace flipflop::graph {
namespace {

std::uint32_t find(std::vector<std::uint32_t>& set, std::uint32_t x) {
    std::uint32_t root = x;
    while (set[root] != root) root = set[root];
    while (set[x] != root) x = std::exchange(set[x], root);
    return root;
}

/// Headers by Havlak's algorithm: for each node (preorder number) the header of the innermost loop around it, the node
/// itself apart when it is a header.
struct Headers {
    std::vector<std::uint32_t> outer;        ///< header of the innermost loop that holds the node but is not headed by it
    std::vector<bool> is_header, irreducible;
};

Headers find_headers(const Graph& graph, const DepthFirst& d) {
    const auto n = static_cast<std::uint32_t>(d.nodes.size());
    Headers h{std::vector<std::uint32_t>(n, kNone), std::vector<bool>(n), std::vector<bool>(n)};
    std::vector<std::uint32_t> set(n);
    for (std::uint32_t i = 0; i < n; ++i) set[i] = i;
    std::vector<std::uint32_t> last(n);
    for (std::uint32_t w = 0; w < n; ++w) last[w] = d.last[d.nodes[w]];
    // Edges that do not retreat into a header from beside its loop, moved there from the nodes inside; hardly ever any.
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> moved;
    std::vector<std::uint32_t> body, mark(n, kNone);
    for (std::uint32_t w = n; w-- > 0;) {
        body.clear();
        for (const std::uint32_t from : graph.predecessors(d.nodes[w])) {
            const std::uint32_t v = d.preorder[from];
            if (v == kNone || !(w <= v && v <= last[w])) continue;
            h.is_header[w] = true;
            const std::uint32_t x = find(set, v);
            if (x != w && mark[x] != w) { mark[x] = w; body.push_back(x); }
        }
        for (std::size_t i = 0; i < body.size(); ++i) {
            const std::uint32_t x = body[i];
            const auto enter = [&](std::uint32_t from) {
                const std::uint32_t y = find(set, from);
                if (y == w) return;
                if (!(w <= y && y <= last[w])) {
                    // A way into the loop that does not pass its header: more than one entry.
                    h.irreducible[w] = true;
                    if (mark[y] != w) { mark[y] = w; moved[w].push_back(y); }
                } else if (mark[y] != w) {
                    mark[y] = w;
                    body.push_back(y);
                }
            };
            for (const std::uint32_t from : graph.predecessors(d.nodes[x])) {
                const std::uint32_t v = d.preorder[from];
                if (v != kNone && !(x <= v && v <= last[x])) enter(v);
            }
            if (const auto more = moved.find(x); more != moved.end())
                for (const std::uint32_t from : more->second) enter(from);
        }
        for (const std::uint32_t x : body) {
            h.outer[x] = w;
            set[x] = w;
        }
    }
    return h;
}

/// Child of `ancestor` on the way up from `loop`, in logarithmic time by jump pointers (Myers, IPL 17(5), 1983).
class LoopTree {
public:
    explicit LoopTree(const std::vector<LoopNode>& loops) : loops_(loops), jump_(loops.size()) {
        for (std::uint32_t l = 0; l < loops.size(); ++l) {
            const std::uint32_t p = loops[l].parent;
            if (p == kNone) { jump_[l] = kNone; continue; }
            const std::uint32_t j = jump_[p];
            jump_[l] = j != kNone && depth(p) - depth(j) == depth(j) - depth(jump_[j]) ? jump_[j] : p;
        }
    }
    [[nodiscard]] std::uint32_t depth(std::uint32_t l) const { return l == kNone ? 0 : loops_[l].depth; }
    [[nodiscard]] std::uint32_t up_to_depth(std::uint32_t l, std::uint32_t wanted) const {
        while (depth(l) > wanted) l = depth(jump_[l]) >= wanted && jump_[l] != kNone ? jump_[l] : loops_[l].parent;
        return l;
    }
    [[nodiscard]] std::uint32_t common(std::uint32_t a, std::uint32_t b) const {
        const std::uint32_t least = std::min(depth(a), depth(b));
        a = up_to_depth(a, least);
        b = up_to_depth(b, least);
        while (a != b) {
            if (jump_[a] != jump_[b]) { a = jump_[a]; b = jump_[b]; }
            else { a = loops_[a].parent; b = loops_[b].parent; }
        }
        return a;
    }

private:
    const std::vector<LoopNode>& loops_;
    std::vector<std::uint32_t> jump_;
};

/// Order of nodes: one sort a loop over its direct members (nodes and child loops), then laid out from the outside in.
class Ordering {
public:
    Ordering(const Graph& graph, const DepthFirst& d, LoopForest& forest) : graph_(graph), d_(d), forest_(forest) {
        nodes_ = graph.size();
        loops_ = static_cast<std::uint32_t>(forest.loops.size());
    }

    void run() {
        collect_members();
        collect_edges();
        sort_regions();
        lay_out();
    }

private:
    // A member is a node (its number) or a loop (nodes_ + its index). Region `loops_` is the graph outside all loops.
    [[nodiscard]] std::uint32_t key(std::uint32_t member) const {
        return member < nodes_ ? member : forest_.loops[member - nodes_].header;
    }

    void collect_members() {
        members_.resize(loops_ + 1);
        for (const std::uint32_t node : d_.nodes) {
            const std::uint32_t l = forest_.loop_of[node];
            members_[l == kNone ? loops_ : l].push_back(node);
        }
        for (std::uint32_t l = 0; l < loops_; ++l) {
            const std::uint32_t p = forest_.loops[l].parent;
            members_[p == kNone ? loops_ : p].push_back(nodes_ + l);
        }
    }

    void collect_edges() {
        const LoopTree tree(forest_.loops);
        const auto lift = [&](std::uint32_t node, std::uint32_t region) {
            const std::uint32_t l = forest_.loop_of[node];
            return l == region ? node : nodes_ + tree.up_to_depth(l, tree.depth(region) + 1);
        };
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
        waiting_.assign(nodes_ + loops_, 0);
        for (const std::uint32_t from : d_.nodes) {
            for (const std::uint32_t to : graph_.successors(from)) {
                if (d_.is_ancestor(to, from)) continue;
                const std::uint32_t region = tree.common(forest_.loop_of[from], forest_.loop_of[to]);
                const std::uint32_t a = lift(from, region), b = lift(to, region);
                if (a == b) continue;
                edges.emplace_back(a, b);
                ++waiting_[b];
            }
        }
        out_begin_.assign(nodes_ + loops_ + 1, 0);
        for (const auto& edge : edges) ++out_begin_[edge.first + 1];
        for (std::size_t m = 1; m < out_begin_.size(); ++m) out_begin_[m] += out_begin_[m - 1];
        out_.resize(edges.size());
        std::vector<std::uint32_t> next(out_begin_.begin(), out_begin_.end() - 1);
        for (const auto& edge : edges) out_[next[edge.first]++] = edge.second;
    }

    /// Kahn's sort by least text position, the header of the region first.
    void sort_regions() {
        using Entry = std::pair<std::uint32_t, std::uint32_t>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
        for (std::uint32_t r = 0; r <= loops_; ++r) {
            const std::uint32_t header = r < loops_ ? forest_.loops[r].header : kNone;
            const auto push = [&](std::uint32_t m) { ready.emplace(m == header ? 0 : key(m) + 1, m); };
            for (const std::uint32_t m : members_[r])
                if (waiting_[m] == 0) push(m);
            std::vector<std::uint32_t> sorted;
            sorted.reserve(members_[r].size());
            while (!ready.empty()) {
                const std::uint32_t m = ready.top().second;
                ready.pop();
                sorted.push_back(m);
                for (std::uint32_t e = out_begin_[m]; e < out_begin_[m + 1]; ++e)
                    if (--waiting_[out_[e]] == 0) push(out_[e]);
            }
            members_[r] = std::move(sorted);
        }
    }

    void lay_out() {
        struct Frame { std::uint32_t region; std::size_t next; };
        std::vector<Frame> stack{{loops_, 0}};
        while (!stack.empty()) {
            Frame& top = stack.back();
            const auto position = static_cast<std::uint32_t>(forest_.order.size());
            if (top.next == members_[top.region].size()) {
                if (top.region < loops_) forest_.loops[top.region].order_end = position;
                stack.pop_back();
                continue;
            }
            const std::uint32_t m = members_[top.region][top.next++];
            if (m < nodes_) {
                forest_.order.push_back(m);
            } else {
                forest_.loops[m - nodes_].order_begin = position;
                stack.push_back({m - nodes_, 0});
            }
        }
    }

    const Graph& graph_;
    const DepthFirst& d_;
    LoopForest& forest_;
    std::uint32_t nodes_{}, loops_{};
    std::vector<std::vector<std::uint32_t>> members_;
    std::vector<std::uint32_t> out_begin_, out_;     // edges between members of one region, by where they begin
    std::vector<std::uint32_t> waiting_;
};

}  // namespace

LoopForest loop_forest(const Graph& graph, std::uint32_t root) {
    LoopForest forest;
    forest.loop_of.assign(graph.size(), kNone);
    if (graph.size() == 0) return forest;
    const DepthFirst d = depth_first(graph, root);
    const Headers headers = find_headers(graph, d);

    // Outer loops have lower preorder numbers than the loops inside them, but the list is wanted by depth of nesting
    // first and position of the header second: preorder gives depths, then one sort.
    std::vector<std::uint32_t> depth(d.nodes.size(), 0), list;
    for (std::uint32_t w = 0; w < d.nodes.size(); ++w) {
        const std::uint32_t outer = headers.outer[w];
        depth[w] = (outer == kNone ? 0 : depth[outer]) + (headers.is_header[w] ? 1 : 0);
        if (headers.is_header[w]) list.push_back(w);
    }
    // "Outer before inner, by header position" is a walk of the forest: children sorted by header after their parent.
    std::vector<std::vector<std::uint32_t>> children(list.empty() ? 0 : d.nodes.size());
    std::vector<std::uint32_t> roots;
    std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) { return d.nodes[a] > d.nodes[b]; });
    for (const std::uint32_t w : list) (headers.outer[w] == kNone ? roots : children[headers.outer[w]]).push_back(w);
    std::vector<std::uint32_t> index(d.nodes.size(), kNone);
    while (!roots.empty()) {
        const std::uint32_t w = roots.back();
        roots.pop_back();
        index[w] = static_cast<std::uint32_t>(forest.loops.size());
        const std::uint32_t outer = headers.outer[w];
        forest.loops.push_back({d.nodes[w], outer == kNone ? kNone : index[outer], depth[w], headers.irreducible[w], 0, 0});
        roots.insert(roots.end(), children[w].begin(), children[w].end());
    }
    for (std::uint32_t w = 0; w < d.nodes.size(); ++w) {
        const std::uint32_t header = headers.is_header[w] ? w : headers.outer[w];
        forest.loop_of[d.nodes[w]] = header == kNone ? kNone : index[header];
    }
    Ordering(graph, d, forest).run();
    return forest;
}

}  // namespace flipflop::graph
