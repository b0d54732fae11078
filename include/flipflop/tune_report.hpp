// Owns: the words of `tune`: text, JSON and CSV, and what other tuners read: a Kernel Tuner script, a T4 file.
#pragma once

#include <string>

#include "flipflop/report.hpp"
#include "flipflop/tune.hpp"

namespace flipflop {

[[nodiscard]] std::string text_report(const TuneReport& report, const TextStyle& style);
void write_json(const TuneReport& report, const TextSink& sink);
void write_csv(const TuneReport& report, const TextSink& sink);

/// A Python script that has Kernel Tuner measure what is kept (of the first GPU), or replay a cache: --simulate FILE.
[[nodiscard]] std::string kernel_tuner_script(const TuneReport& report);
/// FAIR tuning results (T4, schema 1.0.0) with predictions for measurements.
void write_t4(const TuneReport& report, const TextSink& sink);

}  // namespace flipflop
