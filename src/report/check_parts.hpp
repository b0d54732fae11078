// Owns: what the reports of check and diff share: the JSON of a change, and how a change reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flipflop/gate.hpp"
#include "report/json_parts.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {

void write_change(JsonWriter& json, const gate::Change& change);
/// name ... changes, new_findings: inside an object that is open.
void write_kernel_head(JsonWriter& json, const gate::KernelCheck& kernel);
void write_notes(JsonWriter& json, const std::vector<gate::Note>& notes);

/// "time", "spilled bytes", ...
[[nodiscard]] std::string_view metric_words(gate::Metric metric);
/// "12.3 µs", "48", "62 %"
[[nodiscard]] std::string metric_text(gate::Metric metric, const std::optional<double>& value);
/// "+12.4 % (+3 to +23)", "+16", or empty.
[[nodiscard]] std::string change_words(const gate::Change& change);
/// "5 %", "16 bytes"; of a budget "at most 64".
[[nodiscard]] std::string limit_text(const gate::Change& change);
/// The demangled name, safe on any surface: printable, and nothing that a CI runner would take as a command.
[[nodiscard]] std::string safe_name(const gate::KernelCheck& kernel);
/// Worst first; equal ones by name.
[[nodiscard]] std::vector<const gate::KernelCheck*> worst_first(const gate::CheckReport& report);
/// "axpy on A100, case small"
[[nodiscard]] std::string where_text(const gate::KernelCheck& kernel, bool several_gpus);
/// Did anything happen that a reader should see?
[[nodiscard]] bool nothing_changed(const gate::CheckReport& report);
[[nodiscard]] bool several_gpus(const gate::CheckReport& report);
/// The kernel, its changes and its new findings, as check shows them.
[[nodiscard]] std::string kernel_changes_text(const gate::KernelCheck& kernel, bool several_gpus, const TextStyle& style);
/// "2 regressed, 1 uncertain, 197 as before"
[[nodiscard]] std::string counts_text(const gate::CheckReport& report);

/// "In a year: +1.2 kWh, +0.4 EUR, +0.5 kg CO2e."
[[nodiscard]] std::string yearly_sentence(const gate::Yearly& yearly);
[[nodiscard]] std::string kwh_text(const gate::YearlyChange& entry);
[[nodiscard]] std::string cost_text(const gate::YearlyAmount& amount, std::string_view currency);
[[nodiscard]] std::string co2e_text(const gate::YearlyAmount& amount);
/// The sentence, a line a kernel, and every assumption; empty where the policy asks for none.
[[nodiscard]] std::string yearly_text(const gate::CheckReport& report, const TextStyle& style);
void write_yearly(JsonWriter& json, const std::optional<gate::Yearly>& yearly);

}  // namespace flipflop::report
