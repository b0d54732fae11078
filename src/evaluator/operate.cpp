// The operations that matter for speed, as loops over the lanes that a compiler turns into vectors; the rest lane by lane.
#include "evaluator/operate.hpp"

#include <bit>

#include "evaluator/affine.hpp"
#include "evaluator/anchors.hpp"

namespace flipflop::eval {

void write_lanes(Value& d, const u64* values, u32 known, bool uniform, const Strides& stride, Axes axes, Lanes lanes,
                 Domain& domain, u32 reason) {
    const u32 kept = d.known & lanes.alive & ~lanes.active;
    if (known != lanes.active) d.reason = reason;
    if (!kept) {
        if (values != d.lane.data()) std::copy(values, values + kLanes, d.lane.begin());
        d.known = known;
        d.uniform = uniform;
        d.stride = stride;
        d.axes = axes;
        return;
    }
    const unsigned both = static_cast<unsigned>(d.axes | axes) & domain.live();
    if (both && known) {
        unsigned differ = 0;
        for (unsigned k = 0; k < kAxes; ++k)
            if ((both & (1u << k)) && d.stride[k] != stride[k] && (kept & domain.movers[k])) differ |= 1u << k;
        domain.tie(differ);
    }
    bool same = d.uniform && uniform && d.lane[0] == values[0];
    for (unsigned l = 0; l < kLanes; ++l)
        if (lanes.active & (1u << l)) d.lane[l] = values[l];
    d.uniform = same;
    d.known = kept | known;
    if (known) {
        d.stride = stride;
        d.axes = axes;
    }
}

void write_unknown(Value& d, Lanes lanes, u32 reason) {
    d.known &= ~lanes.active & lanes.alive;
    d.reason = reason;
    if (!d.known) { d.axes = 0; d.stride = {}; }
}

namespace {

struct Context {
    const MicroOp& op;
    Value* slots;
    Lanes lanes;
    Domain& domain;
    u32 reason;
    const Value *a, *b, *c;
    u32 known;

    [[nodiscard]] u32 origin() const {
        for (const Value* v : {a, b, c})
            if (v && (lanes.active & ~v->known)) return v->reason ? v->reason : reason;
        return reason;
    }

    /// Applies f to every lane. Lanes that are not known are computed too: it is cheaper than to ask.
    template <class F>
    void each(const F& f) {
        Value& d = slots[op.dst[0]];
        const Movement m = movement(op, a, b, c, known, domain);
        const bool uniform = a->uniform && (!b || b->uniform) && (!c || c->uniform);
        alignas(64) u64 out[kLanes];
        const u64* pa = a->lane.data();
        const u64* pb = b ? b->lane.data() : pa;
        const u64* pc = c ? c->lane.data() : pa;
        if (uniform) {
            const u64 r = f(pa[0], pb[0], pc[0]);
            for (u64& x : out) x = r;
        } else {
            for (unsigned l = 0; l < kLanes; ++l) out[l] = f(pa[l], pb[l], pc[l]);
        }
        write_lanes(d, out, known, uniform, m.stride, m.axes, lanes, domain, known == lanes.active ? 0 : origin());
    }
};

/// Lanes whose result is known although a source is not: x & 0, x | ~0, x * 0.
u32 decided_lanes(const MicroOp& op, const Value* a, const Value* b, u32 active) {
    if (op.op != Op::and_ && op.op != Op::or_ && op.op != Op::mul_lo && op.op != Op::mul_wide) return 0;
    const u64 deciding = op.op == Op::or_ ? width_mask(op.width) : 0;
    u32 decided = 0;
    for (const Value* v : {a, b}) {
        if (v->axes) continue;
        for (u32 m = v->known & active; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            if (v->lane[l] == deciding) decided |= 1u << l;
        }
    }
    return decided;
}

void write_decided(Context& x, u32 decided) {
    const u64 value = x.op.op == Op::or_ ? width_mask(x.op.width) : 0;
    const u32 both = x.known & ~decided;
    alignas(64) u64 out[kLanes];
    for (unsigned l = 0; l < kLanes; ++l) {
        const bool d = decided & (1u << l);
        const u64 a = x.a->lane[l], b = x.b->lane[l];
        u64 r = x.op.op == Op::and_ ? a & b : x.op.op == Op::or_ ? a | b : a * b;
        if (x.op.op == Op::mul_wide && x.op.kind == Kind::signed_int)
            r = static_cast<u64>(sign_extend(a, x.op.width) * sign_extend(b, x.op.width));
        out[l] = d ? value : r & width_mask(x.op.op == Op::mul_wide ? std::min(64u, 2u * x.op.width) : x.op.width);
    }
    if (both) x.domain.tie(static_cast<unsigned>(x.a->axes | x.b->axes));
    write_lanes(x.slots[x.op.dst[0]], out, decided | both, false, {}, 0, x.lanes, x.domain, x.origin());
}

void compare_set(Context& x, const Value* combine) {
    const MicroOp& op = x.op;
    (void)movement(op, x.a, x.b, nullptr, x.known, x.domain);
    u32 truth = 0;
    if (x.a->uniform && x.b->uniform) truth = compare_lane(op, x.a->lane[0], x.b->lane[0]) ? kAllLanes : 0;
    else
        for (u32 m = x.known; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            if (compare_lane(op, x.a->lane[l], x.b->lane[l])) truth |= 1u << l;
        }
    for (unsigned which = 0; which < 2; ++which) {
        if (op.dst[which] == kNone) continue;
        u32 value = which ? ~truth : truth, known = x.known;
        if (combine) {
            u32 c = 0;
            for (unsigned l = 0; l < kLanes; ++l) c |= combine->lane[l] ? 1u << l : 0u;
            if (op.negate_last) c = ~c;
            const u32 ck = combine->known & x.lanes.active, vk = x.known;
            switch (op.bool_op) {
            case ptx::BoolOp::and_op: known = (ck & vk) | (ck & ~c) | (vk & ~value); value &= c; value &= ck & vk; break;
            case ptx::BoolOp::or_op: known = (ck & vk) | (ck & c) | (vk & value); value = (value & vk) | (c & ck); break;
            case ptx::BoolOp::xor_op: known = ck & vk; value ^= c; break;
            case ptx::BoolOp::none: break;
            }
        }
        known &= x.lanes.active;
        alignas(64) u64 out[kLanes];
        const u64 on = op.op == Op::setp ? 1 : op.kind2 == Kind::f32 ? 0x3f800000u : 0xffffffffu;
        for (unsigned l = 0; l < kLanes; ++l) out[l] = (value >> l) & 1 ? on : 0;
        const u32 relevant = value & known;
        const bool uniform = (relevant == 0 || relevant == known) && (value == 0 || value == kAllLanes);
        write_lanes(x.slots[op.dst[which]], out, known, uniform, {}, 0, x.lanes, x.domain, known == x.lanes.active ? 0 : x.origin());
    }
}

void select(Context& x) {
    // Known where the predicate is and what it picks is.
    const MicroOp& op = x.op;
    u32 picks_a = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
        bool first = x.c->lane[l] != 0;
        if (op.op == Op::slct) {
            first = op.kind2 == Kind::f32 ? not_negative(x.c->lane[l], op.ftz) : sign_extend(x.c->lane[l], 32) >= 0;
        }
        if (first) picks_a |= 1u << l;
    }
    const u32 active = x.lanes.active;
    const u32 known = x.c->known & active & ((picks_a & x.a->known) | (~picks_a & x.b->known));
    Movement m;
    if (op.op == Op::slct) {
        x.domain.tie(static_cast<unsigned>(x.a->axes | x.b->axes | x.c->axes));
    } else {
        m = movement(op, x.a, x.b, x.c, known, x.domain);
    }
    alignas(64) u64 out[kLanes];
    for (unsigned l = 0; l < kLanes; ++l) out[l] = (picks_a >> l) & 1 ? x.a->lane[l] : x.b->lane[l];
    const bool uniform = (picks_a == 0 && x.b->uniform) || (picks_a == kAllLanes && x.a->uniform);
    const u32 origin = known == active ? 0 : (active & ~x.c->known) ? x.c->reason : x.a->reason ? x.a->reason : x.b->reason;
    write_lanes(x.slots[op.dst[0]], out, known, uniform, m.stride, m.axes, x.lanes, x.domain, origin);
}

void with_four(Context& x, const Value* d) {
    x.domain.tie(static_cast<unsigned>(x.a->axes | x.b->axes | (x.c ? x.c->axes : 0) | (d ? d->axes : 0)));
    alignas(64) u64 out[kLanes], carry[kLanes];
    const MicroOp& op = x.op;
    const bool is_bfi = op.op == Op::bfi;
    u32 known = x.known;
    if ((is_bfi || op.carry_in) && d) known &= d->known;
    for (unsigned l = 0; l < kLanes; ++l) {
        if (is_bfi) {
            out[l] = bit_field_insert(x.a->lane[l], x.b->lane[l], x.c->lane[l] & 0xff, d->lane[l] & 0xff, op.width);
        } else {
            const auto [r, c] = with_carry(op, x.a->lane[l], x.b->lane[l], x.c ? x.c->lane[l] : 0, d && d->lane[l] != 0);
            out[l] = r;
            carry[l] = c;
        }
    }
    // A sum of which only the carry is used has no slot.
    if (op.dst[0] != kNone) write_lanes(x.slots[op.dst[0]], out, known, false, {}, 0, x.lanes, x.domain, x.origin());
    if (!is_bfi && op.dst[1] != kNone) write_lanes(x.slots[op.dst[1]], carry, known, false, {}, 0, x.lanes, x.domain, x.origin());
}

void pack(const FunctionProgram& fn, Context& x) {
    const MicroOp& op = x.op;
    u32 known = x.lanes.active;
    bool uniform = true;
    alignas(64) u64 out[kLanes] = {};
    unsigned axes = 0;
    for (u32 k = 0; k < op.list_count; ++k) {
        const Value& v = x.slots[fn.lists[op.list + k]];
        known &= v.known;
        uniform &= v.uniform;
        axes |= v.axes;
        for (unsigned l = 0; l < kLanes; ++l) out[l] |= (v.lane[l] & width_mask(op.width2)) << (op.width2 * k);
    }
    x.domain.tie(axes);
    write_lanes(x.slots[op.dst[0]], out, known, uniform, {}, 0, x.lanes, x.domain, x.reason);
}

void arithmetic(Context& x) {
    const MicroOp& op = x.op;
    const unsigned w = op.width, shift = 64 - w;
    const u64 mask = width_mask(w);
    const bool s = op.kind == Kind::signed_int;
    const auto wide = [shift](u64 v) { return static_cast<u64>(static_cast<i64>(v << shift) >> shift); };
    const u64 wide_mask = width_mask(std::min(64u, 2 * w));
    // add.sat, sub.sat and mad.hi.sat clamp to the signed range (PTX ISA 9.7.1).
    const auto clamp = [=](i128 v) {
        const i128 top = (static_cast<i128>(1) << (w - 1)) - 1;
        return static_cast<u64>(v > top ? top : v < -top - 1 ? -top - 1 : v) & mask;
    };
    if (op.sat && s && (op.op == Op::add || op.op == Op::sub)) {
        const i128 sign = op.op == Op::add ? 1 : -1;
        x.each([=](u64 a, u64 b, u64) { return clamp(typed(a, w, true) + sign * typed(b, w, true)); });
        return;
    }
    switch (op.op) {
    case Op::mov: x.each([=](u64 a, u64, u64) { return a & mask; }); break;
    case Op::cvta: x.each([k = static_cast<u64>(op.immediate), reg = width_mask(op.reg_width)](u64 a, u64, u64) { return (a + k) & reg; }); break;
    case Op::add: x.each([=](u64 a, u64 b, u64) { return (a + b) & mask; }); break;
    case Op::sub: x.each([=](u64 a, u64 b, u64) { return (a - b) & mask; }); break;
    case Op::mul_lo:
        if (op.mode == 24) {
            x.each([=](u64 a, u64 b, u64) {
                return static_cast<u64>(typed(a, 24, s) * typed(b, 24, s)) & mask;
            });
        } else {
            x.each([=](u64 a, u64 b, u64) { return (a * b) & mask; });
        }
        break;
    case Op::mad_lo:
        if (op.mode == 24) x.each([=](u64 a, u64 b, u64 c) { return (static_cast<u64>(typed(a, 24, s) * typed(b, 24, s)) + c) & mask; });
        else x.each([=](u64 a, u64 b, u64 c) { return (a * b + c) & mask; });
        break;
    case Op::mul_wide:
        if (s) x.each([=](u64 a, u64 b, u64) { return (wide(a) * wide(b)) & wide_mask; });
        else x.each([=](u64 a, u64 b, u64) { return (a * b) & wide_mask; });
        break;
    case Op::mad_wide:
        if (s) x.each([=](u64 a, u64 b, u64 c) { return (wide(a) * wide(b) + c) & wide_mask; });
        else x.each([=](u64 a, u64 b, u64 c) { return (a * b + c) & wide_mask; });
        break;
    case Op::mul_hi: case Op::mad_hi: {
        const bool add = op.op == Op::mad_hi, saturate = add && op.sat && s;
        // mul24.hi: bits 47..16 of the 48-bit product (PTX ISA 9.7.1.5).
        const unsigned from = op.mode == 24 ? 24 : w, drop = op.mode == 24 ? 16 : w;
        x.each([=](u64 a, u64 b, u64 c) {
            const i128 product = s ? static_cast<i128>(sign_extend(a, from)) * sign_extend(b, from)
                                   : static_cast<i128>(static_cast<u128>(a & width_mask(from)) * (b & width_mask(from)));
            const u64 high = static_cast<u64>(s ? product >> drop : static_cast<i128>(static_cast<u128>(product) >> drop));
            if (saturate) return clamp(typed(high, w, true) + typed(c, w, true));
            return (high + (add ? c : 0)) & mask;
        });
        break;
    }
    case Op::and_: x.each([=](u64 a, u64 b, u64) { return a & b & mask; }); break;
    case Op::or_: x.each([=](u64 a, u64 b, u64) { return (a | b) & mask; }); break;
    case Op::xor_: x.each([=](u64 a, u64 b, u64) { return (a ^ b) & mask; }); break;
    case Op::not_: x.each([=](u64 a, u64, u64) { return ~a & mask; }); break;
    case Op::neg: x.each([=](u64 a, u64, u64) { return (0 - a) & mask; }); break;
    case Op::abs: x.each([=](u64 a, u64, u64) { const u64 v = wide(a); return (static_cast<i64>(v) < 0 ? 0 - v : v) & mask; }); break;
    case Op::shl: x.each([=](u64 a, u64 b, u64) { b &= 0xffffffffu; return b >= w ? 0 : (a << b) & mask; }); break;
    case Op::shr:
        if (s) x.each([=](u64 a, u64 b, u64) { b = std::min<u64>(b & 0xffffffffu, w - 1); return static_cast<u64>(static_cast<i64>(wide(a)) >> b) & mask; });
        else x.each([=](u64 a, u64 b, u64) { b &= 0xffffffffu; return b >= w ? 0 : (a & mask) >> b; });
        break;
    case Op::min: case Op::max: {
        const bool want_less = op.op == Op::min;
        if (op.mode & 4) {      // .relu
            x.each([=](u64 a, u64 b, u64) {
                const i64 picked = static_cast<i64>((static_cast<i64>(wide(a)) < static_cast<i64>(wide(b))) == want_less ? wide(a) : wide(b));
                return picked < 0 ? 0 : static_cast<u64>(picked) & mask;
            });
            break;
        }
        if (s) x.each([=](u64 a, u64 b, u64) { return ((static_cast<i64>(wide(a)) < static_cast<i64>(wide(b))) == want_less ? a : b) & mask; });
        else x.each([=](u64 a, u64 b, u64) { return ((a < b) == want_less ? a : b) & mask; });
        break;
    }
    case Op::unpack: {
        const auto at = static_cast<unsigned>(op.immediate);
        x.domain.tie(x.a->axes);
        x.each([=, part = width_mask(op.width2)](u64 a, u64, u64) { return (a >> at) & part; });
        break;
    }
    case Op::cvt: {
        const auto integer = [](Kind k) { return k == Kind::unsigned_int || k == Kind::signed_int; };
        if (!integer(op.kind) || !integer(op.kind2) || op.sat) { x.each([&op](u64 a, u64, u64) { return convert(op, a); }); break; }
        const unsigned in = 64 - op.width2, narrow = 64 - op.width;
        const bool from_signed = op.kind2 == Kind::signed_int;
        const u64 reg = width_mask(op.reg_width);
        x.each([=](u64 a, u64, u64) {
            const u64 v = from_signed ? static_cast<u64>(static_cast<i64>(a << in) >> in) : (a << in) >> in;
            return (s ? static_cast<u64>(static_cast<i64>(v << narrow) >> narrow) : (v << narrow) >> narrow) & reg;
        });
        break;
    }
    default: x.each([&op](u64 a, u64 b, u64 c) { return scalar(op, a, b, c); }); break;
    }
}

}  // namespace

namespace {

void carry_out(const FunctionProgram& fn, const MicroOp& op, Value* slots, Lanes lanes, Domain& domain, u32 reason) {
    switch (op.op) {
    case Op::shfl: case Op::vote: case Op::match: case Op::activemask: case Op::redux: case Op::elect: case Op::isspacep:
    case Op::mapa: case Op::ctarank:
        exchange(fn, op, slots, lanes, domain, reason);
        return;
    default: break;
    }
    Context x{op, slots, lanes, domain, reason, nullptr, nullptr, nullptr, lanes.active};
    if (op.sources > 0 && op.src[0] != kNone) x.a = &slots[op.src[0]];
    if (op.sources > 1) x.b = &slots[op.src[1]];
    if (op.sources > 2) x.c = &slots[op.src[2]];
    if (op.op == Op::pack) return pack(fn, x);
    if (op.op == Op::unknown || !x.a) {
        for (const u32 d : op.dst)
            if (d != kNone) write_unknown(slots[d], lanes, reason);
        return;
    }
    if (op.op == Op::selp || op.op == Op::slct) return select(x);
    const bool comparing = op.op == Op::setp || op.op == Op::set;
    for (const Value* v : {x.a, x.b, comparing ? nullptr : x.c})
        if (v) x.known &= v->known;
    if (comparing) {
        if (compares_distance(op, *x.a, *x.b)) {
            x.known = 0;
            x.reason |= kDistanceReason;
        }
        return compare_set(x, x.c);
    }
    if (x.known != lanes.active && x.b) {
        if (const u32 decided = decided_lanes(op, x.a, x.b, lanes.active)) return write_decided(x, decided);
    }
    if (!x.known) {
        for (const u32 d : op.dst)
            if (d != kNone) write_unknown(slots[d], lanes, x.origin());
        return;
    }
    if (op.op == Op::bfi || op.op == Op::addc || op.op == Op::subc || op.op == Op::madc)
        return with_four(x, op.src[3] != kNone ? &slots[op.src[3]] : nullptr);
    arithmetic(x);
}

}  // namespace

void operate(const FunctionProgram& fn, const MicroOp& op, Value* slots, Lanes lanes, Domain& domain, u32 reason) {
    const u64 anchor = anchor_of_result(fn, op, slots, lanes.active);
    carry_out(fn, op, slots, lanes, domain, reason);
    for (const u32 d : op.dst)
        if (d != kNone) set_anchor(slots[d], anchor, lanes.active, lanes.alive);
}

}  // namespace flipflop::eval
