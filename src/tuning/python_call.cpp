// The functions that expressions may call.
#include <algorithm>
#include <cmath>

#include <charconv>

#include <fmt/format.h>

#include "tuning/python_evaluation.hpp"

namespace flipflop::tuning {

namespace {

constexpr std::uint64_t kLongestList = 2'000'000;

/// Python's order of a list: numbers and texts; nothing where two elements have none.
bool before(const Value& a, const Value& b) {
    if (a.number() && b.number()) return a.whole() && b.whole() ? a.integer < b.integer : a.as_real() < b.as_real();
    return *a.text < *b.text;
}
bool ordered(const std::vector<Value>& all) {
    return std::all_of(all.begin(), all.end(), [](const Value& v) { return v.number(); }) ||
           std::all_of(all.begin(), all.end(), [](const Value& v) { return v.kind == Value::Kind::text; });
}

}  // namespace

Value PythonEvaluation::call(const Node& n) {
    std::vector<Value> arguments;
    for (std::uint32_t i = 0; i < n.count && !error_; ++i) arguments.push_back(of(e_.children_[n.first + i]));
    if (error_) return {};
    const auto function = static_cast<Function>(n.index);
    if (function == Function::range) return range(n, arguments);
    if (function == Function::min || function == Function::max) return extreme(n, arguments, function == Function::max);
    if (function == Function::pow) {
        if (arguments.size() != 2) return fail(n, "pow takes two numbers");
        Node power = n;
        power.op = Op::power;
        return binary(power, arguments[0], arguments[1]);
    }
    if (arguments.empty() && (function == Function::list || function == Function::tuple || function == Function::set)) return Value::of(std::vector<Value>{});
    if (arguments.size() != 1) return fail(n, fmt::format("takes one argument, not {}", arguments.size()));
    const Value& v = arguments[0];
    switch (function) {
        case Function::truth: return Value::of(v.truthy());
        case Function::text: return Value::of(v.words());
        case Function::len:
            if (v.kind == Value::Kind::text) return Value::of(static_cast<std::int64_t>(v.text->size()));
            [[fallthrough]];
        case Function::list:
        case Function::tuple:
        case Function::set:
        case Function::sorted:
        case Function::reversed:
        case Function::sum:
        case Function::any:
        case Function::all: return of_list(n, function, v);
        default: return of_number(n, function, v);
    }
}

Value PythonEvaluation::range(const Node& n, const std::vector<Value>& arguments) {
    if (arguments.empty() || arguments.size() > 3 || !std::all_of(arguments.begin(), arguments.end(), [](const Value& v) { return v.whole(); }))
        return fail(n, "range takes one to three whole numbers");
    const std::int64_t first = arguments.size() > 1 ? arguments[0].integer : 0;
    const std::int64_t last = arguments.size() > 1 ? arguments[1].integer : arguments[0].integer;
    const std::int64_t step = arguments.size() > 2 ? arguments[2].integer : 1;
    if (step == 0) return fail(n, "range in steps of 0");
    // Unsigned: the distance of any two ends fits.
    const auto away = [](std::int64_t from, std::int64_t to) { return to > from ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from) : 0; };
    const std::uint64_t distance = step > 0 ? away(first, last) : away(last, first);
    const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
    const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
    if (count > kLongestList) return fail(n, fmt::format("a list of more than {} elements", kLongestList));
    if (!spend(n, count)) return {};
    std::vector<Value> all;
    all.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) all.push_back(Value::of(first + i * step));
    return Value::of(std::move(all));
}

Value PythonEvaluation::extreme(const Node& n, const std::vector<Value>& arguments, bool largest) {
    const bool one = arguments.size() == 1 && arguments[0].kind == Value::Kind::list;
    const std::vector<Value>& all = one ? *arguments[0].list : arguments;
    if (!spend(n, all.size())) return {};
    if (all.empty()) return fail(n, "of nothing");
    if (!ordered(all)) return fail(n, "of values that have no order");
    // The first of equals, as Python: max keeps what it has unless something is larger.
    return *(largest ? std::max_element(all.begin(), all.end(), before) : std::min_element(all.begin(), all.end(), before));
}

Value PythonEvaluation::of_list(const Node& n, Function function, const Value& v) {
    if (v.kind != Value::Kind::list) return fail(n, "takes a list");
    const std::vector<Value>& list = *v.list;
    if (!spend(n, list.size() * (function == Function::sorted || function == Function::set ? 16 : 1))) return {};
    switch (function) {
        case Function::len: return Value::of(static_cast<std::int64_t>(list.size()));
        case Function::any: return Value::of(std::any_of(list.begin(), list.end(), [](const Value& e) { return e.truthy(); }));
        case Function::all: return Value::of(std::all_of(list.begin(), list.end(), [](const Value& e) { return e.truthy(); }));
        case Function::reversed: return Value::of(std::vector<Value>(list.rbegin(), list.rend()));
        case Function::sum: {
            Node add = n;
            add.op = Op::add;
            Value total = Value::of(std::int64_t{0});
            for (const Value& e : list) total = e.number() ? binary(add, total, e) : fail(n, "sum of what is no number");
            return total;
        }
        case Function::set:
        case Function::sorted: {
            if (!ordered(list)) return fail(n, "of values that have no order");
            std::vector<Value> sorted = list;
            std::stable_sort(sorted.begin(), sorted.end(), before);
            if (function == Function::set) sorted.erase(std::unique(sorted.begin(), sorted.end(), equal), sorted.end());
            return Value::of(std::move(sorted));
        }
        default: return v;   // list, tuple
    }
}

Value PythonEvaluation::rounded(const Node& n, double value) {
    constexpr double kLimit = 9.2e18;
    if (!(std::abs(value) < kLimit)) return overflow(n);
    return Value::of(static_cast<std::int64_t>(value));
}

Value PythonEvaluation::of_number(const Node& n, Function function, const Value& v) {
    if (v.kind == Value::Kind::text && (function == Function::integer || function == Function::real)) {
        double value = 0;
        std::int64_t whole = 0;
        const char* const last = v.text->data() + v.text->size();
        if (function == Function::integer && std::from_chars(v.text->data(), last, whole).ptr == last && !v.text->empty()) return Value::of(whole);
        if (function == Function::real && std::from_chars(v.text->data(), last, value).ptr == last && !v.text->empty()) return Value::of(value);
        return fail(n, fmt::format("'{}' is no number", *v.text));
    }
    if (!v.number()) return fail(n, "takes a number");
    const double value = v.as_real();
    switch (function) {
        case Function::abs: return v.whole() && v.integer < 0 ? whole(Node{Op::subtract, 0, 0, 0, n.column}, 0, v.integer, false) : v.whole() ? Value::of(v.integer) : Value::of(std::abs(value));
        case Function::integer: return v.whole() ? Value::of(v.integer) : rounded(n, std::trunc(value));
        case Function::real: return Value::of(value);
        case Function::round: return v.whole() ? Value::of(v.integer) : rounded(n, std::nearbyint(value));   // halves to even, as Python
        case Function::ceil: return v.whole() ? Value::of(v.integer) : rounded(n, std::ceil(value));
        case Function::floor: return v.whole() ? Value::of(v.integer) : rounded(n, std::floor(value));
        case Function::sqrt: return value < 0 ? fail(n, "the root of a number below 0") : Value::of(std::sqrt(value));
        case Function::log2: return value <= 0 ? fail(n, "the logarithm of a number that is not above 0") : Value::of(std::log2(value));
        default: return fail(n, "is not known");
    }
}

}  // namespace flipflop::tuning
