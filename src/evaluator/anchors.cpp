#include "evaluator/anchors.hpp"

#include <bit>

namespace flipflop::eval {
namespace {

/// The low half-word tells the kinds apart: an address itself or its negative, several put together bit by bit, other things.
constexpr u64 kKind = 0xffff, kPlus = 1, kMinus = 0xffff, kBits = 0x7fff, kOther = 0x8000;

u64 scramble(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

u64 mixed(const MicroOp& op, u64 a, u64 b, u64 c) {
    const u64 all = scramble(a + scramble(b + scramble(c + static_cast<u64>(op.op))));
    return (all & ~kKind) | kOther;
}

/// Arrays begin at multiples of 256 bytes, so the low bits of an address are known wherever it lies.
bool is_address(u64 anchor) {
    const u64 kind = anchor & kKind;
    return kind == kPlus || kind == kMinus || kind == kBits;
}
constexpr u64 kAlignment = 256;

bool fixed(const Value& v, u32 active, u64& value) {
    if (!active || (v.known & active) != active || v.axes || v.anchor) return false;
    value = v.lane[static_cast<unsigned>(std::countr_zero(active))];
    if (v.uniform) return true;
    for (u32 m = active; m; m &= m - 1)
        if (v.lane[static_cast<unsigned>(std::countr_zero(m))] != value) return false;
    return true;
}

u64 product(const MicroOp& op, const Value& a, const Value& b, u32 active) {
    if (!a.anchor && !b.anchor) return 0;
    u64 factor = 0;
    const Value& other = a.anchor ? b : a;
    if (!fixed(other, active, factor)) return mixed(op, a.anchor, b.anchor, 0);
    const bool sign = op.kind == Kind::signed_int;
    return (a.anchor ? a.anchor : b.anchor) * (sign ? static_cast<u64>(sign_extend(factor, op.width)) : factor);
}

u64 of_pack(const FunctionProgram& fn, const MicroOp& op, const Value* slots) {
    u64 sum = 0;
    for (u32 k = 0; k < op.list_count; ++k)
        if (fn.lists[op.list + k] != kNone) sum = sum ? mixed(op, sum, slots[fn.lists[op.list + k]].anchor, k) : slots[fn.lists[op.list + k]].anchor;
    return sum;
}

/// What of it a mask or a small divisor leaves.
u64 low_part(const MicroOp& op, const Value& a, const Value& b, u32 active) {
    u64 bound = 0;
    const Value& moving = a.anchor ? a : b;
    const bool told = fixed(a.anchor ? b : a, active, bound);
    const bool small = told && (op.op == Op::rem ? &moving == &a && bound && bound <= kAlignment && (bound & (bound - 1)) == 0 : bound < kAlignment);
    if (small && is_address(moving.anchor)) return 0;
    // A mask that only aligns leaves the address itself.
    if (told && op.op == Op::and_ && (~bound & width_mask(op.width)) < kAlignment) return moving.anchor;
    return mixed(op, a.anchor, b.anchor, bound);
}

u64 of_choice(const MicroOp& op, const Value& a, const Value& b, const Value& c, u32 active) {
    if (a.anchor == b.anchor) return a.anchor;
    u64 picked = 0;
    if (op.op == Op::selp && fixed(c, active, picked)) return picked ? a.anchor : b.anchor;
    return mixed(op, a.anchor, b.anchor, c.anchor);
}

}  // namespace

u64 anchor_of_address(u64 address) { return (scramble(address + 1) & ~kKind) | kPlus; }

u64 anchor_of_result(const FunctionProgram& fn, const MicroOp& op, const Value* slots, u32 active) {
    if (op.op == Op::pack) return of_pack(fn, op, slots);
    static const Value nothing{};
    const Value* v[3]{&nothing, &nothing, &nothing};
    u64 any = 0;
    for (u32 k = 0; k < op.sources && k < 3; ++k) {
        if (op.src[k] == kNone) continue;
        v[k] = &slots[op.src[k]];
        any |= v[k]->anchor;
    }
    if (!any) return 0;
    const Value &a = *v[0], &b = *v[1], &c = *v[2];
    u64 amount = 0;
    switch (op.op) {
    case Op::mov: case Op::cvt: case Op::cvta: case Op::shfl: return a.anchor;
    case Op::add: case Op::addc: return a.anchor + b.anchor;
    case Op::sub: case Op::subc: return a.anchor - b.anchor;
    case Op::neg: case Op::not_: return 0 - a.anchor;
    case Op::mul_lo: case Op::mul_wide: return product(op, a, b, active);
    case Op::mad_lo: case Op::mad_wide: return product(op, a, b, active) + c.anchor;
    case Op::shl: return a.anchor && fixed(b, active, amount) ? amount < 64 ? a.anchor << amount : 0 : mixed(op, a.anchor, b.anchor, 0);
    case Op::and_: case Op::rem: return low_part(op, a, b, active);
    case Op::or_: case Op::xor_:
        if (!a.anchor || !b.anchor) return a.anchor | b.anchor;
        return is_address(a.anchor) && is_address(b.anchor) ? (mixed(op, a.anchor, b.anchor, 0) & ~kKind) | kBits : mixed(op, a.anchor, b.anchor, 0);
    case Op::selp: case Op::slct: case Op::min: case Op::max: return of_choice(op, a, b, c, active);
    case Op::setp: case Op::set: case Op::isspacep: return 0;
    case Op::unpack: return op.immediate == 0 ? a.anchor : mixed(op, a.anchor, static_cast<u64>(op.immediate), 0);
    default:
        (void)fixed(b, active, amount);
        return mixed(op, a.anchor, b.anchor + amount, c.anchor);
    }
}

bool compares_distance(const MicroOp& op, const Value& a, const Value& b) {
    if (a.anchor == b.anchor) return false;
    const Value& other = a.anchor ? b : a;
    const bool null = !other.anchor && other.uniform && other.lane[0] == 0;
    return !(null && is_address(a.anchor | b.anchor) && (op.compare == ptx::Compare::eq || op.compare == ptx::Compare::ne));
}

void set_anchor(Value& v, u64 anchor, u32 active, u32 alive) {
    if (v.anchor == anchor) return;
    const bool others = (v.known & alive & ~active) != 0;
    v.anchor = others ? (scramble(v.anchor + 3 * anchor) & ~kKind) | kOther : anchor;
}

}  // namespace flipflop::eval
