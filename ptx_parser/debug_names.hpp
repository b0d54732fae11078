// Owns: the names that debug sections give to functions' parameters. Input: a module's sections. Never throws on any bytes.
#pragma once

#include "flipflop/ptx.hpp"

namespace flipflop::ptx::detail {

using ParameterNames = decltype(Module::parameter_names);

/// By linkage name, each function's parameters in order; a parameter without a name is "".
[[nodiscard]] ParameterNames parameter_names(const std::vector<DebugSection>& sections);

}  // namespace flipflop::ptx::detail
