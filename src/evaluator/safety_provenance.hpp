// Owns: what registers derive from: for each lane one sum of field elements a class, where a class is how the bytes in it
// move with the axes of the domain. Input: the operations' sources. Invariant: a lane that is lost has no meaningful sum;
// every lane of a register never written is lost.
#pragma once

#include <vector>

#include "evaluator/operate.hpp"
#include "evaluator/safety_hash.hpp"

namespace flipflop::eval {

inline constexpr unsigned kMaxClasses = 8;
using ClassMask = std::uint8_t;
using MovedBy = std::array<i64, kFirstLoopAxis>;    ///< bytes an axis of blocks or warps

/// How the bytes of a class move. Vague ones stand for constants that went through an operation which is not modelled:
/// where only they differ nothing is certain.
struct ByteClass {
    MovedBy stride{};
    bool vague{};
    bool operator==(const ByteClass&) const = default;
};

class ClassTable {
public:
    void clear() { classes_.clear(); overflow_ = false; }
    /// Index of the class, 0 and `overflow` when there are too many.
    u32 find(const MovedBy& stride, bool vague) {
        const ByteClass wanted{stride, vague};
        for (u32 k = 0; k < classes_.size(); ++k)
            if (classes_[k] == wanted) return k;
        if (classes_.size() == kMaxClasses) { overflow_ = true; return 0; }
        classes_.push_back(wanted);
        return static_cast<u32>(classes_.size() - 1);
    }
    [[nodiscard]] const ByteClass& operator[](u32 k) const { return classes_[k]; }
    [[nodiscard]] u32 size() const { return static_cast<u32>(classes_.size()); }
    [[nodiscard]] bool overflow() const { return overflow_; }

private:
    std::vector<ByteClass> classes_;
    bool overflow_{};
};

[[nodiscard]] inline MovedBy moved_by(const Value& v, const Domain& domain) {
    MovedBy m{};
    const unsigned live = static_cast<unsigned>(v.axes & domain.live());
    for (unsigned k = 0; k < kFirstLoopAxis; ++k)
        if (live & (1u << k)) m[k] = v.stride[k];
    return m;
}

/// What one value derives from.
struct Provenance {
    ClassMask mask{};
    u32 lost{};
    alignas(64) u64 sum[kMaxClasses][kLanes];

    void clear() { mask = 0; lost = 0; }
    void open(u32 c) {
        if (mask & (1u << c)) return;
        mask = static_cast<ClassMask>(mask | (1u << c));
        for (u64& x : sum[c]) x = 0;
    }
    void add(u32 c, unsigned lane, u64 x) { sum[c][lane] = plus(sum[c][lane], x); }
};

/// The provenance of a function's registers.
class ProvenanceFile {
public:
    void reset(u32 slots) {
        mask_.assign(slots, 0);
        lost_.assign(slots, kAllLanes);
        shaped_.assign(slots, false);
        rows_.resize(std::size_t{slots} * capacity_ * kLanes);
        slots_ = slots;
    }
    [[nodiscard]] ClassMask mask(u32 slot) const { return mask_[slot]; }
    [[nodiscard]] u32 lost(u32 slot) const { return lost_[slot]; }
    [[nodiscard]] const u64* row(u32 slot, u32 c) const { return &rows_[(std::size_t{slot} * capacity_ + c) * kLanes]; }
    [[nodiscard]] u64 at(u32 slot, u32 c, unsigned lane) const { return mask_[slot] & (1u << c) ? row(slot, c)[lane] : 0; }
    /// Does a known value follow from where threads stand or how many there are? Then it may be another in another launch.
    [[nodiscard]] bool shaped(u32 slot) const { return shaped_[slot]; }
    void set_shaped(u32 slot, bool shaped) { shaped_[slot] = shaped; }
    /// Nothing, known to be nothing.
    void set_empty(u32 slot) { mask_[slot] = 0; lost_[slot] = 0; }
    /// Adds what `slot` derives from in those lanes.
    void add_to(Provenance& p, u32 slot, u32 lanes) const;
    void assign(u32 slot, const Provenance& p, Lanes lanes);
    void assign_empty(u32 slot, Lanes lanes);

private:
    void grow(u32 classes);
    [[nodiscard]] u64* writable(u32 slot, u32 c) { return &rows_[(std::size_t{slot} * capacity_ + c) * kLanes]; }
    std::vector<ClassMask> mask_;
    std::vector<u32> lost_;
    std::vector<bool> shaped_;
    std::vector<u64> rows_;
    u32 slots_{}, capacity_{2};
};

}  // namespace flipflop::eval
