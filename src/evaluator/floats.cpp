// Floating point, one lane at a time: PTX ISA 9.7.3 and 9.7.6. Directed rounding is the host's own, switched for a single
// operation; approximate functions are computed exactly rounded (docs/evaluator.md, Limits).
#include <bit>
#include <cfenv>
#include <cmath>

#include "evaluator/operate.hpp"

namespace flipflop::eval {
namespace {

float as_f32(u64 bits, bool ftz) {
    const float f = std::bit_cast<float>(static_cast<u32>(bits));
    return ftz && std::fpclassify(f) == FP_SUBNORMAL ? std::copysign(0.0f, f) : f;
}
double as_f64(u64 bits) { return std::bit_cast<double>(bits); }
u64 bits_of(float f, bool ftz) {
    if (ftz && std::fpclassify(f) == FP_SUBNORMAL) f = std::copysign(0.0f, f);
    if (std::isnan(f)) return 0x7fffffff;    // the canonical NaN
    return std::bit_cast<u32>(f);
}
u64 bits_of(double d) { return std::isnan(d) ? 0x7fffffffffffffff : std::bit_cast<u64>(d); }

/// f() under a rounding mode. The operands of f are volatile, so that nothing of it is moved out of the bracket.
template <class F>
auto rounded(ptx::Rounding rounding, const F& f) {
    int mode = FE_TONEAREST;
    switch (rounding) {
    case ptx::Rounding::rz: mode = FE_TOWARDZERO; break;
    case ptx::Rounding::rm: mode = FE_DOWNWARD; break;
    case ptx::Rounding::rp: mode = FE_UPWARD; break;
    default: return f();
    }
    const int before = std::fegetround();
    std::fesetround(mode);
    const volatile auto r = f();
    std::fesetround(before);
    return static_cast<std::remove_cv_t<decltype(r)>>(r);
}

/// min and max: of two zeros the negative one is less; a NaN loses unless .NaN says otherwise (PTX ISA 9.7.3.11).
template <class T>
T extremum(const MicroOp& op, T a, T b) {
    const bool sign = std::signbit(a) != std::signbit(b);
    if (op.mode & 2) { a = std::fabs(a); b = std::fabs(b); }
    T r;
    if (std::isnan(a) || std::isnan(b)) r = (op.mode & 1) || std::isnan(b) ? (std::isnan(b) && !(op.mode & 1) ? a : a + b) : b;
    else if (a == b) r = std::signbit(a) == (op.op == Op::fmin) ? a : b;
    else r = (a < b) == (op.op == Op::fmin) ? a : b;
    if (op.mode & 2) r = std::copysign(r, sign ? T{-1} : T{1});
    return r;
}

template <class T>
T float_arithmetic(const MicroOp& op, T first, T second, T third) {
    const volatile T a = first, b = second, c = third;
    switch (op.op) {
    case Op::fadd: return rounded(op.rounding, [&]() -> T { return a + b; });
    case Op::fsub: return rounded(op.rounding, [&]() -> T { return a - b; });
    case Op::fmul: return rounded(op.rounding, [&]() -> T { return a * b; });
    case Op::ffma: return rounded(op.rounding, [&]() -> T { return std::fma(T{a}, T{b}, T{c}); });
    case Op::fdiv: return rounded(op.rounding, [&]() -> T { return a / b; });
    case Op::fsqrt: return rounded(op.rounding, [&]() -> T { return std::sqrt(T{a}); });
    case Op::frcp: return rounded(op.rounding, [&]() -> T { return T{1} / a; });
    case Op::fmin: case Op::fmax: {
        const T r = extremum(op, first, second);
        return op.sources > 2 ? extremum(op, r, third) : r;
    }
    case Op::fneg: return -first;
    case Op::fabs: return std::fabs(first);
    case Op::frsqrt: return T{1} / std::sqrt(first);
    case Op::fex2: return std::exp2(first);
    case Op::flg2: return std::log2(first);
    case Op::fsin: return std::sin(first);
    case Op::fcos: return std::cos(first);
    case Op::ftanh: return std::tanh(first);
    case Op::copysign: return std::copysign(second, first);
    default: return first;
    }
}

/// PTX ISA 9.7.3.2: both zeros are normal numbers.
template <class T>
bool test_property(unsigned mode, T v) {
    switch (mode) {
    case 0: return std::isfinite(v);
    case 1: return std::isinf(v);
    case 2: return !std::isnan(v);
    case 3: return std::isnan(v);
    case 4: return std::isnormal(v) || v == T{0};
    default: return std::fpclassify(v) == FP_SUBNORMAL;
    }
}

template <class T>
T saturate(T v) { return std::isnan(v) ? T{0} : v <= T{0} ? T{0} : v > T{1} ? T{1} : v; }

template <class T>
bool compare_values(ptx::Compare c, T a, T b, bool unordered) {
    using C = ptx::Compare;
    switch (c) {
    case C::eq: return !unordered && a == b;
    case C::ne: return !unordered && a != b;
    case C::lt: case C::lo: return !unordered && a < b;
    case C::le: case C::ls: return !unordered && a <= b;
    case C::gt: case C::hi: return !unordered && a > b;
    case C::ge: case C::hs: return !unordered && a >= b;
    case C::equ: return unordered || a == b;
    case C::neu: return unordered || a != b;
    case C::ltu: return unordered || a < b;
    case C::leu: return unordered || a <= b;
    case C::gtu: return unordered || a > b;
    case C::geu: return unordered || a >= b;
    case C::num: return !unordered;
    case C::nan: return unordered;
    case C::none: return false;
    }
    return false;
}

}  // namespace

bool not_negative(u64 bits, bool ftz) {
    const float v = as_f32(bits, ftz);
    return v >= 0.0f;
}

u64 floating(const MicroOp& op, u64 a, u64 b, u64 c) {
    if (op.op == Op::testp) return op.kind == Kind::f64 ? test_property(op.mode, as_f64(a)) : test_property(op.mode, as_f32(a, false));
    if (op.kind == Kind::f64) {
        const double r = float_arithmetic(op, as_f64(a), as_f64(b), as_f64(c));
        return bits_of(op.sat ? saturate(r) : r);
    }
    if (op.op == Op::fneg) return bits_of(-as_f32(a, op.ftz), false);
    const float r = float_arithmetic(op, as_f32(a, op.ftz), as_f32(b, op.ftz), as_f32(c, op.ftz));
    return bits_of(op.sat ? saturate(r) : r, op.ftz);
}

bool compare_lane(const MicroOp& op, u64 a, u64 b) {
    if (op.kind == Kind::f32) {
        const float x = as_f32(a, op.ftz), y = as_f32(b, op.ftz);
        return compare_values(op.compare, x, y, std::isnan(x) || std::isnan(y));
    }
    if (op.kind == Kind::f64) {
        const double x = as_f64(a), y = as_f64(b);
        return compare_values(op.compare, x, y, std::isnan(x) || std::isnan(y));
    }
    const bool s = op.kind == Kind::signed_int;
    return compare_values(op.compare, typed(a, op.width, s), typed(b, op.width, s), false);
}

}  // namespace flipflop::eval
