#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/robust_fit.hpp"
#include "calibrate/rows.hpp"
#include "catch.hpp"
#include "flipflop/calibrate.hpp"

using namespace flipflop;
using namespace flipflop::calibrate;

namespace {

GpuProfile board(const std::string& name) {
    auto loaded = load_gpu(name);
    REQUIRE(loaded);
    return *loaded;
}

/// Rooflines of many intensities as a board with other energies than the profile's would have drawn them.
validate::Table rooflines(const GpuProfile& gpu, double fma_pj, double dram_pj, const std::vector<int>& intensities) {
    validate::Table table{"rooflines.csv", {"gpu", "kernel", "N", "block_x", "grid_x", "time_ms", "power_w", "clock_mhz", "power_limit_w"}, {}};
    GpuProfile truth = gpu;
    truth.id += " as it is";   // no built-in fit
    for (const auto& [key, value] : std::vector<std::pair<std::string, double>>{{"fp32_fma_energy_pj", fma_pj}, {"int32_add_energy_pj", fma_pj * 1.052}, {"int32_mul_energy_pj", fma_pj * 1.053},
                                                                              {"instruction_energy_pj", fma_pj * 9.355}, {"dram_energy_pj_per_byte", dram_pj}}) {
        truth.values[key].value = value;
        truth.values[key].basis = "measured";
    }
    for (const int n : intensities) {
        table.rows.push_back({gpu.id, "roofline testfun", std::to_string(n), "256", std::to_string(static_cast<int>(gpu.sm_count()) * 8), "", "", "1300", "5000"});
        const auto row = described_launch(Cells(table, table.rows.size() - 1), gpu);
        REQUIRE(row);
        OperatingPoint point;
        point.clock_mhz = 1300;
        point.power_limit_w = 5000;
        const PowerResult power = estimate_power(row->kernel, row->launch, row->use, truth, point);
        REQUIRE(power.estimate);
        table.rows.back()[5] = fmt::format("{}", power.estimate->time.total.value * 1e-3);
        table.rows.back()[6] = fmt::format("{}", power.estimate->power.value);
    }
    return table;
}

const std::vector<int> kIntensities{0, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 640};

double value_of(const Outcome& outcome, const std::string& key) {
    const auto found = std::find_if(outcome.fitted.begin(), outcome.fitted.end(), [&](const Coefficient& c) { return c.key == key; });
    return found == outcome.fitted.end() ? 0 : found->value;
}

std::size_t left_out(const Outcome& outcome, const std::string& why) {
    for (const auto& [reason, n] : outcome.left_out)
        if (reason == why) return n;
    return 0;
}

Options energies() {
    Options options;
    options.coefficients = {"fp32_fma_energy_pj", "dram_energy_pj_per_byte"};
    return options;
}

}  // namespace

TEST_CASE("a robust fit is not moved by rows that are far off, and stays inside its bounds", "[calibrate]") {
    Problem problem;
    problem.unknowns = {{"slope", 1, 0.01, 100}, {"offset", 1, 0.01, 100}};
    problem.rows = 40;
    const auto measured = [](std::size_t i) { return i % 10 == 7 ? 500.0 : 3 * static_cast<double>(i) + 20; };   // a tenth is wrong
    problem.residuals = [&](std::span<const double> v, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log(measured(i) / (v[0] * static_cast<double>(i) + v[1]));
    };
    const Fit fit = robust_fit(problem);
    CHECK(fit.values[0] == Approx(3).epsilon(0.02));
    CHECK(fit.values[1] == Approx(20).epsilon(0.02));
    CHECK(fit.standard_error[0] < 0.05);
    problem.unknowns[0].high = 2;
    const Fit bounded = robust_fit(problem);
    CHECK(bounded.values[0] <= 2);
    CHECK(bounded.at_bound[0]);
}

TEST_CASE("unknowns that act alike are told by the inflation of their variance", "[calibrate]") {
    Problem problem;
    problem.unknowns = {{"a", 1, 0.01, 100}, {"b", 1, 0.01, 100}};
    problem.rows = 20;
    problem.residuals = [&](std::span<const double> v, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log(12 * (1 + static_cast<double>(i)) / ((v[0] * v[1]) * (1 + static_cast<double>(i))));
    };
    const Fit fit = robust_fit(problem);
    CHECK(fit.values[0] * fit.values[1] == Approx(12).epsilon(0.01));
    CHECK(fit.inflation[0] > 1e4);
    CHECK_FALSE(inverse([] {
        Matrix matrix(2);
        matrix.cells = {1, 1, 1, 1};
        return matrix;
    }()));
}

TEST_CASE("calibrate finds the energies that rows were made with", "[calibrate]") {
    const GpuProfile gpu = board("a40");
    const auto outcome = calibrate::calibrate({rooflines(gpu, 19, 140, kIntensities)}, {}, gpu, energies());
    REQUIRE(outcome);
    CHECK(value_of(*outcome, "fp32_fma_energy_pj") == Approx(19).epsilon(0.02));
    CHECK(value_of(*outcome, "dram_energy_pj_per_byte") == Approx(140).epsilon(0.02));
    CHECK(value_of(*outcome, "int32_add_energy_pj") == Approx(19 * 1.052).epsilon(0.02));
    REQUIRE(outcome->held_out.size() == 1);
    CHECK(outcome->held_out[0].mean < 0.02);
    CHECK(outcome->held_out[0].before > 0.05);
    const auto json = nlohmann::json::parse(outcome->json);
    CHECK(json["schema"] == "flipflop.coefficients/1");
    CHECK(json["gpu"] == "a40");
    CHECK(json["data_sets"][0]["table"] == "rooflines.csv");
    CHECK(json["values"]["fp32_fma_energy_pj"]["rows"] == kIntensities.size());
    CHECK(json["held_out"]["power"]["mape"].get<double>() < 0.02);
}

TEST_CASE("readings of zero, at the limit, not valid or of another board are never fitted", "[calibrate]") {
    const GpuProfile gpu = board("a40");
    validate::Table table = rooflines(gpu, 19, 140, kIntensities);
    const auto plain = calibrate::calibrate({table}, {}, gpu, energies());
    REQUIRE(plain);
    auto zero = table.rows[3], capped = table.rows[9], other = table.rows[5];
    zero[6] = "0";
    capped[6] = "299.5";
    capped[7] = "";
    capped[8] = "300";
    other[0] = "NVIDIA H200";
    other[6] = "900";
    for (int i = 0; i < 30; ++i) table.rows.insert(table.rows.end(), {zero, capped, other});
    const auto outcome = calibrate::calibrate({table}, {}, gpu, energies());
    REQUIRE(outcome);
    CHECK(left_out(*outcome, "a reading of zero") == 30);
    CHECK(left_out(*outcome, "power at the limit") == 30);
    CHECK(left_out(*outcome, "of another GPU: NVIDIA H200") == 30);
    CHECK(value_of(*outcome, "fp32_fma_energy_pj") == Approx(value_of(*plain, "fp32_fma_energy_pj")).epsilon(1e-6));
}

TEST_CASE("what the rows do not tell is refused by name", "[calibrate]") {
    const GpuProfile gpu = board("a40");
    // One intensity: compute and DRAM energy act alike.
    Options options = energies();
    const auto alike = calibrate::calibrate({rooflines(gpu, 19, 140, std::vector<int>(12, 32))}, {}, gpu, options);
    REQUIRE_FALSE(alike);
    CHECK(alike.error().id == "FF0793");
    CHECK(alike.error().message.find("dram_energy_pj_per_byte cannot be fitted") != std::string::npos);
    options.coefficients = {"voltage_slope_per_mhz"};   // one clock, below the ridge
    const auto one_clock = calibrate::calibrate({rooflines(gpu, 19, 140, kIntensities)}, {}, gpu, options);
    REQUIRE_FALSE(one_clock);
    CHECK(one_clock.error().message.find("voltage_slope_per_mhz") != std::string::npos);
    options.coefficients = {"fp32_fma_energy"};
    const auto unknown = calibrate::calibrate({rooflines(gpu, 19, 140, kIntensities)}, {}, gpu, options);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().id == "FF0795");
}

TEST_CASE("an update adds rows to an earlier fit without forgetting it", "[calibrate]") {
    const GpuProfile gpu = board("a40");
    const auto first = calibrate::calibrate({rooflines(gpu, 19, 140, kIntensities)}, {}, gpu, energies());
    REQUIRE(first);
    Options options = energies();
    options.update = first->json;
    options.update_path = "first.json";
    // Rows of one intensity alone tell no energy apart; what the earlier rows told stays.
    const auto second = calibrate::calibrate({rooflines(gpu, 19, 140, std::vector<int>(6, 256))}, {}, gpu, options);
    REQUIRE(second);
    CHECK(value_of(*second, "fp32_fma_energy_pj") == Approx(19).epsilon(0.02));
    CHECK(value_of(*second, "dram_energy_pj_per_byte") == Approx(140).epsilon(0.02));
    CHECK(second->updated_rows == kIntensities.size());
    // New rows that say otherwise move it, and not all the way.
    const auto moved = calibrate::calibrate({rooflines(gpu, 25, 140, kIntensities)}, {}, gpu, options);
    REQUIRE(moved);
    CHECK(value_of(*moved, "fp32_fma_energy_pj") > 19.5);
    CHECK(value_of(*moved, "fp32_fma_energy_pj") < 24.5);
    options.update = R"({"schema":"flipflop.coefficients/1","gpu":"l40","values":{}})";
    const auto other = calibrate::calibrate({rooflines(gpu, 19, 140, kIntensities)}, {}, gpu, options);
    REQUIRE_FALSE(other);
    CHECK(other.error().id == "FF0794");
}

TEST_CASE("a calibration is a GPU that the models take", "[calibrate]") {
    const GpuProfile gpu = board("a40");
    const validate::Table table = rooflines(gpu, 19, 140, kIntensities);
    const auto outcome = calibrate::calibrate({table}, {}, gpu, energies());
    REQUIRE(outcome);
    const auto path = std::filesystem::temp_directory_path() / "flipflop_calibrate_test.json";
    std::ofstream(path) << outcome->json;
    const auto fitted = load_gpu(path.string());
    REQUIRE(fitted);
    CHECK(fitted->id == "a40");
    const Cells cells(table, 8);
    const auto row = described_launch(cells, gpu);
    REQUIRE(row);
    OperatingPoint point;
    point.clock_mhz = 1300;
    point.power_limit_w = 5000;
    const PowerResult power = estimate_power(row->kernel, row->launch, row->use, *fitted, point);
    REQUIRE(power.estimate);
    CHECK(power.estimate->calibrated);
    CHECK(power.estimate->power.value == Approx(*cells.number("power_w")).epsilon(0.02));
    std::ofstream(path) << R"({"schema":"flipflop.coefficients/1","gpu":"a40","values":{"fp32_fma_energy_pj":{"value":-1}}})";
    const auto broken = load_gpu(path.string());
    REQUIRE_FALSE(broken);
    CHECK(broken.error().message.find("/values/fp32_fma_energy_pj") != std::string::npos);
    std::filesystem::remove(path);
}
