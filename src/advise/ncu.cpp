// Names as Nsight Compute has them since 2019.5 for compute capability 7.0 and up (its Kernel Profiling Guide, "Metrics
// Reference"); older GPUs are nvprof's, which had others.
#include "flipflop/ncu.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace flipflop {

namespace {

/// A name for a POSIX shell, whatever is in it.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

const Term* find_term(const Term& term, std::string_view id) {
    if (term.id == id) return &term;
    for (const Term& part : term.parts)
        if (const Term* found = find_term(part, id)) return found;
    return nullptr;
}

class Plan {
public:
    Plan(const KernelFacts& kernel, const Resources& resources, const ConfigResult& config, const GpuProfile& gpu)
        : kernel_(kernel), resources_(resources), config_(config), gpu_(gpu) {}

    std::vector<NcuMetric> metrics() {
        launch();
        if (config_.facts) {
            execution(*config_.facts);
            accesses(*config_.facts);
        }
        traffic();
        return std::move(metrics_);
    }

private:
    void add(std::string metric, std::string unit, std::string fact, std::optional<double> predicted, std::string note = {}) {
        if (!predicted && note.empty()) note = "not known";
        metrics_.push_back({std::move(metric), std::move(unit), std::move(fact), predicted, {}, {}, std::move(note)});
    }

    void launch() {
        if (config_.predicted) {
            const TimeEstimate& time = config_.predicted->time;
            add("gpu__time_duration.sum", "us", "time of the launch", time.total.value);
            metrics_.back().low = time.interval.low;
            metrics_.back().high = time.interval.high;
        }
        const std::string basis = resources_.registers_basis == RegistersBasis::estimate ? "estimated, not from ptxas" : "";
        add("launch__registers_per_thread", "register", "registers a thread", resources_.registers_per_thread, basis);
        const OccupancyLimits& limits = config_.occupancy.limits;
        const auto limit = [&](const char* metric, const char* what, const std::optional<std::uint32_t>& blocks) {
            if (blocks) add(metric, "block", fmt::format("blocks an SM that {} allow", what), *blocks, &blocks == &limits.registers ? basis : std::string());
        };
        limit("launch__occupancy_limit_registers", "registers", limits.registers);
        limit("launch__occupancy_limit_shared_mem", "shared memory", limits.shared);
        limit("launch__occupancy_limit_warps", "warp slots", limits.warps);
        limit("launch__occupancy_limit_blocks", "block slots", limits.blocks);
        add("sm__maximum_warps_per_active_cycle_pct", "%", "theoretical occupancy", 100 * config_.occupancy.fraction, basis);
        if (config_.predicted) add("launch__waves_per_multiprocessor", "wave", "waves of blocks", config_.predicted->time.waves);
    }

    void execution(const LaunchFacts& facts) {
        add("smsp__inst_executed.sum", "inst", "warp instructions", native_instructions(facts), "native instructions as the model expands the PTX; ptxas may do better");
        if (facts.active_lane_share) add("smsp__thread_inst_executed_per_inst_executed.ratio", "thread", "active lanes an instruction", 32 * *facts.active_lane_share, "counted over PTX instructions");
        struct Kind { MachineOp op; const char* metric; const char* what; };
        constexpr Kind kinds[] = {
            {MachineOp::fp32_fma, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "fp32 multiply-adds of threads"},
            {MachineOp::fp32_add, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "fp32 additions of threads"},
            {MachineOp::fp32_mul, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "fp32 multiplications of threads"},
            {MachineOp::fp64_fma, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "fp64 multiply-adds of threads"},
        };
        for (const Kind& kind : kinds) {
            const double count = facts.thread_machine_ops[static_cast<std::size_t>(kind.op)];
            if (count > 0) add(kind.metric, "inst", kind.what, count, "without what divisions and roots expand to");
        }
    }

    /// The model's own count, where it is not mixed with the uneven load of sub-partitions.
    [[nodiscard]] std::optional<double> native_instructions(const LaunchFacts& facts) const {
        if (!config_.predicted) return std::nullopt;
        const Term* issue = find_term(config_.predicted->time.total, "pipe.issue.instructions");
        if (!issue || issue->source != "a block's") return std::nullopt;
        return issue->value * facts.blocks;
    }

    struct Sums { double requests{}, sectors{}, passes{}, conflicts{}; bool any{}, known{true}; };

    [[nodiscard]] Sums sum_of(const LaunchFacts& facts, const std::function<bool(const AccessDescription&)>& is) const {
        Sums sums;
        for (std::size_t i = 0; i < std::min(facts.accesses.size(), kernel_.accesses.size()); ++i) {
            if (!is(kernel_.accesses[i])) continue;
            const AccessFacts& access = facts.accesses[i];
            sums.any = true;
            const double requests = access.requests.value_or(access.requests_assumed.value_or(0));
            sums.requests += requests;
            const bool shared = kernel_.accesses[i].space == MemorySpace::shared;
            // What never runs touches nothing.
            sums.known = sums.known && ((access.requests && requests == 0) || (shared ? access.wavefront_total.has_value() : access.sectors_per_request.has_value()));
            sums.sectors += requests * access.sectors_per_request.value_or(0);
            sums.passes += access.wavefront_total.value_or(0);
            if (access.wavefront_total && access.wavefronts_per_request.value_or(0) > 0) sums.conflicts += *access.wavefront_total * (1 - 1 / *access.wavefronts_per_request);
        }
        return sums;
    }

    void accesses(const LaunchFacts& facts) {
        constexpr const char* kUnknown = "an address or a count is not known";
        struct Kind { const char* suffix; const char* what; std::string_view op; };
        for (const Kind& kind : {Kind{"global_op_ld", "global loads", "ld"}, Kind{"global_op_st", "global stores", "st"}, Kind{"global_op_atom", "global atomics", "atom"}, Kind{"global_op_red", "global reductions", "red"}}) {
            const Sums sums = sum_of(facts, [&](const AccessDescription& a) { return a.op == kind.op && (a.space == MemorySpace::global || a.space == MemorySpace::generic); });
            if (!sums.any) continue;
            add(fmt::format("l1tex__t_requests_pipe_lsu_mem_{}.sum", kind.suffix), "request", fmt::format("requests of {}", kind.what), sums.requests);
            add(fmt::format("l1tex__t_sectors_pipe_lsu_mem_{}.sum", kind.suffix), "sector", fmt::format("sectors of {}", kind.what), sums.known ? std::optional(sums.sectors) : std::nullopt, sums.known ? "" : kUnknown);
        }
        for (const Kind& kind : {Kind{"local_op_ld", "local loads", "ld"}, Kind{"local_op_st", "local stores", "st"}}) {
            const Sums sums = sum_of(facts, [&](const AccessDescription& a) { return a.op == kind.op && a.space == MemorySpace::local; });
            if (sums.any) add(fmt::format("l1tex__t_sectors_pipe_lsu_mem_{}.sum", kind.suffix), "sector", fmt::format("sectors of {}", kind.what), sums.known ? std::optional(sums.sectors) : std::nullopt, "spills of ptxas come on top");
        }
        const Sums shared = sum_of(facts, [](const AccessDescription& a) { return a.space == MemorySpace::shared; });
        if (!shared.any) return;
        add("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "wavefront", "passes of shared memory", shared.known ? std::optional(shared.passes) : std::nullopt, shared.known ? "" : kUnknown);
        add("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "conflict", "passes more than without bank conflicts", shared.known ? std::optional(shared.conflicts) : std::nullopt, shared.known ? "the counter also counts collisions of the data stage" : kUnknown);
    }

    void traffic() {
        if (!config_.predicted) return;
        const TimeEstimate& time = config_.predicted->time;
        const std::optional<double>& l2 = time.traffic.l2_bytes;
        add("lts__t_sectors_srcunit_tex.sum", "sector", "sectors that the SMs ask the L2 for", l2 ? std::optional(*l2 / 32) : std::nullopt, l2 ? "" : "the footprint is not known");
        // A board whose memory is the system's has no dram unit of its own.
        const bool tegra = gpu_.cc.major * 10 + gpu_.cc.minor == 72 || gpu_.cc.major * 10 + gpu_.cc.minor == 87 || gpu_.cc.major == 11;
        if (tegra) return;
        const bool known = time.traffic.dram_bytes.has_value();
        const auto kilobytes = [&](std::string_view id) -> std::optional<double> {
            if (!known) return std::nullopt;
            const Term* term = find_term(time.total, id);
            return term ? std::round(term->value * 1e3) : 0;
        };
        add("dram__bytes_read.sum", "byte", "bytes read from DRAM", kilobytes("dram.read"), known ? "" : "the footprint is not known");
        add("dram__bytes_write.sum", "byte", "bytes written to DRAM", kilobytes("dram.write"), known ? "" : "the footprint is not known");
    }

    const KernelFacts& kernel_;
    const Resources& resources_;
    const ConfigResult& config_;
    const GpuProfile& gpu_;
    std::vector<NcuMetric> metrics_;
};

std::vector<std::string> not_covered_by(const KernelFacts& kernel) {
    std::vector<std::string> out{"power and energy: ncu has no metric for them; loop the kernel for seconds and read NVML's energy counter"};
    const auto uses = [&](auto is) { return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), is); };
    if (uses([](const AccessDescription& a) { return a.op.starts_with("cp."); })) out.emplace_back("asynchronous and bulk copies: they pass other units than the load-store pipe");
    if (uses([](const AccessDescription& a) { return a.space == MemorySpace::texture; })) out.emplace_back("textures and surfaces: what they touch is not predicted");
    return out;
}

}  // namespace

NcuPlan ncu_plan(const KernelFacts& kernel, const Resources& resources, const ConfigResult& config, const GpuProfile& gpu, bool warm_cache) {
    NcuPlan plan;
    if (gpu.cc.major < 7) {
        plan.unsupported = fmt::format("Nsight Compute measures compute capability 7.0 and up; {} has {}.{}", gpu.name, gpu.cc.major, gpu.cc.minor);
        return plan;
    }
    if (!config.launchable) {
        plan.unsupported = "the configuration cannot launch: " + config.why_not;
        return plan;
    }
    plan.metrics = Plan(kernel, resources, config, gpu).metrics();
    plan.not_covered = not_covered_by(kernel);
    std::string names;
    for (const NcuMetric& metric : plan.metrics) names += (names.empty() ? "" : ",") + metric.metric;
    // Warm: earlier launches fill the caches and ncu must not flush them between its replays. The clock is left to the board.
    plan.command = fmt::format("ncu --kernel-name-base mangled --kernel-name {} --launch-skip {} --launch-count 1 --cache-control {} --clock-control none --print-units base --metrics {} ./application",
                               quoted(kernel.name), warm_cache ? 10 : 0, warm_cache ? "none" : "all", names);
    return plan;
}

}  // namespace flipflop
