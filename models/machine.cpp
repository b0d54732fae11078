#include "models/machine.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "models/coefficients.hpp"

namespace flipflop {
namespace {

constexpr std::string_view kRanking = "flipflop prototype study, 12 kernel-GPU sets of published Kernel Tuner caches";

Basis basis_of(std::string_view word) {
    if (word == "measured") return Basis::measured;
    if (word == "datasheet") return Basis::datasheet;
    if (word == "fitted") return Basis::fitted;
    if (word == "derived") return Basis::derived;
    return Basis::assumed;
}

/// Looks a quantity up: the GPU's fit, then the profile's values, throughput and limits, then a stated fallback.
class Lookup {
public:
    explicit Lookup(const GpuProfile& gpu) : gpu_(gpu), own_(coefficients_for(gpu.id)), common_(coefficients_for("common")) {}

    /// A fit that the user gave; the board's own fit; what the profile knows; what was fitted over several boards; what the profile assumes.
    [[nodiscard]] const SourcedValue* find(std::string_view key) const {
        if (const SourcedValue* given = given_fit(key)) return given;
        const SourcedValue* assumed = nullptr;
        for (const auto* map : {&own_, &gpu_.values, &gpu_.cc.throughput, &gpu_.cc.limits}) {
            const auto found = map->find(key);
            if (found == map->end() || !found->second.value) continue;
            if (found->second.basis != "assumed") return &found->second;
            if (!assumed) assumed = &found->second;
        }
        const auto fitted = common_.find(key);
        return fitted != common_.end() && fitted->second.value ? &fitted->second : assumed;
    }
    [[nodiscard]] Quantity get(std::string_view key, double fallback, std::string_view why) const {
        if (const SourcedValue* value = find(key)) return {*value->value, basis_of(value->basis), value->source, true};
        return {fallback, Basis::assumed, std::string(why), true};
    }
    [[nodiscard]] Quantity need(std::string_view key) const {
        if (const SourcedValue* value = find(key)) return {*value->value, basis_of(value->basis), value->source, true};
        return {0, Basis::assumed, "not known", false};
    }
    /// A rate in lanes (results) per clock and SM as warp instructions per clock.
    [[nodiscard]] Quantity lanes(std::string_view key, double fallback, double per_warp = 32) const {
        Quantity result = get(key, fallback, "as the Programming Guide's table of arithmetic throughput has it for its neighbours");
        result.value = std::max(result.value, 1.0) / per_warp;
        return result;
    }
    [[nodiscard]] bool fitted(std::string_view key) const { return given_fit(key) || own_.find(key) != own_.end(); }

private:
    /// Of a file of the user's (`calibrate -o FILE`, `--gpu FILE`).
    [[nodiscard]] const SourcedValue* given_fit(std::string_view key) const {
        const auto found = gpu_.values.find(key);
        return !gpu_.origin.empty() && found != gpu_.values.end() && found->second.value && found->second.basis == "fitted" ? &found->second : nullptr;
    }

    const GpuProfile& gpu_;
    const Coefficients& own_;
    const Coefficients& common_;
};

void fill_pipes(Machine& machine, const Lookup& look) {
    auto at = [&](Load load) -> Quantity& { return machine.rate[static_cast<std::size_t>(load)]; };
    machine.schedulers = look.get("warp_schedulers_per_sm", 4, "one a sub-partition");
    at(Load::issue) = machine.schedulers;
    at(Load::fma) = look.lanes("fp32", 64);
    if (at(Load::fma).value > 0.75 * machine.schedulers.value && machine.capability >= 86) {
        // Two FMA pipes a sub-partition, fed by one issue slot and one register file: operands limit what both reach.
        const Quantity share = look.get("fp32_dual_pipe_share", 0.7, "gpu-benches roofline on A40, L40 and H200");
        machine.fma_share = share.value;
        at(Load::fma).value *= share.value;
        at(Load::fma).source += "; times the share that two FMA pipes reach: " + share.source;
        at(Load::fma).basis = share.basis;
    }
    at(Load::imad) = look.lanes("int32_mul", 64);
    at(Load::alu) = look.lanes("int32_add", 64);
    at(Load::half) = look.lanes("fp16", 128, 64);  // the table counts two results per packed instruction
    at(Load::xu) = look.lanes("sfu", 16);
    at(Load::fp64) = look.lanes("fp64", 2);
    at(Load::tensor) = {1, Basis::derived, "multiply-adds over the dense rate of their class", true};
    at(Load::lsu) = {1, Basis::derived, "shared and L1 passes", true};
    at(Load::constant) = look.get("constant_loads", 1, kRanking);
    at(Load::uniform) = look.get("uniform_instructions", 2, "uniform datapath, one a sub-partition every two clocks");
    machine.shared_instructions = look.get("shared_load_instructions", 1, kRanking);
    machine.shared_wavefronts = look.get("shared_wavefronts", 1, kRanking);
    machine.global_requests = look.get("global_requests", 1, kRanking);
    machine.l1_lines = look.get("l1_lines_per_clk", 1, kRanking);
    machine.shuffles = look.lanes("warp_shuffle", 32);
    machine.convert64 = look.lanes("conv_64", 16);
    machine.textures = look.get("texture_instructions", 0.25, "four texture units an SM, eight lanes a clock");
    for (std::size_t i = 0; i < kMachineOps; ++i) {
        const auto key = tensor_key(static_cast<MachineOp>(i));
        if (key.empty()) continue;
        machine.tensor_rate[i] = look.need(key);
        if (!machine.tensor_rate[i].known) machine.tensor_rate[i] = look.need("tensor_fp16");
        if (!machine.tensor_rate[i].known)  // no tensor unit: the multiply-adds run on the FMA pipe
            machine.tensor_rate[i] = {at(Load::fma).value * 32, Basis::assumed, "no tensor rate known: FMA lanes", true};
    }
}

void fill_memory(Machine& machine, const Lookup& look) {
    machine.sms.value = std::max(1.0, machine.sms.value);
    machine.boost_mhz = look.get("boost_clock_mhz", 1500, "boost clock not stated");
    machine.min_mhz = look.get("min_clock_mhz", 210, "lowest graphics clock nvidia-smi offers on most boards");
    machine.l1_bytes_per_clk = look.get("l1_load_bytes_per_clk_sm", 64, "gpu-benches, consumer Ampere and Ada");
    machine.l2_bytes_per_clk_sm = look.get("l2_to_sm_bytes", 64, kRanking);
    const Quantity l2_gbs = look.need("l2_bandwidth_gbs");
    machine.l2_bytes_per_clk = l2_gbs;
    machine.l2_bytes_per_clk.value = l2_gbs.known ? l2_gbs.value * 1e3 / machine.boost_mhz.value
                                                  : machine.l2_bytes_per_clk_sm.value * machine.sms.value * 0.6;
    if (!l2_gbs.known) machine.l2_bytes_per_clk.source = "0.6 of all SM ports, as the measured boards reach";
    machine.l2_capacity = look.get("l2_mib", 4, "L2 size not stated");
    machine.l2_capacity.value *= 1024.0 * 1024.0;
    machine.l1_capacity = look.get("unified_l1_shared_kib", 96, "unified L1 and shared size not stated");
    machine.l1_capacity.value *= 1024.0;
    machine.dram_peak = look.get("dram_bandwidth_gbs", 300, "DRAM bandwidth not stated");
    machine.dram_pure = look.get("dram_sustained_bandwidth_gbs", 0.93 * machine.dram_peak.value, "0.93 of peak, mean of six measured boards");
    machine.dram_mixed = look.get("dram_copy_bandwidth_gbs", 0.88 * machine.dram_peak.value, "0.88 of peak, mean of six measured boards");
    // The floor divides by the peak: no level may be faster than that.
    machine.dram_pure.value = std::min(machine.dram_pure.value, machine.dram_peak.value);
    machine.dram_mixed.value = std::min(machine.dram_mixed.value, machine.dram_pure.value);
    machine.block_cycles = look.get("block_lifetime_cycles", 450, kRanking);
    machine.warp_cycles = look.get("warp_start_cycles", 8, "gpu-benches streams over block size");
    machine.block_issue = look.get("block_issue_cycles", 1.4, "empty kernels on an RTX 2080 Ti; streams of small blocks bound it from above: 1.8 (A100), 2.0 (L40), 2.3 (V100) cycles a block");
    machine.launch_us = look.get("launch_latency_us", 3, kRanking);
    machine.atomic_same_per_clk = look.get("atomic_same_address_per_clk", 20,
                                           "one counter for all threads on TITAN V and RTX 2080 Ti: 18-26 lanes a clock, as ptxas or the L2 merges a warp's lanes");
    machine.atomic_sectors_per_clk = look.get("atomic_sectors_per_clk", machine.l2_bytes_per_clk.value / 64,
                                              "half the L2 rate: each update reads and writes its sector");
    machine.q_latency = look.get("norm_latency", 2, kRanking);
    machine.q_pipes = look.get("norm_pipes", 3, kRanking);
    machine.q_memory = look.get("norm_memory", 3, "streams over block size, docs/models/time.md");
}

/// Latencies of dependent operations, cycles: Abdelkhalik 2022 and Jia 2018 for single instructions; an operation of many
/// instructions takes them one after the other.
void fill_latency(Machine& machine, const Lookup& look) {
    machine.lat_l1 = look.get("l1_hit_latency_cycles", 33, "gpu-benches pointer chase, A100");
    machine.lat_l2 = look.get("l2_hit_latency_cycles", 230, "gpu-benches pointer chase, mean of boards");
    machine.lat_dram = look.get("dram_latency_cycles", 580, "gpu-benches pointer chase, mean of boards");
    machine.lat_shared = look.get("shared_latency_cycles", 23, "mt4g and Jia 2018");
    constexpr float kAlu = 4.5F, kFma = 4, kXu = 21, kControl = 5;
    const float fp64 = machine.rate[static_cast<std::size_t>(Load::fp64)].value >= 0.5 ? 8.0F : 40.0F;
    for (std::size_t i = 0; i < kMachineOps; ++i) {
        const PipeCounts& n = machine.expansion.by_op[i];
        auto count = [&](Pipe pipe) { return n[static_cast<std::size_t>(pipe)]; };
        machine.latency[i] = kFma * (count(Pipe::fma) + count(Pipe::imad)) + kAlu * (count(Pipe::alu) + count(Pipe::half)) +
                             kXu * count(Pipe::xu) + fp64 * count(Pipe::fp64) + kControl * (count(Pipe::control) + count(Pipe::uniform));
    }
    const auto shared = static_cast<float>(machine.lat_shared.value);
    auto set = [&](std::initializer_list<MachineOp> ops, float cycles) {
        for (MachineOp op : ops) machine.latency[static_cast<std::size_t>(op)] = cycles;
    };
    using enum MachineOp;
    set({load_shared, ldmatrix, shuffle, mbarrier, match}, shared);
    set({atomic_shared}, 2 * shared);
    set({store_shared, store_global, store_local, stmatrix, reduction_global, reduction_shared, async_copy}, 4);
    set({load_const_indexed}, static_cast<float>(machine.lat_l1.value));
    set({read_special}, 15);
    set({barrier}, 20);
    set({fence}, 60);
    set({mma_fp16, mma_bf16, mma_tf32, mma_int8, mma_int4, mma_b1, mma_fp8, mma_fp4, mma_sparse}, 24);
    set({mma_fp64}, 26);
    set({wgmma}, 64);
    set({tcgen05}, 100);
}

void fill_power(Machine& machine, const Lookup& look) {
    machine.idle_w = look.need("idle_power_w");
    machine.idle_boost_w = look.need("idle_at_boost_power_w");
    machine.awake_w = look.need("constant_power_w");
    machine.sm_w = look.get("sm_active_power_w", 0, "no per-SM term: active power is in the constant and the operations");
    machine.limit_w = look.need("power_limit_default_w");
    if (!machine.limit_w.known) machine.limit_w = look.need("tdp_w");
    machine.cap_factor = look.get("power_cap_factor", 1, "boards hold their limit");
    machine.ridge_mhz = look.get("voltage_ridge_mhz", 0.75 * machine.boost_mhz.value, "A100: voltage is flat up to 0.72-0.79 of boost");
    machine.voltage_slope = look.get("voltage_slope_per_mhz", 0.27 / std::max(1.0, 0.25 * machine.boost_mhz.value),
                                     "A100: 24-29 % more voltage from ridge to boost");
    constexpr std::string_view ratios = "AccelWattch, MICRO 2021: ratio to an FMA";
    machine.e_fma = look.get("fp32_fma_energy_pj", machine.capability >= 80 ? 11 : 18, "board slopes of A100, A40, L40, H200; AccelWattch for 12 nm");
    const double fma = machine.e_fma.value;
    machine.e_imad = look.get("int32_mul_energy_pj", fma * 1.05, ratios);
    machine.e_alu = look.get("int32_add_energy_pj", fma * 1.05, ratios);
    machine.e_half = look.get("fp16_fma_energy_pj", fma, "one packed instruction as one FMA");
    machine.e_xu = look.get("sfu_energy_pj", fma, ratios);
    machine.e_fp64 = look.get("fp64_fma_energy_pj", fma * 1.6, ratios);
    machine.e_front = look.get("instruction_energy_pj", fma * 9, ratios);
    machine.e_tensor = look.get("tensor_fp16_energy_pj_per_flop", 0.5, "between RTX 3090 (0.22) and (TDP - idle) / peak (1.1)");
    machine.e_dram = look.get("dram_energy_pj_per_byte", 118, "board slope of A100");
    machine.e_l2 = look.get("l2_energy_pj_per_byte", 21, "between Delestrac 2024 and Antepara 2025, A100");
    machine.e_l1 = look.get("l1_energy_pj_per_byte", 6.5, "between Delestrac 2024 and Antepara 2025, A100");
    machine.e_shared = look.get("shared_energy_pj_per_byte", 2.6, "Delestrac 2024, A100");
    for (std::size_t i = 0; i < kMachineOps; ++i) {
        const PipeCounts& n = machine.expansion.by_op[i];
        auto count = [&](Pipe pipe) { return static_cast<double>(n[static_cast<std::size_t>(pipe)]); };
        // An FMA's energy holds its own fetch and decode; what runs on no arithmetic pipe costs those alone.
        const double front = count(Pipe::lsu) + count(Pipe::control) + count(Pipe::uniform);
        machine.op_pj[i] = static_cast<float>(
            count(Pipe::fma) * fma + count(Pipe::imad) * machine.e_imad.value + count(Pipe::alu) * machine.e_alu.value +
            count(Pipe::half) * machine.e_half.value + count(Pipe::xu) * machine.e_xu.value +
            count(Pipe::fp64) * machine.e_fp64.value + front * machine.e_front.value / 32);
    }
}

/// Widths by what bounds a launch; one for all where a regime has too few measured kernel families for its own.
void fill_widths(Machine& machine, const Lookup& look) {
    const Quantity all = look.get("time_log_sigma", 0.19, "prototype study: absolute MAPE 15 % without a fit");
    const auto of = [&](std::string_view regime) { return look.find(regime) ? look.need(regime) : all; };
    machine.time_sigma = {of("time_log_sigma_compute"), of("time_log_sigma_shared"), of("time_log_sigma_l1"), of("time_log_sigma_l2"), of("time_log_sigma_latency")};
}

}  // namespace

std::string_view tensor_key(MachineOp op) {
    switch (op) {
        case MachineOp::mma_fp16:
        case MachineOp::wgmma:
        case MachineOp::tcgen05: return "tensor_fp16";
        case MachineOp::mma_bf16: return "tensor_bf16";
        case MachineOp::mma_tf32: return "tensor_tf32";
        case MachineOp::mma_fp64: return "tensor_fp64";
        case MachineOp::mma_int8: return "tensor_int8";
        case MachineOp::mma_int4: return "tensor_int4";
        case MachineOp::mma_b1: return "tensor_int4";
        case MachineOp::mma_fp8: return "tensor_fp8";
        case MachineOp::mma_fp4: return "tensor_fp4";
        case MachineOp::mma_sparse: return "tensor_fp16";
        default: return {};
    }
}

Machine make_machine(const GpuProfile& gpu) {
    Machine machine;
    const Lookup look(gpu);
    machine.name = gpu.name;
    machine.capability = gpu.cc.major * 10 + gpu.cc.minor;
    machine.expansion = expansion_for(machine.capability);
    machine.sms = look.get("sm_count", 1, "SM count not stated");
    machine.sms.value = gpu.sm_count();
    fill_pipes(machine, look);
    fill_memory(machine, look);
    fill_latency(machine, look);
    fill_power(machine, look);
    if (const SourcedCurve* curve = gpu.curve("core_voltage_mv")) machine.voltage_mv = *curve;
    if (const SourcedCurve* curve = gpu.curve("idle_power_w")) machine.idle_curve_w = *curve;
    if (machine.awake_w.known && machine.idle_boost_w.known && machine.idle_boost_w.value > machine.awake_w.value) {
        // A busy board's constant part cannot lie below what the same board idles at: the fitted figure is this board's own.
        if (machine.idle_boost_w.basis == Basis::assumed) machine.idle_boost_w = machine.awake_w;
    }
    machine.hbm = gpu.memory_type.find("HBM") != std::string::npos;
    machine.time_calibrated = look.fitted("dram_log_sigma");
    machine.power_calibrated = look.fitted("power_log_sigma");
    fill_widths(machine, look);
    machine.dram_sigma = look.get("dram_log_sigma", 0.12, "streams over block size with the GPU left out: 5 %, and a bandwidth taken from another board");
    machine.power_sigma = look.get("power_log_sigma", 0.25, "AccelWattch's own validation, 9-13 % with its counters, and Wattchmen's 32 % for it");
    machine.paired_time_sigma = look.get("paired_time_log_sigma", 0.094, "prototype study: MAPE 7.5 % after one scale per set");
    machine.paired_energy_sigma = look.get("paired_energy_log_sigma", 0.12, "PowerSensor3 complex GEMM: 8 % power error beside 7.5 % time error");
    return machine;
}

GpuModel::GpuModel(const GpuProfile& gpu) : prepared_(std::make_shared<const Prepared>(Prepared{make_machine(gpu)})) {}

PairedError paired_error(const GpuProfile& gpu) {
    const Machine machine = make_machine(gpu);
    return {machine.paired_time_sigma.value, machine.paired_energy_sigma.value,
            machine.paired_time_sigma.source + "; " + machine.paired_energy_sigma.source};
}

}  // namespace flipflop
