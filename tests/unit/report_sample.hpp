// An Analysis made by hand: a naive transpose on an A100 (numbers invented), so that reports are tested without the stages
// before them.
#pragma once

#include "flipflop/analysis.hpp"

namespace flipflop::sample {

inline GpuProfile board() {
    GpuProfile gpu;
    gpu.id = "a100-pcie-40gb";
    gpu.name = "A100-PCIE-40GB";
    const auto set = [&](const char* name, double value, const char* unit) {
        SourcedValue& slot = gpu.values[name];
        slot.value = value;
        slot.unit = unit;
        slot.basis = "datasheet";
        slot.source = "GA100 whitepaper";
    };
    set("sm_count", 108.0, "SM");
    set("boost_clock_mhz", 1410.0, "MHz");
    set("tdp_w", 250.0, "W");
    return gpu;
}

inline Prediction prediction(double time_us, double power_w, std::string bound_by) {
    Prediction out;
    // time = norm2(0.8 t, 0.6 t) = t
    Term bandwidth = leaf("bandwidth", 0.8 * time_us, "us", Basis::datasheet, "GA100 whitepaper");
    Term latency = leaf("latency", 0.6 * time_us, "us", Basis::fitted, "models/coefficients/a100.json");
    out.time.total = fold("time", "us", Fold::norm, {bandwidth, latency}, 2);
    out.time.interval = {0.9 * time_us, 1.12 * time_us};
    out.time.bound_by = std::move(bound_by);
    out.time.floor = leaf("floor", 86, "us", Basis::derived, "compulsory bytes over DRAM bandwidth");
    out.time.traffic = {134e6, 400e6, {}, 0.0};
    out.time.waves = 38.0;
    out.time.tail_idle_share = 0.01;
    out.time.clock_mhz = 1410;
    out.time.calibrated = true;
    PowerEstimate power;
    power.power = leaf("power", power_w, "W", Basis::fitted, "models/coefficients/a100.json");
    power.power_interval = {0.94 * power_w, 1.06 * power_w};
    power.energy = fold("energy", "mJ", Fold::product, {power.power, out.time.total, leaf("mj_per_w_us", 1e-3, "mJ/(W us)", Basis::derived, "")});
    power.energy_interval = {0.88 * power.energy.value, 1.13 * power.energy.value};
    power.idle_mj = 0.3 * power.energy.value;
    power.above_idle_mj = 0.7 * power.energy.value;
    power.clock_mhz = 1410;
    power.calibrated = true;
    out.power = std::move(power);
    out.p_within_5pct = 0.5;
    return out;
}

inline AccessFacts access(double requests, double sectors, double ideal, Pattern pattern) {
    AccessFacts out;
    out.requests = requests;
    out.sectors_per_request = sectors;
    out.ideal_sectors_per_request = ideal;
    out.active_lanes = 32;
    out.pattern = pattern;
    out.basis = CountBasis::exact;
    return out;
}

inline ConfigResult config(Dim3 block, Dim3 grid, double time_us, double power_w, double store_sectors, std::uint32_t rank) {
    ConfigResult out;
    out.block = block;
    out.grid = grid;
    out.full_detail = true;
    out.launchable = true;
    out.safe = true;
    out.occupancy.active_blocks_per_sm = 8;
    out.occupancy.active_warps_per_sm = 64;
    out.occupancy.fraction = 1;
    out.occupancy.limiters = {"warps"};
    LaunchFacts facts;
    facts.warp_instructions = 1.6e7;
    facts.thread_ops[4] = 1e8;
    facts.barriers_per_thread = 0;
    facts.active_lane_share = 1;
    facts.accesses = {access(524288, 4, 4, Pattern::coalesced), access(524288, store_sectors, 4, Pattern::strided)};
    facts.accesses[1].stride_bytes = 16384;
    facts.footprint.unique_read_bytes = 67108864;
    facts.footprint.unique_written_bytes = 67108864;
    out.facts = std::move(facts);
    out.predicted = prediction(time_us, power_w, "l2");
    out.rank = rank;
    return out;
}

inline KernelFacts transpose() {
    KernelFacts facts;
    facts.id = "7c1e";
    facts.name = "_Z15transpose_naivePfPKfii";
    facts.demangled = "transpose_naive(float*, float const*, int, int)";
    facts.short_name = "transpose_naive";
    facts.module = "transpose.ptx";
    facts.target = "sm_80";
    facts.source = SourceLine{"src/transpose.cu", 4};
    facts.ptx_line = 17;
    facts.instructions = 31;
    facts.dimensions = 2;
    facts.mix.counts[4] = 20;
    ParameterFacts out_pointer;
    out_pointer.name = "_Z15transpose_naivePfPKfii_param_0";
    out_pointer.short_name = "param_0";
    out_pointer.type = "u64";
    out_pointer.bytes = 8;
    out_pointer.kind = ParameterKind::pointer;
    out_pointer.uses = {{"address base", 57}};
    ParameterFacts width = out_pointer;
    width.index = 1;
    width.short_name = "param_1";
    width.type = "u32";
    width.bytes = 4;
    width.kind = ParameterKind::scalar;
    width.uses = {{"guard", 33}, {"address stride", 40}, {"address stride", 44}};
    width.guard_axis = 0;
    facts.parameters = {out_pointer, width};
    AccessDescription load;
    load.ptx_line = 55;
    load.source = SourceLine{"src/transpose.cu", 9};
    load.op = "ld";
    load.bytes_per_lane = 4;
    load.reads = true;
    AccessDescription store = load;
    store.ptx_line = 57;
    store.op = "st";
    facts.accesses = {load, store};
    facts.access_count = facts.accesses.size();
    facts.resources.registers_per_thread = 16;
    facts.resources.registers_basis = RegistersBasis::ptxas;
    facts.resources.registers_low = facts.resources.registers_high = 16;
    return facts;
}

inline Analysis analysis() {
    Analysis out;
    out.used["ptxas"] = "13.0";
    InputSummary input;
    input.path = "transpose.ptx";
    input.sha256 = std::string(64, 'a');
    ModuleSummary module;
    module.name = "transpose.ptx";
    module.ptx_version = "9.0";
    module.target = "sm_80";
    module.lines = 70;
    module.line_table = true;
    input.modules = {module};
    out.inputs = {input};

    KernelResult result;
    result.gpu = "a100-pcie-40gb";
    result.profile = board();
    result.code = {"ptx", "ptx (just-in-time)", true, true, ""};
    result.resources = transpose().resources;
    result.reblocking = {"safe", {16, 16, 1}, {256, 256, 1}, "given", "the same 67,108,864 bytes, each written once, from the same bytes"};
    result.assumptions = {{"pointers", "distinct", "256-byte aligned, as cudaMalloc gives them", {}},
                          {"param_1", "4096", "compared with the global index in x", "rows that are no multiple of 8: loads straddle sectors"}};
    result.space = {58, 57, 2, {{"registers", 1}}, 1 - 2.0 / 57};
    ConfigResult best = config({8, 32, 1}, {512, 128, 1}, 212, 148, 8, 1);
    best.kept = best.recommended = best.pareto = true;
    ConfigResult second = config({4, 64, 1}, {1024, 64, 1}, 219, 143, 4, 2);
    second.kept = second.pareto = true;
    ConfigResult current = config({16, 16, 1}, {256, 256, 1}, 268, 151, 16, 30);
    current.is_current = true;
    ConfigResult heuristic = config({1024, 1, 1}, {4, 4096, 1}, 655, 139, 32, 57);
    heuristic.is_heuristic = true;
    ConfigResult summary = config({32, 8, 1}, {128, 512, 1}, 300, 150, 8, 31);
    summary.full_detail = false;
    ConfigResult impossible;
    impossible.block = {32, 32, 1};
    impossible.why_not = "registers: 65,600 of 65,536";
    result.configs = {best, second, current, summary, heuristic, impossible};
    Recommendation r;
    r.objective = "time";
    r.block = {8, 32, 1};
    r.grid = {512, 128, 1};
    r.safe = true;
    r.confidence = "medium";
    r.confidence_reason = "one assumption could change it";
    r.over_current = Gain{{16, 16, 1}, 0.79, 0.75, 0.83, 0.78, 0.74, 0.82};
    r.over_heuristic = Gain{{1024, 1, 1}, 0.32, 0.30, 0.35, 0.345, 0.31, 0.37};
    r.reasons = {{"store sectors a request 16 -> 8", -61.0, {}}, {"load sectors a request 2 -> 1 line", 5.0, {}}};
    Sensitivity width;
    width.name = "param_1";
    width.low = "1024";
    width.high = "16384";
    width.effect = "4,64 is best at 16384";
    width.changes_answer = true;
    Sensitivity work = width;
    work.name = "work";
    work.effect = "8,32 stays best";
    work.changes_answer = false;
    r.sensitivity = {work, width};
    result.recommendation = r;
    Finding finding;
    finding.rule = "FF101";
    finding.message = "the store touches 16 sectors a request where 4 would do";
    finding.ptx_line = 57;
    finding.source = SourceLine{"src/transpose.cu", 9};
    finding.cost_us = 182;
    result.findings = {finding};

    KernelAnalysis kernel;
    kernel.facts = transpose();
    kernel.parameter_values = {{"ptr", false}, {"4096", true}};
    kernel.results = {result};
    out.kernels = {kernel};
    return out;
}

}  // namespace flipflop::sample
