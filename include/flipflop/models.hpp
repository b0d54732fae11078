// Owns: the physics: occupancy, time, power; and Term, the form in which every number keeps its derivation.
// Input: KernelFacts, LaunchFacts, GpuProfile. Never a parser type. Invariant: re-folding a Term's parts by its fold
// gives its value to 1e-9 relative, at every level; a predicted power never exceeds the power limit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/gpu.hpp"
#include "flipflop/launch.hpp"

namespace flipflop {

enum class Fold : std::uint8_t { leaf, sum, difference, product, ratio, max, min, norm };
enum class Basis : std::uint8_t { measured, datasheet, fitted, assumed, derived };
[[nodiscard]] std::string_view to_string(Fold fold);
[[nodiscard]] std::string_view to_string(Basis basis);

struct Term {
    std::string id;
    double value{};
    std::string unit;
    Fold fold{Fold::leaf};
    double p{};                      ///< exponent of a norm
    Basis basis{Basis::derived};
    std::string source;
    std::vector<Term> parts;
};
[[nodiscard]] Term leaf(std::string id, double value, std::string unit, Basis basis, std::string source);
/// Folds `parts` (at least one; ratio and difference exactly two) into a term; the basis is the weakest of the parts'.
[[nodiscard]] Term fold(std::string id, std::string unit, Fold how, std::vector<Term> parts, double p = 0);
[[nodiscard]] double refold(const Term& term);

struct Interval { double low{}, high{}; };   ///< 90 %

// ---- occupancy ----------------------------------------------------------------------------------------------------
struct OccupancyInput {
    std::uint32_t block_threads{}, registers_per_thread{};
    std::uint64_t static_shared_bytes{}, dynamic_shared_bytes{};
    std::uint32_t barriers{1};
    std::optional<std::uint32_t> carveout_percent;
    bool opt_in{true};
    std::uint32_t cluster_blocks{1};
    std::optional<std::uint32_t> kernel_max_threads;    ///< .maxntid
    bool partitioned_global_caching{};
    std::uint32_t virtual_resources{};                  ///< of a block, on 10.x and later; 0: none
};
struct OccupancyLimits { std::optional<std::uint32_t> warps, blocks, registers, shared, barriers; };
struct Occupancy {
    std::uint32_t active_blocks_per_sm{}, active_warps_per_sm{};
    double fraction{};
    OccupancyLimits limits;
    std::vector<std::string> limiters;                  ///< "warps", "registers", "shared", "blocks", "virtual_resources", "barriers" as the header names them; "block_size", "max_threads", "cluster", "carveout" of a launch refused before
    std::uint64_t allocated_registers_per_block{}, allocated_shared_per_block{};
    std::uint64_t shared_capacity_bytes{};              ///< carve-out in force
    std::string why_not;                                ///< of a block that cannot launch
};
/// As cuda_occupancy.h (CUDA 13.0) answers, for compute capability 5.0 and up; plus the .maxntid check it leaves out.
[[nodiscard]] Occupancy occupancy(const ComputeCapability& cc, const OccupancyInput& input);

struct OccupancyCliff { std::string change, becomes; };
/// The nearest changes of registers, shared bytes and block size that gain or lose a resident block.
[[nodiscard]] std::vector<OccupancyCliff> nearest_cliffs(const ComputeCapability& cc, const OccupancyInput& input);

/// cudaOccupancyMaxPotentialBlockSize: the block size (threads) it would pick; dynamic shared memory independent of size.
[[nodiscard]] std::uint32_t max_potential_block_size(const ComputeCapability& cc, const OccupancyInput& per_block);
/// The same with dynamic shared memory as a function of the block size.
[[nodiscard]] std::uint32_t max_potential_block_size(const ComputeCapability& cc, const OccupancyInput& per_block,
                                                     const std::function<std::uint64_t(std::uint32_t)>& dynamic_bytes);

// ---- time ---------------------------------------------------------------------------------------------------------
struct OperatingPoint {
    std::optional<double> clock_mhz;         ///< asked for; else boost
    std::optional<double> power_limit_w;     ///< asked for; else the board's default (or TDP)
    bool warm_cache{true};
    bool terms{true};                        ///< false: `total` and its like come without parts (ten times faster: search)
};

/// A GPU made ready for the models: every rate, latency, energy and fitted coefficient resolved once. Immutable; copies share.
/// Make one per GPU when many configurations are to be estimated.
class GpuModel {
public:
    explicit GpuModel(const GpuProfile& gpu);
    struct Prepared;
    [[nodiscard]] const Prepared& prepared() const { return *prepared_; }

private:
    std::shared_ptr<const Prepared> prepared_;
};

struct ResourceUse {                         ///< what the models need of a compiled kernel
    Resources resources;
    std::uint64_t dynamic_shared_bytes{};
    Occupancy occupancy;
};

struct Traffic {
    std::optional<double> dram_bytes, l2_bytes, l1_bytes, shared_wavefronts;
};

struct TimeEstimate {
    Term total;                              ///< "time", us
    Interval interval;
    std::string interval_basis;              ///< what the interval's width rests on
    std::string bound_by;                    ///< "dram", "l2", "l1", "shared", "issue", "fp32", ..., "latency", "launch"
    Term floor;                              ///< speed of light of this launch, us
    Traffic traffic;                         ///< dram_bytes, l2_bytes empty where the footprint is unknown
    double waves{}, tail_idle_share{};
    double active_sms{};
    double clock_mhz{};
    bool calibrated{};
};
/// Time of the launch at the operating point's clock. Needs an occupancy of at least one block.
[[nodiscard]] TimeEstimate estimate_time(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use,
                                         const GpuProfile& gpu, const OperatingPoint& point);
[[nodiscard]] TimeEstimate estimate_time(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use,
                                         const GpuModel& gpu, const OperatingPoint& point);

// ---- power --------------------------------------------------------------------------------------------------------
struct PowerEstimate {
    Term power;                              ///< "power", W, under steady repetition
    Interval power_interval;
    std::string interval_basis;
    Term energy;                             ///< "energy", mJ = power * time
    Interval energy_interval;
    double idle_mj{}, above_idle_mj{};
    double clock_mhz{};                      ///< after the power limit
    TimeEstimate time;                       ///< at that clock
    bool calibrated{};
};
/// Power and energy; lowers the clock where the limit binds (time is then recomputed). Empty when the board's idle power is
/// not known, with the reason in `why`.
struct PowerResult { std::optional<PowerEstimate> estimate; std::string why; };
[[nodiscard]] PowerResult estimate_power(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use,
                                         const GpuProfile& gpu, const OperatingPoint& point);
[[nodiscard]] PowerResult estimate_power(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use,
                                         const GpuModel& gpu, const OperatingPoint& point);

/// Comparison of two configurations of one kernel: shared errors cancel, so the ratio's interval is narrower.
/// `log_sigma` of the ratio for time and for energy, with its basis.
struct PairedError { double time_log_sigma{}, energy_log_sigma{}; std::string basis; };
[[nodiscard]] PairedError paired_error(const GpuProfile& gpu);

}  // namespace flipflop
