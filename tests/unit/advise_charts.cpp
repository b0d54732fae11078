#include "catch.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/charts.hpp"

using namespace flipflop;

namespace {

Analysis analysed(const std::string& name, const char* gpu = "a100") {
    const auto inputs = read_input(std::string(FLIPFLOP_SOURCE_DIR) + "/examples/" + name);
    REQUIRE(inputs);
    AnalyzeOptions options;
    options.gpus = {gpu};
    options.ptxas = PtxasUse::off;
    options.listing = true;
    auto analysis = analyze(*inputs, options);
    REQUIRE(analysis);
    return std::move(*analysis);
}

double sum_of(const std::vector<Share>& shares) {
    double sum = 0;
    for (const Share& share : shares) { sum += share.value; }
    return sum;
}

}  // namespace

TEST_CASE("Shares of time and energy add up to them, for every launch with terms", "[advise][charts]") {
    for (const char* name : {"transpose_naive.ptx", "gemm_tiled.ptx", "reduction.ptx", "histogram.ptx", "axpy.ptx"}) {
        const Analysis analysis = analysed(name);
        std::size_t tried = 0;
        for (const KernelAnalysis& kernel : analysis.kernels) {
            for (const ConfigResult& config : kernel.results[0].configs) {
                if (!config.full_detail || !config.predicted) { continue; }
                ++tried;
                INFO(name << " " << config.block.x << "," << config.block.y);
                CHECK(sum_of(time_shares(config)) == Approx(config.predicted->time.total.value).epsilon(1e-9));
                REQUIRE(config.predicted->power);
                CHECK(sum_of(energy_shares(config)) == Approx(config.predicted->power->energy.value).epsilon(1e-9));
                for (const Share& share : time_shares(config)) { CHECK(share.id.find("wave") == std::string::npos); }
                for (const SpeedOfLight& speed : speeds_of_light(config)) { CHECK(speed.reached <= 1.0001); }
            }
        }
        CHECK(tried > 0);
    }
}

TEST_CASE("A norm is shared by powers, a maximum goes to the largest, a limit to its demand", "[advise][charts]") {
    const auto part = [](std::string id, double value, std::string unit) { return leaf(std::move(id), value, std::move(unit), Basis::derived, ""); };
    ConfigResult config;
    config.predicted.emplace();
    config.predicted->time.total = fold("time", "us", Fold::sum, {part("launch", 2, "us"), fold("execution", "us", Fold::norm, {part("dram", 3, "us"), fold("sms", "us", Fold::max, {part("l2", 4, "us"), part("sm", 1, "us")})}, 2)});
    const std::vector<Share> shares = time_shares(config);
    REQUIRE(shares.size() == 3);
    CHECK(shares[0].id == "l2");
    CHECK(shares[0].value == Approx(5 * 16.0 / 25));
    CHECK(shares[1].id == "launch");
    CHECK(shares[2].value == Approx(5 * 9.0 / 25));
    PowerEstimate power;
    power.power = fold("power", "W", Fold::min, {fold("power.demand", "W", Fold::sum, {part("power.idle", 100, "W"), part("power.sms", 300, "W")}), part("power.limit", 200, "W")});
    power.energy = part("energy", 8, "mJ");
    config.predicted->power = power;
    const std::vector<Share> energy = energy_shares(config);
    REQUIRE(energy.size() == 2);
    CHECK(energy[0].id == "sms");
    CHECK(energy[0].value == Approx(6));
}

TEST_CASE("Lines' executions and sectors are those of the launch", "[advise][charts]") {
    const Analysis analysis = analysed("transpose_naive.ptx");
    const KernelAnalysis& kernel = analysis.kernels[0];
    const ConfigResult& config = kernel.results[0].configs.front();
    REQUIRE(config.facts);
    const std::vector<LineCost> lines = cost_of_ptx_lines(kernel.listing, config);
    double executed = 0, share = 0, sectors = 0, expected = 0;
    for (const LineCost& line : lines) {
        executed += line.executed;
        share += line.executed_share;
        sectors += line.sectors.value_or(0);
        CHECK(line.line >= kernel.listing.first_line);
    }
    CHECK(executed == Approx(config.facts->warp_instructions));
    CHECK(share == Approx(1));
    for (const AccessFacts& access : config.facts->accesses) { expected += access.requests.value_or(0) * access.sectors_per_request.value_or(0); }
    CHECK(sectors == Approx(expected));
    CHECK(sectors > 0);
    double by_source = 0;
    for (const LineCost& line : cost_of_source_lines(kernel.listing, config)) { by_source += line.executed; }
    CHECK(by_source <= executed * 1.0000001);
    CHECK(by_source > 0.5 * executed);
    REQUIRE(!kernel.listing.lines.empty());
    CHECK(kernel.listing.lines.front().find("transpose_naive") != std::string::npos);
    CHECK(cost_of_ptx_lines({}, config).empty());
}

TEST_CASE("A roofline's point lies under its roofs", "[advise][charts]") {
    const Analysis analysis = analysed("gemm_tiled.ptx");
    std::size_t found = 0;
    for (const ConfigResult& config : analysis.kernels[0].results[0].configs) {
        const auto roof = roofline_of(config);
        if (!roof) { continue; }
        ++found;
        CHECK(roof->reached_per_us <= roof->operations_per_us * 1.0001);
        CHECK(roof->intensity > 0);
    }
    CHECK(found > 0);
}
