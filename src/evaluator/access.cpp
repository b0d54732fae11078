// Memory operations: where each lane's address lies, what is recorded of it, and what can be read back.
#include <bit>

#include "evaluator/anchors.hpp"
#include "evaluator/machine.hpp"

namespace flipflop::eval {
Machine::Located Machine::locate(const Value& base, const MemoryOp& m, u32 mask, bool& crosses) {
    Located at;
    at.space = m.space;
    at.known = base.known & mask;
    crosses = false;
    const u64 wrap = p_.module->address_size == 32 ? 0xffffffffu : ~u64{0};
    for (unsigned l = 0; l < kLanes; ++l) at.address[l] = (base.lane[l] + static_cast<u64>(m.offset)) & wrap;
    if (m.space != ptx::Space::generic || !at.known) return at;
    const SpaceWindow w = window_of(p_.map, at.address[static_cast<unsigned>(std::countr_zero(at.known))]);
    at.space = w.space;
    for (u32 lanes = at.known; lanes; lanes &= lanes - 1) {
        u64& address = at.address[static_cast<unsigned>(std::countr_zero(lanes))];
        crosses |= window_of(p_.map, address).space != w.space;
        address -= w.base;
    }
    return at;
}

void Machine::memory(Activation& a, const MicroOp& op, u32 mask, u32 maybe) {
    const MemoryOp& m = p_.memory[op.payload];
    const u32 both = mask | maybe;
    static const Value nowhere{};
    const Value& base = m.address == kNone ? nowhere : a.slots[m.address];
    bool crosses = false;
    Located at = locate(base, m, both, crosses);
    if (crosses) at.known = 0;
    s_.steps += 6;      // an access costs about as much as that many other operations
    if (m.access >= 0) record(a, op, m, at, m.address == kNone ? nullptr : &base, both, maybe);
    if (s_.observer) s_.observer->accessed(*this, op, m, at.address, at.known, both);
    if (op.op == Op::load) load(a, op, m, at, base, both);
    else if (m.tracked) store(a, op, m, at, base, both);
}

void Machine::record(Activation& a, const MicroOp& op, const MemoryOp& m, const Located& at, const Value* base, u32 mask, u32 maybe) {
    if (!s_.keep_records || s_.trace.records.size() >= s_.record_limit) {
        s_.trace.dropped_records |= s_.keep_records;
        return;
    }
    AccessRecord r;
    r.memory = op.payload;
    r.frame = s_.trace.frame;
    r.phase = phase_;
    r.occurrence = occurrences_[op.payload]++;
    r.weight = a.weight * static_cast<float>(share_of_warp(mask & ~maybe, maybe));
    r.doubt = maybe ? (guess_ ? Doubt::assumed : Doubt::unknown) : doubt_of(a, mask);
    r.space = at.space;
    u32 lanes = mask & m.lanes;
    r.mask = lanes;
    u32 bytes = std::max(1u, m.bytes);
    bool known = base && lanes && (at.known & lanes) == lanes;
    r.reason = base && !known ? base->reason : 0;
    std::array<i64, kLanes> offset{};
    u32 places = lanes;
    const Value* size = m.size == kNone ? nullptr : &a.slots[m.size];
    if (known && size && m.kind != AccessKind::wmma) {
        s_.domain.tie(size->axes);
        u32 biggest = 0;
        for (u32 left = lanes & size->known; left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            const auto n = static_cast<u32>(size->lane[l]);
            biggest = std::max(biggest, n);
            if (n == 0) places &= ~(1u << l);
        }
        if ((size->known & lanes) == lanes) bytes = m.kind == AccessKind::bulk ? biggest : std::min(bytes, biggest);
        else if (m.kind == AccessKind::bulk) known = false;
        if (!places) places = lanes & (0 - lanes);
        if (bytes == 0) bytes = 1;
    }
    if (known) {
        const auto first = static_cast<unsigned>(std::countr_zero(places));
        r.base = at.address[first];
        for (u32 left = places; left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            offset[l] = static_cast<i64>(at.address[l] - r.base);
        }
        if (m.kind == AccessKind::wmma) {
            // All lanes name the same fragment; its rows take the lanes' place.
            const bool told = size && (size->known & lanes) == lanes && m.rows > 0 && m.rows <= kLanes;
            known = told;
            if (told) s_.domain.tie(size->axes);
            const i64 pitch = told ? static_cast<i64>(size->lane[first]) * std::max<i64>(1, m.element_bytes) : 0;
            places = m.rows >= kLanes ? kAllLanes : (1u << m.rows) - 1;
            offset = {};
            for (u32 k = 0; k < m.rows && k < kLanes; ++k) offset[k] = pitch * k;
            bytes = std::max(1u, m.row_bytes);
        }
    }
    if (known) {
        Shape shape;
        shape.mask = places;
        shape.bytes = bytes;
        shape.space = at.space;
        shape.offset = offset;
        r.shape = s_.last_shape[op.payload] = s_.shapes.intern(shape, s_.last_shape[op.payload]);
        r.axes = static_cast<Axes>(base->axes & s_.domain.live());
        for (unsigned k = 0; k < kAxes; ++k) r.stride[k] = r.axes & (1u << k) ? base->stride[k] : 0;
    }
    r.bytes = bytes;
    s_.trace.records.push_back(r);
}

void Machine::load(Activation& a, const MicroOp& op, const MemoryOp& m, const Located& at, const Value& base, u32 mask) {
    const FunctionProgram& f = fn(a);
    const Lanes lanes{mask, a.alive};
    const u64 reg = width_mask(op.reg_width);
    for (u32 k = 0; k < op.list_count; ++k) {
        const u32 d = f.lists[op.list + k];
        if (d == kNone) continue;
        const u32 reason = reason_of(a, op);
        const unsigned bytes = m.element_bytes;
        const i64 shift = static_cast<i64>(k) * bytes;
        if (bytes > 8 || !at.known) { write_unknown(a.slots[d], lanes, reason); continue; }
        if (at.space == ptx::Space::local) {
            if (!p_.local_is_read) { write_unknown(a.slots[d], lanes, reason); continue; }
            Value local = base;
            for (unsigned l = 0; l < kLanes; ++l) local.lane[l] = at.address[l];
            Value out;
            local_.load(local, shift, bytes, at.known, lanes, s_.domain, reason, out);
            if (op.kind == Kind::signed_int && op.reg_width > bytes * 8) {
                s_.domain.tie(out.axes);
                for (u64& x : out.lane) x = static_cast<u64>(sign_extend(x, bytes * 8)) & reg;
            }
            write_lanes(a.slots[d], out.lane.data(), out.known & mask, false, out.stride, out.axes, lanes, s_.domain, reason);
            set_anchor(a.slots[d], out.anchor, mask, a.alive);
            continue;
        }
        alignas(64) u64 out[kLanes] = {};
        u32 known = 0;
        bool uniform = true;
        const bool one_place = base.uniform && at.known == mask && mask;    // parameters and constants: one look for all lanes
        for (u32 left = one_place ? mask & (0 - mask) : at.known; left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            const u64 address = at.address[l] + static_cast<u64>(shift);
            u64 value = 0;
            const bool got = at.space == ptx::Space::shared ? s_.cooperative && s_.shared.load(address, bytes, value)
                                                            : s_.memory.read(at.space, address, bytes, value);
            if (!got) continue;
            if (op.kind == Kind::signed_int) value = static_cast<u64>(sign_extend(value, bytes * 8)) & reg;
            out[l] = value;
            known |= 1u << l;
        }
        if (one_place && known) {
            const u64 v = out[static_cast<unsigned>(std::countr_zero(known))];
            std::fill(out, out + kLanes, v);
            known = mask;
        }
        // Arrays: where nothing is known here, it is called unknown in the whole domain. Shared memory: another block's
        // address may be one that was written.
        if (known || at.space == ptx::Space::shared) s_.domain.tie(base.axes);
        if (known == mask && known && !one_place) {
            const u64 v = out[static_cast<unsigned>(std::countr_zero(known))];
            for (u32 left = known; left; left &= left - 1) uniform &= out[static_cast<unsigned>(std::countr_zero(left))] == v;
            if (uniform) std::fill(out, out + kLanes, v);
        } else {
            uniform = one_place && known;
        }
        if (!known) write_unknown(a.slots[d], lanes, reason);
        else write_lanes(a.slots[d], out, known, uniform, {}, 0, lanes, s_.domain, reason);
        const bool parameter = at.space == ptx::Space::param && one_place && known;
        set_anchor(a.slots[d], parameter ? s_.memory.anchor(at.address[static_cast<unsigned>(std::countr_zero(mask))] + static_cast<u64>(shift), bytes) : 0, mask, a.alive);
    }
}

void Machine::store(Activation& a, const MicroOp& op, const MemoryOp& m, const Located& at, const Value& base, u32 mask) {
    const FunctionProgram& f = fn(a);
    const u32 reason = reason_of(a, op);
    const Lanes lanes{mask, kAllLanes};
    const bool somewhere = at.known != mask;
    if (somewhere && m.space == ptx::Space::generic) {
        s_.shared.forget_all();
        Value unknown;
        local_.store(unknown, 0, 1, unknown, 0, lanes, s_.domain, reason);
        return;
    }
    static const Value nothing{};
    const u32 count = op.op == Op::store ? op.list_count : std::max(1u, (m.bytes + 7) / 8);
    for (u32 k = 0; k < count; ++k) {
        const u32 slot = op.op == Op::store ? f.lists[op.list + k] : kNone;
        const Value& value = slot == kNone ? nothing : a.slots[slot];
        const unsigned bytes = op.op == Op::store ? m.element_bytes : std::min(8u, std::max(1u, m.bytes));
        const i64 shift = static_cast<i64>(k) * bytes;
        if (at.space == ptx::Space::local) {
            Value place = base;
            for (unsigned l = 0; l < kLanes; ++l) place.lane[l] = at.address[l];
            Value narrow = value;
            for (u64& x : narrow.lane) x &= width_mask(bytes * 8);
            local_.store(place, shift, bytes, narrow, at.known, lanes, s_.domain, reason);
            continue;
        }
        if (at.space != ptx::Space::shared) continue;
        if (somewhere) { s_.shared.forget_all(); return; }
        s_.domain.tie(static_cast<unsigned>(value.axes | base.axes));
        for (u32 left = mask; left; left &= left - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(left));
            s_.shared.store(at.address[l] + static_cast<u64>(shift), bytes, value.lane[l], (value.known >> l) & 1);
        }
    }
}

void Machine::isspacep(Activation& a, const MicroOp& op, u32 mask) {
    const Value& v = a.slots[op.src[0]];
    const auto asked = static_cast<ptx::Space>(op.mode);
    alignas(64) u64 out[kLanes] = {};
    const u32 known = v.known & mask;
    for (u32 left = known; left; left &= left - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(left));
        out[l] = window_of(p_.map, v.lane[l]).space == asked;
    }
    write_lanes(a.slots[op.dst[0]], out, known, false, {}, 0, {mask, a.alive}, s_.domain, v.reason);
}

}  // namespace flipflop::eval
