#include "gpu/vocabulary.hpp"

#include <algorithm>
#include <array>

namespace flipflop::profile {
namespace {

template <std::size_t N>
constexpr bool sorted_by_name(const std::array<Quantity, N>& table) {
    for (std::size_t i = 1; i < N; ++i) {
        if (!(table[i - 1].name < table[i].name)) {
            return false;
        }
    }
    return true;
}

constexpr auto kBoardValues = std::to_array<Quantity>({
    {"base_clock_mhz", "MHz", 50, 10000},
    {"block_issue_cycles", "cycles", 0, 1000},
    {"block_lifetime_cycles", "cycles", 0, 1e6},
    {"boost_clock_mhz", "MHz", 50, 10000},
    {"constant_power_w", "W", 0, 10000},
    {"core_voltage_floor_mv", "mV", 100, 5000},
    {"dram_bandwidth_gbs", "GB/s", 1, 1e6},
    {"dram_copy_bandwidth_gbs", "GB/s", 1, 1e6},
    {"dram_energy_pj_per_byte", "pJ/B", 0.1, 10000},
    {"dram_latency_cycles", "cycles", 1, 10000},
    {"dram_read_bandwidth_gbs", "GB/s", 1, 1e6},
    {"dram_store_bandwidth_gbs", "GB/s", 1, 1e6},
    {"dram_sustained_bandwidth_gbs", "GB/s", 1, 1e6},
    {"fp32_add_energy_pj", "pJ", 0.01, 10000},
    {"fp32_fma_energy_pj", "pJ", 0.01, 10000},
    {"fp64_add_energy_pj", "pJ", 0.01, 10000},
    {"fp64_fma_energy_pj", "pJ", 0.01, 10000},
    {"idle_at_boost_power_w", "W", 0.1, 10000},
    {"idle_power_w", "W", 0.1, 10000},
    {"instruction_energy_pj", "pJ", 0.01, 10000},
    {"int32_add_energy_pj", "pJ", 0.01, 10000},
    {"int32_mul_energy_pj", "pJ", 0.01, 10000},
    {"l1_aggregate_bandwidth_gbs", "GB/s", 1, 1e7},
    {"l1_energy_pj_per_byte", "pJ/B", 0.01, 10000},
    {"l1_hit_latency_cycles", "cycles", 1, 10000},
    {"l2_bandwidth_gbs", "GB/s", 1, 1e7},
    {"l2_energy_pj_per_byte", "pJ/B", 0.01, 10000},
    {"l2_far_latency_cycles", "cycles", 1, 10000},
    {"l2_hit_latency_cycles", "cycles", 1, 10000},
    {"l2_mib", "MiB", 0.01, 10000},
    {"launch_latency_us", "us", 0, 1000},
    {"max_clock_mhz", "MHz", 50, 10000},
    {"memory_bus_bits", "bit", 16, 65536},
    {"memory_clock_mhz", "MHz", 50, 100000},
    {"memory_gb", "GB", 0.1, 100000},
    {"power_cap_factor", "ratio", 0.1, 2},
    {"power_limit_default_w", "W", 1, 10000},
    {"power_limit_max_w", "W", 1, 10000},
    {"power_limit_min_w", "W", 1, 10000},
    {"sfu_energy_pj", "pJ", 0.01, 10000},
    {"shared_energy_pj_per_byte", "pJ/B", 0.01, 10000},
    {"shared_latency_cycles", "cycles", 1, 10000},
    {"sm_count", "SM", 1, 10000},
    {"tdp_w", "W", 1, 10000},
    {"tensor_fp16_energy_pj_per_flop", "pJ/flop", 0.001, 1000},
    {"voltage_ridge_mhz", "MHz", 1, 10000},
    {"voltage_slope_per_mhz", "1/MHz", 0, 1},
});
static_assert(sorted_by_name(kBoardValues));

constexpr auto kLimits = std::to_array<Quantity>({
    {"block_barriers_per_sm", "barriers", 1, 1024},
    {"l1_line_bytes", "B", 16, 4096},
    {"l1_load_bytes_per_clk_sm", "B/clk/SM", 1, 4096},
    {"l1_sector_bytes", "B", 8, 4096},
    {"l2_line_bytes", "B", 16, 4096},
    {"l2_sector_bytes", "B", 8, 4096},
    {"launch_check_sub_partitions", "partitions", 1, 64},
    {"load_store_units_per_sm", "units", 1, 1024},
    {"max_blocks_per_sm", "blocks", 1, 1024},
    {"max_cluster_size_nonportable", "blocks", 1, 1024},
    {"max_cluster_size_portable", "blocks", 1, 1024},
    {"max_registers_per_thread", "registers", 1, 4096},
    {"max_threads_per_block", "threads", 1, 65536},
    {"max_threads_per_sm", "threads", 1, 65536},
    {"max_warps_per_sm", "warps", 1, 2048},
    {"occupancy_max_registers_per_thread", "registers", 1, 4096},
    {"partitioned_global_caching", "flag", 0, 1},
    {"register_allocation_granularity", "registers", 1, 65536},
    {"registers_per_block", "registers", 1, 1e9},
    {"registers_per_sm", "registers", 1, 1e9},
    {"shared_bandwidth_bytes_per_clk_sm", "B/clk/SM", 1, 4096},
    {"shared_bank_width_bytes", "B", 1, 64},
    {"shared_mem_allocation_granularity_bytes", "B", 1, 65536},
    {"shared_mem_banks", "banks", 1, 1024},
    {"shared_mem_per_block_default_bytes", "B", 1, 1e9},
    {"shared_mem_per_block_optin_bytes", "B", 1, 1e9},
    {"shared_mem_per_sm_bytes", "B", 1, 1e9},
    {"shared_mem_reserved_per_block_bytes", "B", 0, 1e9},
    {"sub_partitions", "partitions", 1, 64},
    {"unified_l1_shared_kib", "KiB", 1, 1e6},
    {"virtual_resources_per_sm", "resources", 0, 1e6},
    {"warp_allocation_granularity", "warps", 1, 64},
    {"warp_schedulers_per_sm", "schedulers", 1, 64},
    {"warp_size", "threads", 1, 1024},
});
static_assert(sorted_by_name(kLimits));

constexpr std::string_view kResults = "results/clk/SM";
constexpr std::string_view kFma = "FMA/clk/SM";
constexpr auto kThroughput = std::to_array<Quantity>({
    {"bfe_bfi", kResults, 0.1, 4096},
    {"bitwise", kResults, 0.1, 4096},
    {"clz", kResults, 0.1, 4096},
    {"compare_minmax", kResults, 0.1, 4096},
    {"conv_64", kResults, 0.1, 4096},
    {"conv_8_16_to_32", kResults, 0.1, 4096},
    {"conv_f16_to_f32", kResults, 0.1, 4096},
    {"conv_f32_to_f16", kResults, 0.1, 4096},
    {"conv_f32_to_i32", kResults, 0.1, 4096},
    {"conv_other", kResults, 0.1, 4096},
    {"fp16", kResults, 0.1, 4096},
    {"fp32", kResults, 0.1, 4096},
    {"fp32_minmax", kResults, 0.1, 4096},
    {"fp64", kResults, 0.1, 4096},
    {"global_requests", "requests/clk/SM", 0.01, 64},
    {"int32_add", kResults, 0.1, 4096},
    {"int32_mul", kResults, 0.1, 4096},
    {"l2_to_sm_bytes", "B/clk/SM", 1, 4096},
    {"popc", kResults, 0.1, 4096},
    {"sad", kResults, 0.1, 4096},
    {"sfu", kResults, 0.1, 4096},
    {"shared_load_instructions", "warp instructions/clk/SM", 0.01, 64},
    {"shared_wavefronts", "wavefronts/clk/SM", 0.01, 64},
    {"shift", kResults, 0.1, 4096},
    {"syncthreads_threads_per_clk", "threads/clk/SM", 0.1, 4096},
    {"tensor_bf16", kFma, 1, 1e6},
    {"tensor_fp16", kFma, 1, 1e6},
    {"tensor_fp16_fp32_accumulate", kFma, 1, 1e6},
    {"tensor_fp4", kFma, 1, 1e6},
    {"tensor_fp6", kFma, 1, 1e6},
    {"tensor_fp64", kFma, 1, 1e6},
    {"tensor_fp8", kFma, 1, 1e6},
    {"tensor_fp8_fp32_accumulate", kFma, 1, 1e6},
    {"tensor_int4", kFma, 1, 1e6},
    {"tensor_int8", kFma, 1, 1e6},
    {"tensor_tf32", kFma, 1, 1e6},
    {"warp_reduce", kResults, 0.1, 4096},
    {"warp_shuffle", kResults, 0.1, 4096},
    {"warp_vote", kResults, 0.1, 4096},
});
static_assert(sorted_by_name(kThroughput));

constexpr auto kCurves = std::to_array<Quantity>({
    {"core_voltage_mv", "mV", 100, 5000},
    {"idle_power_w", "W", 0.1, 10000},
});
static_assert(sorted_by_name(kCurves));

}  // namespace

std::span<const Quantity> board_values() { return kBoardValues; }
std::span<const Quantity> capability_limits() { return kLimits; }
std::span<const Quantity> throughput_rates() { return kThroughput; }
std::span<const Quantity> board_curves() { return kCurves; }

const Quantity* find(std::span<const Quantity> table, std::string_view name) {
    const auto at = std::lower_bound(table.begin(), table.end(), name,
                                     [](const Quantity& quantity, std::string_view key) { return quantity.name < key; });
    return at != table.end() && at->name == name ? &*at : nullptr;
}

}  // namespace flipflop::profile
