// Owns: the words of `validate`. Invariant as report.hpp's: no name of a table is passed on raw.
#pragma once

#include <string>

#include "flipflop/report.hpp"
#include "flipflop/validate.hpp"

namespace flipflop {

void write_json(const validate::Report& report, const TextSink& sink);
[[nodiscard]] std::string text_report(const validate::Report& report, const TextStyle& style);
/// One row a set: n, figures and baselines.
[[nodiscard]] std::string csv_report(const validate::Report& report);

}  // namespace flipflop
