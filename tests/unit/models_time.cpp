#include <cmath>
#include <functional>
#include <string>

#include "catch.hpp"
#include "flipflop/models.hpp"
#include "models/time_numbers.hpp"
#include "tests/unit/models_facts.hpp"

using namespace flipflop;

namespace {

GpuProfile gpu(const std::string& name) {
    auto loaded = load_gpu(name);
    REQUIRE(loaded);
    return *loaded;
}

void every_term(const Term& term, const std::function<void(const Term&)>& visit) {
    visit(term);
    for (const Term& part : term.parts) every_term(part, visit);
}

void check_refolds(const Term& root) {
    every_term(root, [](const Term& term) {
        INFO(term.id);
        CHECK(std::isfinite(term.value));
        CHECK_FALSE(term.id.empty());
        CHECK_FALSE(term.unit.empty());
        CHECK(refold(term) == Approx(term.value).epsilon(1e-9));
        if (term.fold == Fold::leaf) CHECK_FALSE(term.source.empty());
    });
}

const KernelFacts kKernel;

}  // namespace

TEST_CASE("terms fold by every rule and take the weakest basis", "[models]") {
    const auto a = leaf("a", 3, "us", Basis::measured, "test"), b = leaf("b", 4, "us", Basis::assumed, "test");
    CHECK(fold("x", "us", Fold::sum, {a, b}).value == 7);
    CHECK(fold("x", "us", Fold::difference, {a, b}).value == -1);
    CHECK(fold("x", "us", Fold::product, {a, b}).value == 12);
    CHECK(fold("x", "us", Fold::ratio, {a, b}).value == 0.75);
    CHECK(fold("x", "us", Fold::max, {a, b}).value == 4);
    CHECK(fold("x", "us", Fold::min, {a, b}).value == 3);
    CHECK(fold("x", "us", Fold::norm, {a, b}, 2).value == Approx(5));
    CHECK(fold("x", "us", Fold::norm, {a, leaf("0", 0, "us", Basis::derived, "")}, 3).value == Approx(3));
    CHECK(fold("x", "us", Fold::sum, {a, b}).basis == Basis::assumed);
    CHECK(fold("x", "us", Fold::sum, {a}).basis == Basis::measured);
    CHECK(refold(fold("y", "us", Fold::product, {fold("x", "us", Fold::sum, {a, b}), a})) == 21);
}

TEST_CASE("the tree of terms re-folds and equals the plain numbers", "[models]") {
    for (const std::string name : {"a100-pcie-40gb", "h100-sxm5-80gb", "v100-pcie-32gb", "rtx-3090", "l40", "t4", "rtx-5090", "gtx-1080-ti"}) {
        INFO(name);
        const GpuProfile profile = gpu(name);
        for (const auto& launch : {facts::stream(1 << 24, 256, 2, 1, 4, false), facts::naive_gemm(1024, 16, 16), facts::stream(1000, 96, 1, 1, 8, true, 2)}) {
            const auto use = facts::resources(profile.cc, 256, 32);
            OperatingPoint point;
            const TimeEstimate full = estimate_time(kKernel, launch, use, profile, point);
            check_refolds(full.total);
            check_refolds(full.floor);
            point.terms = false;
            const TimeEstimate plain = estimate_time(kKernel, launch, use, profile, point);
            CHECK(plain.total.value == Approx(full.total.value).epsilon(1e-12));
            CHECK(plain.floor.value == Approx(full.floor.value).epsilon(1e-12));
            CHECK(plain.interval.low == Approx(full.interval.low).epsilon(1e-12));
            CHECK(plain.total.parts.empty());
            CHECK(full.floor.value <= full.total.value * (1 + 1e-9));
            CHECK(full.interval.low < full.total.value);
            CHECK(full.interval.high > full.total.value);
            CHECK_FALSE(full.interval_basis.empty());
        }
    }
}

TEST_CASE("saxpy on an A100 is bound by DRAM at nine tenths of its bandwidth", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    const auto launch = facts::stream(1 << 28, 256, 2, 1, 4, false);
    const auto estimate = estimate_time(kKernel, launch, facts::resources(profile.cc, 256, 16), profile, {});
    CHECK(estimate.bound_by == "dram");
    const double gbs = 3.0 * 4 * (1 << 28) / (estimate.total.value * 1e3);
    CHECK(gbs > 0.80 * 1555);
    CHECK(gbs < 0.96 * 1555);
    REQUIRE(estimate.traffic.dram_bytes);
    CHECK(*estimate.traffic.dram_bytes == Approx(3.0 * 4 * (1 << 28)).epsilon(0.02));
    CHECK(estimate.floor.value == Approx(3.0 * 4 * (1 << 28) / 1555e3).epsilon(0.02));
}

TEST_CASE("a naive GEMM is bound by the L1 and its queue, not by arithmetic or DRAM", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    const auto launch = facts::naive_gemm(4096, 32, 8);
    const auto estimate = estimate_time(kKernel, launch, facts::resources(profile.cc, 256, 40), profile, {});
    CHECK(estimate.bound_by == "l1");
    const double tflops = 2.0 * 4096 * 4096 * 4096 / (estimate.total.value * 1e6);
    CHECK(tflops > 1.5);   // textbook kernels reach 2-4 of 19.5 TFLOP/s
    CHECK(tflops < 7);
}

TEST_CASE("a launch without work costs its launch and no more, on every profile", "[models]") {
    LaunchFacts nothing;
    nothing.grid = {1, 1, 1};
    nothing.block = {32, 1, 1};
    nothing.blocks = 1;
    nothing.warps_per_block = 1;
    nothing.phases.emplace_back();
    for (const GpuName& name : list_gpus()) {
        const GpuProfile profile = gpu(name.id);
        const auto estimate = estimate_time(kKernel, nothing, facts::resources(profile.cc, 32, 16), profile, {});
        INFO(name.id);
        check_refolds(estimate.total);
        CHECK(estimate.bound_by == "launch");
        CHECK(estimate.total.value > 0.5);
        CHECK(estimate.total.value < 10);
        CHECK(std::isfinite(estimate.floor.value));
        CHECK(estimate.floor.value <= estimate.total.value);
    }
}

TEST_CASE("time does not fall when anything slows", "[models]") {
    const std::string keys[] = {"dram_bandwidth_gbs", "dram_sustained_bandwidth_gbs", "dram_copy_bandwidth_gbs", "l2_bandwidth_gbs", "l2_mib", "boost_clock_mhz"};
    const std::string rates[] = {"fp32", "fp64", "int32_add", "int32_mul", "sfu", "shared_wavefronts", "shared_load_instructions", "global_requests", "l2_to_sm_bytes"};
    const std::string slower[] = {"l1_hit_latency_cycles", "l2_hit_latency_cycles", "dram_latency_cycles", "shared_latency_cycles", "block_lifetime_cycles", "block_issue_cycles", "launch_latency_us"};
    auto launches = std::vector<LaunchFacts>{facts::stream(1 << 22, 128, 2, 1, 4, false), facts::naive_gemm(512, 16, 16), facts::stream(1 << 14, 64, 1, 1, 8, true, 2)};
    LaunchFacts phased = facts::naive_gemm(512, 16, 8);
    phased.phases.push_back(phased.phases[0]);
    phased.phases[1].shared_requests = phased.phases[1].shared_wavefronts = 4000;
    facts::put(phased.phases[0], MachineOp::fp64_fma, 50);
    facts::put(phased.phases[1], MachineOp::sfu_ex2, 300);
    launches.push_back(phased);
    for (const std::string board : {"a100-pcie-40gb", "rtx-3090"}) {
        const GpuProfile base = gpu(board);
        for (const LaunchFacts& launch : launches) {
            const auto use = facts::resources(base.cc, static_cast<std::uint32_t>(launch.block.count()), 32);
            const double before = estimate_time(kKernel, launch, use, base, {}).total.value;
            auto after = [&](const std::function<void(GpuProfile&)>& change) {
                GpuProfile changed = base;
                change(changed);
                return estimate_time(kKernel, launch, use, changed, {}).total.value;
            };
            for (const std::string& key : keys)
                CHECK(after([&](GpuProfile& p) { if (p.values[key].value) *p.values[key].value *= 0.7; }) >= before * (1 - 1e-12));
            for (const std::string& key : rates)
                CHECK(after([&](GpuProfile& p) { if (p.cc.throughput[key].value) *p.cc.throughput[key].value *= 0.7; }) >= before * (1 - 1e-12));
            for (const std::string& key : slower)
                CHECK(after([&](GpuProfile& p) { if (p.values[key].value) *p.values[key].value *= 1.4; }) >= before * (1 - 1e-12));
            OperatingPoint slow;
            slow.clock_mhz = 700;
            CHECK(estimate_time(kKernel, launch, use, base, slow).total.value >= before);
        }
    }
}

TEST_CASE("an unknown footprint gives a wider interval and no DRAM figure", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    auto launch = facts::stream(1 << 24, 256, 2, 1, 4, false);
    const auto use = facts::resources(profile.cc, 256, 16);
    const auto known = estimate_time(kKernel, launch, use, profile, {});
    launch.footprint = {};
    launch.footprint.why = "address from memory";
    const auto unknown = estimate_time(kKernel, launch, use, profile, {});
    CHECK_FALSE(unknown.traffic.dram_bytes);
    CHECK(unknown.interval.high / unknown.total.value > 1.2 * known.interval.high / known.total.value);
    bool said = false;
    every_term(unknown.total, [&](const Term& term) { said |= term.source.find("address from memory") != std::string::npos; });
    CHECK(said);
}

TEST_CASE("a footprint that L2 holds goes to DRAM once when cold and hardly when warm", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    const auto launch = facts::stream(1 << 20, 256, 2, 1, 4, false);   // 12 MB of 40 MB
    OperatingPoint cold;
    cold.warm_cache = false;
    const auto use = facts::resources(profile.cc, 256, 16);
    CHECK(*estimate_time(kKernel, launch, use, profile, cold).traffic.dram_bytes == Approx(3.0 * 4 * (1 << 20)));
    CHECK(*estimate_time(kKernel, launch, use, profile, {}).traffic.dram_bytes < 0.05 * 3.0 * 4 * (1 << 20));
    CHECK(cyclic_hit_rate(10, 20) > 0.99);
    CHECK(cyclic_hit_rate(28, 20) < 0.01);
    double last = 1;
    for (double ratio = 0.05; ratio < 20; ratio *= 1.1) {
        CHECK(cyclic_hit_rate(ratio, 1) <= last);
        last = cyclic_hit_rate(ratio, 1);
    }
}

TEST_CASE("spills, conflicts, divergence of phases and atomics cost time", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    const auto base = facts::naive_gemm(512, 16, 16);
    auto use = facts::resources(profile.cc, 256, 32);
    const double before = estimate_time(kKernel, base, use, profile, {}).total.value;
    auto spilling = use;
    spilling.resources.spill_store_bytes = 4000;
    spilling.resources.spill_load_bytes = 8000;
    CHECK(estimate_time(kKernel, base, spilling, profile, {}).total.value > 1.1 * before);
    auto conflicted = base;
    conflicted.phases[0].shared_requests = 1000;
    conflicted.phases[0].shared_wavefronts = 32000;
    CHECK(estimate_time(kKernel, conflicted, use, profile, {}).total.value > 1.2 * before);
    CHECK(estimate_time(kKernel, conflicted, use, profile, {}).bound_by == "shared");
    auto atomics = base;
    atomics.phases[0].atomic_sectors = 8;
    atomics.phases[0].atomic_serial_max = 8 * 32 * 4000;
    atomics.footprint.grid_written_sectors = 1;
    CHECK(estimate_time(kKernel, atomics, use, profile, {}).bound_by == "atomic");
}

TEST_CASE("tensor work runs at the dense rate of its class", "[models]") {
    const GpuProfile profile = gpu("a100-pcie-40gb");
    LaunchFacts launch = facts::stream(108 * 2 * 256, 256, 1, 1, 4, false);
    facts::put(launch.phases[0], MachineOp::mma_fp16, 8 * 100000);
    launch.tensor_fma = launch.blocks * 8 * 100000.0 * 16 * 8 * 16;
    const auto use = facts::resources(profile.cc, 256, 64);
    const auto estimate = estimate_time(kKernel, launch, use, profile, {});
    CHECK(estimate.bound_by == "tensor");
    const double peak_us = launch.tensor_fma / (1024.0 * 108 * 1410);
    CHECK(estimate.total.value > peak_us);
    CHECK(estimate.total.value < 1.3 * peak_us);
}
