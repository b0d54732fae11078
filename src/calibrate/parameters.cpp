#include "calibrate/parameters.hpp"

#include <algorithm>
#include <array>

#include "models/power_numbers.hpp"

namespace flipflop::calibrate {
namespace {

double constant_of(const Machine& gpu) {
    return gpu.awake_w.known ? gpu.awake_w.value : (gpu.idle_boost_w.known ? gpu.idle_boost_w.value : gpu.idle_w.value) + awake_power(gpu);
}

void set_constant(Machine& gpu, double watts) {
    gpu.awake_w.value = watts;
    gpu.awake_w.known = true;
}

// Most identifiable first: of two that the rows do not tell apart the later one is refused. Bounds: literature disagrees by up to
// five about an energy, by two about a rate.
constexpr std::array kParameters{
    Parameter{"constant_power_w", "W", "power", 0.2, 5, constant_of, set_constant},
    Parameter{"fp32_fma_energy_pj", "pJ", "power", 0.1, 10, [](const Machine& g) { return g.e_fma.value; }, [](Machine& g, double v) { g.e_fma.value = v; }},
    Parameter{"dram_energy_pj_per_byte", "pJ/B", "power", 0.1, 10, [](const Machine& g) { return g.e_dram.value; }, [](Machine& g, double v) { g.e_dram.value = v; }},
    Parameter{"tensor_fp16_energy_pj_per_flop", "pJ", "power", 0.02, 10, [](const Machine& g) { return g.e_tensor.value; }, [](Machine& g, double v) { g.e_tensor.value = v; }},
    Parameter{"voltage_slope_per_mhz", "1/MHz", "power", 0.3, 2.5, [](const Machine& g) { return g.voltage_mv.points.empty() ? g.voltage_slope.value : 0; },
              [](Machine& g, double v) { g.voltage_slope.value = v; }},
    Parameter{"voltage_ridge_mhz", "MHz", "power", 0.5, 1.3, [](const Machine& g) { return g.voltage_mv.points.empty() ? g.ridge_mhz.value : 0; },
              [](Machine& g, double v) { g.ridge_mhz.value = v; }},
    Parameter{"shared_energy_pj_per_byte", "pJ/B", "power", 0.05, 20, [](const Machine& g) { return g.e_shared.value; }, [](Machine& g, double v) { g.e_shared.value = v; }},
    Parameter{"l1_energy_pj_per_byte", "pJ/B", "power", 0.05, 20, [](const Machine& g) { return g.e_l1.value; }, [](Machine& g, double v) { g.e_l1.value = v; }},
    Parameter{"l2_energy_pj_per_byte", "pJ/B", "power", 0.05, 20, [](const Machine& g) { return g.e_l2.value; }, [](Machine& g, double v) { g.e_l2.value = v; }},
    Parameter{"sm_active_power_w", "W", "power", 0.02, 20, [](const Machine& g) { return g.sm_w.value; }, [](Machine& g, double v) { g.sm_w.value = v; }},
    Parameter{"dram_sustained_bandwidth_gbs", "GB/s", "time", 0.4, 1.2, [](const Machine& g) { return g.dram_pure.value; },
              [](Machine& g, double v) {   // never above the peak, and the copy keeps its share
                  const double share = g.dram_mixed.value / g.dram_pure.value;
                  g.dram_pure.value = std::min(v, g.dram_peak.value);
                  g.dram_mixed.value = g.dram_pure.value * share;
              }},
    Parameter{"block_lifetime_cycles", "cycles", "time", 0.2, 5, [](const Machine& g) { return g.block_cycles.value; }, [](Machine& g, double v) { g.block_cycles.value = v; }},
    Parameter{"warp_start_cycles", "cycles", "time", 0.1, 10, [](const Machine& g) { return g.warp_cycles.value; }, [](Machine& g, double v) { g.warp_cycles.value = v; }},
    Parameter{"block_issue_cycles", "cycles", "time", 0.1, 10, [](const Machine& g) { return g.block_issue.value; }, [](Machine& g, double v) { g.block_issue.value = v; }},
    Parameter{"launch_latency_us", "us", "time", 0.1, 10, [](const Machine& g) { return g.launch_us.value; }, [](Machine& g, double v) { g.launch_us.value = v; }},
    Parameter{"norm_memory", "1", "time", 0.35, 3, [](const Machine& g) { return g.q_memory.value; }, [](Machine& g, double v) { g.q_memory.value = v; }},
    Parameter{"fp32_dual_pipe_share", "1", "time", 0.7, 1.4286, [](const Machine& g) { return g.fma_share; },
              [](Machine& g, double v) {
                  g.rate[static_cast<std::size_t>(Load::fma)].value *= v / g.fma_share;
                  g.fma_share = v;
              }},
    Parameter{"l1_load_bytes_per_clk_sm", "B", "time", 0.3, 2.5, [](const Machine& g) { return g.l1_bytes_per_clk.value; }, [](Machine& g, double v) { g.l1_bytes_per_clk.value = v; }},
    Parameter{"l2_bandwidth_gbs", "GB/s", "time", 0.3, 2.5, [](const Machine& g) { return g.l2_bytes_per_clk.value * g.boost_mhz.value * 1e-3; },
              [](Machine& g, double v) { g.l2_bytes_per_clk.value = v * 1e3 / g.boost_mhz.value; }},
    Parameter{"shared_load_instructions", "1", "time", 0.4, 2.5, [](const Machine& g) { return g.shared_instructions.value; }, [](Machine& g, double v) { g.shared_instructions.value = v; }},
    Parameter{"shared_wavefronts", "1", "time", 0.4, 2.5, [](const Machine& g) { return g.shared_wavefronts.value; }, [](Machine& g, double v) { g.shared_wavefronts.value = v; }},
};

constexpr std::array kTied{
    Tied{"int32_add_energy_pj", "fp32_fma_energy_pj", "pJ", [](const Machine& g) { return g.e_alu.value; }},
    Tied{"int32_mul_energy_pj", "fp32_fma_energy_pj", "pJ", [](const Machine& g) { return g.e_imad.value; }},
    Tied{"fp16_fma_energy_pj", "fp32_fma_energy_pj", "pJ", [](const Machine& g) { return g.e_half.value; }},
    Tied{"sfu_energy_pj", "fp32_fma_energy_pj", "pJ", [](const Machine& g) { return g.e_xu.value; }},
    Tied{"fp64_fma_energy_pj", "fp32_fma_energy_pj", "pJ", [](const Machine& g) { return g.e_fp64.value; }},
    Tied{"instruction_energy_pj", "fp32_fma_energy_pj", "pJ", [](const Machine& g) { return g.e_front.value; }},
    Tied{"dram_copy_bandwidth_gbs", "dram_sustained_bandwidth_gbs", "GB/s", [](const Machine& g) { return g.dram_mixed.value; }},
};

}  // namespace

std::span<const Parameter> parameters() { return kParameters; }
std::span<const Tied> tied() { return kTied; }

const Parameter* find_parameter(std::string_view key) {
    const auto* const found = std::find_if(kParameters.begin(), kParameters.end(), [&](const Parameter& p) { return p.key == key; });
    return found == kParameters.end() ? nullptr : found;
}

double start_of(const Parameter& parameter, const Machine& gpu) {
    const double now = parameter.get(gpu);
    if (now > 0) return now;
    // No such term yet: a tenth of the limit over all SMs is the order of what one SM at work draws.
    return parameter.key == "sm_active_power_w" ? 0.1 * (gpu.limit_w.known ? gpu.limit_w.value : 200) / gpu.sms.value : 0;
}

}  // namespace flipflop::calibrate
