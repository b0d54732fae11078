#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/report.hpp"
#include "report/json_writer.hpp"
#include "report_sample.hpp"

using namespace flipflop;
using nlohmann::json;

namespace {

template <class T>
std::string written(const T& value) {
    std::string out;
    const TextSink sink = [&](std::string_view piece) { out += piece; };
    report::JsonWriter writer(sink);
    writer.value(value);
    writer.finish();
    out.pop_back();
    return out;
}

/// Every key of CONTRACT.md section 6, object by object.
void require_keys(const json& object, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        INFO(key);
        REQUIRE(object.contains(key));
    }
}

}  // namespace

TEST_CASE("JSON numbers are the shortest that read back, and never NaN", "[report]") {
    struct Row { double value; const char* text; };
    for (const Row& row : {Row{0.1, "0.1"}, Row{1.0 / 3, "0.3333333333333333"}, Row{-0.0, "0"}, Row{1e21, "1e+21"}, Row{268, "268"},
                           Row{std::nan(""), "null"}, Row{std::numeric_limits<double>::infinity(), "null"}, Row{5e-324, "5e-324"}}) {
        CHECK(written(row.value) == row.text);
    }
    CHECK(written(std::uint64_t{18446744073709551615U}) == "18446744073709551615");
    CHECK(written(std::int64_t{-9223372036854775807}) == "-9223372036854775807");
    CHECK(written(true) == "true");
    CHECK(written("text") == "\"text\"");
    CHECK(written(std::optional<double>()) == "null");
}

TEST_CASE("JSON strings are valid whatever came in", "[report]") {
    struct Row { std::string in, out; };
    for (const Row& row : {Row{"a\"b\\c\n\t\x01", "\"a\\\"b\\\\c\\n\\t\\u0001\""}, Row{"\x1b[31m\x7f", "\"\\u001b[31m\\u007f\""}, Row{"\xff\xc0\xaf", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
                           Row{"\xed\xa0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, Row{"\xc3", "\"\xEF\xBF\xBD\""}, Row{"\u00b5\u20ac\U0001F600", "\"\u00b5\u20ac\U0001F600\""}}) {
        CHECK(written(row.in) == row.out);
        CHECK(json::accept(written(row.in)));
    }
}

TEST_CASE("analysis JSON has every key of the contract", "[report]") {
    const json report = json::parse(json_report(sample::analysis()));
    require_keys(report, {"schema", "tool", "used", "inputs", "kernels"});
    CHECK(report["schema"] == "flipflop.analysis/1");
    require_keys(report["tool"], {"name", "version"});
    require_keys(report["inputs"][0], {"path", "kind", "sha256", "modules"});
    require_keys(report["inputs"][0]["modules"][0], {"name", "ptx_version", "target", "address_size", "lines", "line_table", "diagnostics"});
    const json& kernel = report["kernels"][0];
    require_keys(kernel, {"id", "name", "demangled", "short_name", "module", "target", "source", "bounds", "parameters", "instruction_mix", "loops", "accesses", "results"});
    require_keys(kernel["bounds"], {"max_threads", "required_block", "min_blocks_per_sm", "max_registers", "cluster"});
    require_keys(kernel["parameters"][0], {"index", "name", "source_name", "type", "kind", "fields", "uses", "value", "basis"});
    CHECK(kernel["parameters"][1]["value"] == 4096);
    CHECK(kernel["parameters"][1]["basis"] == "given");
    CHECK(kernel["instruction_mix"]["static"].size() == kClassNames.size());
    require_keys(kernel["accesses"][0], {"ptx_line", "source", "op", "space", "bytes_per_lane"});
    const json& result = kernel["results"][0];
    require_keys(result, {"gpu", "case", "code", "resources", "reblocking", "assumptions", "space", "configs", "recommendation", "findings"});
    require_keys(result["code"], {"analysed", "runs", "same_source", "compatible"});
    require_keys(result["resources"], {"registers_per_thread", "registers_basis", "registers_low", "registers_high", "static_shared_bytes", "uses_dynamic_shared",
                                       "local_bytes", "spill_store_bytes", "spill_load_bytes", "barriers", "complete"});
    CHECK(result["resources"]["local_bytes"].is_null());
    require_keys(result["reblocking"], {"verdict", "reference", "reason"});
    require_keys(result["reblocking"]["reference"], {"block", "grid", "basis"});
    require_keys(result["assumptions"][0], {"name", "value", "reason", "could_change"});
    require_keys(result["space"], {"candidates", "launchable", "rejected_by", "kept", "reduction"});
    const json& config = result["configs"][0];
    require_keys(config, {"block", "grid", "dynamic_shared_bytes", "clock_mhz", "power_limit_w", "detail", "launchable", "why_not", "safe", "occupancy", "dynamic",
                          "traffic", "loops", "accesses", "predicted", "terms", "pareto", "kept", "recommended", "rank"});
    require_keys(config["occupancy"], {"active_blocks_per_sm", "active_warps_per_sm", "fraction", "limiters", "waves", "tail_idle_share"});
    require_keys(config["dynamic"], {"warp_instructions", "by_class", "barriers_per_thread", "active_lane_share"});
    require_keys(config["traffic"], {"dram_bytes", "l2_bytes", "l1_bytes", "shared_wavefronts", "unique_read_bytes", "unique_written_bytes"});
    require_keys(config["accesses"][0], {"requests", "requests_assumed", "sectors_per_request", "ideal_sectors_per_request", "wavefronts_per_request", "active_lanes", "pattern", "stride_bytes", "basis"});
    require_keys(config["predicted"], {"time_us", "time_low_us", "time_high_us", "power_w", "power_low_w", "power_high_w", "energy_mj", "energy_low_mj", "energy_high_mj",
                                       "idle_mj", "above_idle_mj", "edp", "bound_by", "floor_time_us", "p_within_5pct"});
    require_keys(config["terms"], {"id", "value", "unit", "fold", "p", "basis", "source", "parts"});
    require_keys(result["recommendation"], {"objective", "block", "grid", "operating_point", "safe", "confidence", "confidence_reason", "gain_over", "reasons", "caveats", "sensitivity", "across_cases"});
    require_keys(result["recommendation"]["gain_over"], {"occupancy_heuristic", "current"});
    require_keys(result["recommendation"]["gain_over"]["current"], {"block", "time_ratio", "time_ratio_low", "time_ratio_high", "energy_ratio", "energy_ratio_low", "energy_ratio_high"});
    require_keys(result["findings"][0], {"rule", "severity", "message", "ptx_line", "source", "cost_us", "cost_mj", "help"});
    CHECK(result["findings"][0]["cost_mj"].is_null());
}

TEST_CASE("what is not known is null in JSON, and a summary has no detail", "[report]") {
    Analysis analysis = sample::analysis();
    analysis.kernels[0].results[0].configs[0].predicted->power.reset();
    analysis.kernels[0].results[0].configs[0].predicted->power_unknown = "the board's idle power is not known";
    analysis.kernels[0].results[0].recommendation.reset();
    analysis.kernels[0].results[0].no_recommendation = "everything is unverified";
    analysis.used.clear();
    const json report = json::parse(json_report(analysis));
    const json& result = report["kernels"][0]["results"][0];
    CHECK(report["used"]["ptxas"].is_null());
    CHECK(result["recommendation"].is_null());
    const json& predicted = result["configs"][0]["predicted"];
    for (const char* key : {"power_w", "power_low_w", "energy_mj", "idle_mj", "edp"}) { CHECK(predicted[key].is_null()); }
    CHECK(predicted["time_us"] == Approx(212));
    CHECK(result["configs"][0]["terms"]["id"] == "time");
    const json& summary = result["configs"][3];
    CHECK(summary["detail"] == "summary");
    for (const char* key : {"loops", "accesses", "terms"}) { CHECK(summary[key].is_null()); }
    const json& impossible = result["configs"][5];
    CHECK(impossible["launchable"] == false);
    CHECK(impossible["why_not"] == "registers: 65,600 of 65,536");
    for (const char* key : {"time_us", "energy_mj", "bound_by"}) { CHECK(impossible["predicted"][key].is_null()); }
    CHECK(impossible["dynamic"]["warp_instructions"].is_null());
    CHECK(impossible["rank"].is_null());
}

TEST_CASE("an unsafe configuration says why in JSON", "[report]") {
    Analysis analysis = sample::analysis();
    ConfigResult& config = analysis.kernels[0].results[0].configs[1];
    config.safe = false;
    config.safe_reason = "writes other bytes";
    const json report = json::parse(json_report(analysis));
    CHECK(report["kernels"][0]["results"][0]["configs"][1]["why_not"] == "writes other bytes");
    CHECK(report["kernels"][0]["results"][0]["configs"][1]["launchable"] == true);
}

TEST_CASE("JSON is the same bytes again, whole whatever the pieces", "[report]") {
    const Analysis analysis = sample::analysis();
    CHECK(json_report(analysis) == json_report(sample::analysis()));
    CHECK(json_report(analysis).ends_with("}\n"));
}

TEST_CASE("200 configurations of a kernel with 300 accesses stay under 3 MB", "[report]") {
    Analysis analysis = sample::analysis();
    KernelAnalysis& kernel = analysis.kernels[0];
    const AccessDescription access = kernel.facts.accesses[0];
    kernel.facts.accesses.assign(300, access);
    ConfigResult full = kernel.results[0].configs[0];
    full.facts->accesses.assign(300, full.facts->accesses[1]);
    for (AccessFacts& a : full.facts->accesses) {
        a.sectors_per_request = 10.123456789012345;
        a.active_lanes = 31.987654321098765;
        a.requests = 123456789;
    }
    ConfigResult summary = full;
    summary.full_detail = false;
    summary.recommended = false;
    // As a search leaves them: one in ten kept and therefore full.
    kernel.results[0].configs.assign(180, summary);
    kernel.results[0].configs.insert(kernel.results[0].configs.begin(), 20, full);
    std::size_t bytes = 0;
    std::size_t largest_piece = 0;
    write_json(analysis, [&](std::string_view piece) {
        bytes += piece.size();
        largest_piece = std::max(largest_piece, piece.size());
    });
    CHECK(bytes < 3'000'000);
    CHECK(largest_piece < 400'000);
}

TEST_CASE("inspect JSON has every key of the contract", "[report]") {
    InspectReport report;
    InspectedModule module;
    module.name = "transpose.ptx";
    module.ptx_version = "9.0";
    module.target = "sm_80";
    module.kernels = {sample::transpose()};
    Diagnostic warning;
    warning.id = "FF0012";
    warning.severity = Severity::warning;
    warning.message = "unknown instruction 'frob'";
    module.diagnostics = {warning};
    InspectedInput input;
    input.path = "transpose.ptx";
    input.modules = {module};
    report.inputs = {input};
    report.summary.kernels = 1;
    std::string text;
    write_json(report, [&](std::string_view piece) { text += piece; });
    const json parsed = json::parse(text);
    CHECK(parsed["schema"] == "flipflop.inspect/1");
    require_keys(parsed["inputs"][0], {"path", "kind", "modules"});
    require_keys(parsed["inputs"][0]["modules"][0], {"name", "ptx_version", "target", "address_size", "bytes", "kernels", "functions", "cubins", "diagnostics"});
    require_keys(parsed["inputs"][0]["modules"][0]["kernels"][0], {"id", "name", "demangled", "resources", "bounds", "parameters", "instruction_mix", "unknown_share"});
    require_keys(parsed["summary"], {"inputs", "modules", "kernels", "ptx_bytes", "instructions", "unknown_instructions", "errors", "warnings"});
    CHECK(parsed["inputs"][0]["modules"][0]["diagnostics"][0]["line"].is_null());
    CHECK(parsed["inputs"][0]["modules"][0]["kernels"][0]["parameters"][1]["uses"][1]["what"] == "address stride");
}
