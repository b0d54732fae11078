// PTX arithmetic for the naive evaluator, in 128-bit integers and without tricks (PTX ISA 9.7).
#include <bit>
#include <cmath>
#include <cstring>

#include "naive_machine.hpp"

namespace naive {
namespace {

using flipflop::ptx::BoolOp;
using flipflop::ptx::Compare;
using flipflop::ptx::Form;
using flipflop::ptx::Opcode;
using flipflop::ptx::Rounding;
using flipflop::ptx::Type;
__extension__ using Wide = __int128;

std::uint64_t mask_of(unsigned bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

Wide widen(std::uint64_t value, Type type) {
    const unsigned bits = flipflop::ptx::bits_of(type);
    value &= mask_of(bits);
    if (flipflop::ptx::is_signed(type) && bits < 64 && ((value >> (bits - 1)) & 1)) return Wide{static_cast<std::int64_t>(value | ~mask_of(bits))};
    if (flipflop::ptx::is_signed(type)) return Wide{static_cast<std::int64_t>(value)};
    return Wide{value};
}

double as_double(std::uint64_t bits, Type type) {
    if (type == Type::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    return std::bit_cast<double>(bits);
}

std::uint64_t from_double(double value, Type type) {
    if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return std::bit_cast<std::uint64_t>(value);
}

Value float_op(const Form& form, const std::vector<Value>& s) {
    const Type type = form.type;
    if (type != Type::f32 && type != Type::f64) return std::nullopt;
    const double a = as_double(*s[0], type);
    const double b = s.size() > 1 ? as_double(*s[1], type) : 0;
    switch (form.opcode) {
        case Opcode::add_: return from_double(a + b, type);
        case Opcode::sub_: return from_double(a - b, type);
        case Opcode::mul_: return from_double(a * b, type);
        case Opcode::fma_:
        case Opcode::mad:
            if (type == Type::f32) return std::bit_cast<std::uint32_t>(std::fmaf(static_cast<float>(a), static_cast<float>(b), std::bit_cast<float>(static_cast<std::uint32_t>(*s[2]))));
            return from_double(std::fma(a, b, as_double(*s[2], type)), type);
        case Opcode::neg_: return from_double(-a, type);
        case Opcode::abs_: return from_double(std::fabs(a), type);
        case Opcode::min_: return from_double(std::fmin(a, b), type);
        case Opcode::max_: return from_double(std::fmax(a, b), type);
        case Opcode::div_: return form.rounding == Rounding::rn || form.approx || form.full ? Value{from_double(a / b, type)} : std::nullopt;
        case Opcode::rcp: return from_double(1.0 / a, type);
        case Opcode::sqrt_: return from_double(std::sqrt(a), type);
        case Opcode::rsqrt: return from_double(1.0 / std::sqrt(a), type);
        case Opcode::ex2: return from_double(std::exp2(a), type);
        case Opcode::lg2: return from_double(std::log2(a), type);
        case Opcode::sin_: return from_double(std::sin(a), type);
        case Opcode::cos_: return from_double(std::cos(a), type);
        case Opcode::tanh_: return from_double(std::tanh(a), type);
        default: return std::nullopt;
    }
}

double rounded(double value, Rounding rounding) {
    switch (rounding) {
        case Rounding::rni: return std::nearbyint(value);
        case Rounding::rmi: return std::floor(value);
        case Rounding::rpi: return std::ceil(value);
        default: return std::trunc(value);
    }
}

Value convert(const Form& form, std::uint64_t bits) {
    const Type to = form.type, from = form.type2;
    const unsigned width = flipflop::ptx::bits_of(to);
    if (flipflop::ptx::is_float(to) && to != Type::f32 && to != Type::f64) return std::nullopt;
    if (flipflop::ptx::is_float(from)) {
        if (from != Type::f32 && from != Type::f64) return std::nullopt;
        const double value = as_double(bits, from);
        if (flipflop::ptx::is_float(to)) return form.rounding == Rounding::none || form.rounding == Rounding::rn ? Value{from_double(value, to)} : from_double(rounded(value, form.rounding), to);
        const double whole = rounded(value, form.rounding);
        if (std::isnan(whole)) return 0;
        const bool is_signed = flipflop::ptx::is_signed(to);
        const double low = is_signed ? -std::ldexp(1.0, static_cast<int>(width) - 1) : 0.0;
        const double high = std::ldexp(1.0, static_cast<int>(is_signed ? width - 1 : width));
        if (whole < low) return static_cast<std::uint64_t>(static_cast<Wide>(low)) & mask_of(width);
        if (whole >= high) return (static_cast<std::uint64_t>(static_cast<Wide>(high) - 1)) & mask_of(width);
        return static_cast<std::uint64_t>(static_cast<Wide>(whole)) & mask_of(width);
    }
    const Wide value = widen(bits, from);
    if (flipflop::ptx::is_float(to)) {
        if (form.rounding != Rounding::rn && form.rounding != Rounding::none) return std::nullopt;
        if (to == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    }
    if (form.sat) {
        const bool is_signed = flipflop::ptx::is_signed(to);
        const Wide high = (Wide{1} << (is_signed ? width - 1 : width)) - 1;
        const Wide low = is_signed ? -(Wide{1} << (width - 1)) : 0;
        return static_cast<std::uint64_t>(value < low ? low : value > high ? high : value) & mask_of(width);
    }
    return static_cast<std::uint64_t>(value) & mask_of(width);
}

std::uint64_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t bytes = (std::uint64_t{b} << 32) | a;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned nibble = (selector >> (4 * i)) & 0xf;
        std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (nibble & 7))) & 0xff;
        if (nibble & 8) byte = (byte & 0x80) ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

std::uint64_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
    std::uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
        const unsigned index = ((a >> bit & 1) << 2) | ((b >> bit & 1) << 1) | (c >> bit & 1);
        result |= (table >> index & 1) << bit;
    }
    return result;
}

Value bit_field(const Form& form, const std::vector<Value>& s, unsigned bits) {
    if (form.opcode == Opcode::bfe) {
        const std::uint64_t position = *s[1] & 0xff, length = *s[2] & 0xff;
        const bool is_signed = flipflop::ptx::is_signed(form.type);
        const std::uint64_t top = std::min<std::uint64_t>(position + length - 1, bits - 1);
        const bool sign = length != 0 && is_signed && ((*s[0] >> top) & 1);
        std::uint64_t result = 0;
        for (unsigned i = 0; i < bits; ++i) {
            const bool bit = i < length && position + i < bits ? ((*s[0] >> (position + i)) & 1) != 0 : sign;
            result |= std::uint64_t{bit} << i;
        }
        return result;
    }
    std::uint64_t result = *s[1];
    const std::uint64_t position = *s[2] & 0xff, length = *s[3] & 0xff;
    for (std::uint64_t i = 0; i < length && position + i < bits; ++i) {
        result &= ~(std::uint64_t{1} << (position + i));
        result |= ((*s[0] >> i) & 1) << (position + i);
    }
    return result;
}

Value divide(const Form& form, Wide a, Wide b, unsigned bits) {
    if (b == 0) return std::nullopt;
    return static_cast<std::uint64_t>(form.opcode == Opcode::div_ ? a / b : a % b) & mask_of(bits);
}

Value multiply(const Form& form, Wide a, Wide b, Value addend, unsigned bits) {
    const Wide product = a * b;
    const unsigned out = form.wide ? 2 * bits : bits;
    Wide result = form.hi ? product >> bits : product;
    if (addend) result += form.wide ? static_cast<Wide>(*addend) : widen(*addend, form.type);
    if (form.sat && form.hi) {
        const Wide high = (Wide{1} << 31) - 1;
        result = result > high ? high : result < -high - 1 ? -high - 1 : result;
    }
    return static_cast<std::uint64_t>(result) & mask_of(out);
}

Value shift(const Form& form, std::uint64_t value, std::uint64_t amount, unsigned bits) {
    amount &= 0xffffffff;
    if (form.opcode == Opcode::shl) return amount >= bits ? 0 : (value << amount) & mask_of(bits);
    if (amount >= bits) amount = flipflop::ptx::is_signed(form.type) ? bits - 1 : bits;
    if (amount >= 64) return 0;
    return static_cast<std::uint64_t>(widen(value, form.type) >> amount) & mask_of(bits);
}

Value add_like(const Form& form, const std::vector<Value>& s, unsigned bits, Value& carry) {
    const bool subtract = form.opcode == Opcode::sub_ || form.opcode == Opcode::subc;
    if (form.carry_in && !carry) return std::nullopt;
    const Wide in = form.carry_in ? static_cast<Wide>(*carry) : 0;
    if (form.sat) {
        const Wide exact = subtract ? widen(*s[0], form.type) - widen(*s[1], form.type) : widen(*s[0], form.type) + widen(*s[1], form.type);
        const Wide high = (Wide{1} << 31) - 1;
        return static_cast<std::uint64_t>(exact > high ? high : exact < -high - 1 ? -high - 1 : exact) & mask_of(bits);
    }
    const Wide a = static_cast<Wide>(*s[0] & mask_of(bits)), b = static_cast<Wide>(*s[1] & mask_of(bits));
    const Wide result = subtract ? a - b - in : a + b + in;
    if (form.cc) carry = subtract ? std::uint64_t{result < 0} : std::uint64_t{(result >> bits) != 0};
    return static_cast<std::uint64_t>(result) & mask_of(bits);
}

}  // namespace

std::optional<bool> compare(const Form& form, Type type, std::uint64_t a, std::uint64_t b) {
    if (flipflop::ptx::is_float(type)) {
        if (type != Type::f32 && type != Type::f64) return std::nullopt;
        const double x = as_double(a, type), y = as_double(b, type);
        const bool nan = std::isnan(x) || std::isnan(y);
        switch (form.compare) {
            case Compare::eq: return x == y;
            case Compare::ne: return !nan && x != y;
            case Compare::lt: return x < y;
            case Compare::le: return x <= y;
            case Compare::gt: return x > y;
            case Compare::ge: return x >= y;
            case Compare::equ: return nan || x == y;
            case Compare::neu: return nan || x != y;
            case Compare::ltu: return nan || x < y;
            case Compare::leu: return nan || x <= y;
            case Compare::gtu: return nan || x > y;
            case Compare::geu: return nan || x >= y;
            case Compare::num: return !nan;
            case Compare::nan: return nan;
            default: return std::nullopt;
        }
    }
    const Wide x = widen(a, type), y = widen(b, type);
    switch (form.compare) {
        case Compare::eq: return x == y;
        case Compare::ne: return x != y;
        case Compare::lt: case Compare::lo: return x < y;
        case Compare::le: case Compare::ls: return x <= y;
        case Compare::gt: case Compare::hi: return x > y;
        case Compare::ge: case Compare::hs: return x >= y;
        default: return std::nullopt;
    }
}

Value compute(const Form& form, const std::vector<Value>& s, Value& carry) {
    for (const Value& v : s)
        if (!v) {
            if (form.cc) carry.reset();
            return std::nullopt;
        }
    if (s.empty()) return std::nullopt;
    const Opcode op = form.opcode;
    if (op == Opcode::cvt) return convert(form, *s[0]);
    if (op == Opcode::mov || op == Opcode::cvta) return s[0];
    if (flipflop::ptx::is_float(form.type) && op != Opcode::selp && op != Opcode::slct) return float_op(form, s);
    const unsigned bits = form.type == Type::pred ? 1 : flipflop::ptx::bits_of(form.type);
    const auto low = [&](std::size_t i) { return *s[i] & mask_of(bits); };
    switch (op) {
        case Opcode::add_: case Opcode::addc: case Opcode::sub_: case Opcode::subc: return add_like(form, s, bits, carry);
        case Opcode::mul_: return multiply(form, widen(*s[0], form.type), widen(*s[1], form.type), std::nullopt, bits);
        case Opcode::mad: if (form.cc) return std::nullopt; return multiply(form, widen(*s[0], form.type), widen(*s[1], form.type), s[2], bits);
        case Opcode::div_: case Opcode::rem_: return divide(form, widen(*s[0], form.type), widen(*s[1], form.type), bits);
        case Opcode::and_: return low(0) & low(1);
        case Opcode::or_: return low(0) | low(1);
        case Opcode::xor_: return low(0) ^ low(1);
        case Opcode::not_: return ~low(0) & mask_of(bits);
        case Opcode::cnot: return std::uint64_t{low(0) == 0};
        case Opcode::neg_: return (0 - low(0)) & mask_of(bits);
        case Opcode::abs_: { const Wide v = widen(*s[0], form.type); return static_cast<std::uint64_t>(v < 0 ? -v : v) & mask_of(bits); }
        case Opcode::min_: case Opcode::max_: {
            const Wide a = widen(*s[0], form.type), b = widen(*s[1], form.type);
            return static_cast<std::uint64_t>((op == Opcode::min_) == (a < b) ? a : b) & mask_of(bits);
        }
        case Opcode::shl: case Opcode::shr: return shift(form, low(0), *s[1], bits);
        case Opcode::bfe: case Opcode::bfi: return bit_field(form, s, bits);
        case Opcode::popc: return static_cast<std::uint64_t>(std::popcount(low(0)));
        case Opcode::clz: return static_cast<std::uint64_t>(std::countl_zero(low(0))) - (64 - bits);
        case Opcode::brev: { std::uint64_t r = 0; for (unsigned i = 0; i < bits; ++i) r |= ((low(0) >> i) & 1) << (bits - 1 - i); return r; }
        case Opcode::prmt: return form.modifiers.size() == 1 ? Value{permute(static_cast<std::uint32_t>(*s[0]), static_cast<std::uint32_t>(*s[1]), static_cast<std::uint32_t>(*s[2]))} : std::nullopt;
        case Opcode::lop3: return lop3(static_cast<std::uint32_t>(*s[0]), static_cast<std::uint32_t>(*s[1]), static_cast<std::uint32_t>(*s[2]), static_cast<std::uint32_t>(*s[3]));
        case Opcode::shf: {
            const std::uint64_t both = ((*s[1] & 0xffffffff) << 32) | (*s[0] & 0xffffffff);
            std::uint64_t n = *s[2] & 0xffffffff;
            n = form.has("clamp") ? std::min<std::uint64_t>(n, 32) : n & 31;
            return form.has("l") ? (n == 0 ? both >> 32 : (both << n) >> 32) & 0xffffffff : (n >= 64 ? 0 : both >> n) & 0xffffffff;
        }
        case Opcode::dp4a: {
            Wide sum = widen(*s[2], Type::s32);
            for (unsigned i = 0; i < 4; ++i)
                sum += widen(*s[0] >> (8 * i), flipflop::ptx::is_signed(form.type) ? Type::s8 : Type::u8) *
                       widen(*s[1] >> (8 * i), flipflop::ptx::is_signed(form.type2) ? Type::s8 : Type::u8);
            return static_cast<std::uint64_t>(sum) & 0xffffffff;
        }
        case Opcode::selp: return *s[2] ? low(0) : low(1);
        case Opcode::slct: {
            const bool first = form.type2 == Type::f32 ? as_double(*s[2], Type::f32) >= 0 : widen(*s[2], Type::s32) >= 0;
            return first ? low(0) : low(1);
        }
        case Opcode::sad: {
            const Wide a = widen(*s[0], form.type), b = widen(*s[1], form.type);
            return static_cast<std::uint64_t>(widen(*s[2], form.type) + (a < b ? b - a : a - b)) & mask_of(bits);
        }
        case Opcode::mul24: case Opcode::mad24: {
            const auto part = [&](std::size_t i) { return flipflop::ptx::is_signed(form.type) ? Wide{static_cast<std::int32_t>(static_cast<std::uint32_t>(*s[i]) << 8) >> 8} : Wide{*s[i] & 0xffffff}; };
            const Wide product = part(0) * part(1);
            return static_cast<std::uint64_t>((form.hi ? product >> 16 : product) + (op == Opcode::mad24 ? widen(*s[2], form.type) : 0)) & mask_of(bits);
        }
        case Opcode::bfind: {
            const bool negative = flipflop::ptx::is_signed(form.type) && ((low(0) >> (bits - 1)) & 1);
            const std::uint64_t field = negative ? ~low(0) & mask_of(bits) : low(0);
            if (!field) return 0xffffffff;
            const auto at = static_cast<std::uint64_t>(63 - std::countl_zero(field));
            return form.has("shiftamt") ? bits - 1 - at : at;
        }
        default: return std::nullopt;
    }
}

Value combine(const Form& form, std::uint64_t old, std::uint64_t b, Value c) {
    const Type type = form.type;
    const unsigned bits = flipflop::ptx::bits_of(type);
    const std::uint64_t mask = mask_of(bits);
    old &= mask;
    b &= mask;
    if (form.has("exch")) return b;
    if (form.has("cas")) return c ? Value{old == b ? *c & mask : old} : std::nullopt;
    if (form.has("and")) return old & b;
    if (form.has("or")) return old | b;
    if (form.has("xor")) return old ^ b;
    if (form.has("inc")) return old >= b ? 0 : old + 1;
    if (form.has("dec")) return old == 0 || old > b ? b : old - 1;
    const bool floating = flipflop::ptx::is_float(type);
    if (floating && type != Type::f32 && type != Type::f64) return std::nullopt;
    if (form.has("add")) return floating ? from_double(as_double(old, type) + as_double(b, type), type) : (old + b) & mask;
    const bool less = floating ? as_double(old, type) < as_double(b, type) : widen(old, type) < widen(b, type);
    if (form.has("min")) return less ? old : b;
    if (form.has("max")) return less ? b : old;
    return std::nullopt;
}

}  // namespace naive
