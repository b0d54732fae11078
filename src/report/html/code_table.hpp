// Owns: a kernel's code with what each line costs: its sources where they are known, else its PTX.
#pragma once

#include <map>
#include <string>

#include "flipflop/analysis.hpp"

namespace flipflop::report {

/// Empty where the analysis holds no listing or the configuration no counts.
[[nodiscard]] std::string code_html(const Listing& listing, const KernelResult& result, const ConfigResult& config, const std::map<std::string, std::string>& sources);

}  // namespace flipflop::report
