#include <algorithm>

#include "catch.hpp"
#include "flipflop/explain.hpp"

using namespace flipflop;

namespace {

ExplainedKernel explained(const std::string& name, const char* gpu, bool warm = true) {
    const auto inputs = read_input(std::string(FLIPFLOP_SOURCE_DIR) + "/examples/" + name);
    REQUIRE(inputs);
    AnalyzeOptions options;
    options.gpus = {gpu};
    options.ptxas = PtxasUse::off;
    options.warm_cache = warm;
    ExplainRequest request;
    request.ncu = true;
    auto explanation = explain(*inputs, options, request);
    REQUIRE(explanation);
    return explanation->kernels.at(0);
}

const NcuMetric& metric(const NcuPlan& plan, const std::string& name) {
    const auto found = std::find_if(plan.metrics.begin(), plan.metrics.end(), [&](const NcuMetric& m) { return m.metric == name; });
    if (found == plan.metrics.end()) { FAIL("no metric " << name); }
    return *found;
}

}  // namespace

TEST_CASE("Each fact has the metric that confirms it, and one command measures all", "[advise][ncu]") {
    const ExplainedKernel kernel = explained("transpose_naive.ptx", "a100");
    REQUIRE(kernel.ncu);
    const NcuPlan& plan = *kernel.ncu;
    const ConfigResult& config = kernel.configs.front().config;
    CHECK(metric(plan, "gpu__time_duration.sum").predicted == config.predicted->time.total.value);
    CHECK(metric(plan, "gpu__time_duration.sum").low == config.predicted->time.interval.low);
    CHECK(*metric(plan, "sm__maximum_warps_per_active_cycle_pct").predicted == Approx(100 * config.occupancy.fraction));
    const AccessFacts& load = config.facts->accesses.at(0);
    CHECK(*metric(plan, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum").predicted == Approx(*load.requests * *load.sectors_per_request));
    CHECK(*metric(plan, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum").predicted == Approx(*load.requests));
    for (const NcuMetric& m : plan.metrics) {
        CHECK(plan.command.find(m.metric) != std::string::npos);
        CHECK((m.predicted.has_value() || !m.note.empty()));
    }
    CHECK(plan.command.find("--cache-control none") != std::string::npos);
    CHECK(!plan.not_covered.empty());
    CHECK(explained("transpose_naive.ptx", "a100", false).ncu->command.find("--cache-control all") != std::string::npos);
}

TEST_CASE("Bank conflicts are the passes beyond the first; a padded tile has none", "[advise][ncu]") {
    const auto kernel = explained("transpose_padded.ptx", "a100");
    CHECK(*metric(*kernel.ncu, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum").predicted == Approx(0).margin(1e-6));
    CHECK(*metric(*kernel.ncu, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum").predicted > 0);
}

TEST_CASE("Code that never runs leaves no total unknown", "[advise][ncu]") {
    const auto kernel = explained("gemm_tiled.ptx", "a100");
    CHECK(metric(*kernel.ncu, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum").predicted);
    CHECK(metric(*kernel.ncu, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum").predicted);
}

TEST_CASE("A board that ncu does not know gets no command, and a name stays one word of the shell", "[advise][ncu]") {
    const auto kernel = explained("axpy.ptx", "a100");
    KernelFacts facts = kernel.facts;
    facts.name = "k'; rm -rf $HOME #";
    const auto gpu = load_gpu("a100");
    REQUIRE(gpu);
    const NcuPlan plan = ncu_plan(facts, kernel.resources, kernel.configs.front().config, *gpu, true);
    CHECK(plan.command.find("--kernel-name 'k'\\''; rm -rf $HOME #'") != std::string::npos);
    const auto old = load_gpu("p100");
    REQUIRE(old);
    const NcuPlan none = ncu_plan(facts, kernel.resources, kernel.configs.front().config, *old, true);
    CHECK(none.command.empty());
    CHECK(none.metrics.empty());
    CHECK(none.unsupported.find("7.0") != std::string::npos);
}
