// Graph algorithms of the IR against brute force on random graphs.
#include <algorithm>
#include <random>
#include <set>

#include "catch.hpp"
#include "ir/graph.hpp"

using namespace flipflop::graph;

namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Edges random_edges(std::mt19937& rng, std::uint32_t nodes, std::uint32_t edges) {
    std::uniform_int_distribution<std::uint32_t> any(0, nodes - 1);
    Edges result;
    for (std::uint32_t e = 0; e < edges; ++e) result.emplace_back(any(rng), any(rng));
    return result;
}

/// Nodes reached from the root without passing `removed`.
std::vector<bool> reach(const Graph& g, std::uint32_t root, std::uint32_t removed = kNone) {
    std::vector<bool> seen(g.size());
    if (root == removed) return seen;
    std::vector<std::uint32_t> work{root};
    seen[root] = true;
    while (!work.empty()) {
        const std::uint32_t n = work.back();
        work.pop_back();
        for (const std::uint32_t to : g.successors(n)) {
            if (to == removed || seen[to]) continue;
            seen[to] = true;
            work.push_back(to);
        }
    }
    return seen;
}

}  // namespace

TEST_CASE("dominators agree with removal of each node", "[ir][property]") {
    std::mt19937 rng(7);
    for (int round = 0; round < 400; ++round) {
        const auto nodes = static_cast<std::uint32_t>(1 + rng() % 18);
        const Graph g(nodes, random_edges(rng, nodes, static_cast<std::uint32_t>(rng() % (3 * nodes))));
        const auto idom = dominators(g, 0);
        const auto reached = reach(g, 0);
        REQUIRE(idom[0] == kNone);
        std::vector<std::vector<bool>> without;   // [d][n]: n is reached without d
        for (std::uint32_t d = 0; d < nodes; ++d) without.push_back(reach(g, 0, d));
        const auto dominates = [&](std::uint32_t d, std::uint32_t n) { return reached[n] && (d == n || !without[d][n]); };
        for (std::uint32_t n = 1; n < nodes; ++n) {
            if (!reached[n]) {
                REQUIRE(idom[n] == kNone);
                continue;
            }
            REQUIRE(idom[n] != kNone);
            REQUIRE(idom[n] != n);
            REQUIRE(dominates(idom[n], n));
            for (std::uint32_t d = 0; d < nodes; ++d)
                if (d != n && dominates(d, n)) REQUIRE(dominates(d, idom[n]));
        }
    }
}

TEST_CASE("loop forest: contiguous loops, sources before targets, nesting", "[ir][property]") {
    std::mt19937 rng(11);
    int irreducible = 0, nested = 0;
    for (int round = 0; round < 800; ++round) {
        const auto nodes = static_cast<std::uint32_t>(1 + rng() % 16);
        const Graph g(nodes, random_edges(rng, nodes, static_cast<std::uint32_t>(rng() % (2 * nodes + 2))));
        const LoopForest f = loop_forest(g, 0);
        const auto reached = reach(g, 0);
        std::vector<std::uint32_t> position(nodes, kNone);
        for (std::uint32_t p = 0; p < f.order.size(); ++p) position[f.order[p]] = p;
        for (std::uint32_t n = 0; n < nodes; ++n) REQUIRE((position[n] != kNone) == reached[n]);
        const DepthFirst d = depth_first(g, 0);
        const auto idom = dominators(g, 0);
        for (const LoopNode& l : f.loops) {
            REQUIRE(f.order[l.order_begin] == l.header);
            irreducible += l.irreducible;
            // Every node of the loop reaches the header inside the loop, and is reached from it.
            std::set<std::uint32_t> body(f.order.begin() + l.order_begin, f.order.begin() + l.order_end);
            Edges inside;
            for (const std::uint32_t n : body)
                for (const std::uint32_t to : g.successors(n))
                    if (body.count(to)) inside.emplace_back(n, to);
            const Graph sub(nodes, inside);
            const auto down = reach(sub, l.header), up = reach(sub.reversed(), l.header);
            for (const std::uint32_t n : body) REQUIRE((down[n] && up[n]));
            bool second_entry = false;
            for (const std::uint32_t n : body)
                for (const std::uint32_t from : g.predecessors(n))
                    second_entry |= n != l.header && reached[from] && !body.count(from);
            REQUIRE(l.irreducible == second_entry);
            if (l.parent != kNone) {
                ++nested;
                const LoopNode& p = f.loops[l.parent];
                REQUIRE(l.depth == p.depth + 1);
                REQUIRE((p.order_begin <= l.order_begin && l.order_end <= p.order_end));
            } else {
                REQUIRE(l.depth == 1);
            }
        }
        for (std::uint32_t n = 0; n < nodes; ++n) {
            if (!reached[n]) continue;
            for (const std::uint32_t to : g.successors(n)) {
                if (position[n] < position[to]) continue;
                // Backwards in the order: only to the header of a loop that holds the source.
                bool header = false;
                for (const LoopNode& l : f.loops)
                    header |= l.header == to && position[n] >= l.order_begin && position[n] < l.order_end;
                REQUIRE(header);
            }
            // Innermost loop of n: the smallest range that holds it.
            std::uint32_t best = kNone;
            for (std::uint32_t l = 0; l < f.loops.size(); ++l)
                if (position[n] >= f.loops[l].order_begin && position[n] < f.loops[l].order_end &&
                    (best == kNone || f.loops[l].depth > f.loops[best].depth)) best = l;
            REQUIRE(f.loop_of[n] == best);
        }
    }
    REQUIRE(irreducible > 20);
    REQUIRE(nested > 50);
}

TEST_CASE("graphs as deep as a hostile file can make them", "[ir]") {
    const std::uint32_t n = 60000;
    Edges chain, nest;
    for (std::uint32_t i = 0; i + 1 < n; ++i) chain.emplace_back(i, i + 1);
    nest = chain;
    for (std::uint32_t i = 0; i < n / 2; ++i) nest.emplace_back(n - 1 - i, i);   // n/2 loops, each inside the one before
    REQUIRE(dominators(Graph(n, chain), 0)[n - 1] == n - 2);
    const LoopForest f = loop_forest(Graph(n, nest), 0);
    REQUIRE(f.loops.size() == n / 2);
    REQUIRE(f.loops.back().depth == n / 2);
    REQUIRE(f.order.size() == n);
}
