// Owns: which kernels a user means by --kernel: GLOB, =EXACT, /REGEX/ or #ID, against mangled and demangled names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop::advise {

struct KernelName { std::string name, demangled, id; };

/// One kernel in several modules of a library has one id: the second becomes ID.2, so that each can be named.
class IdNumbers {
public:
    [[nodiscard]] std::string next(const std::string& id) {
        const unsigned number = ++seen_[id];
        return number == 1 ? id : id + "." + std::to_string(number);
    }

private:
    std::unordered_map<std::string, unsigned> seen_;
};

/// `*` any text, `?` one character, `[abc]`, `[a-z]`, `[!a]` a set; the whole of `text` must match. Linear, no recursion.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view text);

/// "ns::scale" of "void ns::scale<float, 4>(float*, int)": the name without return type, template and call arguments.
[[nodiscard]] std::string bare_name(std::string_view demangled);

/// Indices into `kernels` that any of `patterns` selects, in input order; all without patterns. A pattern that selects
/// nothing is FF0701, a regular expression that is none FF0702.
[[nodiscard]] Result<std::vector<std::size_t>> select_kernels(const std::vector<KernelName>& kernels, const std::vector<std::string>& patterns);

}  // namespace flipflop::advise
