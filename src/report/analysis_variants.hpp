// Owns: the ranking of variants of one computation (--variants), in JSON, text and Markdown.
#pragma once

#include <string>

#include "flipflop/report.hpp"
#include "report/json_writer.hpp"

namespace flipflop::report {

/// Key "variants" of the analysis.
void write_variants(JsonWriter& json, const Analysis& analysis);
[[nodiscard]] std::string variants_text(const Analysis& analysis, const TextStyle& style);
[[nodiscard]] std::string variants_markdown(const Analysis& analysis);

}  // namespace flipflop::report
