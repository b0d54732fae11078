// Conversions, one lane at a time: PTX ISA 9.7.9.21. A value is held exactly (long double holds every 64-bit integer and every
// double) and rounded once into the format asked for.
#include <bit>
#include <cmath>
#include <limits>

#include "evaluator/operate.hpp"

namespace flipflop::eval {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64, "conversions are exact in long double");

struct Format { int exponent_bits, mantissa_bits, drop; };   // drop: bits below the value in its register (tf32)

Format format_of(Kind k) {
    switch (k) {
    case Kind::f16: return {5, 10, 0};
    case Kind::bf16: return {8, 7, 0};
    case Kind::tf32: return {8, 10, 13};
    case Kind::f64: return {11, 52, 0};
    default: return {8, 23, 0};
    }
}

bool is_integer(Kind k) { return k == Kind::unsigned_int || k == Kind::signed_int || k == Kind::pred; }

long double read_float(u64 bits, Kind kind, bool ftz) {
    const Format f = format_of(kind);
    bits >>= f.drop;
    const u64 fraction = bits & width_mask(static_cast<unsigned>(f.mantissa_bits)), top = width_mask(static_cast<unsigned>(f.exponent_bits));
    const u64 exponent = (bits >> f.mantissa_bits) & top;
    const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits)) & 1;
    const int bias = static_cast<int>(top >> 1);
    long double v;
    if (exponent == top) v = fraction ? std::numeric_limits<long double>::quiet_NaN() : std::numeric_limits<long double>::infinity();
    else if (exponent == 0) v = ftz ? 0.0L : std::ldexp(static_cast<long double>(fraction), 1 - bias - f.mantissa_bits);
    else v = std::ldexp(static_cast<long double>(fraction | (u64{1} << f.mantissa_bits)), static_cast<int>(exponent) - bias - f.mantissa_bits);
    return negative ? -v : v;
}

/// Rounds an exact value into a format. Subnormals become zero with `ftz`; what is too large the greatest finite one with
/// `finite`.
u64 write_float(long double v, Kind kind, ptx::Rounding rounding, bool ftz, bool finite) {
    const Format f = format_of(kind);
    const u64 top = width_mask(static_cast<unsigned>(f.exponent_bits)), one = u64{1} << f.mantissa_bits;
    const unsigned sign_at = static_cast<unsigned>(f.exponent_bits + f.mantissa_bits);
    if (std::isnan(v)) return width_mask(sign_at) << f.drop;
    const bool negative = std::signbit(v);
    const u64 sign = (negative ? u64{1} : 0) << sign_at;
    const u64 infinity = top << f.mantissa_bits, greatest = infinity - 1;
    const long double magnitude = std::fabs(v);
    if (std::isinf(magnitude)) return (sign | (finite ? greatest : infinity)) << f.drop;
    if (magnitude == 0) return sign << f.drop;
    const int bias = static_cast<int>(top >> 1);
    const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
    const long double scaled = std::ldexp(magnitude, f.mantissa_bits - exponent);     // exact: a shift
    auto whole = static_cast<u64>(scaled);
    const long double rest = scaled - static_cast<long double>(whole);
    bool up = false;
    switch (rounding) {
    case ptx::Rounding::rz: break;
    case ptx::Rounding::rm: up = negative && rest > 0; break;
    case ptx::Rounding::rp: up = !negative && rest > 0; break;
    case ptx::Rounding::rna: up = rest >= 0.5L; break;
    default: up = rest > 0.5L || (rest == 0.5L && (whole & 1)); break;
    }
    whole += up;
    u64 biased = static_cast<u64>(exponent + bias);
    if (whole >= 2 * one) { whole >>= 1; ++biased; }
    if (biased >= top) {
        const bool away = rounding == ptx::Rounding::rz ? false : rounding == ptx::Rounding::rm ? negative : rounding == ptx::Rounding::rp ? !negative : true;
        return (sign | (away && !finite ? infinity : greatest)) << f.drop;
    }
    if (whole < one) return (sign | (ftz ? 0 : whole)) << f.drop;
    return (sign | (biased << f.mantissa_bits) | (whole - one)) << f.drop;
}

long double round_to_integer(long double v, ptx::Rounding r) {
    switch (r) {
    case ptx::Rounding::rni: return std::nearbyint(v);
    case ptx::Rounding::rmi: return std::floor(v);
    case ptx::Rounding::rpi: return std::ceil(v);
    default: return std::trunc(v);
    }
}

/// Floats too large clamp; a NaN is 0 in up to 32 bits of a float that is no f64, else the top bit (PTX ISA 9.7.9.21).
u64 to_integer(const MicroOp& op, long double v) {
    const bool s = op.kind == Kind::signed_int;
    const unsigned w = op.width;
    if (std::isnan(v)) return op.kind2 == Kind::f64 || w == 64 ? u64{1} << (w - 1) : 0;
    const long double low = s ? -std::ldexp(1.0L, static_cast<int>(w) - 1) : 0.0L;
    const long double high = s ? std::ldexp(1.0L, static_cast<int>(w) - 1) - 1 : std::ldexp(1.0L, static_cast<int>(w)) - 1;
    if (v <= low) return static_cast<u64>(static_cast<i64>(low));
    if (v >= high) return s ? width_mask(w - 1) : width_mask(w);
    return v < 0 ? static_cast<u64>(static_cast<i64>(v)) : static_cast<u64>(v);
}

u64 integer_to_integer(const MicroOp& op, u64 a) {
    i128 v = typed(a, op.width2, op.kind2 == Kind::signed_int);
    const bool s = op.kind == Kind::signed_int;
    if (op.sat) {
        const i128 low = s ? -(static_cast<i128>(1) << (op.width - 1)) : 0;
        const i128 high = s ? (static_cast<i128>(1) << (op.width - 1)) - 1 : static_cast<i128>(width_mask(op.width));
        v = v < low ? low : v > high ? high : v;
    }
    return static_cast<u64>(typed(static_cast<u64>(v), op.width, s)) & width_mask(op.reg_width);
}

}  // namespace

u64 convert(const MicroOp& op, u64 a) {
    const bool from_int = is_integer(op.kind2), to_int = is_integer(op.kind);
    if (from_int && to_int) return integer_to_integer(op, a);
    long double v;
    if (from_int) {
        const i128 n = typed(a, op.width2, op.kind2 == Kind::signed_int);
        v = n < 0 ? -static_cast<long double>(static_cast<u64>(-n)) : static_cast<long double>(static_cast<u64>(n));
    } else {
        v = read_float(a, op.kind2, op.ftz && op.kind2 == Kind::f32);
    }
    const bool rounds = op.rounding == ptx::Rounding::rni || op.rounding == ptx::Rounding::rzi || op.rounding == ptx::Rounding::rmi ||
                        op.rounding == ptx::Rounding::rpi;
    if (!from_int && (rounds || to_int) && !std::isnan(v) && !std::isinf(v)) v = std::copysign(round_to_integer(v, op.rounding), v);
    if (to_int) return static_cast<u64>(typed(to_integer(op, v), op.width, op.kind == Kind::signed_int)) & width_mask(op.reg_width);
    if (op.sat) v = std::isnan(v) || v <= 0 ? 0.0L : v > 1 ? 1.0L : v;
    if ((op.mode & 1) && v <= 0) v = 0;     // .relu: -0 too
    return write_float(v, op.kind, op.rounding, op.ftz && op.kind == Kind::f32, op.mode & 2);
}

}  // namespace flipflop::eval
