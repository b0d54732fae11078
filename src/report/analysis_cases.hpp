// Owns: what several cases of a kernel and several kernels of a step say together, in JSON, text and Markdown.
#pragma once

#include <string>

#include "flipflop/report.hpp"
#include "report/json_writer.hpp"

namespace flipflop::report {

/// Key "across_cases" of a recommendation; null without cases.
void write_across(JsonWriter& json, const AcrossCases* across);
/// Key "steps" of the analysis.
void write_steps(JsonWriter& json, const Analysis& analysis);

/// The cases of one kernel on one GPU: a line each, one launch for all, and where to change it.
[[nodiscard]] std::string cases_text(const AcrossCases& across, const TextStyle& style);
[[nodiscard]] std::string cases_markdown(const AcrossCases& across);

/// Time and energy by kernel a step, what dominates, and what the recommended launches would save.
[[nodiscard]] std::string steps_text(const Analysis& analysis, const TextStyle& style);
[[nodiscard]] std::string steps_markdown(const Analysis& analysis);

}  // namespace flipflop::report
