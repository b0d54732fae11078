// Owns: the Python expressions of tuning files: lists of values ("[2**i for i in range(5, 11)]"), conditions
// ("32 <= block_size_x*block_size_y <= 1024"), sizes. Input: text. Nothing is ever executed: a parser and an evaluator of
// our own know literals, names, arithmetic, comparison, boolean and conditional operators, subscripts, comprehensions and
// the functions in kFunctions, and refuse everything else by name (attributes, lambda, other calls).
// Semantics are Python's: `/` gives a real, `//` and `%` round towards minus infinity, comparisons chain, `and` and `or`
// return an operand. Differences: whole numbers have 64 bits and overflow is an error, and so is work without bound.
// Invariant: parsing and evaluating take bounded time, depth and memory, whatever the text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::tuning {

struct Value {
    enum class Kind : std::uint8_t { none, truth, integer, real, text, list };
    Kind kind{Kind::none};
    std::int64_t integer{};                                  ///< truth too: 0 or 1
    double real{};
    std::shared_ptr<const std::string> text;
    std::shared_ptr<const std::vector<Value>> list;

    [[nodiscard]] static Value of(std::int64_t v) { return {Kind::integer, v, 0, nullptr, nullptr}; }
    [[nodiscard]] static Value of(double v) { return {Kind::real, 0, v, nullptr, nullptr}; }
    [[nodiscard]] static Value of(bool v) { return {Kind::truth, v ? 1 : 0, 0, nullptr, nullptr}; }
    [[nodiscard]] static Value of(std::string v) { return {Kind::text, 0, 0, std::make_shared<const std::string>(std::move(v)), nullptr}; }
    [[nodiscard]] static Value of(std::vector<Value> v) { return {Kind::list, 0, 0, nullptr, std::make_shared<const std::vector<Value>>(std::move(v))}; }

    [[nodiscard]] bool whole() const { return kind == Kind::integer || kind == Kind::truth; }
    [[nodiscard]] bool number() const { return whole() || kind == Kind::real; }
    [[nodiscard]] double as_real() const { return kind == Kind::real ? real : static_cast<double>(integer); }
    [[nodiscard]] bool truthy() const;
    /// As Python's str(): 16, 0.5, True, text without quotes.
    [[nodiscard]] std::string words() const;
    /// As Python's repr(): text quoted; what a script can hold.
    [[nodiscard]] std::string literal() const;
};
/// As Python's ==: 1, 1.0 and True are equal.
[[nodiscard]] bool equal(const Value& a, const Value& b);

/// Whose text this is: the id and place of its complaints.
struct Origin {
    std::string id{"FF0841"};
    std::string file;                                        ///< the tuning file, or the option
    std::string what;                                        ///< "values of 'tile'", "condition 3"
    LineColumn at{};                                         ///< of the quote before it in a file; unset: it is the text's own
};

class Expression {
public:
    [[nodiscard]] static Result<Expression> parse(std::string text, Origin origin);

    /// Free names, each once, in the order met. Names of functions are none.
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] const std::string& text() const { return text_; }

    /// `values`: parallel to names(); a null pointer is a name without a value.
    [[nodiscard]] Result<Value> evaluate(std::span<const Value* const> values) const;
    [[nodiscard]] Result<Value> evaluate() const { return evaluate({}); }

    [[nodiscard]] Diagnostic complain(std::uint32_t column, std::string message, std::string help = {}) const;

private:
    friend class PythonParser;
    friend class PythonEvaluation;
    enum class Op : std::uint8_t {
        constant, name, list,
        add, subtract, multiply, divide, floor_divide, modulo, power,
        bit_or, bit_xor, bit_and, shift_left, shift_right,
        negate, plus, invert, logical_not,
        logical_and, logical_or, conditional, compare, subscript, comprehension, call,
    };
    enum class Relation : std::uint8_t { less, less_equal, greater, greater_equal, equal, not_equal, in, not_in };
    /// A node's operands are `children_[first .. first + count)`, indices of nodes.
    struct Node { Op op{}; std::uint32_t first{}, count{}, index{}, column{}; };
    struct Loop { std::vector<std::uint32_t> targets; std::uint32_t source{}; std::vector<std::uint32_t> filters; };

    std::string text_;
    Origin origin_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> children_;
    std::vector<Value> constants_;
    std::vector<std::string> names_;                         ///< the free ones
    std::vector<std::string> all_names_;                     ///< with those that comprehensions bind
    std::vector<std::int32_t> free_;                         ///< by name: its place in names_, or -1
    std::vector<Relation> relations_;                        ///< of a compare: `index` on, count - 1 of them
    std::vector<std::vector<Loop>> comprehensions_;          ///< by `index`
    std::uint32_t root_{};
};

}  // namespace flipflop::tuning
