// Owns: one GPU's answers for blocks: may it launch, with which grid, shared memory and occupancy, what does it do, and
// what would it cost at an operating point. Input: a subject, its resources on the GPU. Invariant: a trial that cannot
// launch says why, and never carries a prediction.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/candidates.hpp"
#include "advise/subject.hpp"
#include "flipflop/analysis.hpp"

namespace flipflop::advise {

/// What a block is tried on.
struct Stage {
    FactsBook* facts{};
    const GpuProfile* gpu{};
    const GpuModel* model{};
    PairedError paired;
    Resources resources;
    CodeChoice code;
    LaunchOptions options;
    bool warm_cache{true};
    bool triton{};                           ///< compiled by Triton: its block is 32 * num_warps
    std::optional<std::uint64_t> budget{};   ///< of a launch with a block of 256 threads, where a search cannot pay the book's for each
};

struct Trial {
    Dim3 block, grid;
    std::uint64_t dynamic_shared_bytes{};
    bool launchable{};
    Obstacle obstacle;                       ///< when not launchable
    Occupancy occupancy;
    std::shared_ptr<const LaunchFacts> facts;            ///< empty when the grid is not known
    std::shared_ptr<const LaunchFacts> taken, not_taken; ///< the two policies, when branches depend on data
    bool is_current{}, is_heuristic{}, is_reference{};
    std::optional<Diagnostic> no_grid;       ///< an expression that leaves this block no grid (less than one block)
    std::optional<Diagnostic> broken;        ///< an expression without an answer: the whole run is a usage error
};

/// Tries one block. `own_grid`: the current launch's, in place of the rule. Facts are evaluated for every legal shape with
/// a grid when `always_facts`, else only for what can launch.
[[nodiscard]] Trial try_block(const Stage& stage, Dim3 block, std::optional<Dim3> own_grid, bool always_facts);

/// Time, and power where the board's idle power is known. The trial must be launchable. `point.terms` says whether the
/// trees of terms are wanted: they cost more than the numbers.
[[nodiscard]] Prediction predict(const Stage& stage, const Trial& trial, const LaunchFacts& facts, const OperatingPoint& point);

/// The block that cudaOccupancyMaxPotentialBlockSize leads to: (N, 1, 1), or the one that the code is fixed to.
[[nodiscard]] Dim3 heuristic_block(const Stage& stage);

[[nodiscard]] OccupancyInput occupancy_input(const Stage& stage, Dim3 block, std::uint64_t dynamic_shared_bytes);

}  // namespace flipflop::advise
