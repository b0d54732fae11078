// Stores, atomic operations and asynchronous copies: what goes where, and what it derives from.
#include <bit>

#include "evaluator/safety_warp.hpp"

namespace flipflop::eval {
namespace {

void add_lane(Element& e, const Provenance& p, unsigned lane) {
    e.lost |= (p.lost >> lane) & 1;
    for (unsigned m = p.mask; m; m &= m - 1) {
        const auto c = static_cast<u32>(std::countr_zero(m));
        e.sum[c] = plus(e.sum[c], p.sum[c][lane]);
    }
    e.mask = static_cast<ClassMask>(e.mask | p.mask);
}

void add_element(Element& e, const Element& other) {
    e.lost |= other.lost;
    e.junk |= other.junk;
    for (unsigned m = other.mask; m; m &= m - 1) {
        const auto c = static_cast<std::size_t>(std::countr_zero(m));
        e.sum[c] = plus(e.sum[c], other.sum[c]);
    }
    e.mask = static_cast<ClassMask>(e.mask | other.mask);
}

}  // namespace

Element WarpRun::element(const Frame& f, u32 slot, unsigned lane) const {
    Element e;
    if (slot == kNone) { e.lost = true; return e; }
    const Value& v = f.slots[slot];
    e.bits = v.lane[lane];
    e.known = (v.known >> lane) & 1;
    e.lost = (f.from.lost(slot) >> lane) & 1;
    e.shaped = f.from.shaped(slot);
    e.mask = f.from.mask(slot);
    for (unsigned m = e.mask; m; m &= m - 1) {
        const auto c = static_cast<u32>(std::countr_zero(m));
        e.sum[c] = f.from.row(slot, c)[lane];
    }
    return e;
}

void WarpRun::store(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x) {
    for (u32 k = 0; k < op.list_count; ++k) {
        const u32 slot = fn(f).lists[op.list + k];
        const u64 shift = u64{k} * m.element_bytes;
        switch (x.at.space) {
        case ptx::Space::shared: store_shared(f, slot, m, x, shift); break;
        case ptx::Space::local: store_local(f, slot, m, x, shift); break;
        case ptx::Space::global: store_global(f, op, slot, m, x, shift); break;
        default: break;
        }
        if (b_.stopped()) return;
    }
}

void WarpRun::store_shared(Frame& f, u32 slot, const MemoryOp& m, const Access& x, u64 shift) {
    // Which warps of other blocks would hold another value: the shadow has one for all.
    if (slot != kNone && f.slots[slot].known & x.lanes()) b_.domain.tie(f.slots[slot].axes);
    for (u32 left = x.lanes(); left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        const bool certain = (x.sure >> l) & 1;
        SharedMemory::Accessor who{thread(l), index_, x.op, false, certain, false};
        Element e = element(f, slot, l);
        e.bits &= width_mask(m.element_bytes * 8u);
        if (!certain) {
            Element old;
            who.silent = true;
            b_.shared.read(x.at.address[l] + shift, m.element_bytes, who, b_.order, old);
            who.silent = false;
            add_element(e, old);
            add_lane(e, x.why, l);
            e.known = false;
        }
        b_.shared.write(x.at.address[l] + shift, m.element_bytes, who, b_.order, e);
    }
}

void WarpRun::store_local(Frame& f, u32 slot, const MemoryOp& m, const Access& x, u64 shift) {
    const unsigned bytes = m.element_bytes;
    b_.domain.tie(x.base->axes);
    std::map<u64, u32> by_place;
    for (u32 left = x.lanes(); left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        by_place[x.at.address[l] + shift] |= 1u << l;
    }
    for (const auto& [place, who] : by_place) {
        for (auto it = local_.lower_bound({place >= 16 ? place - 16 : 0, 0}); it != local_.end() && it->first.first < place + bytes; ++it) {
            if (it->first == std::pair{place, bytes} || it->first.first + it->first.second <= place) continue;
            it->second.value.known &= ~who;
            it->second.from.lost |= who;
        }
        const auto [it, added] = local_.try_emplace({place, bytes});
        LocalCell& cell = it->second;
        cell.shaped = cell.shaped || (slot != kNone && f.from.shaped(slot));
        if (added) { cell.from.clear(); cell.from.lost = kAllLanes; }
        Provenance p;
        p.clear();
        if (slot == kNone) p.lost = who;
        else f.from.add_to(p, slot, who);
        for (unsigned k = static_cast<unsigned>(p.mask | cell.from.mask); k; k &= k - 1) {
            const auto c = static_cast<u32>(std::countr_zero(k));
            cell.from.open(c);
            for (unsigned l = 0; l < kLanes; ++l)
                if ((who >> l) & 1) cell.from.sum[c][l] = p.mask & (1u << c) ? p.sum[c][l] : 0;
        }
        cell.from.lost = (cell.from.lost & ~who) | (p.lost & who);
        static const Value nothing{};
        Value narrow = slot == kNone ? nothing : f.slots[slot];
        for (u64& v : narrow.lane) v &= width_mask(bytes * 8);
        write_lanes(cell.value, narrow.lane.data(), narrow.known & who, narrow.uniform, narrow.stride, narrow.axes, {who, kAllLanes}, b_.domain, 1);
        if (const u32 open = who & x.maybe & (uncertain_ ? 0 : kAllLanes)) {     // under a predicate that depends on data
            cell.value.known &= ~open;
            cell.from.lost |= open;
        }
        if (uncertain_) dirty_.push_back({place, bytes});
    }
}

void WarpRun::store_global(Frame& f, const MicroOp& op, u32 slot, const MemoryOp& m, const Access& x, u64 shift) {
    StoreRecord r;
    r.op = x.op;
    r.time = b_.order.now();
    r.bytes = m.element_bytes;
    r.stride = x.stride;
    r.is_float = op.kind == Kind::f32 || op.kind == Kind::f64;
    if (slot != kNone && (f.slots[slot].known & x.lanes())) {
        const Value& v = f.slots[slot];
        // The value's bits are an exponent: it must move as a number does.
        if (v.axes & b_.domain.live()) keep_in_range(v, v.known & x.lanes(), std::min(60u, m.element_bytes * 8u), false, b_.domain);
        r.value_stride = moved_by(v, b_.domain);
    }
    s_.steps += static_cast<unsigned>(std::popcount(x.lanes())) / 2;   // each is kept by its address: dearer than an operation of a warp
    for (u32 left = x.lanes(); left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        r.address = x.at.address[l] + shift;
        r.thread = thread(l);
        r.value = element(f, slot, l);
        r.value.bits &= width_mask(m.element_bytes * 8u);
        r.conditional = !((x.sure >> l) & 1);
        if (r.conditional) add_lane(r.value, x.why, l);
        if (!b_.global.store(r, index_, b_.order)) {
            b_.give_up("threads read and write the same bytes of an array, and nothing orders them (" + line(op) + ")");
            return;
        }
    }
}

void WarpRun::atomic(Frame& f, const MicroOp& op, const MemoryOp& m, const Access& x) {
    const auto& instruction = fn(f).code->ir.function->instructions[op.instruction];
    const ptx::Form& form = p_.module->form(instruction);
    const bool ordered = form.has("cas") || form.has("exch");
    for (u32 left = x.lanes(); left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        Element e;
        e.lost = ordered;
        for (u32 k = 0; k < op.list_count; ++k) add_element(e, element(f, fn(f).lists[op.list + k], l));
        if (!((x.sure >> l) & 1)) add_lane(e, x.why, l);
        if (x.at.space == ptx::Space::shared) {
            const SharedMemory::Accessor who{thread(l), index_, x.op, true, ((x.sure >> l) & 1) != 0, false};
            b_.shared.merge(x.at.address[l], std::max(1u, m.bytes), who, b_.order, e);
        } else if (x.at.space == ptx::Space::global) {
            b_.findings.atomics.push_back({x.at.address[l], x.stride, x.op, static_cast<std::uint8_t>(std::max(1u, m.bytes)), e});
        } else {
            b_.give_up("an atomic operation on memory of another kind (" + line(op) + ")");
            return;
        }
    }
}

/// cp.async: what is read now lands in shared memory by the next barrier.
void WarpRun::copy_from(Frame& f, const MemoryOp& m, const Access& x) {
    copied_ = {};
    copied_.address = x.at.address;
    copied_.stride = x.stride;
    copied_.lanes = x.at.known;
    copied_.bytes.fill(m.bytes);
    if (m.size != kNone) {
        const Value& size = f.slots[m.size];
        b_.domain.tie(size.axes);
        copied_.lanes &= size.known;
        for (unsigned l = 0; l < kLanes; ++l) copied_.bytes[l] = std::min<u64>(m.bytes, size.lane[l] & 0xffffffffu);
    }
    if (s_.watched[x.op])
        for (u32 left = copied_.lanes; left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            if (copied_.bytes[l]) b_.global.note_read(copied_.address[l], static_cast<unsigned>(copied_.bytes[l]), x.stride, thread(l), b_.order.now());
        }
}

void WarpRun::copy_to(const MemoryOp& m, const Access& x) {
    const unsigned piece = std::min(s_.traits.shared_granule, std::max(1u, m.bytes));
    for (u64 shift = 0; shift < m.bytes; shift += piece) {
        u32 read = 0;
        for (u32 left = x.lanes() & copied_.lanes; left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            if (copied_.bytes[l] > shift) read |= 1u << l;
        }
        Provenance p;
        p.clear();
        p.lost = x.lanes() & ~copied_.lanes;
        hash_bytes(p, copied_.stride, copied_.address, shift, piece, read);
        for (u32 left = x.lanes(); left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            Element e;
            e.known = !((read >> l) & 1) && !((p.lost >> l) & 1);       // the rest is filled with zeros
            add_lane(e, p, l);
            const SharedMemory::Accessor who{thread(l), index_, x.op, false, ((x.sure >> l) & 1) != 0, false};
            b_.shared.write(x.at.address[l] + shift, piece, who, b_.order, e);
        }
    }
}

void WarpRun::isspacep(Frame& f, const MicroOp& op, u32 mask) {
    const Value& v = f.slots[op.src[0]];
    const auto asked = static_cast<ptx::Space>(op.mode);
    alignas(64) u64 out[kLanes] = {};
    const u32 known = v.known & mask;
    for (u32 left = known; left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        out[l] = window_of(p_.map, v.lane[l]).space == asked;
    }
    const Lanes lanes{mask, f.alive};
    f.from.assign_empty(op.dst[0], lanes);
    write_lanes(f.slots[op.dst[0]], out, known, false, {}, 0, lanes, b_.domain, 1);
}

}  // namespace flipflop::eval
