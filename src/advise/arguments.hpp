// Owns: from --arg texts to the bytes of every parameter of a kernel, and what was assumed for the rest.
// Invariant: every byte is given, assumed with a reason, or marked unknown; nothing is truncated silently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/expression.hpp"
#include "flipflop/advise.hpp"

namespace flipflop::advise {

/// Who says so: what comes later overrides what came before; twice at one level is a mistake.
enum class ArgumentLevel : std::uint8_t { file, command, one_case, variation };

/// One --arg: PARAM=VALUE, PARAM+OFFSET:TYPE=VALUE or PARAM=FILE.
struct ArgumentRequest {
    std::string text, parameter, value;
    std::optional<std::uint32_t> offset;
    std::string field_type;                  ///< "u32", "f64", "ptr"
    ArgumentLevel level{ArgumentLevel::command};
};
/// FF0710 when the text has not this form.
[[nodiscard]] Result<ArgumentRequest> parse_argument(const std::string& text, const char* option = "--arg");
/// FF0711 when one parameter or field is given twice at one level under one name.
[[nodiscard]] Result<void> refuse_repeated(const std::vector<ArgumentRequest>& requests, const char* option);

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

/// What is given, for one kernel. Parameters that are not given stay without bytes until assume_the_rest. At one
/// level a parameter or field may be named once; a later level replaces what an earlier one gave.
[[nodiscard]] BoundArguments bind_arguments(const KernelFacts& kernel, const std::vector<ArgumentRequest>& requests);

/// Fills what is not given: pointers distinct and aligned, integers compared with a global index that axis' extent,
/// other integers 1024, floats 1; the length of a row at least what is known to lie in one. `extent_words` says where an
/// extent comes from, `named` what fields are called.
void assume_the_rest(const KernelFacts& kernel, const std::uint64_t (&extents)[3], const std::string& extent_words, BoundArguments& bound, const std::vector<FieldName>& named = {});

/// The given value of the integer parameter that guards `axis`, if there is one: then it tells the extent.
[[nodiscard]] std::optional<std::uint64_t> given_extent(const KernelFacts& kernel, const BoundArguments& bound, int axis);

/// A request that calls a field by its name becomes one by place and type.
void use_field_names(const std::vector<FieldName>& fields, std::vector<ArgumentRequest>& requests);

/// The fields that the expression speaks of, by offset or by name, where their bytes are known; as add_argument_names.
void add_field_names(const KernelFacts& kernel, const BoundArguments& bound, const std::vector<FieldName>& named, const Expression& expression, Names& names,
                     bool given_only = false, bool whatever = false);

/// Scalars by PTX name, short form and source name, for expressions.
/// `given_only`: not the assumed ones; `whatever`: all scalars, known or not (for what a name could mean).
void add_argument_names(const KernelFacts& kernel, const BoundArguments& bound, Names& names, bool given_only = false, bool whatever = false);

/// What another value of a parameter or field could change, from its uses; empty when it touches nothing that is counted.
[[nodiscard]] std::optional<std::string> consequence_of(const std::vector<ParameterUse>& uses, int guard_axis, bool is_float);

}  // namespace flipflop::advise
