// Owns: the arithmetic of --grid-x, --dynamic-smem and the launches file. Input: text such as "ceil(work.x / block.x)".
// Semantics are Python's, so that rules can be copied from tuning scripts: numbers are whole (64-bit) or real (double);
// `/` always divides as reals, `//` and `%` round towards minus infinity and stay whole for whole operands; `**` is not
// known. Names are words with dots ("gpu.sms"), and fields of structs as --arg writes them ("a+12:u32"). Functions: ceil, floor, min, max (two arguments or more).
// Invariant: whole arithmetic never wraps; what overflows, divides by zero or is not a number is an error with a column.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::advise {

using Number = std::variant<std::int64_t, double>;
using Names = std::map<std::string, Number, std::less<>>;

/// Whether a field can have this type: u8..u64, s8..s64, b8..b64, f32, f64 and ptr. Bytes of it, or 0.
[[nodiscard]] std::uint32_t bytes_of_field_type(std::string_view type);

class Expression {
public:
    /// "a+12:u32" in the text: the field of type u32 at byte 12 of the parameter `a`.
    struct Field { std::string name, parameter, type; std::uint32_t offset{}; };
    /// `option` is what messages call it, such as "--grid-x". FF0741 with the column of what was not understood.
    [[nodiscard]] static Result<Expression> parse(std::string text, std::string option);

    /// FF0742 for an unknown name (with a did-you-mean), FF0743 for arithmetic that has no answer.
    [[nodiscard]] Result<Number> evaluate(const Names& names) const;

    /// A whole number of at least `least`, else FF0744. Reals count when they are whole: 4.0 is, 4.5 is not.
    [[nodiscard]] Result<std::uint64_t> evaluate_count(const Names& names, std::uint64_t least) const;

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] bool mentions(std::string_view name) const;
    [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }

private:
    friend class ExpressionParser;
    enum class Op : std::uint8_t { number, name, add, subtract, multiply, divide, floor_divide, modulo, negate, ceil, floor, min, max };
    /// Nodes in postfix order: operands of a node are the top of the evaluation stack, `arity` of them.
    struct Node { Op op{}; std::uint32_t arity{}, column{}; Number number; std::string name; };
    [[nodiscard]] Result<Number> apply(const Node& node, const Number* operands) const;
    [[nodiscard]] tl::unexpected<Diagnostic> fail(const char* id, std::uint32_t column, std::string message, std::string help = {}) const;

    std::string text_, option_;
    std::vector<Node> nodes_;
    std::vector<Field> fields_;
};

[[nodiscard]] double real_of(const Number& number);

}  // namespace flipflop::advise
