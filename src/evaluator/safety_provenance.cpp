#include "evaluator/safety_provenance.hpp"

#include <bit>

namespace flipflop::eval {

void ProvenanceFile::add_to(Provenance& p, u32 slot, u32 lanes) const {
    p.lost |= lost_[slot] & lanes;
    for (unsigned m = mask_[slot]; m; m &= m - 1) {
        const auto c = static_cast<u32>(std::countr_zero(m));
        const u64* from = row(slot, c);
        u64* to = p.sum[c];
        if (lanes == kAllLanes) {
            if (p.mask & (1u << c))
                for (unsigned l = 0; l < kLanes; ++l) to[l] = plus(to[l], from[l]);
            else
                for (unsigned l = 0; l < kLanes; ++l) to[l] = from[l];
            p.mask = static_cast<ClassMask>(p.mask | (1u << c));
            continue;
        }
        p.open(c);
        for (unsigned l = 0; l < kLanes; ++l) to[l] = plus(to[l], (lanes >> l) & 1 ? from[l] : 0);
    }
}

void ProvenanceFile::assign(u32 slot, const Provenance& p, Lanes lanes) {
    const u32 kept = lanes.alive & ~lanes.active;
    const u32 highest = static_cast<u32>(std::bit_width(static_cast<unsigned>(p.mask)));
    if (highest > capacity_) grow(highest);
    if (!kept) {
        mask_[slot] = p.mask;
        lost_[slot] = p.lost & lanes.active;
        for (unsigned m = p.mask; m; m &= m - 1) {
            const auto c = static_cast<u32>(std::countr_zero(m));
            u64* to = writable(slot, c);
            for (unsigned l = 0; l < kLanes; ++l) to[l] = p.sum[c][l];
        }
        return;
    }
    lost_[slot] = (lost_[slot] & ~lanes.active) | (p.lost & lanes.active);
    for (unsigned m = static_cast<unsigned>(p.mask | mask_[slot]); m; m &= m - 1) {
        const auto c = static_cast<u32>(std::countr_zero(m));
        const bool had = mask_[slot] & (1u << c), has = p.mask & (1u << c);
        u64* to = writable(slot, c);
        for (unsigned l = 0; l < kLanes; ++l) {
            if ((lanes.active >> l) & 1) to[l] = has ? p.sum[c][l] : 0;
            else if (!had) to[l] = 0;
        }
    }
    mask_[slot] = static_cast<ClassMask>(mask_[slot] | p.mask);
}

void ProvenanceFile::assign_empty(u32 slot, Lanes lanes) {
    const u32 kept = lanes.alive & ~lanes.active;
    lost_[slot] &= ~lanes.active;
    if (!kept) { mask_[slot] = 0; return; }
    for (unsigned m = mask_[slot]; m; m &= m - 1) {
        u64* to = writable(slot, static_cast<u32>(std::countr_zero(m)));
        for (unsigned l = 0; l < kLanes; ++l)
            if ((lanes.active >> l) & 1) to[l] = 0;
    }
}

void ProvenanceFile::grow(u32 classes) {
    std::vector<u64> rows(std::size_t{slots_} * classes * kLanes);
    for (u32 s = 0; s < slots_; ++s)
        for (u32 c = 0; c < capacity_; ++c)
            std::copy_n(row(s, c), kLanes, &rows[(std::size_t{s} * classes + c) * kLanes]);
    rows_ = std::move(rows);
    capacity_ = classes;
}

}  // namespace flipflop::eval
