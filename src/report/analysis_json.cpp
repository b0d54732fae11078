// CONTRACT.md section 6, "flipflop.analysis/1".
#include "report/analysis_cases.hpp"
#include "report/analysis_variants.hpp"
#include "report/json_parts.hpp"
#include "report/machine_code.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

void write_code(JsonWriter& json, const CodeChoice& code) {
    json.key("code");
    json.begin_object();
    json.member_or_null("analysed", code.analysed);
    json.member_or_null("runs", code.runs);
    json.member("same_source", code.same_source);
    json.member("compatible", code.compatible);
    json.member_or_null("why_not", code.why_not);
    json.end_object();
}

void write_reblocking(JsonWriter& json, const Reblocking& reblocking) {
    json.key("reblocking");
    json.begin_object();
    json.member_or_null("verdict", reblocking.verdict);
    json.key("reference");
    json.begin_object();
    report::write_dim3(json, "block", reblocking.reference_block);
    report::write_dim3(json, "grid", reblocking.reference_grid);
    json.member_or_null("basis", reblocking.reference_basis);
    json.end_object();
    json.member_or_null("reason", reblocking.reason);
    json.end_object();
}

void write_space(JsonWriter& json, const SearchSpace& space) {
    json.key("space");
    json.begin_object();
    json.member("candidates", space.candidates);
    json.member("launchable", space.launchable);
    json.key("rejected_by");
    json.begin_object();
    for (const auto& [reason, count] : space.rejected_by) { json.member(reason, count); }
    json.end_object();
    json.member("kept", space.kept);
    json.member("reduction", space.reduction);
    json.end_object();
}

void write_gain(JsonWriter& json, std::string_view name, const std::optional<Gain>& gain) {
    json.key(name);
    if (!gain) {
        json.value(nullptr);
        return;
    }
    json.begin_object();
    report::write_dim3(json, "block", gain->block);
    json.member("time_ratio", gain->time_ratio);
    json.member("time_ratio_low", gain->time_ratio_low);
    json.member("time_ratio_high", gain->time_ratio_high);
    json.member("energy_ratio", gain->energy_ratio);
    json.member("energy_ratio_low", gain->energy_ratio_low);
    json.member("energy_ratio_high", gain->energy_ratio_high);
    json.end_object();
}

void write_recommendation(JsonWriter& json, const std::optional<Recommendation>& recommendation, const AcrossCases* across) {
    json.key("recommendation");
    if (!recommendation) {
        json.value(nullptr);
        return;
    }
    const Recommendation& r = *recommendation;
    json.begin_object(true);
    json.member("objective", r.objective);
    report::write_dim3(json, "block", r.block);
    report::write_dim3(json, "grid", r.grid);
    json.key("operating_point");
    json.begin_object();
    json.member("clock_mhz", r.clock_mhz);
    json.member("power_limit_w", r.power_limit_w);
    json.end_object();
    json.member("safe", r.safe);
    json.member_or_null("confidence", r.confidence);
    json.member_or_null("confidence_reason", r.confidence_reason);
    json.member("keep_current", r.over_current ? std::optional(r.keep_current) : std::nullopt);
    json.key("gain_over");
    json.begin_object();
    write_gain(json, "occupancy_heuristic", r.over_heuristic);
    write_gain(json, "current", r.over_current);
    json.end_object();
    report::write_reasons(json, r.reasons);
    json.strings("caveats", r.caveats);
    json.objects("sensitivity", r.sensitivity, [&](const Sensitivity& sensitivity) {
        json.member("name", sensitivity.name);
        json.member_or_null("low", sensitivity.low);
        json.member_or_null("high", sensitivity.high);
        json.member("effect", sensitivity.effect);
        json.key("best_low");
        report::write_dim3_or_null(json, sensitivity.best_low);
        json.key("best_high");
        report::write_dim3_or_null(json, sensitivity.best_high);
        json.member("time_us_low", sensitivity.time_us_low);
        json.member("time_us_high", sensitivity.time_us_high);
        json.member("changes_answer", sensitivity.changes_answer);
    });
    report::write_across(json, across);
    json.end_object();
}

void write_result(JsonWriter& json, const KernelResult& result, const AcrossCases* across) {
    json.begin_object(true);
    json.member("gpu", result.gpu);
    json.member_or_null("gpu_name", result.profile.name);
    json.member_or_null("gpu_note", result.gpu_note);
    json.member_or_null("case", result.case_name);
    write_code(json, result.code);
    report::write_resources(json, result.resources);
    write_reblocking(json, result.reblocking);
    report::write_assumptions(json, result.assumptions);
    write_space(json, result.space);
    json.key("configs");
    json.begin_array(true);
    for (const ConfigResult& config : result.configs) { report::write_config(json, config); }
    json.end_array();
    write_recommendation(json, result.recommendation, across);
    json.member_or_null("no_recommendation", result.no_recommendation);
    report::write_findings(json, result.findings);
    report::write_suppressed(json, result.suppressed);
    json.end_object();
}

void write_loops(JsonWriter& json, const KernelFacts& facts) {
    json.objects("loops", facts.loops, [&](const LoopDescription& loop) {
        json.member("id", loop.id);
        json.member("ptx_line", loop.ptx_line);
        report::write_source(json, loop.source);
        json.member("depth", loop.depth);
        json.member("parent", loop.parent && *loop.parent < facts.loops.size()
                                  ? std::optional(facts.loops[*loop.parent].id)
                                  : std::nullopt);
    });
}

void write_accesses(JsonWriter& json, const KernelFacts& facts) {
    json.objects("accesses", facts.accesses, [&](const AccessDescription& access) {
        json.member("ptx_line", access.ptx_line);
        report::write_source(json, access.source);
        json.member("op", access.op);
        json.member("space", to_string(access.space));
        json.member("bytes_per_lane", access.bytes_per_lane);
        json.member_or_null("function", access.function);
    });
}

void write_kernel(JsonWriter& json, const KernelAnalysis& kernel) {
    const KernelFacts& facts = kernel.facts;
    json.begin_object(true);
    json.member("id", facts.id);
    json.member("name", facts.name);
    json.member_or_null("demangled", facts.demangled);
    json.member_or_null("short_name", facts.short_name);
    json.member("module", facts.module);
    json.member_or_null("target", facts.target);
    report::write_source(json, facts.source);
    json.member("ptx_line", facts.ptx_line);
    json.member("dimensions", facts.dimensions);
    json.member("instructions", facts.instructions);
    report::write_bounds(json, facts.bounds);
    json.member("input", kernel.input);
    json.key("metadata");
    json.begin_object();
    for (const auto& [key, value] : kernel.metadata) { json.member(key, value); }
    json.end_object();
    json.member("calls", kernel.calls);
    report::write_parameters(json, facts.parameters, &kernel.parameter_values);
    report::write_mix(json, facts.mix);
    write_loops(json, facts);
    write_accesses(json, facts);
    json.key("results");
    json.begin_array(true);
    const std::size_t cases = kernel.across.empty() ? 1 : kernel.results.size() / kernel.across.size();
    for (std::size_t i = 0; i < kernel.results.size(); ++i) {
        write_result(json, kernel.results[i], kernel.across.empty() ? nullptr : &kernel.across[i / cases]);
    }
    json.end_array();
    json.end_object();
}

}  // namespace

void write_json(const Analysis& analysis, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.analysis/1");
    report::write_tool(json);
    report::write_used(json, analysis.used);
    report::write_inputs(json, analysis.inputs);
    json.key("kernels");
    json.begin_array(true);
    for (const KernelAnalysis& kernel : analysis.kernels) { write_kernel(json, kernel); }
    json.end_array();
    report::write_machine_kernels(json, analysis.machine_kernels);
    report::write_steps(json, analysis);
    report::write_variants(json, analysis);
    report::write_diagnostics(json, analysis.notes, "notes");
    json.end_object();
    json.finish();
}

std::string json_report(const Analysis& analysis) {
    std::string text;
    write_json(analysis, [&](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace flipflop
