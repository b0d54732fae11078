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

    /// Node numbers of `block`; valid until the next call.
    [[nodiscard]] std::span<const std::uint32_t> order(const PressureModel::Block& block, std::uint32_t limit);

private:
    void connect(const PressureModel::Block& block);
    void connect_memory(std::uint32_t node);
    void edge(std::uint32_t from, std::uint32_t to);
    void set_heights(const PressureModel::Block& block);
    [[nodiscard]] std::int32_t growth(std::uint32_t node) const;
    void issue(std::uint32_t node);

    struct Reference { std::uint32_t node{}, base{}; std::int64_t offset{}; std::uint32_t bytes{}; };
    [[nodiscard]] Reference reference(std::uint32_t node) const;

    const PressureModel& model_;
    std::uint32_t first_{};                              // of the block's nodes
    std::vector<std::vector<std::uint32_t>> successors_;
    std::vector<std::uint32_t> waiting_, height_, order_;
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
