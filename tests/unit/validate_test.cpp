// `validate`: joins, statistics and baselines against values worked out by hand.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "flipflop/validate.hpp"
#include "validate/statistics.hpp"

using namespace flipflop::validate;
using Catch::Matchers::Contains;

namespace {

Table table(const char* text) {
    const auto read = read_table(text, "t");
    REQUIRE(read);
    return *read;
}

const char* const kPredictions =
    "gpu,block_x,tile,time_us,time_low_us,time_high_us,occupancy,floor_time_us\n"
    "a100,32,1,10,8,12,0.5,1\na100,64,1,20,18,22,1,1\na100,128,1,30,28,32,1,1\n"
    "a100,32,2,11,8,12,0.5,2\na100,64,2,9,8,12,1,2\na100,128,2,40,38,42,1,2\n";
const char* const kMeasurements =
    "gpu,block_x,tile,time_ms,valid,error\n"
    "a100,32,1,0.010,1,\na100,64,1,0.0202,1,\na100,128,1,0.050,1,\n"
    "a100,32,2,0.0108,1,\na100,64,2,0.012,1,a caveat\na100,128,2,0.041,1,\na100,256,2,0.041,0,failed\na100,512,2,0.041,1,\n";

}  // namespace

TEST_CASE("Rank correlations agree with their definitions", "[validate]") {
    CHECK(*spearman({1, 2, 3, 4}, {10, 20, 30, 40}) == Approx(1));
    CHECK(*spearman({1, 2, 3, 4}, {40, 30, 20, 10}) == Approx(-1));
    CHECK(*spearman({1, 2, 3}, {1, 3, 2}) == Approx(0.5));
    CHECK_FALSE(spearman({1, 1, 1}, {1, 2, 3}));
    CHECK_FALSE(kendall({1, 2, 3}, {2, 2, 2}));
    // tau-b by its definition, pair by pair, with ties on both sides.
    const std::vector<double> a{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, b{2, 7, 1, 8, 2, 8, 1, 8, 2, 8};
    double concordant = 0, discordant = 0, only_a = 0, only_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = i + 1; j < a.size(); ++j) {
            const double x = (a[i] - a[j]) * (b[i] - b[j]);
            if (x > 0) ++concordant;
            else if (x < 0) ++discordant;
            else if (a[i] == a[j] && b[i] != b[j]) ++only_a;
            else if (a[i] != a[j] && b[i] == b[j]) ++only_b;
        }
    CHECK(*kendall(a, b) == Approx((concordant - discordant) / std::sqrt((concordant + discordant + only_a) * (concordant + discordant + only_b))));
}

TEST_CASE("The scale factor is the one with the least mean error", "[validate]") {
    const std::vector<double> predicted{1, 2, 4, 8, 3}, measured{2, 4.4, 8, 20, 3};
    const double best = best_scale(predicted, measured), error = mean_absolute_error(predicted, measured, best);
    for (double scale = 0.5; scale < 4; scale += 0.01) CHECK(mean_absolute_error(predicted, measured, scale) >= error - 1e-12);
    CHECK(mean_absolute_error({2, 4}, {1, 4}) == Approx(0.5));
}

TEST_CASE("A choice by tied scores is the mean over all orders", "[validate]") {
    const std::vector<double> measured{4, 1, 3, 2, 1.04};
    SECTION("all tied: a random pair, by enumeration") {
        double best = 0, near = 0, regret = 0, pairs = 0;
        for (std::size_t i = 0; i < measured.size(); ++i)
            for (std::size_t j = i + 1; j < measured.size(); ++j, ++pairs) {
                const double least = std::min(measured[i], measured[j]);
                best += least == 1 ? 1 : 0;
                near += least <= 1.05 ? 1 : 0;
                regret += least - 1;
            }
        const Choice choice = choose(std::vector<double>(5, 7.0), measured, 2);
        CHECK(choice.holds_best == Approx(best / pairs));
        CHECK(choice.within_5pct == Approx(near / pairs));
        CHECK(choice.regret == Approx(regret / pairs));
    }
    SECTION("one is sure, the second by lot of three") {
        const Choice choice = choose(std::vector<double>{0, 5, 1, 1, 1}, measured, 2);   // 4, then one of 3, 2, 1.04
        CHECK(choice.holds_best == 0);
        CHECK(choice.within_5pct == Approx(1.0 / 3));
        CHECK(choice.regret == Approx((2 + 1 + 0.04) / 3));
    }
    SECTION("no tie") {
        const Choice choice = choose(std::vector<double>{5, 4, 3, 2, 1}, measured, 1);
        CHECK(choice.holds_best == 0);
        CHECK(choice.within_5pct == 1);
        CHECK(choice.regret == Approx(0.04));
    }
}

TEST_CASE("Predictions and measurements are joined and scored", "[validate]") {
    const auto report = compare(table(kPredictions), table(kMeasurements), {});
    REQUIRE(report);
    CHECK(report->joined_on == std::vector<std::string>{"gpu", "block_x", "tile"});
    CHECK(report->joined == 6);
    CHECK(report->unmatched_measurements == 1);
    CHECK(report->invalid_measurements == 1);
    REQUIRE(report->sets.size() == 1);
    const Set& set = report->sets[0];
    CHECK(set.n == 6);
    CHECK(set.median_over_best == Approx((12 + 20.2) / 2 / 10));
    CHECK(set.model.all->first_regret == Approx(0.2));   // the model's best is 64 x tile 2, measured 12
    CHECK(set.kept == 1);
    REQUIRE(set.model.by_block);
    CHECK(set.model.by_block->groups == 2);
    CHECK(set.model.by_block->within_5pct == Approx(0.5));
    CHECK(set.model.by_block->within_10pct == Approx(0.5));
    CHECK(set.model.by_block->regret == Approx((12 / 10.8 - 1) / 2));
    REQUIRE(set.interval);
    CHECK(set.interval->share == Approx(5.0 / 6));
    CHECK(set.interval->above == Approx(1.0 / 6));
    const auto baseline = [&](const std::string& name) { return *std::find_if(set.baselines.begin(), set.baselines.end(), [&](const Scores& s) { return s.name == name; }); };
    CHECK(baseline("occupancy_heuristic").all->first_regret == Approx((5.0 + 4.1) / 2 - 1));   // most warps, then the largest block: 128 of either tile
    CHECK(baseline("threads_per_block").by_block->within_10pct == Approx(1));
    CHECK(baseline("random").all->first_regret == Approx((10 + 20.2 + 50 + 10.8 + 12 + 41) / 60 - 1));
    CHECK(baseline("roofline").all->first_regret == Approx((10 + 20.2 + 50) / 30 - 1));
}

TEST_CASE("What cannot be compared is said", "[validate]") {
    const auto error = [](const char* p, const char* m, Options options = {}) {
        const auto report = compare(table(p), table(m), options);
        REQUIRE_FALSE(report);
        return report.error().id + " " + report.error().message;
    };
    CHECK_THAT(error("a,time_us\n1,1\n", "b,time_us\n1,1\n"), Contains("FF0781"));
    CHECK_THAT(error("a,time_us\n1,1\n", "a,time_us\n2,1\n"), Contains("a: '1' in one, '2' in the other"));
    CHECK_THAT(error("a,time_us\n1,1\n1,2\n", "a,time_us\n1,1\n"), Contains("FF0783"));
    CHECK_THAT(error("a,x\n1,1\n2,1\n3,1\n", "a,time_us\n1,1\n2,1\n3,1\n"), Contains("FF0782"));
    Options on;
    on.on = {"b"};
    CHECK_THAT(error("a,time_us\n1,1\n", "a,time_us\n1,1\n", on), Contains("no such column"));
}

TEST_CASE("Repeats of a measurement count once, with their median", "[validate]") {
    const auto report = compare(table("b,time_us\n1,1\n2,2\n3,3\n"), table("b,time_us\n1,1\n1,5\n1,1.2\n2,2\n3,3\n"), {});
    REQUIRE(report);
    CHECK(report->repeats == 2);
    CHECK(report->sets[0].mape == Approx((1 - 1 / 1.2) / 3));
}

TEST_CASE("Tables are told apart by content", "[validate]") {
    const Table tuner = table(R"({"device_name": "RTX A4000", "kernel_name": "k", "cache": {"32,1": {"block_size_x": 32, "time": 1.5, "times": [1.5]}, "64,1": {"block_size_x": 64, "time": "CompilationFailedConfig"},)");
    REQUIRE(tuner.rows.size() == 2);
    CHECK(tuner.rows[0][*tuner.column("time_ms")] == "1.5");
    CHECK(tuner.rows[0][*tuner.column("gpu")] == "RTX A4000");
    CHECK(tuner.rows[1][*tuner.column("error")] == "CompilationFailedConfig");
    CHECK(tuner.rows[1][*tuner.column("time_ms")].empty());
    const Table t4 = table(R"({"results": [{"configuration": {"b": 8}, "invalidity": "correct", "measurements": [{"name": "time", "value": 2, "unit": "microseconds"}]}, {"configuration": {"b": 9}, "invalidity": "timeout", "measurements": []}]})");
    CHECK(t4.rows[0][*t4.column("time_us")] == "2");
    CHECK(t4.rows[1][*t4.column("error")] == "timeout");
    const Table ours = table(R"({"schema": "flipflop.analysis/1", "kernels": [{"name": "k", "results": [{"gpu": "a100", "case": null, "configs": [{"block": [32,2,1], "grid": [4,1,1], "kept": true, "occupancy": {"fraction": 0.5}, "predicted": {"time_us": 3, "time_low_us": 2}}]}]}]})");
    CHECK(ours.rows[0][*ours.column("block_y")] == "2");
    CHECK(ours.rows[0][*ours.column("time_us")] == "3");
    CHECK(ours.rows[0][*ours.column("kept")] == "true");
    CHECK(ours.rows[0][*ours.column("occupancy")] == "0.5");
    const Table quoted = table("a,b\n\"x,\"\"y\"\"\",2\r\n");
    CHECK(quoted.rows[0][0] == "x,\"y\"");
    for (const char* bad : {"", "{", "[1,2]", "a,b\n1\n", "\x1f\x8b\x08"}) CHECK_FALSE(read_table(bad, "t"));
}

TEST_CASE("A board is one board under its names", "[validate]") {
    const auto report = compare(table("gpu,b,time_us\nrtx-a4000,1,1\nrtx-a4000,2,2\nrtx-a4000,3,3\n"), table("gpu,b,time_us\nNVIDIA RTX A4000,1,1\nNVIDIA RTX A4000,2,2\nNVIDIA RTX A4000,3.0,3\n"), {});
    REQUIRE(report);
    CHECK(report->joined == 3);
}
