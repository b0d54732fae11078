// Owns: from --arg texts to the bytes of every parameter of a kernel, and what was assumed for the rest.
// Invariant: every byte is given, assumed with a reason, or marked unknown; nothing is truncated silently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/expression.hpp"
#include "flipflop/analysis.hpp"

namespace flipflop::advise {

/// One --arg: PARAM=VALUE, PARAM+OFFSET:TYPE=VALUE or PARAM=FILE.
struct ArgumentRequest {
    std::string text, parameter, value;
    std::optional<std::uint32_t> offset;
    std::string field_type;                  ///< "u32", "f64", "ptr"
};
/// FF0710 when the text has not this form.
[[nodiscard]] Result<ArgumentRequest> parse_argument(const std::string& text);

/// Index of the parameter that `word` names: index, PTX name, short form or source name.
[[nodiscard]] std::optional<std::size_t> find_parameter(const KernelFacts& kernel, const std::string& word);

/// Little-endian bytes of `value` as PTX type `type` ("u32", "b64", "f32"), `bytes` of them, or why it does not fit.
[[nodiscard]] tl::expected<std::vector<std::uint8_t>, std::string> encode_value(const std::string& value, const std::string& type, std::uint32_t bytes);

struct BoundArguments {
    std::vector<ArgumentValue> values;       ///< by parameter
    std::vector<ParameterValue> words;       ///< by parameter, for reports
    std::vector<Assumption> assumptions;
    std::vector<std::string> misfits;        ///< by request: why it does not fit this kernel; empty = it does
};

/// What is given, for one kernel. Parameters that are not given stay without bytes until assume_the_rest. The first `once`
/// requests may name each parameter or field once; those behind them replace what these gave.
[[nodiscard]] BoundArguments bind_arguments(const KernelFacts& kernel, const std::vector<ArgumentRequest>& requests, std::size_t once = 0);

/// Fills what is not given: pointers distinct and aligned, integers compared with a global index that axis' extent,
/// other integers 1024, floats 1. `extent_words` says where an extent comes from.
void assume_the_rest(const KernelFacts& kernel, const std::uint64_t (&extents)[3], const std::string& extent_words, BoundArguments& bound);

/// The given value of the integer parameter that guards `axis`, if there is one: then it tells the extent.
[[nodiscard]] std::optional<std::uint64_t> given_extent(const KernelFacts& kernel, const BoundArguments& bound, int axis);

/// Scalars by PTX name, short form and source name, for expressions.
void add_argument_names(const KernelFacts& kernel, const BoundArguments& bound, Names& names);

/// What another value of a parameter or field could change, from its uses; empty when it touches nothing that is counted.
[[nodiscard]] std::optional<std::string> consequence_of(const std::vector<ParameterUse>& uses, int guard_axis, bool is_float);

}  // namespace flipflop::advise
