#include "evaluator/safety_witness.hpp"

#include <bit>

#include "evaluator/safety_listing.hpp"

namespace flipflop::eval {

u32 Sieve::branch(u64 word) const {
    u64 digits = scrambled(word ^ 0x51e7e) >> 1;      // scrambled numbers are odd
    for (const u32 wanted : path) {
        if (digits % kBranches != wanted) return kBranches;
        digits /= kBranches;
    }
    return static_cast<u32>(digits % kBranches);
}

namespace {

constexpr std::size_t kDeepest = 12;     // 6^12 source words

/// What one byte derives from, by branch of the sieve; the last is shared memory that nobody has written.
using Branches = std::array<u64, Sieve::kBranches + 1>;

class Side {
public:
    Side(const WitnessSide& side, const SafetyLimits& limits)
        : session_(side.program, side.traits, side.launch), block_(session_), record_(side.record) {
        session_.budget = limits.steps;
        session_.watched = side.record.watched;
    }

    /// Runs the block (or warp) that writes this byte. Nothing when it cannot be told.
    std::optional<Branches> sources_of(u64 address, const Sieve& sieve) {
        if (!found_) {
            found_ = writer_of(record_, address);
            if (!found_) return {};
        }
        session_.sieve = &sieve;
        session_.steps = 0;
        for (unsigned k = 0; k < kAxes; ++k) {
            block_.domain.set(k, 1);
            block_.domain.movers[k] = kAllLanes;
        }
        const Corner corner = corner_of(session_, *found_);
        block_.run(corner.place, corner.groups);
        session_.sieve = nullptr;
        if (!block_.findings.unknown.empty() || block_.classes.overflow()) return {};
        Branches sum{};
        for (const GlobalWrites::Entry& e : block_.global.entries()) {
            if (e.granule != address / block_.global.granule()) continue;
            const Element& value = block_.global.records()[e.record].value;
            if (value.lost) return {};
            for (unsigned m = value.mask; m; m &= m - 1) {
                const auto c = static_cast<u32>(std::countr_zero(m));
                const ByteClass& cls = block_.classes[c];
                if (cls.vague) continue;
                u64& to = sum[cls.stride[0] ? static_cast<std::size_t>(cls.stride[0] - 1) : Sieve::kBranches];
                to = plus(to, value.sum[c]);
            }
        }
        for (u64& s : sum) s = reduced(s);
        return sum;
    }

private:
    SafetySession session_;
    BlockRun block_;
    const LaunchRecord& record_;
    std::optional<GridBox> found_;
};

}  // namespace

std::optional<u64> byte_with_other_sources(const WitnessSide& reference, const WitnessSide& candidate, const SafetyLimits& limits) {
    if (!reference.record.boxes_complete || !candidate.record.boxes_complete) return {};
    const std::optional<u64> address = first_other_origin(reference.record, candidate.record, limits.store_executions / 16);
    if (!address) return {};
    Side mine(reference, limits), theirs(candidate, limits);
    Sieve sieve;
    while (sieve.path.size() < kDeepest) {
        const auto a = mine.sources_of(*address, sieve), b = theirs.sources_of(*address, sieve);
        if (!a || !b) return {};
        u32 next = Sieve::kBranches;
        for (u32 k = 0; k < a->size(); ++k) {
            if (((*a)[k] == 0) != ((*b)[k] == 0)) return address;
            if (k < Sieve::kBranches && (*a)[k] != (*b)[k] && next == Sieve::kBranches) next = k;
        }
        if (next == Sieve::kBranches) return {};
        sieve.path.push_back(next);
    }
    return {};
}

}  // namespace flipflop::eval
