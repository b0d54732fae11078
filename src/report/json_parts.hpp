// Owns: the pieces of JSON that several documents share (CONTRACT.md sections 6 and 7), key by key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flipflop/analysis.hpp"
#include "report/json_writer.hpp"

namespace flipflop::report {

void write_tool(JsonWriter& json);
void write_used(JsonWriter& json, const std::map<std::string, std::optional<std::string>>& used);
void write_inputs(JsonWriter& json, const std::vector<InputSummary>& inputs);
void write_source(JsonWriter& json, const std::optional<SourceLine>& source);
void write_dim3(JsonWriter& json, std::string_view name, const Dim3& dim);
void write_dim3_or_null(JsonWriter& json, const std::optional<Dim3>& dim);   ///< after its key
void write_diagnostics(JsonWriter& json, const std::vector<Diagnostic>& diagnostics, std::string_view name = "diagnostics");
void write_bounds(JsonWriter& json, const LaunchBounds& bounds);
void write_resources(JsonWriter& json, const Resources& resources);
/// `values` parallel to `parameters`, or null: then the keys value and basis are left out (inspect knows no launch).
void write_parameters(JsonWriter& json, const std::vector<ParameterFacts>& parameters, const std::vector<ParameterValue>* values);
void write_class_counts(JsonWriter& json, std::string_view name, const ClassCounts& counts);
void write_mix(JsonWriter& json, const StaticMix& mix);
void write_assumptions(JsonWriter& json, const std::vector<Assumption>& assumptions);
void write_reasons(JsonWriter& json, const std::vector<Reason>& reasons);
void write_finding(JsonWriter& json, const Finding& finding);   ///< its keys, inside an object that is open
void write_findings(JsonWriter& json, const std::vector<Finding>& findings);
void write_suppressed(JsonWriter& json, const std::vector<SuppressedFinding>& findings);
void write_config(JsonWriter& json, const ConfigResult& config);
void write_term(JsonWriter& json, const Term& term);

}  // namespace flipflop::report
