// Owns: the problem sizes of one launch: --case, --sweep and a launches file's cases, from text to requests.
// Invariant: names are distinct and weights above 0; no cases at all is the plain launch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/arguments.hpp"
#include "advise/grid_rule.hpp"
#include "flipflop/advise.hpp"

namespace flipflop::advise {

struct Case {
    std::string name;
    std::vector<ArgumentRequest> arguments;
    std::optional<Dim3> work, grid;
    int work_axes{}, grid_axes{};
    double weight{1};
    std::optional<double> swept;
    TextOrigin said;                         ///< where: "--case" and its text, or the place in a launches file
};

struct Cases {
    std::vector<Case> list;
    std::string swept;                       ///< the parameter of --sweep, or empty
};

/// FF0761 for a case, FF0762 for a sweep that is none; two cases of one name.
[[nodiscard]] Result<Cases> read_cases(const LaunchOptions& options);

/// The case's own value of the swept parameter, for another point of the sweep.
[[nodiscard]] Case at_sweep_point(const Cases& cases, double value);

/// Puts the case's work or grid in place of the rule's. A rule of expressions keeps them and reads the new work.
void apply_grid(const Case& chosen, GridRule& rule);

/// The argument that one case gives and another does not, where nothing else gives it: FF0763.
[[nodiscard]] std::optional<Diagnostic> missing_argument(const KernelFacts& kernel, const std::vector<ArgumentRequest>& common, const Cases& cases);

}  // namespace flipflop::advise
