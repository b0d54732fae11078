// Constants and constant expressions (PTX ISA 4.5): 64-bit integers, signed or unsigned, and floats.
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx::detail {
namespace {

constexpr unsigned kMaxDepth = 64;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Reads digits of a base; false when there is none or the value needs more than 64 bits.
bool read_digits(const char*& p, unsigned base, std::uint64_t& value) {
    const char* start = p;
    bool fits = true;
    for (;; ++p) {
        const int digit = hex_digit(*p);
        if (digit < 0 || static_cast<unsigned>(digit) >= base) break;
        if (value > (~std::uint64_t{0} - static_cast<unsigned>(digit)) / base) fits = false;
        value = value * base + static_cast<unsigned>(digit);
    }
    return p > start && fits;
}

double as_double(const Constant& c) {
    switch (c.kind) {
        case Constant::Kind::f32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(c.bits)));
        case Constant::Kind::f64: return std::bit_cast<double>(c.bits);
        case Constant::Kind::integer: break;
    }
    return c.is_unsigned ? static_cast<double>(c.bits) : static_cast<double>(static_cast<std::int64_t>(c.bits));
}

Constant integer(std::uint64_t bits, bool is_unsigned) { return {Constant::Kind::integer, bits, is_unsigned}; }

int precedence(std::string_view op) {
    if (op == "*" || op == "/" || op == "%") return 10;
    if (op == "+" || op == "-") return 9;
    if (op == "<<" || op == ">>") return 8;
    if (op == "<" || op == ">" || op == "<=" || op == ">=") return 7;
    if (op == "==" || op == "!=") return 6;
    if (op == "&") return 5;
    if (op == "^") return 4;
    if (op == "|") return 3;
    if (op == "&&") return 2;
    if (op == "||") return 1;
    return 0;
}

}  // namespace

bool Parser::parse_number(Constant& value) {
    skip_blanks();
    const Position at = here();
    const char* p = p_;
    value = {};
    const char marker = p[0] == '0' ? static_cast<char>(p[1] | 0x20) : '\0';
    bool good = true;
    if (p[0] == '0' && (marker == 'f' || marker == 'd')) {
        const std::ptrdiff_t wanted = marker == 'f' ? 8 : 16;
        p += 2;
        const char* digits = p;
        good = read_digits(p, 16, value.bits) && p - digits == wanted;
        value.kind = marker == 'f' ? Constant::Kind::f32 : Constant::Kind::f64;
    } else if (p[0] == '0' && marker == 'x') {
        p += 2;
        good = read_digits(p, 16, value.bits);
    } else if (p[0] == '0' && marker == 'b') {
        p += 2;
        good = read_digits(p, 2, value.bits);
    } else if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        const char* q = p;
        while (is_digit(*q)) ++q;
        if (*q == '.' || *q == 'e' || *q == 'E') {
            double number = 0;
            const auto parsed = std::from_chars(p, end_, number);
            good = parsed.ec == std::errc{};
            p = good ? parsed.ptr : q;
            value = {Constant::Kind::f64, std::bit_cast<std::uint64_t>(number), false};
        } else {
            good = read_digits(p, p[0] == '0' && q - p > 1 ? 8 : 10, value.bits) && p == q;
        }
    } else {
        report_unexpected("a number");
        return false;
    }
    if (good && value.kind == Constant::Kind::integer) {
        // PTX ISA 4.5.1: an integer is signed unless it has a U or needs the 64th bit.
        value.is_unsigned = value.bits >> 63 != 0;
        if (*p == 'U') {
            value.is_unsigned = true;
            ++p;
        }
    }
    if (!good || is_identifier(*p)) {
        report(Code::bad_number, at, "this number cannot be read", "PTX has 42, 42U, 0x2a, 052, 0b101010, 1.5e3, 0f3F800000 and 0d3FF0000000000000");
        while (is_identifier(*p)) ++p;
        p_ = p > p_ ? p : p_ + 1;
        return false;
    }
    p_ = p;
    return true;
}

bool Parser::parse_constant(Constant& value) { return parse_conditional(value, 0); }

bool Parser::parse_conditional(Constant& value, unsigned depth) {
    if (!parse_binary(value, 1, depth)) return false;
    skip_blanks();
    if (*p_ != '?') return true;
    if (depth >= kMaxDepth) {
        report(Code::nested_too_deep, here(), "this expression is nested too deep");
        return false;
    }
    ++p_;
    Constant yes, no;
    if (!parse_conditional(yes, depth + 1) || !expect(':', "in a conditional expression") || !parse_conditional(no, depth + 1)) return false;
    value = as_double(value) != 0 ? yes : no;
    return true;
}

std::string_view Parser::peek_binary_operator() const {
    const char a = *p_, b = a != '\0' ? p_[1] : '\0';
    switch (a) {
        case '*': case '/': case '%': case '+': case '-': case '^': return {p_, 1};
        case '<': case '>': return {p_, b == a || b == '=' ? std::size_t{2} : std::size_t{1}};
        case '&': case '|': return {p_, b == a ? std::size_t{2} : std::size_t{1}};
        case '=': case '!': return b == '=' ? std::string_view(p_, 2) : std::string_view();
        default: return {};
    }
}

bool Parser::parse_binary(Constant& value, int least, unsigned depth) {
    if (!parse_unary(value, depth)) return false;
    for (;;) {
        skip_blanks();
        const Position at = here();
        const std::string_view op = peek_binary_operator();
        const int rank = precedence(op);
        if (rank < least || rank == 0) return true;
        p_ += op.size();
        Constant right;
        if (!parse_binary(right, rank + 1, depth)) return false;
        if (!apply_binary(op, value, right, at)) return false;
    }
}

bool Parser::parse_unary(Constant& value, unsigned depth) {
    std::string operators;  // outermost first
    for (;;) {
        skip_blanks();
        const char c = *p_;
        if (c != '-' && c != '+' && c != '!' && c != '~') break;
        if (operators.size() >= kMaxDepth) {
            report(Code::nested_too_deep, here(), "this expression has too many signs");
            return false;
        }
        operators += c;
        ++p_;
    }
    if (*p_ == '(') {
        if (depth >= kMaxDepth) {
            report(Code::nested_too_deep, here(), "this expression is nested too deep");
            return false;
        }
        ++p_;
        skip_blanks();
        const std::string_view cast = peek_directive();
        if (cast == "s64" || cast == "u64") {
            read_directive();
            if (!expect(')', "after the cast") || !parse_unary(value, depth + 1)) return false;
            if (value.kind == Constant::Kind::integer) value.is_unsigned = cast == "u64";
        } else if (!parse_conditional(value, depth + 1) || !expect(')', "after the expression")) {
            return false;
        }
    } else if (is_start(*p_)) {
        const Position at = here();
        const Name name = read_name();
        if (name.text() != "WARP_SZ") {
            report(Code::bad_expression, at, fmt::format("'{}' is no constant", name.text()));
            return false;
        }
        value = integer(32, false);
    } else if (!parse_number(value)) {
        return false;
    }
    for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
        if (value.kind != Constant::Kind::integer) {
            if (*op == '-') value.bits ^= value.kind == Constant::Kind::f32 ? std::uint64_t{1} << 31 : std::uint64_t{1} << 63;
            else if (*op == '!') value = integer(as_double(value) == 0, false);
            continue;
        }
        if (*op == '-') value = integer(std::uint64_t{0} - value.bits, false);
        else if (*op == '~') value.bits = ~value.bits;
        else if (*op == '!') value = integer(value.bits == 0, false);
    }
    return true;
}

bool Parser::apply_binary(std::string_view op, Constant& left, const Constant& right, Position at) {
    if (left.kind != Constant::Kind::integer || right.kind != Constant::Kind::integer) {
        const double a = as_double(left), b = as_double(right);
        if (op == "+" || op == "-" || op == "*" || op == "/") {
            const double result = op == "+" ? a + b : op == "-" ? a - b : op == "*" ? a * b : a / b;
            left = {Constant::Kind::f64, std::bit_cast<std::uint64_t>(result), false};
            return true;
        }
        bool result = false;
        if (op == "<") result = a < b;
        else if (op == ">") result = a > b;
        else if (op == "<=") result = a <= b;
        else if (op == ">=") result = a >= b;
        else if (op == "==") result = a == b;
        else if (op == "!=") result = a != b;
        else if (op == "&&") result = a != 0 && b != 0;
        else if (op == "||") result = a != 0 || b != 0;
        else return report(Code::bad_expression, at, fmt::format("'{}' is not for floating-point constants", op)), false;
        left = integer(result, false);
        return true;
    }
    const std::uint64_t a = left.bits, b = right.bits;
    const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    if (op == "/" || op == "%") {
        if (b == 0) return report(Code::bad_expression, at, "a division by zero in a constant"), false;
        if (is_unsigned) left = integer(op == "/" ? a / b : a % b, true);
        else if (sb == -1) left = integer(op == "/" ? std::uint64_t{0} - a : 0, false);
        else left = integer(static_cast<std::uint64_t>(op == "/" ? sa / sb : sa % sb), false);
    } else if (op == "*") left = integer(a * b, is_unsigned);
    else if (op == "+") left = integer(a + b, is_unsigned);
    else if (op == "-") left = integer(a - b, is_unsigned);
    else if (op == "<<") left = integer(b < 64 ? a << b : 0, left.is_unsigned);
    else if (op == ">>") {
        if (left.is_unsigned) left = integer(b < 64 ? a >> b : 0, true);
        else left = integer(static_cast<std::uint64_t>(sa >> (b < 64 ? b : 63)), false);
    } else if (op == "<") left = integer(is_unsigned ? a < b : sa < sb, false);
    else if (op == ">") left = integer(is_unsigned ? a > b : sa > sb, false);
    else if (op == "<=") left = integer(is_unsigned ? a <= b : sa <= sb, false);
    else if (op == ">=") left = integer(is_unsigned ? a >= b : sa >= sb, false);
    else if (op == "==") left = integer(a == b, false);
    else if (op == "!=") left = integer(a != b, false);
    else if (op == "&") left = integer(a & b, is_unsigned);
    else if (op == "^") left = integer(a ^ b, is_unsigned);
    else if (op == "|") left = integer(a | b, is_unsigned);
    else if (op == "&&") left = integer(a != 0 && b != 0, false);
    else left = integer(a != 0 || b != 0, false);
    return true;
}

}  // namespace flipflop::ptx::detail
