// tune as JSON ("flipflop.tune/1") and CSV: one row a configuration, with a column for each parameter.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "flipflop/tune_report.hpp"
#include "report/csv_row.hpp"
#include "report/json_parts.hpp"
#include "report/json_writer.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

constexpr std::array<std::string_view, 33> kColumns{
    "gpu", "configuration", "block_x", "block_y", "block_z", "grid_x", "grid_y", "grid_z", "registers", "registers_basis", "shared_bytes", "spill_bytes", "occupancy",
    "time_us", "time_low_us", "time_high_us", "floor_time_us", "bound_by", "power_w", "energy_mj", "energy_low_mj", "energy_high_mj", "edp",
    "safe", "safe_reason", "pareto", "kept", "recommended", "reference", "rank", "error", "error_stage", "parameters"};

/// A parameter's key among the others: its name, unless a column of ours has it.
std::string key_of(const TuneParameter& parameter) {
    const bool taken = std::find(kColumns.begin(), kColumns.end(), parameter.name) != kColumns.end();
    return (taken ? "define." : "") + parameter.name;
}

void write_value(JsonWriter& json, const std::string& text, bool numeric) {
    std::int64_t whole = 0;
    const char* const end = text.data() + text.size();
    if (numeric && (text == "True" || text == "False")) { return json.value(text == "True"); }
    if (numeric && std::from_chars(text.data(), end, whole).ptr == end) { return json.value(whole); }
    if (numeric) { return json.value(std::strtod(text.c_str(), nullptr)); }
    json.value(text);
}


bool numeric(const TuneReport& report, std::uint32_t configuration, std::size_t p) { return report.parameters[p].numeric[choice_of(report, configuration, p)]; }

void write_dim(JsonWriter& json, const std::string& prefix, const Dim3& dim, bool known) {
    const std::pair<const char*, std::uint32_t> axes[]{{"_x", dim.x}, {"_y", dim.y}, {"_z", dim.z}};
    for (const auto& [axis, n] : axes) {
        json.key(prefix + axis);
        if (known) { json.value(n); } else { json.value(nullptr); }
    }
}

void write_row(JsonWriter& json, const TuneReport& report, const TuneRow& row) {
    json.begin_object();
    json.member("configuration", row.configuration);
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        json.key(key_of(report.parameters[p]));
        write_value(json, value_of(report, row.configuration, p), numeric(report, row.configuration, p));
    }
    write_dim(json, "block", row.block, row.has_block);
    write_dim(json, "grid", row.grid, row.has_grid);
    json.member("registers", row.registers);
    json.member_or_null("registers_basis", row.registers_basis);
    json.member("shared_bytes", row.shared_bytes);
    json.member("spill_bytes", row.spill_bytes);
    json.member("occupancy", row.occupancy);
    json.member("time_us", row.time_us);
    json.member("time_low_us", row.time_low_us);
    json.member("time_high_us", row.time_high_us);
    json.member("floor_time_us", row.floor_time_us);
    json.member_or_null("bound_by", row.bound_by);
    json.member("power_w", row.power_w);
    json.member("energy_mj", row.energy_mj);
    json.member("energy_low_mj", row.energy_low_mj);
    json.member("energy_high_mj", row.energy_high_mj);
    json.member("edp", row.edp);
    json.member("safe", row.safe);
    json.member_or_null("safe_reason", row.safe_reason);
    json.member("pareto", row.pareto);
    json.member("kept", row.kept);
    json.member("recommended", row.recommended);
    json.member("reference", row.reference);
    json.member("rank", row.rank);
    json.member_or_null("error", row.error);
    json.member_or_null("error_stage", row.error_stage);
    json.end_object();
}

void write_parameters(JsonWriter& json, const TuneReport& report) {
    json.key("parameters");
    json.begin_array(true);
    for (const TuneParameter& p : report.parameters) {
        json.begin_object();
        json.member("name", p.name);
        json.member("column", key_of(p));
        json.key("values");
        json.begin_array();
        for (std::size_t i = 0; i < p.values.size(); ++i) { write_value(json, p.values[i], p.numeric[i]); }
        json.end_array();
        json.member_or_null("default", p.default_value);
        json.end_object();
    }
    json.end_array();
    json.strings("conditions", report.conditions);
    json.strings("compiler_options", report.compiler_options);
    json.key("space");
    json.begin_object();
    json.member("size", report.space_size);
    if (report.space_product > 0) { json.member("product", report.space_product); } else { json.key("product"); json.value(nullptr); }
    json.member("considered", report.considered);
    json.member("sampled", report.sampled);
    json.key("seed");
    if (report.sampled) { json.value(report.seed); } else { json.value(nullptr); }
    json.end_object();
}

void write_recommendation(JsonWriter& json, const TuneReport& report, const TuneResult& result) {
    json.key("recommendation");
    if (!result.recommended) {
        json.value(nullptr);
        json.member_or_null("no_recommendation", result.no_recommendation);
        return;
    }
    const TuneRow& best = result.rows[*result.recommended];
    json.begin_object(true);
    json.member("objective", report.objective);
    json.key("parameters");
    json.begin_object();
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        json.key(report.parameters[p].name);
        write_value(json, value_of(report, best.configuration, p), numeric(report, best.configuration, p));
    }
    json.end_object();
    report::write_dim3(json, "block", best.block);
    report::write_dim3(json, "grid", best.grid);
    json.member("safe", best.safe);
    json.member("confidence", result.confidence);
    json.strings("reasons", result.reasons);
    json.strings("caveats", result.caveats);
    json.end_object();
    json.key("no_recommendation");
    json.value(nullptr);
}

void write_result(JsonWriter& json, const TuneReport& report, const TuneResult& result) {
    json.begin_object(true);
    json.member("gpu", result.gpu);
    json.member_or_null("gpu_note", result.gpu_note);
    json.member("architecture", result.architecture);
    json.key("counts");
    json.begin_object();
    json.member("compiled", result.compiled);
    json.member("failed", result.failed);
    json.member("launchable", result.launchable);
    json.member("kept", result.kept);
    json.end_object();
    write_recommendation(json, report, result);
    json.key("effects");
    json.begin_array(true);
    for (const ParameterEffect& e : result.effects) {
        json.begin_object();
        json.member("parameter", e.name);
        json.member("spread", e.spread);
        json.member("comparisons", e.groups);
        json.key("values");
        json.begin_array();
        for (const auto& at : e.values) {
            json.begin_object();
            json.member("value", at.value);
            json.member("best", at.best_cost);
            json.member("relative", at.relative);
            json.member("configurations", at.rows);
            json.member("kept", at.kept);
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    json.key("configs");
    json.begin_array(true);
    for (const TuneRow& row : result.rows) { write_row(json, report, row); }
    json.end_array();
    json.end_object();
}

/// A configuration of a list, as a row without an answer.
TuneRow row_of(const TuneListing& listing) {
    TuneRow row;
    row.configuration = listing.configuration;
    row.block = listing.block;
    row.grid = listing.grid;
    row.has_block = listing.has_block;
    row.has_grid = listing.has_grid;
    row.error = listing.error;
    if (!row.error.empty()) { row.error_stage = "constraints"; }
    return row;
}

std::string header(const TuneReport& report) {
    report::CsvRow row;
    row.text("gpu");
    for (const TuneParameter& p : report.parameters) { row.text(key_of(p)); }
    for (const std::string_view column : kColumns) {
        if (column != "gpu" && column != "configuration" && column != "parameters") { row.text(column); }
    }
    return std::move(row).finish();
}

std::string csv_line(const TuneReport& report, const std::string& gpu, const TuneRow& r) {
    using Number = std::optional<double>;
    report::CsvRow row;
    row.text(gpu);
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        const std::string& value = value_of(report, r.configuration, p);
        const bool number = numeric(report, r.configuration, p) && value != "True" && value != "False";
        if (number) { row.number(std::strtod(value.c_str(), nullptr)); } else { row.text(value); }
    }
    const auto dim = [&](const Dim3& d, bool known) {
        for (const std::uint32_t n : {d.x, d.y, d.z}) { row.number(known ? Number(n) : Number()); }
    };
    const auto whole = [](const auto& n) { return n ? Number(static_cast<double>(*n)) : Number(); };
    dim(r.block, r.has_block);
    dim(r.grid, r.has_grid);
    row.number(whole(r.registers)).text(r.registers_basis).number(whole(r.shared_bytes)).number(whole(r.spill_bytes)).number(r.occupancy);
    row.number(r.time_us).number(r.time_low_us).number(r.time_high_us).number(r.floor_time_us).text(r.bound_by);
    row.number(r.power_w).number(r.energy_mj).number(r.energy_low_mj).number(r.energy_high_mj).number(r.edp);
    row.truth(r.safe).text(r.safe_reason).truth(r.pareto).truth(r.kept).truth(r.recommended).truth(r.reference).number(whole(r.rank));
    row.text(r.error).text(r.error_stage);
    return std::move(row).finish();
}

}  // namespace

void write_json(const TuneReport& report, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.tune/1");
    report::write_tool(json);
    report::write_used(json, report.used);
    json.member("spec", report.spec);
    json.member("source", report.source);
    json.key("kernel");
    json.begin_object();
    json.member_or_null("name", report.kernel);
    json.member_or_null("demangled", report.kernel_demangled);
    json.end_object();
    json.member("objective", report.objective);
    write_parameters(json, report);
    report::write_assumptions(json, report.assumptions);
    report::write_diagnostics(json, report.notes, "notes");
    json.key("results");
    json.begin_array(true);
    for (const TuneResult& result : report.results) { write_result(json, report, result); }
    json.end_array();
    if (!report.listed.empty()) {
        json.key("configs");
        json.begin_array(true);
        for (const TuneListing& listing : report.listed) { write_row(json, report, row_of(listing)); }
        json.end_array();
    }
    json.end_object();
    json.finish();
}

void write_csv(const TuneReport& report, const TextSink& sink) {
    std::string out = header(report);
    const auto flush = [&](std::size_t most) {
        if (out.size() < most) { return; }
        sink(out);
        out.clear();
    };
    for (const TuneListing& listing : report.listed) {
        out += csv_line(report, "", row_of(listing));
        flush(64 * 1024);
    }
    for (const TuneResult& result : report.results) {
        for (const TuneRow& row : result.rows) {
            out += csv_line(report, result.gpu, row);
            flush(64 * 1024);
        }
    }
    flush(1);
}

}  // namespace flipflop
