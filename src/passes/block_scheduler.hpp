// Owns: an order of one block's instructions as a latency-hiding list scheduler with a register limit would choose it.
// Input: a PressureModel's nodes. Invariant: every dependence through registers and memory is kept.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "passes/pressure.hpp"

namespace flipflop {

class BlockScheduler {
public:
    explicit BlockScheduler(const PressureModel& model);

    /// An order of the nodes [begin, end); valid until the next call.
    [[nodiscard]] std::span<const std::uint32_t> order(std::uint32_t begin, std::uint32_t end,
                                                       const std::vector<std::uint32_t>& live_out, std::uint32_t limit);

    /// An order in which what a store, a branch or a live value needs is computed just before it, in the text's order of
    /// these; valid until the next call.
    [[nodiscard]] std::span<const std::uint32_t> on_demand(std::uint32_t begin, std::uint32_t end, const std::vector<std::uint32_t>& live_out);

private:
    void visit(std::uint32_t root);
    [[nodiscard]] std::span<const std::uint32_t> choose(std::uint32_t begin, std::uint32_t end, std::uint32_t limit);
    void connect(std::uint32_t begin, std::uint32_t end);
    void connect_memory(std::uint32_t node);
    void wait_for_predicate(std::uint32_t node, std::vector<std::uint32_t>& ends_of_sides);
    void edge(std::uint32_t from, std::uint32_t to, bool needs_result = false);
    void set_heights(std::uint32_t begin, std::uint32_t end);
    [[nodiscard]] std::int32_t growth(std::uint32_t node) const;
    void issue(std::uint32_t node);

    struct Reference { std::uint32_t node{}, base{}; std::int64_t offset{}; std::uint32_t bytes{}; };
    [[nodiscard]] Reference reference(std::uint32_t node) const;

    const PressureModel& model_;
    std::uint32_t first_{};                              // of the block's nodes
    struct Edge { std::uint32_t to{}, latency{}; };
    std::vector<std::vector<Edge>> successors_;
    std::vector<std::uint32_t> waiting_, height_, ready_at_, order_;
    std::vector<std::vector<std::uint32_t>> predecessors_;   // of on_demand
    std::vector<std::uint8_t> visited_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> path_;   // (node, predecessors looked at)
    // Per register, for the block at hand (stamped by block round).
    std::vector<std::uint32_t> last_def_, def_round_, unread_, unread_round_, out_round_, entered_round_;
    std::vector<std::vector<std::uint32_t>> readers_;
    std::uint32_t round_{};
    std::int64_t alive_{};
    struct Queue { std::vector<Reference> stores; std::vector<std::uint32_t> loads; };
    Queue shared_, global_;
    std::uint32_t fence_{};
};

}  // namespace flipflop
