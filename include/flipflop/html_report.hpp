// Owns: the report as one HTML file: opens without a network, reads without JavaScript, prints. Invariant as
// report.hpp's: nothing from an input becomes markup or script; the page's own content security policy allows the
// scripts and styles that it was written with, by their hashes, and nothing else.
#pragma once

#include <map>
#include <string>

#include "flipflop/analysis.hpp"
#include "flipflop/gate.hpp"

namespace flipflop {

struct HtmlOptions {
    /// Texts of source files by the name that Listing::files has; files that are not there are shown by number only.
    std::map<std::string, std::string> sources;
    /// Once this many bytes are written further kernels come as a line of the overview, and the page says so.
    std::size_t most_bytes{1'900'000};
};

/// `analysis` should have been made with AnalyzeOptions::listing; without it there is no code in the report.
[[nodiscard]] std::string html_report(const Analysis& analysis, const HtmlOptions& options = {});
[[nodiscard]] std::string html_report(const gate::CheckReport& report, const gate::Snapshot& head);

/// Is Chart.js compiled in? Without it the charts are the static ones.
[[nodiscard]] bool html_is_interactive();

}  // namespace flipflop
