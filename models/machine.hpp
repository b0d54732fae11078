// Owns: a GPU made ready for the models: every rate, latency and energy resolved once, from the fitted coefficients, else
// the profile, else a stated fallback, each with basis and source. Input: GpuProfile. Invariant: rates are positive.
#pragma once

#include <array>
#include <string>

#include "flipflop/models.hpp"
#include "models/expansion.hpp"

namespace flipflop {

struct Quantity {
    double value{};
    Basis basis{Basis::assumed};
    std::string source;
    bool known{true};    ///< false: neither the profile nor a fallback has it
};

/// Where a block's cycles go. Names in machine.cpp; `lsu` is the memory input/output queue, shared and L1 together.
enum class Load : std::uint8_t { issue, fma, imad, alu, half, xu, fp64, tensor, lsu, constant, uniform, count_ };
inline constexpr std::size_t kLoads = static_cast<std::size_t>(Load::count_);

struct Machine {
    std::string name;
    int capability{};
    Expansion expansion;

    // Rates, warp instructions (or passes) per clock and SM.
    std::array<Quantity, kLoads> rate;
    Quantity shared_instructions, shared_wavefronts, global_requests, l1_lines, shuffles, textures, convert64;
    std::array<Quantity, kMachineOps> tensor_rate;   ///< multiply-adds per clock and SM; only for the mma classes

    double fma_share{};                              ///< of the FMA lanes that two pipes a sub-partition reach; 0: one pipe

    // Chip.
    Quantity sms, boost_mhz, min_mhz, schedulers;
    Quantity l1_bytes_per_clk, l2_bytes_per_clk_sm, l2_bytes_per_clk, l2_capacity, l1_capacity;
    Quantity dram_peak, dram_pure, dram_mixed;        ///< GB/s: data sheet, one direction, half reads half writes
    Quantity block_cycles, warp_cycles, block_issue, launch_us;
    Quantity atomic_same_per_clk, atomic_sectors_per_clk;
    std::array<float, kMachineOps> latency{};         ///< cycles at boost; loads aside
    Quantity lat_l1, lat_l2, lat_dram, lat_shared;
    Quantity q_latency, q_pipes, q_memory;            ///< exponents of the norms
    bool time_calibrated{};

    // Power.
    Quantity idle_w, idle_boost_w, awake_w, sm_w, limit_w, cap_factor;
    Quantity ridge_mhz, voltage_slope;
    SourcedCurve voltage_mv, idle_curve_w;            ///< empty where not measured
    Quantity e_fma, e_imad, e_alu, e_half, e_xu, e_fp64, e_front, e_tensor;   ///< pJ
    Quantity e_dram, e_l2, e_l1, e_shared;                                    ///< pJ per byte
    std::array<float, kMachineOps> op_pj{};           ///< of one thread's operation
    bool power_calibrated{}, hbm{};
    Quantity dram_sigma, power_sigma, paired_time_sigma, paired_energy_sigma;
    struct { Quantity compute, shared, l1, l2, latency; } time_sigma;         ///< by what bounds a launch
};

[[nodiscard]] Machine make_machine(const GpuProfile& gpu);
/// Of a class of mma: the key of its rate in a profile ("tensor_fp16"), or empty.
[[nodiscard]] std::string_view tensor_key(MachineOp op);

struct GpuModel::Prepared {
    Machine machine;
};

}  // namespace flipflop
