// The models against published measurements whose launches can be described by hand. Skipped, with the reason, where the
// tables are not there: they are never part of the repository.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "flipflop/models.hpp"
#include "tests/unit/models_facts.hpp"

using namespace flipflop;

namespace {

using Row = std::map<std::string, std::string>;

std::string measurements() {
    const char* shared = std::getenv("FLIPFLOP_SHARED");
    const std::filesystem::path folder = shared ? std::filesystem::path(shared) : std::filesystem::path(FLIPFLOP_SOURCE_DIR) / ".." / "shared";
    return std::filesystem::exists(folder / "measurements") ? (folder / "measurements").string() : std::string();
}

std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (char c : line) {
        if (c == '"') quoted = !quoted;
        else if (c == ',' && !quoted) fields.emplace_back();
        else if (c != '\n' && c != '\r') fields.back() += c;
    }
    return fields;
}

/// Valid rows without a caveat of a gzip CSV; empty, with a printed reason, where it cannot be read.
std::vector<Row> table(const std::string& name) {
    const std::string folder = measurements();
    const std::string path = folder + "/" + name + ".csv.gz";
    if (folder.empty() || !std::filesystem::exists(path)) {
        WARN("skipped: no measurement table " << name << " (set FLIPFLOP_SHARED)");
        return {};
    }
    std::FILE* pipe = ::popen(("gzip -dc '" + path + "'").c_str(), "r");
    REQUIRE(pipe);
    std::string text;
    char buffer[1 << 16];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
    ::pclose(pipe);
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    const auto header = fields_of(line);
    std::vector<Row> rows;
    while (std::getline(lines, line)) {
        const auto fields = fields_of(line);
        Row row;
        for (std::size_t i = 0; i < header.size() && i < fields.size(); ++i) row[header[i]] = fields[i];
        if (row["valid"] == "1" && row["error"].empty()) rows.push_back(std::move(row));
    }
    return rows;
}

const GpuProfile& profile(const std::string& id) {
    static std::map<std::string, GpuProfile> known;
    if (!known.contains(id)) {
        auto loaded = load_gpu(id);
        REQUIRE(loaded);
        known.emplace(id, *loaded);
    }
    return known.at(id);
}

struct Score {
    double error{};
    int rows{}, inside{};
    void add(double predicted, double measured, Interval interval) {
        error += std::abs(predicted / measured - 1);
        ++rows;
        inside += interval.low <= measured && measured <= interval.high;
    }
    [[nodiscard]] double mape() const { return rows ? error / rows : 0; }
    [[nodiscard]] double coverage() const { return rows ? static_cast<double>(inside) / rows : 0; }
};

const KernelFacts kKernel;

}  // namespace

TEST_CASE("streams over block size on V100, A100, A40 and L40 within 10 %", "[models][measured]") {
    const std::map<std::string, std::string> boards{{"Tesla V100 (PCIe/SXM not stated)", "v100-pcie-32gb"}, {"NVIDIA A100 40GB", "a100-sxm4-40gb"},
                                                    {"NVIDIA A40", "a40"}, {"NVIDIA L40", "l40"}};
    struct Shape { int reads, writes, stencil; };
    const std::map<std::string, Shape> kernels{{"stream_init fp64", {0, 1, 0}}, {"stream_read fp64", {1, 0, 0}}, {"stream_scale fp64", {1, 1, 0}},
                                               {"stream_triad fp64", {2, 1, 0}}, {"stream_3pt fp64", {1, 1, 2}}, {"stream_5pt fp64", {1, 1, 4}}};
    std::map<std::string, Score> by_board;
    Score all;
    for (Row& row : table("gpubenches_stream_blocksize_7gpus")) {
        const auto board = boards.find(row["gpu"]);
        const auto kernel = kernels.find(row["kernel"]);
        if (board == boards.end() || kernel == kernels.end()) continue;
        const GpuProfile& gpu = profile(board->second);
        const auto block = static_cast<std::uint32_t>(std::stoul(row["block_x"]));
        const auto launch = facts::stream(134217730, block, kernel->second.reads, kernel->second.writes, 8, true, kernel->second.stencil);
        auto use = facts::resources(gpu.cc, block, 24);
        use.occupancy.active_blocks_per_sm = static_cast<std::uint32_t>(std::stoul(row["blocks_per_sm"]));
        const auto estimate = estimate_time(kKernel, launch, use, gpu, {});
        const double measured = std::stod(row["time_ms"]) * 1e3;
        by_board[board->second].add(estimate.total.value, measured, estimate.interval);
        all.add(estimate.total.value, measured, estimate.interval);
    }
    for (const auto& [board, score] : by_board) {
        INFO(board << " MAPE " << score.mape() << " of " << score.rows << " rows, in interval " << score.coverage());
        CHECK(score.rows > 100);
        CHECK(score.mape() < 0.10);
        CHECK(score.coverage() > 0.85);
    }
    if (all.rows) CHECK(all.mape() < 0.06);
}

TEST_CASE("time and power of the FMA loop over the A100's clocks", "[models][measured]") {
    const GpuProfile& gpu = profile("a100-pcie-40gb");
    Score time, power;
    for (Row& row : table("kerneltuner_fp32peak_clocksweep_A100")) {
        constexpr double kSteps = 64 * 1024;
        LaunchFacts launch = facts::stream(6912.0 * 1024, 1024, 0, 1, 8, false);
        launch.thread_machine_ops = {};
        facts::put(launch.phases[0], MachineOp::fp32_fma, 4 * kSteps * 32);
        facts::put(launch.phases[0], MachineOp::int_add, kSteps / 4 * 32);
        facts::put(launch.phases[0], MachineOp::branch, kSteps / 4 * 32);
        facts::chain(launch.phases[0], MachineOp::fp32_fma, 2 * kSteps);
        facts::finish(launch);
        OperatingPoint point;
        point.clock_mhz = std::stod(row["clock_mhz"]);
        const auto result = estimate_power(kKernel, launch, facts::resources(gpu.cc, 1024, 24), gpu, point);
        REQUIRE(result.estimate);
        time.add(result.estimate->time.total.value, std::stod(row["time_ms"]) * 1e3, result.estimate->time.interval);
        power.add(result.estimate->power.value, std::stod(row["power_w"]), result.estimate->power_interval);
    }
    if (time.rows == 0) return;
    INFO("time MAPE " << time.mape() << ", power MAPE " << power.mape());
    CHECK(time.mape() < 0.06);
    CHECK(power.mape() < 0.25);
    CHECK(power.coverage() > 0.85);
}

TEST_CASE("roofline of A100, A40 and H200: time over FMAs a load, and power with the predicted time", "[models][measured]") {
    struct Board { std::string id; double sms, limit; };
    const std::map<std::string, Board> boards{{"NVIDIA A100 40GB", {"a100-sxm4-40gb", 108, 400}}, {"NVIDIA A40", {"a40", 84, 300}}, {"NVIDIA H200", {"h200-sxm-141gb", 132, 700}}};
    std::map<std::string, std::pair<Score, Score>> scores;
    for (Row& row : table("gpubenches_roofline_power_4gpus")) {
        const auto board = boards.find(row["gpu"]);
        if (board == boards.end()) continue;
        const GpuProfile& gpu = profile(board->second.id);
        const double fma = std::stod(row["N"]), steps = 4000, warps = 8, blocks = std::stod(row["grid_x"]);
        LaunchFacts launch = facts::stream(blocks * 256, 256, 0, 0, 4, false);
        launch.thread_machine_ops = {};
        PhaseFacts& phase = launch.phases[0];
        facts::put(phase, MachineOp::load_global, 2 * steps * warps);
        facts::put(phase, MachineOp::fp32_fma, (fma + 1) * steps * warps);
        for (MachineOp op : {MachineOp::int_add64, MachineOp::int_add, MachineOp::int_compare, MachineOp::branch}) facts::put(phase, op, steps * warps);
        facts::chain(phase, MachineOp::load_global, steps);
        facts::chain(phase, MachineOp::fp32_fma, fma / 2 * steps);
        phase.global_load_sectors = 2 * steps * warps * 4;
        phase.global_requests = phase.global_lines = 2 * steps * warps;
        launch.footprint.block_sectors = launch.footprint.block_instruction_sectors = phase.global_load_sectors;
        launch.footprint.grid_read_sectors = phase.global_load_sectors * blocks;
        facts::finish(launch);
        auto use = facts::resources(gpu.cc, 256, 32);
        use.occupancy.active_blocks_per_sm = static_cast<std::uint32_t>(blocks / board->second.sms);
        OperatingPoint point;
        point.clock_mhz = std::stod(row["clock_mhz"]);   // the clock it ran at, so the limit's work is done already
        point.power_limit_w = board->second.limit;
        point.terms = false;
        const auto result = estimate_power(kKernel, launch, use, gpu, point);
        REQUIRE(result.estimate);
        auto& [time, power] = scores[board->second.id];
        time.add(result.estimate->time.total.value, std::stod(row["time_ms"]) * 1e3, result.estimate->time.interval);
        power.add(result.estimate->power.value, std::stod(row["power_w"]), result.estimate->power_interval);
    }
    for (const auto& [board, pair] : scores) {
        INFO(board << " time MAPE " << pair.first.mape() << ", power MAPE " << pair.second.mape() << " of " << pair.first.rows << " rows");
        CHECK(pair.first.mape() < 0.06);
        CHECK(pair.second.mape() < 0.06);
        CHECK(pair.first.coverage() > 0.9);
    }
}

TEST_CASE("vector sums on boards that nothing was fitted on", "[models][measured]") {
    const std::map<std::string, std::string> boards{{"NVIDIA GeForce RTX 2080 Ti", "rtx-2080-ti"}, {"NVIDIA GeForce RTX 4070", "rtx-4070"}, {"NVIDIA TITAN V", "titan-v"}};
    Score score;
    for (Row& row : table("kernelperf16_4gpus")) {
        const auto board = boards.find(row["gpu"]);
        if (board == boards.end() || (row["kernel"] != "saxpy" && row["kernel"] != "vector_add")) continue;
        const GpuProfile& gpu = profile(board->second);
        const double n = std::stod(row["problem"].substr(2));
        if (n < 1e6) continue;   // launch-bound: the overhead of the host's driver is not the model's to know
        const auto estimate = estimate_time(kKernel, facts::stream(n, 256, 2, 1, 4, false), facts::resources(gpu.cc, 256, 16), gpu, {});
        score.add(estimate.total.value, std::stod(row["time_ms"]) * 1e3, estimate.interval);
    }
    if (score.rows == 0) return;
    INFO("MAPE " << score.mape() << " of " << score.rows);
    CHECK(score.mape() < 0.10);
    CHECK(score.coverage() > 0.85);
}
