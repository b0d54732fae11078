// Nodes to a value. Work, depth and memory are bounded: an expression of a tuning file is small, a hostile one is not.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tuning/python_evaluation.hpp"

namespace flipflop::tuning {

namespace {

constexpr std::array<std::string_view, 23> kFunctions{"range", "list", "tuple", "set", "sorted", "reversed", "min", "max", "abs", "len", "sum", "int",
                                                      "float", "bool", "str", "round", "any", "all", "pow", "ceil", "floor", "sqrt", "log2"};

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
    const std::int64_t q = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

double floor_remainder(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

/// Nothing where the answer does not fit into 64 bits.
std::optional<std::int64_t> whole_power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    for (;;) {
        if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
        exponent >>= 1;
        if (exponent == 0) return result;
        if (__builtin_mul_overflow(base, base, &base)) return std::nullopt;
    }
}

/// -1, 0, 1; nothing where the two have no order.
std::optional<int> order_of(const Value& a, const Value& b) {
    const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (a.whole() && b.whole()) return sign(a.integer, b.integer);
    if (a.number() && b.number()) return sign(a.as_real(), b.as_real());
    if (a.kind == Value::Kind::text && b.kind == Value::Kind::text) return sign(*a.text, *b.text);
    return std::nullopt;
}

std::string_view kind_words(const Value& v) {
    switch (v.kind) {
        case Value::Kind::none: return "None";
        case Value::Kind::truth: return "a truth value";
        case Value::Kind::integer: return "a whole number";
        case Value::Kind::real: return "a number";
        case Value::Kind::text: return "a text";
        case Value::Kind::list: return "a list";
    }
    return "nothing";
}

}  // namespace

std::optional<std::uint32_t> find_function(std::string_view name) {
    const auto found = std::find(kFunctions.begin(), kFunctions.end(), name);
    if (found == kFunctions.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - kFunctions.begin());
}

std::string known_functions() { return fmt::format("{}", fmt::join(kFunctions, ", ")); }

bool Value::truthy() const {
    switch (kind) {
        case Kind::none: return false;
        case Kind::truth:
        case Kind::integer: return integer != 0;
        case Kind::real: return real != 0;
        case Kind::text: return !text->empty();
        case Kind::list: return !list->empty();
    }
    return false;
}

std::string Value::words() const { return kind == Kind::text ? *text : literal(); }

std::string Value::literal() const {
    switch (kind) {
        case Kind::none: return "None";
        case Kind::truth: return integer != 0 ? "True" : "False";
        case Kind::integer: return std::to_string(integer);
        case Kind::real: {
            std::string digits = fmt::format("{}", real);
            if (std::isfinite(real) && digits.find_first_of(".e") == std::string::npos) digits += ".0";
            return digits;
        }
        case Kind::text: {
            std::string quoted = "'";
            for (const char c : *text) {
                if (c == '\'' || c == '\\') quoted += '\\';
                if (static_cast<unsigned char>(c) < 32) quoted += fmt::format("\\x{:02x}", c);
                else quoted += c;
            }
            return quoted + "'";
        }
        case Kind::list: {
            std::string all;
            for (const Value& v : *list) all += (all.empty() ? "" : ", ") + v.literal();
            return "[" + all + "]";
        }
    }
    return {};
}

bool equal(const Value& a, const Value& b) {
    if (a.number() && b.number()) return order_of(a, b) == 0;
    if (a.kind != b.kind) return false;
    if (a.kind == Value::Kind::text) return *a.text == *b.text;
    if (a.kind == Value::Kind::list) return std::equal(a.list->begin(), a.list->end(), b.list->begin(), b.list->end(), equal);
    return true;
}

Diagnostic Expression::complain(std::uint32_t column, std::string message, std::string help) const {
    Diagnostic d;
    d.id = origin_.id;
    d.file = origin_.file;
    d.message = origin_.what.empty() ? std::move(message) : fmt::format("{}: {}", origin_.what, message);
    d.at = {1, column};
    if (origin_.at.line > 0) d.at = {origin_.at.line, origin_.at.column + column};
    constexpr std::size_t kWindow = 160;
    const std::size_t from = column > kWindow / 2 && text_.size() > kWindow ? column - kWindow / 2 : 0;
    d.source_line = text_.substr(from, kWindow);
    std::replace(d.source_line.begin(), d.source_line.end(), '\n', ' ');
    if (from > 0 || origin_.at.line > 0) d.source_column = column - static_cast<std::uint32_t>(from);
    d.help = std::move(help);
    return d;
}

Result<Value> Expression::evaluate(std::span<const Value* const> values) const {
    PythonEvaluation evaluation(*this, values);
    Value value = evaluation.of(root_);
    if (evaluation.error()) return tl::unexpected(*evaluation.error());
    return value;
}

PythonEvaluation::PythonEvaluation(const Expression& e, std::span<const Value* const> values) : e_(e) {
    const std::size_t names = e.all_names_.size();
    if (names > few_.size()) many_.resize(names);
    current_ = names > few_.size() ? many_.data() : few_.data();
    for (std::size_t i = 0; i < names; ++i) {
        const std::int32_t free = e.free_[i];
        current_[i] = free >= 0 && static_cast<std::size_t>(free) < values.size() ? values[static_cast<std::size_t>(free)] : nullptr;
    }
}

Value PythonEvaluation::fail(const Node& at, std::string message) {
    if (!error_) error_ = e_.complain(at.column, std::move(message));
    return {};
}

bool PythonEvaluation::spend(const Node& at, std::uint64_t work) {
    work_ += work;
    if (work_ <= kMostWork) return !error_;
    fail(at, fmt::format("takes more than {} steps", kMostWork));
    return false;
}

Value PythonEvaluation::of(std::uint32_t index) {
    const Node& n = e_.nodes_[index];
    if (!spend(n, 1)) return {};
    const std::uint32_t* const operands = e_.children_.data() + n.first;
    switch (n.op) {
        case Op::constant: return e_.constants_[n.index];
        case Op::name:
            if (const Value* const value = current_[n.index]) return *value;
            return fail(n, fmt::format("'{}' has no value here", e_.all_names_[n.index]));
        case Op::list: {
            std::vector<Value> all;
            all.reserve(n.count);
            for (std::uint32_t i = 0; i < n.count && !error_; ++i) all.push_back(of(operands[i]));
            return Value::of(std::move(all));
        }
        case Op::negate:
        case Op::plus:
        case Op::invert: return unary(n, of(operands[0]));
        case Op::logical_not: return Value::of(!of(operands[0]).truthy());
        case Op::logical_and:
        case Op::logical_or: {
            Value value = of(operands[0]);
            for (std::uint32_t i = 1; i < n.count && !error_ && value.truthy() == (n.op == Op::logical_and); ++i) value = of(operands[i]);
            return value;
        }
        case Op::conditional: return of(operands[of(operands[0]).truthy() ? 1 : 2]);
        case Op::compare: return compare(n);
        case Op::subscript: return subscript(n);
        case Op::comprehension: {
            std::vector<Value> into;
            comprehend(n, 0, into);
            return Value::of(std::move(into));
        }
        case Op::call: return call(n);
        default: {
            const Value left = of(operands[0]);
            return error_ ? Value{} : binary(n, left, of(operands[1]));
        }
    }
}

Value PythonEvaluation::unary(const Node& n, const Value& v) {
    if (error_) return {};
    if (!v.number() || (n.op == Op::invert && !v.whole())) return fail(n, fmt::format("a sign in front of {}", kind_words(v)));
    if (n.op == Op::plus) return v.whole() ? Value::of(v.integer) : v;
    if (n.op == Op::invert) return Value::of(~v.integer);
    if (!v.whole()) return Value::of(-v.real);
    return v.integer == std::numeric_limits<std::int64_t>::min() ? overflow(n) : Value::of(-v.integer);
}

Value PythonEvaluation::binary(const Node& n, const Value& a, const Value& b) {
    if (error_) return {};
    if (a.whole() && b.whole()) return whole(n, a.integer, b.integer, a.kind == Value::Kind::truth && b.kind == Value::Kind::truth);
    if (a.number() && b.number()) return real(n, a.as_real(), b.as_real());
    const bool lists = a.kind == Value::Kind::list && b.kind == Value::Kind::list;
    if (n.op == Op::add && lists) {
        if (!spend(n, a.list->size() + b.list->size())) return {};
        std::vector<Value> both = *a.list;
        both.insert(both.end(), b.list->begin(), b.list->end());
        return Value::of(std::move(both));
    }
    if (n.op == Op::add && a.kind == Value::Kind::text && b.kind == Value::Kind::text) {
        if (!spend(n, a.text->size() + b.text->size())) return {};
        return Value::of(*a.text + *b.text);
    }
    if (n.op == Op::multiply && ((a.kind == Value::Kind::list && b.whole()) || (a.whole() && b.kind == Value::Kind::list))) {
        const Value& list = a.kind == Value::Kind::list ? a : b;
        const std::int64_t times = std::max<std::int64_t>(0, a.kind == Value::Kind::list ? b.integer : a.integer);
        if (times > static_cast<std::int64_t>(kMostWork) || !spend(n, list.list->size() * static_cast<std::uint64_t>(times))) return fail(n, "the list becomes too long");
        std::vector<Value> all;
        for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), list.list->begin(), list.list->end());
        return Value::of(std::move(all));
    }
    return fail(n, fmt::format("has no meaning for {} and {}", kind_words(a), kind_words(b)));
}

Value PythonEvaluation::whole(const Node& n, std::int64_t a, std::int64_t b, bool truths) {
    std::int64_t r = 0;
    const auto checked = [&](bool overflows) { return overflows ? overflow(n) : Value::of(r); };
    const auto logic = [&](std::int64_t v) { return truths ? Value::of(v != 0) : Value::of(v); };
    switch (n.op) {
        case Op::add: return checked(__builtin_add_overflow(a, b, &r));
        case Op::subtract: return checked(__builtin_sub_overflow(a, b, &r));
        case Op::multiply: return checked(__builtin_mul_overflow(a, b, &r));
        case Op::divide: return b == 0 ? fail(n, "division by zero") : Value::of(static_cast<double>(a) / static_cast<double>(b));
        case Op::floor_divide:
        case Op::modulo:
            if (b == 0) return fail(n, "division by zero");
            if (b == -1) return n.op == Op::modulo ? Value::of(std::int64_t{0}) : checked(__builtin_sub_overflow(std::int64_t{0}, a, &r));
            return Value::of(n.op == Op::floor_divide ? floor_quotient(a, b) : a - floor_quotient(a, b) * b);
        case Op::power: {
            if (b < 0) return a == 0 ? fail(n, "division by zero") : Value::of(std::pow(static_cast<double>(a), static_cast<double>(b)));
            const auto power = whole_power(a, b);
            return power ? Value::of(*power) : overflow(n);
        }
        case Op::bit_or: return logic(a | b);
        case Op::bit_xor: return logic(a ^ b);
        case Op::bit_and: return logic(a & b);
        case Op::shift_left:
            if (b < 0) return fail(n, "a shift by less than 0");
            if (a == 0) return Value::of(a);
            return b > 62 ? overflow(n) : checked(__builtin_mul_overflow(a, std::int64_t{1} << b, &r));
        case Op::shift_right: return b < 0 ? fail(n, "a shift by less than 0") : Value::of(a >> std::min<std::int64_t>(b, 63));
        default: return fail(n, "has no meaning for numbers");
    }
}

Value PythonEvaluation::real(const Node& n, double a, double b) {
    switch (n.op) {
        case Op::add: return Value::of(a + b);
        case Op::subtract: return Value::of(a - b);
        case Op::multiply: return Value::of(a * b);
        case Op::divide: return b == 0 ? fail(n, "division by zero") : Value::of(a / b);
        case Op::floor_divide: return b == 0 ? fail(n, "division by zero") : Value::of(std::floor(a / b));
        case Op::modulo: return b == 0 ? fail(n, "division by zero") : Value::of(floor_remainder(a, b));
        case Op::power: {
            if (a == 0 && b < 0) return fail(n, "division by zero");
            const double power = std::pow(a, b);
            return std::isfinite(power) ? Value::of(power) : overflow(n);
        }
        default: return fail(n, "has no meaning for numbers that are not whole");
    }
}

Value PythonEvaluation::compare(const Node& n) {
    const std::uint32_t* const operands = e_.children_.data() + n.first;
    Value left = of(operands[0]);
    for (std::uint32_t i = 0; i + 1 < n.count && !error_; ++i) {
        Value right = of(operands[i + 1]);
        if (error_ || !holds(n, e_.relations_[n.index + i], left, right)) return Value::of(false);
        left = std::move(right);
    }
    return Value::of(true);
}

bool PythonEvaluation::holds(const Node& n, Relation relation, const Value& a, const Value& b) {
    if (relation == Relation::equal) return equal(a, b);
    if (relation == Relation::not_equal) return !equal(a, b);
    if (relation == Relation::in || relation == Relation::not_in) {
        bool found = false;
        if (b.kind == Value::Kind::list) found = spend(n, b.list->size()) && std::any_of(b.list->begin(), b.list->end(), [&](const Value& v) { return equal(a, v); });
        else if (b.kind == Value::Kind::text && a.kind == Value::Kind::text) found = b.text->find(*a.text) != std::string::npos;
        else fail(n, fmt::format("'in' needs a list behind it, not {}", kind_words(b)));
        return found == (relation == Relation::in);
    }
    const auto order = order_of(a, b);
    if (!order) {
        fail(n, fmt::format("{} and {} have no order", kind_words(a), kind_words(b)));
        return false;
    }
    switch (relation) {
        case Relation::less: return *order < 0;
        case Relation::less_equal: return *order <= 0;
        case Relation::greater: return *order > 0;
        default: return *order >= 0;
    }
}

Value PythonEvaluation::subscript(const Node& n) {
    const Value list = of(e_.children_[n.first]);
    const Value index = of(e_.children_[n.first + 1]);
    if (error_) return {};
    if (list.kind != Value::Kind::list || !index.whole()) return fail(n, fmt::format("only lists have elements, by whole numbers; this is {}", kind_words(list)));
    const auto size = static_cast<std::int64_t>(list.list->size());
    const std::int64_t at = index.integer < 0 ? index.integer + size : index.integer;
    if (at < 0 || at >= size) return fail(n, fmt::format("there is no element {} of {}", index.integer, size));
    return (*list.list)[static_cast<std::size_t>(at)];
}

void PythonEvaluation::comprehend(const Node& n, std::size_t level, std::vector<Value>& into) {
    const auto& loops = e_.comprehensions_[n.index];
    if (level == loops.size()) {
        Value value = of(e_.children_[n.first]);
        if (!error_) into.push_back(std::move(value));
        return;
    }
    const Expression::Loop& loop = loops[level];
    const Value source = of(loop.source);
    if (error_) return;
    if (source.kind != Value::Kind::list) {
        fail(n, fmt::format("'for' goes over lists, not {}", kind_words(source)));
        return;
    }
    std::vector<const Value*> hidden;
    for (const std::uint32_t target : loop.targets) hidden.push_back(current_[target]);
    for (const Value& element : *source.list) {
        if (!bind(n, loop, element)) break;
        const bool wanted = std::all_of(loop.filters.begin(), loop.filters.end(), [&](std::uint32_t filter) { return of(filter).truthy() && !error_; });
        if (error_) break;
        if (wanted) comprehend(n, level + 1, into);
    }
    for (std::size_t i = 0; i < hidden.size(); ++i) current_[loop.targets[i]] = hidden[i];
}

bool PythonEvaluation::bind(const Node& n, const Expression::Loop& loop, const Value& element) {
    if (!spend(n, 1)) return false;
    if (loop.targets.size() == 1) {
        current_[loop.targets[0]] = &element;
        return true;
    }
    if (element.kind != Value::Kind::list || element.list->size() != loop.targets.size()) {
        fail(n, fmt::format("{} names for an element that has not as many parts", loop.targets.size()));
        return false;
    }
    for (std::size_t i = 0; i < loop.targets.size(); ++i) current_[loop.targets[i]] = &(*element.list)[i];
    return true;
}

}  // namespace flipflop::tuning
