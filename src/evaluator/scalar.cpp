// One lane at a time: integer operations that are rare on the way to an address. PTX ISA 9.7.1 and 9.7.8, to the letter.
#include <bit>

#include "evaluator/operate.hpp"

namespace flipflop::eval {

i128 typed(u64 value, unsigned width, bool is_signed) {
    return is_signed ? static_cast<i128>(sign_extend(value, width)) : static_cast<i128>(value & width_mask(width));
}

namespace {

u64 bit_field_extract(const MicroOp& op, u64 a, unsigned pos, unsigned len) {
    const unsigned width = op.width;
    const bool is_signed = op.kind == Kind::signed_int;
    const unsigned top = width - 1;
    const u64 sign = !is_signed || len == 0 ? 0 : (a >> std::min(pos + len - 1, top)) & 1;
    const u64 body = len == 0 || pos > top ? 0 : (a >> pos) & width_mask(std::min(len, width - pos));
    const unsigned filled = pos > top ? 0 : std::min(len, width - pos);
    if (!sign || filled >= 64) return body;
    return (body | (~u64{0} << filled)) & width_mask(width);
}

}  // namespace

u64 bit_field_insert(u64 a, u64 b, unsigned pos, unsigned len, unsigned width) {
    if (pos >= width || len == 0) return b;
    const u64 field = width_mask(std::min(len, width - pos)) << pos;
    return ((b & ~field) | ((a << pos) & field)) & width_mask(width);
}

namespace {

u64 permute(u64 a, u64 b, u64 selector, unsigned mode) {
    const u64 both = (b << 32) | (a & 0xffffffffu);
    const auto byte = [&](u64 k) { return (both >> (8 * (k & 7))) & 0xff; };
    u64 result = 0;
    const u64 s = selector & 3;
    for (unsigned k = 0; k < 4; ++k) {
        u64 value = 0;
        switch (mode) {
        case 0: {
            const u64 nibble = (selector >> (4 * k)) & 15;
            value = byte(nibble & 7);
            if (nibble & 8) value = value & 0x80 ? 0xff : 0;
            break;
        }
        case 1: value = byte(s + k); break;                        // f4e
        case 2: value = byte((s + 8 - k) & 7); break;              // b4e
        case 3: value = byte(s); break;                            // rc8
        case 4: value = byte(std::max<u64>(s, k)); break;          // ecl
        case 5: value = byte(std::min<u64>(s, k)); break;          // ecr
        default: value = byte((s & 1) * 2 + (k & 1)); break;       // rc16
        }
        result |= value << (8 * k);
    }
    return result;
}

u64 dot_product(const MicroOp& op, u64 a, u64 b, u64 c) {
    const bool sa = op.kind == Kind::signed_int, sb = op.kind2 == Kind::signed_int;
    u32 sum = static_cast<u32>(c);
    if (op.op == Op::dp4a) {
        for (unsigned k = 0; k < 4; ++k)
            sum += static_cast<u32>(static_cast<i64>(typed(a >> (8 * k), 8, sa) * typed(b >> (8 * k), 8, sb)));
        return sum;
    }
    for (unsigned k = 0; k < 2; ++k)     // dp2a: .lo uses bytes 0 and 1 of b, .hi bytes 2 and 3
        sum += static_cast<u32>(static_cast<i64>(typed(a >> (16 * k), 16, sa) * typed(b >> (8 * (k + (op.hi ? 2 : 0))), 8, sb)));
    return sum;
}

u64 find_nth_set(u64 mask, u32 base, i64 offset) {
    // PTX ISA 9.7.1.24
    if (offset == 0) return base < 32 && ((mask >> base) & 1) ? base : 0xffffffffu;
    i64 position = base, count = std::abs(offset) - 1;
    const i64 step = offset > 0 ? 1 : -1;
    for (; position >= 0 && position < 32; position += step) {
        if (!((mask >> position) & 1)) continue;
        if (count-- == 0) return static_cast<u64>(position);
    }
    return 0xffffffffu;
}

u64 reverse_bits(u64 v, unsigned width) {
    u64 r = 0;
    for (unsigned k = 0; k < width; ++k) r |= ((v >> k) & 1) << (width - 1 - k);
    return r;
}

}  // namespace

u64 scalar(const MicroOp& op, u64 a, u64 b, u64 c) {
    const unsigned w = op.width;
    const bool s = op.kind == Kind::signed_int;
    switch (op.op) {
    case Op::popc: return static_cast<u64>(std::popcount(a & width_mask(w)));
    case Op::clz: return static_cast<u64>(std::countl_zero(a & width_mask(w))) - (64 - w);
    case Op::bfind: {
        const u64 v = (s && sign_extend(a, w) < 0 ? ~a : a) & width_mask(w);
        if (v == 0) return 0xffffffffu;
        const unsigned top = 63 - static_cast<unsigned>(std::countl_zero(v));
        return op.mode ? w - 1 - top : top;
    }
    case Op::brev: return reverse_bits(a, w);
    case Op::bfe: return bit_field_extract(op, a, b & 0xff, c & 0xff);
    case Op::szext: {
        const u64 n = op.mode ? b & 31 : std::min<u64>(b, 32);
        if (n == 0) return 0;
        return (s ? static_cast<u64>(sign_extend(a, static_cast<unsigned>(n))) : a & width_mask(static_cast<unsigned>(n))) & 0xffffffffu;
    }
    case Op::bmsk: {
        const u64 pos = op.mode ? a & 31 : std::min<u64>(a, 32), len = op.mode ? b & 31 : std::min<u64>(b, 32);
        return pos >= 32 ? 0 : (width_mask(static_cast<unsigned>(len)) << pos) & 0xffffffffu;
    }
    case Op::fns: return find_nth_set(a, static_cast<u32>(b), sign_extend(c, 32));
    case Op::dp4a: case Op::dp2a: return dot_product(op, a, b, c);
    case Op::cnot: return (a & width_mask(w)) == 0;
    case Op::lop3: {
        u64 r = 0;
        for (unsigned k = 0; k < 8; ++k) {
            if (!((op.immediate >> k) & 1)) continue;
            r |= ((k & 4) ? a : ~a) & ((k & 2) ? b : ~b) & ((k & 1) ? c : ~c);
        }
        return r & width_mask(w);
    }
    case Op::shf: {
        const u64 amount = op.mode & 2 ? c & 31 : std::min<u64>(c & 0xffffffffu, 32);
        const u64 both = (b << 32) | (a & 0xffffffffu);
        if (op.mode & 1) return (amount == 32 ? b : both >> amount) & 0xffffffffu;
        return (amount == 32 ? a : (both << amount) >> 32) & 0xffffffffu;
    }
    case Op::prmt: return permute(a, b, c, op.mode);
    case Op::sad: {
        const i128 x = typed(a, w, s), y = typed(b, w, s);
        return (c + static_cast<u64>(x < y ? y - x : x - y)) & width_mask(w);
    }
    case Op::div: case Op::rem: {
        const i128 x = typed(a, w, s), y = typed(b, w, s);
        // Division by zero is unspecified; the hardware's answer is all ones, and the dividend for the rest.
        if (y == 0) return op.op == Op::div ? width_mask(w) : a;
        return static_cast<u64>(op.op == Op::div ? x / y : x % y) & width_mask(w);
    }
    case Op::packed16: {
        u64 r = 0;
        for (unsigned at = 0; at < 32; at += 16) {
            const i128 x = typed(a >> at, 16, s), y = typed(b >> at, 16, s);
            i128 v = (op.mode & 3) == 0 ? x + y : ((op.mode & 3) == 1) == (x < y) ? x : y;
            if ((op.mode & 4) && v < 0) v = 0;
            r |= (static_cast<u64>(v) & 0xffff) << at;
        }
        return r;
    }
    default: return floating(op, a, b, c);
    }
}

std::pair<u64, bool> with_carry(const MicroOp& op, u64 a, u64 b, u64 c, bool carry) {
    const unsigned w = op.width;
    const u64 mask = width_mask(w);
    const u64 in = op.carry_in && carry ? 1 : 0;
    if (op.op == Op::subc) {
        // The flag holds the borrow.
        const u128 r = static_cast<u128>(a & mask) - (b & mask) - in;
        return {static_cast<u64>(r) & mask, ((r >> w) & 1) != 0};
    }
    u128 x = a & mask, y = b & mask;
    if (op.op == Op::madc) {
        const bool s = op.kind == Kind::signed_int;
        const i128 product = typed(a, w, s) * typed(b, w, s);
        x = (op.mode & 1 ? static_cast<u128>(product >> w) : static_cast<u128>(product)) & mask;
        y = c & mask;
    }
    const u128 r = x + y + in;
    return {static_cast<u64>(r) & mask, ((r >> w) & 1) != 0};
}

}  // namespace flipflop::eval
