// Owns: which kernels a user means by --kernel: GLOB, =EXACT, /REGEX/ or #ID, against mangled and demangled names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::advise {

struct KernelName { std::string name, demangled, id; };

/// `*` any text, `?` one character, `[abc]`, `[a-z]`, `[!a]` a set; the whole of `text` must match. Linear, no recursion.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view text);

/// "ns::scale" of "void ns::scale<float, 4>(float*, int)": the name without return type, template and call arguments.
[[nodiscard]] std::string bare_name(std::string_view demangled);

/// Indices into `kernels` that any of `patterns` selects, in input order; all without patterns. A pattern that selects
/// nothing is FF0701, a regular expression that is none FF0702.
[[nodiscard]] Result<std::vector<std::size_t>> select_kernels(const std::vector<KernelName>& kernels, const std::vector<std::string>& patterns);

}  // namespace flipflop::advise
