#include "evaluator/fold.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "evaluator/prepare.hpp"

namespace flipflop::eval {
namespace {

constexpr u64 kWord = u64{1} << 32;

class Uses {
public:
    Uses(const Program& program, const Launch& launch) : program_(program), fn_(program.functions.front()), launch_(launch), writer_(fn_.slots, kNone), writes_(fn_.slots) {
        for (u32 k = 0; k < fn_.ops.size(); ++k)
            for_each_write(fn_, fn_.ops[k], [&](u32 s) {
                writer_[s] = k;
                ++writes_[s];
            });
    }

    /// After how many blocks everything made of this special register recurs.
    [[nodiscard]] u64 period_of(u32 special) const {
        std::vector<u32> carriers{special};
        u64 period = 1;
        for (std::size_t k = 0; k < carriers.size(); ++k) {
            const u32 slot = carriers[k];
            for (const MicroOp& op : fn_.ops) {
                if (!reads(op, slot)) continue;
                if (op.op == Op::mov && op.width == 32 && op.guard == kNone && writes_[op.dst[0]] == 1) {
                    if (std::find(carriers.begin(), carriers.end(), op.dst[0]) == carriers.end()) carriers.push_back(op.dst[0]);
                    continue;
                }
                const auto use = recurs(op, slot);
                if (!use) return Folding::kNever;
                period = std::max(period, *use);        // powers of two
            }
        }
        return period;
    }

private:
    [[nodiscard]] bool reads(const MicroOp& op, u32 slot) const {
        bool found = op.guard == slot;
        for_each_read(fn_, op, [&](u32 s) { found |= s == slot; });
        if (op.op == Op::call)
            for (const auto& [mine, theirs] : program_.calls[op.payload].in) found |= mine == slot;
        return found;
    }

    [[nodiscard]] std::optional<u64> recurs(const MicroOp& op, u32 slot) const {
        if (op.width != 32 || op.sat || op.carry_out || op.carry_in || op.guard == slot || op.src[0] == op.src[1] || op.src[2] == slot) return std::nullopt;
        const auto other = value_of(op.src[0] == slot ? op.src[1] : op.src[0]);
        if (!other) return std::nullopt;
        const u64 value = *other & (kWord - 1);
        switch (op.op) {
        case Op::mul_lo: case Op::mad_lo:
            if (op.mode == 24) return std::nullopt;
            return value ? kWord >> std::countr_zero(value) : 1;
        case Op::shl:
            if (op.src[0] != slot) return std::nullopt;
            return value < 32 ? kWord >> value : 1;
        case Op::and_: return std::bit_ceil(value + 1);
        default: return std::nullopt;
        }
    }

    /// What a slot holds wherever it is read: a constant, an extent of the launch, a copy of either.
    [[nodiscard]] std::optional<u64> value_of(u32 slot) const {
        for (int copies = 0; copies < 4 && slot != kNone; ++copies) {
            for (const auto& [s, bits] : fn_.constants)
                if (s == slot) return bits;
            for (const auto& [s, which] : fn_.specials)
                if (s == slot) return extent_of(which);
            if (writes_[slot] != 1) return std::nullopt;
            const MicroOp& op = fn_.ops[writer_[slot]];
            if (op.op != Op::mov || op.guard != kNone || op.width != 32) return std::nullopt;
            slot = op.src[0];
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<u64> extent_of(ptx::Special which) const {
        using S = ptx::Special;
        switch (which) {
        case S::ntid_x: return launch_.block.x;
        case S::ntid_y: return launch_.block.y;
        case S::ntid_z: return launch_.block.z;
        case S::nctaid_x: return launch_.grid.x;
        case S::nctaid_y: return launch_.grid.y;
        case S::nctaid_z: return launch_.grid.z;
        default: return std::nullopt;
        }
    }

    const Program& program_;
    const FunctionProgram& fn_;
    const Launch& launch_;
    std::vector<u32> writer_, writes_;
};

/// Registers that follow from the block's number in another way than by itself.
bool of_cluster(ptx::Special which) {
    using S = ptx::Special;
    switch (which) {
    case S::clusterid_x: case S::clusterid_y: case S::clusterid_z: case S::cluster_ctaid_x: case S::cluster_ctaid_y: case S::cluster_ctaid_z:
    case S::cluster_ctarank: return true;
    default: return false;
    }
}

}  // namespace

Folding folding_of(const Program& program, const Launch& launch) {
    using S = ptx::Special;
    Folding folding;
    for (const FunctionProgram& f : program.functions)
        for (const auto& [slot, which] : f.specials) {
            const bool elsewhere = &f != &program.functions.front() && (which == S::ctaid_x || which == S::ctaid_y || which == S::ctaid_z);
            if (of_cluster(which) || elsewhere) return {};
        }
    const u64 extent[]{launch.grid.x, launch.grid.y, launch.grid.z};
    std::optional<Uses> uses;
    for (const auto& [slot, which] : program.functions.front().specials)
        for (unsigned k = 0; k < kBlockAxes; ++k) {
            constexpr u64 shortest = u64{1} << 12;      // below it there is nothing to gain
            if (which != std::array{S::ctaid_x, S::ctaid_y, S::ctaid_z}[k] || extent[k] <= shortest) continue;
            if (!uses) uses.emplace(program, launch);
            const u64 period = uses->period_of(slot);
            if (period >= shortest && period < extent[k]) folding.period[k] = period;
        }
    return folding;
}

}  // namespace flipflop::eval
