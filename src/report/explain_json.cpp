// "flipflop.explain/1": configurations of CONTRACT.md section 6 with their whole term trees, and their comparison.
#include "flipflop/explain.hpp"

#include "report/json_parts.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

void write_dominant_path(JsonWriter& json, const ConfigResult& config) {
    json.key("dominant_path");
    json.begin_array();
    const std::optional<Term> root = whole_term(config);
    for (const Term* term = root ? &*root : nullptr; term != nullptr;) {
        json.value(term->id);
        const auto part = dominant_part(*term);
        term = part ? &term->parts[*part] : nullptr;
    }
    json.end_array();
}

void write_comparison(JsonWriter& json, const Comparison& comparison) {
    json.begin_object(true);
    json.member("first", comparison.first);
    json.member("second", comparison.second);
    json.member("time_ratio", comparison.time_ratio);
    json.member("time_ratio_low", comparison.time_ratio_low);
    json.member("time_ratio_high", comparison.time_ratio_high);
    json.member("energy_ratio", comparison.energy_ratio);
    json.member("energy_ratio_low", comparison.energy_ratio_low);
    json.member("energy_ratio_high", comparison.energy_ratio_high);
    json.member_or_null("verdict", comparison.verdict);
    report::write_reasons(json, comparison.reasons);
    json.objects("changes", comparison.changes, [&](const TermChange& change) {
        json.member("path", change.path);
        json.member("unit", change.unit);
        json.member("value", change.value);
        json.member("other", change.other);
    });
    json.end_object();
}

void write_ncu(JsonWriter& json, const std::optional<NcuPlan>& plan) {
    json.key("ncu");
    if (!plan) {
        json.value(nullptr);
        return;
    }
    json.begin_object(true);
    json.member_or_null("command", plan->command);
    json.member_or_null("unsupported", plan->unsupported);
    json.objects("metrics", plan->metrics, [&](const NcuMetric& metric) {
        json.member("metric", metric.metric);
        json.member("unit", metric.unit);
        json.member("fact", metric.fact);
        json.member("predicted", metric.predicted);
        json.member("low", metric.low);
        json.member("high", metric.high);
        json.member_or_null("note", metric.note);
    });
    json.strings("not_covered", plan->not_covered);
    json.end_object();
}

void write_kernel(JsonWriter& json, const ExplainedKernel& kernel) {
    json.begin_object(true);
    json.member("id", kernel.facts.id);
    json.member("name", kernel.facts.name);
    json.member_or_null("demangled", kernel.facts.demangled);
    json.member_or_null("short_name", kernel.facts.short_name);
    json.member("module", kernel.facts.module);
    report::write_source(json, kernel.facts.source);
    report::write_parameters(json, kernel.facts.parameters, &kernel.parameter_values);
    json.member("gpu", kernel.gpu);
    json.member_or_null("gpu_name", kernel.gpu_name);
    json.member_or_null("case", kernel.case_name);
    report::write_resources(json, kernel.resources);
    report::write_assumptions(json, kernel.assumptions);
    json.key("configs");
    json.begin_array(true);
    for (const ExplainedConfig& explained : kernel.configs) {
        json.begin_object(true);
        json.member("role", explained.role);
        write_dominant_path(json, explained.config);
        json.key("config");
        report::write_config(json, explained.config);
        json.end_object();
    }
    json.end_array();
    json.key("comparisons");
    json.begin_array(true);
    for (const Comparison& comparison : kernel.comparisons) { write_comparison(json, comparison); }
    json.end_array();
    json.strings("why_not", kernel.why_not);
    report::write_findings(json, kernel.findings);
    write_ncu(json, kernel.ncu);
    json.end_object();
}

}  // namespace

void write_json(const Explanation& explanation, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.explain/1");
    report::write_tool(json);
    report::write_used(json, explanation.used);
    report::write_inputs(json, explanation.inputs);
    json.key("kernels");
    json.begin_array(true);
    for (const ExplainedKernel& kernel : explanation.kernels) { write_kernel(json, kernel); }
    json.end_array();
    json.end_object();
    json.finish();
}

}  // namespace flipflop
