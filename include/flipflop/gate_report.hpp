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
/// For a step summary or a comment: at most 64,000 bytes (GitHub takes 65,536 characters), and it says what is left out.
[[nodiscard]] std::string markdown_report(const gate::CheckReport& report);

void write_diff(const gate::CheckReport& report, const std::vector<gate::KernelDiff>& diffs, const gate::Snapshot& head, const TextSink& sink);
[[nodiscard]] std::string text_report(const gate::CheckReport& report, const std::vector<gate::KernelDiff>& diffs, const TextStyle& style);

/// SARIF 2.1.0 with one run. At most `most` results (GitHub shows 5,000), the worst; how many are left out is said inside.
void write_sarif(const std::vector<gate::Alert>& alerts, const std::vector<std::string>& gpus, const TextSink& sink, std::size_t most = 5000);
/// Workflow commands: at most ten a severity, as GitHub takes a step; the last notice says how many there were more.
[[nodiscard]] std::string github_annotations(const std::vector<gate::Alert>& alerts);

}  // namespace flipflop
