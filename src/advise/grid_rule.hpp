// Owns: how many blocks a candidate gets (--grid, --work, --grid-x/-y/-z, or the contract's default work), and how many
// bytes of dynamic shared memory. Invariant: one rule an axis; a grid that no GPU launches is said to be one.
#pragma once

#include <optional>
#include <string>

#include "advise/expression.hpp"
#include "advise/program_extent.hpp"
#include "flipflop/advise.hpp"

namespace flipflop::advise {

/// Largest grid of every GPU since compute capability 3.0 (CUDA Programming Guide, table of technical specifications).
inline constexpr std::uint64_t kMostBlocks[3]{0x7fffffff, 65535, 65535};

struct AxisRule {
    enum class Kind : std::uint8_t { fixed, work, expression } kind{Kind::fixed};
    std::uint64_t number{1};                 ///< blocks, or threads wanted
    std::uint64_t per_block{};               ///< of work: what a block covers whatever its threads; 0: one a thread
    std::optional<Expression> expression;    ///< of the blocks; for `work` of the threads, over the arguments: they settle `number`
};

struct GridRule {
    AxisRule axis[3];
    std::optional<Dim3> work;                ///< what `work.*` is in expressions
    bool assumed{};                          ///< nothing was given: the contract's default work
};

/// Checks and parses what was given: FF0740 for two rules on an axis, FF0745 for a zero or a --grid beyond every GPU's
/// limit, FF0741 for an expression that is none. Without any rule `assumed` is set and the axes wait for set_work.
[[nodiscard]] Result<GridRule> read_grid_rule(const LaunchOptions& options);

/// Gives an assumed rule its work. `extents`: what a block covers by itself, where that is known on every axis.
void set_work(GridRule& rule, Dim3 work, const ProgramExtents& extents = {});

/// 2^20 threads in 1-D, 1024^2 in 2-D, 128^3 in 3-D.
[[nodiscard]] Dim3 default_work(int dimensions);

struct GridAnswer {
    std::optional<Dim3> grid;
    std::string why_not;                     ///< why a block cannot have a grid: beyond a limit, or no multiple of the cluster
};
/// The grid of `block`. An expression without an answer is a Diagnostic; a grid that cannot launch is not.
[[nodiscard]] Result<GridAnswer> grid_of(const GridRule& rule, Dim3 block, std::optional<Dim3> cluster, const Names& names);

/// Adds block.*, cluster.*, work.* to `names`.
void add_shape_names(Dim3 block, std::optional<Dim3> cluster, std::optional<Dim3> work, Names& names);

/// "4096 x 4096", "256"
[[nodiscard]] std::string words_of(Dim3 shape);

}  // namespace flipflop::advise
