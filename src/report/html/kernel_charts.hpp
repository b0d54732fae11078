// Owns: which charts a kernel on a board has, and what stands in them.
#pragma once

#include <string>

#include "flipflop/analysis.hpp"
#include "report/html/chart.hpp"

namespace flipflop::report {

/// `id` is unique on the page.
void add_kernel_charts(Page& page, const KernelResult& result, const std::string& id);

}  // namespace flipflop::report
