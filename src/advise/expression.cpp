#include "expression.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

std::uint32_t bytes_of_field_type(std::string_view type) {
    static const std::map<std::string_view, std::uint32_t> known{{"u8", 1}, {"s8", 1}, {"b8", 1}, {"u16", 2}, {"s16", 2}, {"b16", 2},
        {"u32", 4}, {"s32", 4}, {"b32", 4}, {"u64", 8}, {"s64", 8}, {"b64", 8}, {"f32", 4}, {"f64", 8}, {"ptr", 8}};
    const auto found = known.find(type);
    return found == known.end() ? 0 : found->second;
}

double real_of(const Number& number) {
    return std::holds_alternative<double>(number) ? std::get<double>(number) : static_cast<double>(std::get<std::int64_t>(number));
}

tl::unexpected<Diagnostic> Expression::fail(const char* id, std::uint32_t column, std::string message, std::string help) const {
    return tl::unexpected(complain_at(id, option_, text_, column, std::move(message), std::move(help)));
}

/// Recursive descent with a depth limit: sum := product (+|- product)*, product := factor (*|/|//|% factor)*,
/// factor := -factor | number | name | function(sum, ...) | (sum).
class ExpressionParser {
public:
    explicit ExpressionParser(Expression& expression) : e_(expression), text_(expression.text_) {}

    Result<void> run() {
        if (auto r = sum(); !r) return r;
        skip_blanks();
        if (at_ < text_.size()) return unexpected_here("an operator");
        return {};
    }

private:
    using Op = Expression::Op;
    static constexpr unsigned kDeepest = 100;

    Result<void> sum() {
        if (auto r = product(); !r) return r;
        for (;;) {
            const std::uint32_t column = next_column();
            const Op op = accept("+") ? Op::add : accept("-") ? Op::subtract : Op::number;
            if (op == Op::number) return {};
            if (auto r = product(); !r) return r;
            emit(op, 2, column);
        }
    }

    Result<void> product() {
        if (auto r = factor(); !r) return r;
        for (;;) {
            const std::uint32_t column = next_column();
            const Op op = accept("//") ? Op::floor_divide : accept("/") ? Op::divide : accept("*") ? Op::multiply
                          : accept("%") ? Op::modulo : Op::number;
            if (op == Op::number) return {};
            if (auto r = factor(); !r) return r;
            emit(op, 2, column);
        }
    }

    Result<void> factor() {
        if (++depth_ > kDeepest) return failure(next_column(), "the expression is nested too deeply");
        auto r = factor_inside();
        --depth_;
        return r;
    }

    Result<void> factor_inside() {
        const std::uint32_t column = next_column();
        if (accept("-")) {
            if (auto r = factor(); !r) return r;
            emit(Op::negate, 1, column);
            return {};
        }
        if (accept("+")) return factor();
        if (accept("(")) {
            if (auto r = sum(); !r) return r;
            if (!accept(")")) return unexpected_here("')'");
            return {};
        }
        if (at_ >= text_.size()) return failure(column, text_.empty() ? "the expression is empty" : "the expression ends where a value should stand");
        if (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.') return number(column);
        if (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '$' || text_[at_] == '%') return name(column);
        return unexpected_here("a number, a name or '('");
    }

    Result<void> number(std::uint32_t column) {
        const char* begin = text_.data() + at_;
        const char* end = text_.data() + text_.size();
        const bool hex = end - begin > 2 && begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
        std::uint64_t whole{};
        const auto as_whole = std::from_chars(begin + (hex ? 2 : 0), end, whole, hex ? 16 : 10);
        double real{};
        const auto as_real = hex ? std::from_chars_result{begin, std::errc::invalid_argument} : std::from_chars(begin, end, real);
        const char* stop = begin;
        Number value;
        if (!hex && as_real.ec == std::errc{} && as_real.ptr != as_whole.ptr) {
            value = real;
            stop = as_real.ptr;
        } else if (as_whole.ec == std::errc{} && whole <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            value = static_cast<std::int64_t>(whole);
            stop = as_whole.ptr;
        } else if (as_whole.ec == std::errc::invalid_argument) {
            return failure(column, "this is not a number");
        } else {
            return failure(column, "this number is too large");
        }
        at_ = static_cast<std::size_t>(stop - text_.data());
        if (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
            return failure(static_cast<std::uint32_t>(at_ + 1), fmt::format("'{}' cannot follow a number", text_[at_]));
        e_.nodes_.push_back({Op::number, 0, column, value, {}});
        return {};
    }

    Result<void> name(std::uint32_t column) {
        std::size_t end = at_ + 1;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_' || text_[end] == '$' ||
                                      (text_[end] == '.' && end + 1 < text_.size() && !std::isdigit(static_cast<unsigned char>(text_[end + 1])))))
            ++end;
        const std::string word = text_.substr(at_, end - at_);
        at_ = end;
        if (const std::size_t length = field_length()) return field(column, word, length);
        if (!accept("(")) {
            e_.nodes_.push_back({Op::name, 0, column, {}, word});
            return {};
        }
        const Op op = word == "ceil" ? Op::ceil : word == "floor" ? Op::floor : word == "min" ? Op::min : word == "max" ? Op::max : Op::number;
        if (op == Op::number) return failure(column, fmt::format("there is no function '{}'", word), "known functions: ceil, floor, min, max");
        std::uint32_t arity = 0;
        do {
            if (auto r = sum(); !r) return r;
            ++arity;
        } while (accept(","));
        if (!accept(")")) return unexpected_here("',' or ')'");
        const bool unary = op == Op::ceil || op == Op::floor;
        if (unary ? arity != 1 : arity < 2)
            return failure(column, fmt::format("{} takes {}, not {}", word, unary ? "one argument" : "two arguments or more", arity));
        emit(op, arity, column);
        return {};
    }

    /// How long the "+12:u32" here is, without blanks inside; 0 where there is none. (No other use of ':' is known.)
    [[nodiscard]] std::size_t field_length() const {
        std::size_t end = at_;
        if (end >= text_.size() || text_[end] != '+') return 0;
        for (++end; end < text_.size() && std::isalnum(static_cast<unsigned char>(text_[end]));) ++end;
        if (end == at_ + 1 || end >= text_.size() || text_[end] != ':') return 0;
        for (++end; end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '.');) ++end;
        return end - at_;
    }

    Result<void> field(std::uint32_t column, const std::string& parameter, std::size_t length) {
        const std::string place = text_.substr(at_, length);
        const std::size_t colon = place.find(':');
        Expression::Field f{parameter + place, parameter, place.substr(colon + 1), 0};
        if (f.type.starts_with('.')) f.type.erase(0, 1);
        if (bytes_of_field_type(f.type) == 0 || f.type == "ptr")
            return failure(static_cast<std::uint32_t>(at_ + colon + 2), fmt::format("'{}' is not a type of a field with a value (u8..u64, s8..s64, b8..b64, f32, f64)", f.type));
        const bool hex = place.starts_with("+0x");
        const auto [end, error] = std::from_chars(place.data() + (hex ? 3 : 1), place.data() + colon, f.offset, hex ? 16 : 10);
        if (error != std::errc{} || end != place.data() + colon || f.offset > (1U << 20)) return failure(static_cast<std::uint32_t>(at_ + 2), "the offset is not a number of bytes");
        at_ += length;
        e_.nodes_.push_back({Op::name, 0, column, {}, f.name});
        e_.fields_.push_back(std::move(f));
        return {};
    }

    void skip_blanks() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    std::uint32_t next_column() {
        skip_blanks();
        return static_cast<std::uint32_t>(at_ + 1);
    }
    bool accept(std::string_view token) {
        skip_blanks();
        if (text_.compare(at_, token.size(), token) != 0) return false;
        if (token == "/" && text_.compare(at_, 2, "//") == 0) return false;
        if (token == "*" && text_.compare(at_, 2, "**") == 0) return false;
        at_ += token.size();
        return true;
    }
    void emit(Op op, std::uint32_t arity, std::uint32_t column) { e_.nodes_.push_back({op, arity, column, {}, {}}); }
    Result<void> failure(std::uint32_t column, std::string message, std::string help = {}) const {
        return e_.fail("FF0741", column, std::move(message), std::move(help));
    }
    Result<void> unexpected_here(std::string_view wanted) {
        const std::uint32_t column = next_column();
        if (at_ >= text_.size()) return failure(column, fmt::format("the expression ends where {} should stand", wanted));
        return failure(column, fmt::format("'{}' stands where {} should", text_[at_], wanted));
    }

    Expression& e_;
    const std::string& text_;
    std::size_t at_{};
    unsigned depth_{};
};

Result<Expression> Expression::parse(std::string text, std::string option) {
    Expression expression;
    expression.text_ = std::move(text);
    expression.option_ = std::move(option);
    if (auto r = ExpressionParser(expression).run(); !r) return tl::unexpected(r.error());
    return expression;
}

bool Expression::mentions(std::string_view name) const {
    for (const Node& node : nodes_)
        if (node.op == Op::name && node.name == name) return true;
    return false;
}

Result<Number> Expression::apply(const Node& node, const Number* v) const {
    const auto overflow = [&] { return fail("FF0743", node.column, "the result is too large for a whole number"); };
    const auto checked_real = [&](double value) -> Result<Number> {
        if (!std::isfinite(value)) return fail("FF0743", node.column, "the result is not a finite number");
        return Number{value};
    };
    const bool whole = node.arity >= 1 && std::holds_alternative<std::int64_t>(v[0]) &&
                       (node.arity < 2 || std::holds_alternative<std::int64_t>(v[1]));
    const double a = real_of(v[0]), b = node.arity > 1 ? real_of(v[1]) : 0;
    const bool divides = node.op == Op::divide || node.op == Op::floor_divide || node.op == Op::modulo;
    if (divides && b == 0) return fail("FF0743", node.column, "division by zero");
    std::int64_t result{};
    if (whole && node.op != Op::divide) {
        const std::int64_t x = std::get<std::int64_t>(v[0]), y = node.arity > 1 ? std::get<std::int64_t>(v[1]) : 0;
        switch (node.op) {
            case Op::add: if (__builtin_add_overflow(x, y, &result)) return overflow(); return Number{result};
            case Op::subtract: if (__builtin_sub_overflow(x, y, &result)) return overflow(); return Number{result};
            case Op::multiply: if (__builtin_mul_overflow(x, y, &result)) return overflow(); return Number{result};
            case Op::negate: if (__builtin_sub_overflow(std::int64_t{0}, x, &result)) return overflow(); return Number{result};
            case Op::floor_divide:
            case Op::modulo: {
                if (y == -1) {  // INT64_MIN / -1 would trap
                    if (node.op == Op::modulo) return Number{std::int64_t{0}};
                    if (__builtin_sub_overflow(std::int64_t{0}, x, &result)) return overflow();
                    return Number{result};
                }
                const bool down = x % y != 0 && ((x < 0) != (y < 0));
                return Number{node.op == Op::floor_divide ? x / y - (down ? 1 : 0) : x % y + (down ? y : 0)};
            }
            default: break;
        }
    }
    switch (node.op) {
        case Op::add: return checked_real(a + b);
        case Op::subtract: return checked_real(a - b);
        case Op::multiply: return checked_real(a * b);
        case Op::divide: return checked_real(a / b);
        case Op::negate: return Number{-a};
        case Op::floor_divide: return checked_real(std::floor(a / b));
        case Op::modulo: return checked_real(a - b * std::floor(a / b));
        case Op::ceil:
        case Op::floor: {
            if (whole) return v[0];
            const double rounded = node.op == Op::ceil ? std::ceil(a) : std::floor(a);
            if (std::abs(rounded) >= 9.2e18) return overflow();
            return Number{static_cast<std::int64_t>(rounded)};
        }
        case Op::min:
        case Op::max: {
            std::size_t best = 0;
            for (std::size_t i = 1; i < node.arity; ++i)
                if (node.op == Op::min ? real_of(v[i]) < real_of(v[best]) : real_of(v[i]) > real_of(v[best])) best = i;
            return v[best];
        }
        default: return v[0];
    }
}

Result<Number> Expression::evaluate(const Names& names) const {
    std::vector<Number> stack;
    for (const Node& node : nodes_) {
        if (node.op == Op::number) {
            stack.push_back(node.number);
        } else if (node.op == Op::name) {
            const auto found = names.find(node.name);
            if (found == names.end()) {
                std::vector<std::string> known;
                for (const auto& [name, value] : names) known.push_back(name);
                std::string help = did_you_mean(node.name, known);
                if (help.empty()) help = "known names: " + list_some(known, 24);
                return fail("FF0742", node.column, fmt::format("'{}' is not known here", node.name), help);
            }
            stack.push_back(found->second);
        } else {
            const std::size_t first = stack.size() - node.arity;
            auto value = apply(node, stack.data() + first);
            if (!value) return value;
            stack.resize(first);
            stack.push_back(*value);
        }
    }
    return stack.back();
}

Result<std::uint64_t> Expression::evaluate_count(const Names& names, std::uint64_t least) const {
    const auto value = evaluate(names);
    if (!value) return tl::unexpected(value.error());
    const double real = real_of(*value);
    if (real != std::floor(real)) return fail("FF0744", 1, fmt::format("the value {} is not whole", real), "use ceil(...) or // to round");
    if (real < static_cast<double>(least)) return fail("FF0744", 1, fmt::format("the value {} is less than {}", real, least));
    if (real > 9e18) return fail("FF0743", 1, "the value is too large");
    return std::holds_alternative<std::int64_t>(*value) ? static_cast<std::uint64_t>(std::get<std::int64_t>(*value)) : static_cast<std::uint64_t>(real);
}

}  // namespace flipflop::advise
