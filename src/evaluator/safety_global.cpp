#include "evaluator/safety_global.hpp"

#include <bit>

namespace flipflop::eval {

void GlobalWrites::reset(unsigned granule) {
    granule_ = granule;
    low_ = ~u64{0};
    high_ = 0;
    records_.clear();
    entries_.clear();
    first_.clear();
    reads_.clear();
}

bool GlobalWrites::store(const StoreRecord& r, u32 warp, const Order& order) {
    const auto index = static_cast<u32>(records_.size());
    records_.push_back(r);
    low_ = std::min(low_, r.address);
    high_ = std::max(high_, r.address + r.bytes);
    bool ordered = true;
    for (u64 g = r.address / granule_; g <= (r.address + r.bytes - 1) / granule_; ++g) {
        if (!reads_.empty()) {
            const auto read = reads_.find(g);
            if (read != reads_.end()) {
                const Read& by = read->second;
                ordered &= by.stride == r.stride;
                if (by.many || by.thread != r.thread)
                    for (u32 w = by.warps; w; w &= w - 1)
                        ordered &= order.before(static_cast<u32>(std::countr_zero(w)), by.time, warp);
            }
        }
        u32& head = first_[g];
        u32 e = head;
        while (e && records_[entries_[e - 1].record].thread != r.thread) e = entries_[e - 1].next;
        if (e) { entries_[e - 1].record = index; continue; }
        entries_.push_back({g, index, head});
        head = static_cast<u32>(entries_.size());
    }
    return ordered;
}

GlobalWrites::Found GlobalWrites::find(u64 address, unsigned bytes, const MovedBy& stride, u32 thread, u32 warp, const Order& order,
                                       Element& e, MovedBy& value_stride) const {
    u32 record = kNone;
    bool missing = false;
    for (u64 g = address / granule_; g <= (address + bytes - 1) / granule_; ++g) {
        const auto it = first_.find(g);
        if (it == first_.end()) { missing = true; continue; }
        const Entry& entry = entries_[it->second - 1];
        const StoreRecord& r = records_[entry.record];
        if (entry.next || r.stride != stride || (record != kNone && record != entry.record)) return Found::unordered;
        if (r.thread != thread && !order.before(r.thread / kLanes, r.time, warp)) return Found::unordered;
        record = entry.record;
    }
    if (record == kNone) return Found::nothing;
    const StoreRecord& r = records_[record];
    if (missing || r.address != address || r.bytes != bytes || r.conditional) return Found::unordered;
    e = r.value;
    value_stride = r.value_stride;
    return Found::value;
}

void GlobalWrites::note_read(u64 address, unsigned bytes, const MovedBy& stride, u32 thread, u32 time) {
    for (u64 g = address / granule_; g <= (address + bytes - 1) / granule_; ++g) {
        const u32 warp = 1u << (thread / kLanes % kLanes);
        const auto [it, added] = reads_.try_emplace(g, Read{stride, thread, time, warp, false});
        if (added) continue;
        Read& r = it->second;
        r.many |= r.thread != thread;
        r.warps |= warp;
        r.time = time;
        if (r.stride != stride) r.stride[0] = INT64_MIN;     // agrees with no store
    }
}

bool GlobalWrites::reads_are_own() const {
    for (const auto& [granule, read] : reads_) {
        const auto it = first_.find(granule);
        if (it == first_.end() || records_[entries_[it->second - 1].record].stride != read.stride) return false;
    }
    return true;
}

}  // namespace flipflop::eval
