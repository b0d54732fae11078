#include <cmath>
#include <functional>
#include <string>

#include "catch.hpp"
#include "flipflop/models.hpp"
#include "tests/unit/models_facts.hpp"

using namespace flipflop;

namespace {

GpuProfile gpu(const std::string& name) {
    auto loaded = load_gpu(name);
    REQUIRE(loaded);
    return *loaded;
}

const KernelFacts kKernel;

LaunchFacts hot(double blocks) {   // FMAs and nothing else
    LaunchFacts launch = facts::stream(blocks * 256, 256, 0, 1, 4, false);
    facts::put(launch.phases[0], MachineOp::fp32_fma, 8 * 20000);
    launch.thread_machine_ops[static_cast<std::size_t>(MachineOp::fp32_fma)] += launch.blocks * 256 * 20000;
    return launch;
}

}  // namespace

TEST_CASE("power never exceeds the limit and energy is power times time", "[models]") {
    for (const std::string name : {"a100-pcie-40gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "v100-pcie-32gb", "rtx-3090", "l40", "rtx-5090", "l4"}) {
        const GpuProfile profile = gpu(name);
        for (const LaunchFacts& launch : {facts::stream(1 << 26, 256, 2, 1, 4, false), facts::naive_gemm(2048, 16, 16), hot(10000)}) {
            const auto use = facts::resources(profile.cc, 256, 32);
            double last_power = 1e9, last_time = 0;
            for (double limit : {1000.0, 300.0, 200.0, 120.0, 60.0, 30.0}) {
                INFO(name << " limit " << limit);
                OperatingPoint point;
                point.power_limit_w = limit;
                const PowerResult result = estimate_power(kKernel, launch, use, profile, point);
                REQUIRE(result.estimate);
                const PowerEstimate& e = *result.estimate;
                CHECK(e.power.value <= limit * (1 + 1e-9));
                CHECK(e.power_interval.high <= limit * (1 + 1e-9));
                CHECK(e.power.value <= last_power * (1 + 1e-6));
                CHECK(e.time.total.value >= last_time * (1 - 1e-6));
                CHECK(refold(e.power) == Approx(e.power.value).epsilon(1e-9));
                CHECK(refold(e.energy) == Approx(e.energy.value).epsilon(1e-9));
                CHECK(e.energy.value == Approx(e.power.value * e.time.total.value * 1e-3).epsilon(1e-9));
                CHECK(e.idle_mj + e.above_idle_mj == Approx(e.energy.value).epsilon(1e-9));
                CHECK(e.power_interval.low <= e.power.value);
                CHECK(e.energy_interval.low <= e.energy.value);
                CHECK(e.energy_interval.high >= e.energy.value);
                CHECK(e.time.clock_mhz == e.clock_mhz);
                last_power = e.power.value;
                last_time = e.time.total.value;
                point.terms = false;
                const PowerResult plain = estimate_power(kKernel, launch, use, profile, point);
                CHECK(plain.estimate->power.value == Approx(e.power.value).epsilon(1e-9));
                CHECK(plain.estimate->power.parts.empty());
            }
        }
    }
}

TEST_CASE("a lower clock draws less power and takes at least as long", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    const auto launch = hot(4000);
    const auto use = facts::resources(profile.cc, 256, 32);
    double power = 1e9, time = 0;
    for (double clock : {1410.0, 1260.0, 1110.0, 960.0, 810.0, 510.0}) {
        OperatingPoint point;
        point.clock_mhz = clock;
        point.power_limit_w = 1000;
        const auto result = estimate_power(kKernel, launch, use, profile, point);
        CHECK(result.estimate->power.value < power);
        CHECK(result.estimate->time.total.value > time);
        CHECK(result.estimate->clock_mhz == clock);
        power = result.estimate->power.value;
        time = result.estimate->time.total.value;
    }
}

TEST_CASE("without idle power there is no power, and the reason says so", "[models]") {
    GpuProfile profile = gpu("a100-pcie-40gb");
    profile.values.erase("idle_power_w");
    const auto result = estimate_power(kKernel, hot(100), facts::resources(profile.cc, 256, 32), profile, {});
    CHECK_FALSE(result.estimate);
    CHECK(result.why.find("idle power") != std::string::npos);
}

TEST_CASE("paired errors are narrower than absolute ones and have a basis", "[models]") {
    const auto error = paired_error(gpu("a100-pcie-40gb"));
    CHECK(error.time_log_sigma > 0);
    CHECK(error.time_log_sigma < 0.3);   // absolute: 0.35
    CHECK(error.energy_log_sigma > 0);
    CHECK_FALSE(error.basis.empty());
}
