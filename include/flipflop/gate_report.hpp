// Owns: the words of the gate: baseline files, check and diff as text, JSON and Markdown, and alerts as SARIF and as
// GitHub annotations. Invariant as report.hpp's: no name, path or reason is passed on raw.
#pragma once

#include <string>

#include "flipflop/gate.hpp"
#include "flipflop/report.hpp"

namespace flipflop {

void write_baseline(const gate::Snapshot& snapshot, const TextSink& sink);

void write_json(const gate::CheckReport& report, const gate::Snapshot& head, const TextSink& sink);
/// One line when nothing changed.
[[nodiscard]] std::string text_report(const gate::CheckReport& report, const TextStyle& style);

}  // namespace flipflop
