#include "evaluator/safety_shared.hpp"

#include <bit>

namespace flipflop::eval {

void SharedMemory::reset(u64 bytes, unsigned granule) {
    granule_ = granule;
    granule_shift_ = static_cast<unsigned>(std::countr_zero(granule));
    cells_.assign((bytes + granule - 1) / granule, Cell{});
    for (auto& s : sums_) s.clear();
    serial_ = 0;
    last_ = {kNone, kNone, false, false};
}

void SharedMemory::grow(u64 bytes) {
    if (bytes > this->bytes()) cells_.resize((bytes + granule_ - 1) / granule_);
}

void SharedMemory::race(u32 first, const Accessor& who, bool same_warp, bool certain) {
    const Race r{std::min(first, who.op), std::max(first, who.op), same_warp, certain && who.certain};
    if (r == last_) return;
    last_ = r;
    races_.insert(r);
}

void SharedMemory::note_read(Cell& c, const Accessor& who, const Order& order) {
    const u32 thread = who.thread + 1, floor = order.floor(who.warp);
    if (c.writer && c.writer != thread && c.written_at >= floor) {
        const u32 other = (c.writer - 1) / kLanes;
        if (!order.before(other, c.written_at, who.warp)) race(c.write_op, who, other == who.warp, c.certain);
    }
    if (c.reader && c.reader != thread && c.read_at >= floor) {
        c.reader = kMany;
        c.reader_warps |= 1u << who.warp;
    } else {
        c.reader = thread;
        c.reader_warps = 1u << who.warp;
    }
    c.read_at = order.now();
    c.read_op = who.op;
}

void SharedMemory::note_write(Cell& c, const Accessor& who, const Order& order) {
    const u32 thread = who.thread + 1, floor = order.floor(who.warp);
    if (c.writer && c.writer != thread && c.written_at >= floor && !(c.atomic && who.atomic)) {
        const u32 other = (c.writer - 1) / kLanes;
        if (!order.before(other, c.written_at, who.warp)) race(c.write_op, who, other == who.warp, c.certain);
    }
    if (c.reader && c.reader != thread && c.read_at >= floor)
        for (u32 w = c.reader_warps; w; w &= w - 1) {
            const auto other = static_cast<u32>(std::countr_zero(w));
            if (!order.before(other, c.read_at, who.warp)) race(c.read_op, who, other == who.warp, true);
        }
    c.writer = thread;
    c.written_at = order.now();
    c.write_op = who.op;
    c.atomic = who.atomic;
    c.certain = who.certain;
    c.reader = c.reader_warps = 0;
}

void SharedMemory::read(u64 address, unsigned bytes, const Accessor& who, const Order& order, Element& e) {
    if (Cell& c = cells_[cell_of(address)]; bytes == granule_ && c.element == bytes && (address & (granule_ - 1)) == 0) {
        // One element, as it was stored: the sums of other classes are left as they are, nobody looks at them.
        if (!who.silent) note_read(c, who, order);
        e.bits = c.bits;
        e.known = c.known;
        e.lost = c.lost;
        e.junk = c.junk;
        e.shaped = c.shaped;
        e.mask = c.mask;
        for (unsigned m = c.mask; m; m &= m - 1) e.sum[static_cast<std::size_t>(std::countr_zero(m))] = sum_of(static_cast<u32>(std::countr_zero(m)), cell_of(address));
        if (bytes < 8) e.bits &= width_mask(bytes * 8);
        return;
    }
    e = Element{};
    e.known = true;
    const std::size_t first = cell_of(address), last = cell_of(address + bytes - 1);
    for (std::size_t at = first; at <= last;) {
        // All cells of one stored element that are read.
        const Cell& head = cells_[at];
        std::size_t end = at;
        for (; end <= last && (end == at || (cells_[end].serial == head.serial && head.serial)); ++end) {
            Cell& c = cells_[end];
            if (!who.silent) note_read(c, who, order);
            e.lost |= c.lost;
            e.junk |= c.junk;
            e.known &= c.known;
            e.shaped |= c.shaped;
            const u64 from = end * granule_, shift = from > address ? 8 * (from - address) : 0;
            const u64 part = from < address ? c.bits >> (8 * (address - from)) : c.bits;
            if (shift < 64) e.bits |= part << shift;
        }
        const u64 covered = std::min<u64>((end - at) * granule_, bytes), whole = head.element;
        for (unsigned m = head.mask; m; m &= m - 1) {
            const auto c = static_cast<u32>(std::countr_zero(m));
            u64 s = sum_of(c, at);
            if (covered < whole) s = times(times(s, covered), inverse(whole));
            e.sum[c] = plus(e.sum[c], s);
        }
        e.mask = static_cast<ClassMask>(e.mask | head.mask);
        at = end;
    }
    if (bytes < 8) e.bits &= width_mask(bytes * 8);
}

void SharedMemory::put(Cell& c, std::size_t index, u64 bits, const Element& e) {
    c.bits = bits;
    c.known = e.known;
    c.lost = e.lost;
    c.junk = e.junk;
    c.shaped = e.shaped;
    c.mask = e.mask;
    for (unsigned m = e.mask; m; m &= m - 1) {
        const auto k = static_cast<u32>(std::countr_zero(m));
        if (sums_[k].size() < cells_.size()) sums_[k].resize(cells_.size());
        sums_[k][index] = e.sum[k];
    }
}

void SharedMemory::write(u64 address, unsigned bytes, const Accessor& who, const Order& order, const Element& e) {
    ++serial_;
    const std::size_t first = cell_of(address), last = cell_of(address + bytes - 1);
    for (std::size_t at = first; at <= last; ++at) {
        Cell& c = cells_[at];
        note_write(c, who, order);
        c.serial = serial_;
        c.element = static_cast<std::uint8_t>(bytes);
        const unsigned shift = static_cast<unsigned>(at - first) * granule_ * 8;
        put(c, at, shift < 64 ? e.bits >> shift : 0, e);
    }
}

void SharedMemory::merge(u64 address, unsigned bytes, const Accessor& who, const Order& order, const Element& e) {
    const std::size_t first = cell_of(address), last = cell_of(address + bytes - 1);
    for (std::size_t at = first; at <= last; ++at) {
        Cell& c = cells_[at];
        note_write(c, who, order);
        Element sum = e;
        sum.known = false;
        sum.lost |= c.lost || (c.element != bytes && !c.junk);
        sum.junk |= c.junk;
        c.element = static_cast<std::uint8_t>(bytes);
        sum.mask = static_cast<ClassMask>(sum.mask | c.mask);
        for (unsigned m = c.mask; m; m &= m - 1) {
            const auto k = static_cast<u32>(std::countr_zero(m));
            sum.sum[k] = plus(sum.sum[k], sum_of(k, at));
        }
        put(c, at, 0, sum);
    }
}

void SharedMemory::lose_all() {
    for (Cell& c : cells_) { c.lost = true; c.known = false; c.mask = 0; }
}

}  // namespace flipflop::eval
