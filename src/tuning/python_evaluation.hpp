// Owns: one evaluation of one expression: names bound at the moment, steps done, the first thing that went wrong.
#pragma once

#include <array>
#include <optional>

#include "tuning/python_expression.hpp"
#include "tuning/python_functions.hpp"

namespace flipflop::tuning {

class PythonEvaluation {
public:
    PythonEvaluation(const Expression& e, std::span<const Value* const> values);
    [[nodiscard]] Value of(std::uint32_t node);
    [[nodiscard]] const std::optional<Diagnostic>& error() const { return error_; }

private:
    using Node = Expression::Node;
    using Op = Expression::Op;
    using Relation = Expression::Relation;
    static constexpr std::uint64_t kMostWork = 20'000'000;

    Value fail(const Node& at, std::string message);
    Value overflow(const Node& at) { return fail(at, "the result does not fit into 64 bits"); }
    [[nodiscard]] bool spend(const Node& at, std::uint64_t work);
    Value unary(const Node& n, const Value& v);
    Value binary(const Node& n, const Value& a, const Value& b);
    Value whole(const Node& n, std::int64_t a, std::int64_t b, bool truths);
    Value real(const Node& n, double a, double b);
    Value compare(const Node& n);
    [[nodiscard]] bool holds(const Node& n, Relation relation, const Value& a, const Value& b);
    Value subscript(const Node& n);
    void comprehend(const Node& n, std::size_t level, std::vector<Value>& into);
    [[nodiscard]] bool bind(const Node& n, const Expression::Loop& loop, const Value& element);

    // python_call.cpp
    Value call(const Node& n);
    Value range(const Node& n, const std::vector<Value>& arguments);
    Value extreme(const Node& n, const std::vector<Value>& arguments, bool largest);
    Value of_list(const Node& n, Function function, const Value& list);
    Value of_number(const Node& n, Function function, const Value& number);
    Value rounded(const Node& n, double value);

    const Expression& e_;
    std::array<const Value*, 16> few_{};
    std::vector<const Value*> many_;
    const Value** current_{};
    std::uint64_t work_{};
    std::optional<Diagnostic> error_;
};

}  // namespace flipflop::tuning
