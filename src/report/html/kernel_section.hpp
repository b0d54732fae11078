// Owns: the section of a report about one kernel on one board in one case.
#pragma once

#include <string>

#include "flipflop/html_report.hpp"
#include "report/html/page.hpp"

namespace flipflop::report {

/// How much of a section is written.
enum class Extent : std::uint8_t { whole, without_code };

/// `id` is unique on the page.
void add_kernel_section(Page& page, const Analysis& analysis, const KernelAnalysis& kernel, const KernelResult& result, const std::string& id, const HtmlOptions& options, Extent extent);

}  // namespace flipflop::report
