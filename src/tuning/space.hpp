// Owns: the configurations of a tuning space: parameters with their values, and conditions that leave some out.
// Counting and sampling never list the space: parameters that share no condition are counted apart and multiplied, and
// within such a group a count depends only on the values that a condition still waits for (dynamic programming over
// "how many completions has this prefix"). Listing visits no prefix without completions. Invariant: configurations come
// in the order of nested loops, the first parameter outermost, as Kernel Tuner and itertools.product give them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuning/python_expression.hpp"

namespace flipflop::tuning {

struct Parameter {
    std::string name;
    std::vector<Value> values;
};

/// Values by index into Parameter::values, all configurations in one piece of memory.
struct Configurations {
    std::size_t width{};                     ///< parameters
    std::vector<std::uint16_t> flat;
    [[nodiscard]] std::size_t size() const { return width == 0 ? 0 : flat.size() / width; }
    [[nodiscard]] const std::uint16_t* operator[](std::size_t i) const { return flat.data() + i * width; }
    void add(const std::uint16_t* one) { flat.insert(flat.end(), one, one + width); }
};

class Space {
public:
    Space();
    ~Space();
    Space(Space&&) noexcept;
    Space& operator=(Space&&) noexcept;

    /// A condition may name parameters only. FF0842: a name that is none; FF0843: no values, too many, twice the same name.
    [[nodiscard]] static Result<Space> make(std::vector<Parameter> parameters, std::vector<Expression> conditions, const std::string& file);

    [[nodiscard]] const std::vector<Parameter>& parameters() const;
    [[nodiscard]] const std::vector<Expression>& conditions() const;
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

    struct Count {
        std::optional<std::uint64_t> exact;  ///< empty where the conditions are too entangled to count, or there are more
        bool beyond{};                       ///< there are more than 9.2e18
        double product{};                    ///< without conditions
    };
    /// The expression that could not be evaluated is the error (division by zero, ...).
    [[nodiscard]] Result<Count> count() const;
    /// All, in order. FF0844 when there are more than `most`.
    [[nodiscard]] Result<Configurations> all(std::uint64_t most) const;
    /// `wanted` different ones, each equally likely, in order; all of them where there are not more.
    [[nodiscard]] Result<Configurations> sample(std::uint64_t wanted, std::uint64_t seed) const;
    /// Whether the conditions hold.
    [[nodiscard]] Result<bool> allows(const std::uint16_t* configuration) const;
    /// Pointers to the values of `configuration` for `expression`, by its names; names that are none stay null.
    void values_for(const Expression& expression, const std::uint16_t* configuration, std::vector<const Value*>& out) const;

private:
    struct Counter;
    std::unique_ptr<Counter> counter_;
};

}  // namespace flipflop::tuning
