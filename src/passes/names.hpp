// Owns: what a kernel is called. Input: the mangled name.
#pragma once

#include <string>
#include <string_view>

namespace flipflop {

/// The demangled name without return type and parameters, template arguments as "<...>": "ns::kernel<...>".
[[nodiscard]] std::string short_name_of(const std::string& demangled);

/// Eight hexadecimal digits that depend on the mangled name alone.
[[nodiscard]] std::string kernel_id(std::string_view name);

}  // namespace flipflop
