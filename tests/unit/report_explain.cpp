#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/explain.hpp"
#include "flipflop/report.hpp"
#include "report_sample.hpp"

using namespace flipflop;

namespace {

double folded(const nlohmann::json& term) {
    if (term["fold"] == "leaf") { return term["value"]; }
    double value = term["fold"] == "product" ? 1 : 0;
    for (const auto& part : term["parts"]) {
        if (term["fold"] == "product") { value *= folded(part); }
        if (term["fold"] == "sum") { value += folded(part); }
        if (term["fold"] == "norm") { value += std::pow(folded(part), term["p"].get<double>()); }
    }
    return term["fold"] == "norm" ? std::pow(value, 1 / term["p"].get<double>()) : value;
}

Explanation sample_explanation() {
    const Analysis analysis = sample::analysis();
    ExplainedKernel kernel;
    kernel.facts = analysis.kernels[0].facts;
    kernel.gpu = "a100-pcie-40gb";
    kernel.gpu_name = "A100-PCIE-40GB";
    kernel.configs = {{"asked", analysis.kernels[0].results[0].configs[0]}, {"versus", analysis.kernels[0].results[0].configs[2]}};
    Comparison comparison;
    comparison.second = 1;
    comparison.time_ratio = 0.79;
    comparison.time_ratio_low = 0.75;
    comparison.time_ratio_high = 0.83;
    comparison.verdict = "8,32 is faster than 16,16.";
    comparison.changes = {{"time/bandwidth", "us", 169.6, 214.4}};
    kernel.comparisons = {comparison};
    Explanation out;
    out.kernels = {kernel};
    return out;
}

}  // namespace

TEST_CASE("the dominant part of a term follows its fold", "[report]") {
    const auto part = [](double value, std::string unit = "us") { return leaf("part", value, std::move(unit), Basis::derived, ""); };
    CHECK(dominant_part(fold("t", "us", Fold::sum, {part(1), part(5), part(2)})) == 1);
    CHECK(dominant_part(fold("t", "us", Fold::max, {part(1), part(5), part(7)})) == 2);
    CHECK(dominant_part(fold("t", "us", Fold::min, {part(3), part(1), part(2)})) == 1);
    CHECK(dominant_part(fold("t", "us", Fold::norm, {part(3), part(4)}, 2)) == 1);
    CHECK(dominant_part(fold("t", "us", Fold::ratio, {part(1), part(4)})) == 0);
    const Term power = fold("power", "W", Fold::sum, {part(1, "W"), part(2, "W")});
    const Term time = fold("time", "us", Fold::sum, {part(1), part(2)});
    CHECK(dominant_part(fold("t", "mJ", Fold::product, {power, time})) == 1);
    CHECK(dominant_part(fold("t", "W", Fold::product, {part(1, "1"), power})) == 1);
    CHECK(!dominant_part(part(1)));
}

TEST_CASE("the whole term holds the trees of power and time, and still folds to the energy", "[report]") {
    ConfigResult config = sample::analysis().kernels[0].results[0].configs[0];
    PowerEstimate& power = *config.predicted->power;
    power.power = fold("power", "W", Fold::sum, {leaf("idle", 40, "W", Basis::measured, ""), leaf("dynamic", 108, "W", Basis::fitted, "")});
    // As the model leaves it: the values by name only.
    power.energy = fold("energy", "mJ", Fold::product,
                        {leaf("power", 148, "W", Basis::derived, "the power model"),
                         fold("time_ms", "ms", Fold::ratio, {leaf("time", config.predicted->time.total.value, "us", Basis::derived, "the time model"), leaf("us_per_ms", 1000, "us/ms", Basis::derived, "unit")})});
    const std::optional<Term> whole = whole_term(config);
    REQUIRE(whole);
    CHECK(whole->parts[0].parts.size() == 2);
    CHECK(whole->parts[1].parts[0].parts.size() == 2);
    CHECK(refold(*whole) == Approx(power.energy.value).epsilon(1e-9));
    config.predicted->power.reset();
    CHECK(whole_term(config)->id == "time");
    config.predicted.reset();
    CHECK(!whole_term(config));
}

TEST_CASE("explain JSON: terms re-fold, the dominant path is named", "[report]") {
    std::string text;
    write_json(sample_explanation(), [&](std::string_view piece) { text += piece; });
    const auto report = nlohmann::json::parse(text);
    CHECK(report["schema"] == "flipflop.explain/1");
    const auto& kernel = report["kernels"][0];
    CHECK(kernel["configs"][0]["role"] == "asked");
    const auto& config = kernel["configs"][0]["config"];
    CHECK(folded(config["terms"]) == Approx(config["predicted"]["energy_mj"].get<double>()).epsilon(1e-9));
    CHECK(kernel["configs"][0]["dominant_path"] == nlohmann::json({"energy", "time", "bandwidth"}));
    CHECK(kernel["comparisons"][0]["changes"][0]["path"] == "time/bandwidth");
}

TEST_CASE("explain's text sets two configurations side by side and marks what decides", "[report]") {
    TextStyle style;
    style.width = 110;
    const std::string text = text_report(sample_explanation(), style);
    CHECK(text.find("8,32 is faster than 16,16.") != std::string::npos);
    CHECK(text.find("21 % less time (17-25) against 16,16") != std::string::npos);
    CHECK(text.find(">    time           212    268  -20.9 %  us") != std::string::npos);
    CHECK(text.find(">      bandwidth  169.6  214.4  -20.9 %  us") != std::string::npos);
    CHECK(text.find("\n       latency") != std::string::npos);
    CHECK(text.find("GA100 whitepaper") != std::string::npos);
}

TEST_CASE("explain says in sentences what bounds a launch, why, and what a change would gain", "[report][explain]") {
    Explanation explanation = sample_explanation();
    ExplainedKernel& kernel = explanation.kernels[0];
    Finding dear{"FF101", Severity::warning, "uncoalesced store at transpose.cu:9", 57, SourceLine{"src/transpose.cu", 9}, 50.0, 7.0, "swap the index order"};
    Finding cheap = dear;
    cheap.rule = "FF105";
    cheap.cost_us = 0.1;
    kernel.findings = {cheap, dear};
    const std::string text = text_report(explanation, TextStyle{});
    CHECK(text.find("Bound by L2 bandwidth. Of 212 µs: 64 % bandwidth, 36 % latency.") != std::string::npos);   // 0.8 and 0.6 of a 2-norm
    CHECK(text.find("FF101 uncoalesced store at transpose.cu:9: would gain 50 µs (24 %), 7 mJ") != std::string::npos);
    CHECK(text.find("swap the index order") != std::string::npos);
    CHECK(text.find("FF105") == std::string::npos);
    kernel.findings.clear();
    CHECK(text_report(explanation, TextStyle{}).find("No rule sees a change") != std::string::npos);
    kernel.configs.clear();
    kernel.comparisons.clear();   // they are of configurations
    CHECK(text_report(explanation, TextStyle{}).find("What to change") == std::string::npos);
}
