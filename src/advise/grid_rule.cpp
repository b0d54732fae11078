#include "grid_rule.hpp"

#include <array>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

namespace {

constexpr std::array<char, 3> kAxes{'x', 'y', 'z'};

std::array<std::uint32_t, 3> axes_of(Dim3 d) { return {d.x, d.y, d.z}; }
Dim3 shape_of(const std::array<std::uint64_t, 3>& a) {
    return {static_cast<std::uint32_t>(a[0]), static_cast<std::uint32_t>(a[1]), static_cast<std::uint32_t>(a[2])};
}

/// Whether an axis of an X[,Y[,Z]] option was written.
bool written(const std::optional<Dim3>& shape, int axes, int axis) {
    if (!shape) return false;
    return axes > 0 ? axis < axes : axis == 0 || axes_of(*shape)[static_cast<std::size_t>(axis)] != 1;
}

Result<void> check_shape(const std::optional<Dim3>& shape, const char* option, bool limited) {
    if (!shape) return {};
    const auto axes = axes_of(*shape);
    for (std::size_t i = 0; i < 3; ++i) {
        if (axes[i] == 0) return tl::unexpected(complain("FF0745", option, fmt::format("the extent in {} is 0", kAxes[i]), "every axis takes 1 or more"));
        if (limited && axes[i] > kMostBlocks[i])
            return tl::unexpected(complain("FF0745", option, fmt::format("{} blocks in {} are more than any GPU launches ({})", axes[i], kAxes[i], kMostBlocks[i])));
    }
    return {};
}

}  // namespace

std::string words_of(Dim3 s) {
    if (s.z != 1) return fmt::format("{} x {} x {}", s.x, s.y, s.z);
    if (s.y != 1) return fmt::format("{} x {}", s.x, s.y);
    return fmt::format("{}", s.x);
}

Result<GridRule> read_grid_rule(const LaunchOptions& options) {
    GridRule rule;
    if (auto r = check_shape(options.grid, "--grid", true); !r) return tl::unexpected(r.error());
    if (auto r = check_shape(options.current_grid, "--current-grid", true); !r) return tl::unexpected(r.error());
    if (auto r = check_shape(options.work, "--work", false); !r) return tl::unexpected(r.error());
    rule.work = options.work;
    rule.assumed = !options.grid && !options.work;
    for (std::size_t at = 0; at < 3; ++at) {
        if (!options.work_expression[at]) continue;
        auto threads = Expression::parse(*options.work_expression[at], "--work");
        if (!threads) return tl::unexpected(threads.error());
        rule.assumed = false;
        rule.axis[at] = {AxisRule::Kind::work, 1, 0, std::move(*threads)};
    }
    for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool fixed = written(options.grid, options.grid_axes, i);
        const bool worked = options.work_expression[at].has_value() || written(options.work, options.work_axes, i);
        AxisRule& axis = rule.axis[at];
        if (fixed && worked) return tl::unexpected(complain("FF0740", "--grid", fmt::format("--grid and --work both rule the grid in {}", kAxes[at]), "give one of the two"));
        if (fixed) axis.number = axes_of(*options.grid)[at];
        if (worked && !axis.expression) {
            axis.kind = AxisRule::Kind::work;
            axis.number = axes_of(*options.work)[at];
        }
        const auto& text = options.grid_expression[at];
        if (!text) continue;
        rule.assumed = false;
        const std::string option = fmt::format("--grid-{}", kAxes[at]);
        auto expression = Expression::parse(*text, option);
        if (!expression) return tl::unexpected(expression.error());
        // An expression over work.* needs --work as its input; one that does not is a second rule for the axis.
        const bool uses_work = expression->mentions("work.x") || expression->mentions("work.y") || expression->mentions("work.z");
        if (fixed || (worked && !uses_work))
            return tl::unexpected(complain("FF0740", option, fmt::format("{} and {} both rule the grid in {}", option, fixed ? "--grid" : "--work", kAxes[at]), "give one of the two"));
        axis.kind = AxisRule::Kind::expression;
        axis.expression = std::move(*expression);
    }
    return rule;
}

void set_work(GridRule& rule, Dim3 work, const ProgramExtents& extents) {
    rule.work = work;
    for (std::size_t i = 0; i < 3; ++i) rule.axis[i] = {AxisRule::Kind::work, axes_of(work)[i], extents.known() ? extents.axis[i].value_or(1) : 0, std::nullopt};
}

Dim3 default_work(int dimensions) {
    if (dimensions >= 3) return {128, 128, 128};
    if (dimensions == 2) return {1024, 1024, 1};
    return {1u << 20, 1, 1};
}

void add_shape_names(Dim3 block, std::optional<Dim3> cluster, std::optional<Dim3> work, Names& names) {
    const auto add = [&](const char* word, Dim3 shape) {
        const auto axes = axes_of(shape);
        for (std::size_t i = 0; i < 3; ++i) names.insert_or_assign(fmt::format("{}.{}", word, kAxes[i]), Number{static_cast<std::int64_t>(axes[i])});
    };
    add("block", block);
    add("cluster", cluster.value_or(Dim3{}));
    if (work) add("work", *work);
}

Result<GridAnswer> grid_of(const GridRule& rule, Dim3 block, std::optional<Dim3> cluster, const Names& names) {
    std::array<std::uint64_t, 3> grid{};
    const auto threads = axes_of(block), together = axes_of(cluster.value_or(Dim3{}));
    for (std::size_t i = 0; i < 3; ++i) {
        const AxisRule& axis = rule.axis[i];
        switch (axis.kind) {
            case AxisRule::Kind::fixed: grid[i] = axis.number; break;
            case AxisRule::Kind::work:
                grid[i] = axis.per_block > 0 ? (axis.number + axis.per_block - 1) / axis.per_block : (axis.number + threads[i] - 1) / threads[i];
                grid[i] = (grid[i] + together[i] - 1) / together[i] * together[i];   // the host code must round up to whole clusters
                break;
            case AxisRule::Kind::expression: {
                const auto value = axis.expression->evaluate_count(names, 1);
                if (!value) return tl::unexpected(value.error());
                grid[i] = *value;
            }
        }
        if (grid[i] > kMostBlocks[i]) return GridAnswer{std::nullopt, fmt::format("{} blocks in {} exceed the limit of {}", grid[i], kAxes[i], kMostBlocks[i])};
        if (grid[i] % together[i] != 0) return GridAnswer{std::nullopt, fmt::format("{} blocks in {} are no multiple of the cluster's {}", grid[i], kAxes[i], together[i])};
    }
    return GridAnswer{shape_of(grid), {}};
}

}  // namespace flipflop::advise
