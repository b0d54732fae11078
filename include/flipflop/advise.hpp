// Owns: from kernels and a user's description of their launches to an Analysis: search space, estimates, Pareto set,
// recommendation, findings. Input: parsed modules and AnalyzeOptions. Deterministic; prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/analysis.hpp"
#include "flipflop/passes.hpp"

namespace flipflop {

enum class Objective : std::uint8_t { time, energy, edp, energy_at_95 };
[[nodiscard]] std::string_view to_string(Objective objective);

/// What the command line says of launches, as text where it must be resolved against a kernel's parameters.
struct LaunchOptions {
    std::vector<std::string> kernels;            ///< --kernel, empty = all
    std::vector<std::string> args;               ///< PARAM=VALUE
    std::vector<std::string> data;               ///< NAME=FILE[:TYPE]
    std::vector<std::string> trips, taken;       ///< LOC=N, LOC=P
    std::optional<std::string> assume_trips;
    std::optional<double> assume_taken;
    std::vector<Dim3> blocks;                    ///< --block
    std::optional<Dim3> grid, work;
    int grid_axes{}, work_axes{};                ///< how many axes were written; 0: not known, then y and z count where they are not 1
    std::optional<std::string> grid_expression[3];   ///< --grid-x, -y, -z
    std::optional<Dim3> current, current_grid;
    std::optional<std::string> dynamic_smem;     ///< expression, bytes
    std::optional<std::uint32_t> carveout_percent;
    std::optional<Dim3> cluster;
    bool cooperative{};
    bool ignore_launch_bounds{};
    bool experimental{};                     ///< --experimental: rules whose findings are often wrong
};

/// What of its surroundings the caller lets outside tools use. The library itself reads no environment.
struct Environment {
    std::string path;                            ///< as PATH: where ptxas is looked for
    std::string cuda_home;                       ///< as CUDA_HOME, may be empty
    std::string temporary_directory{"/tmp"};
};

enum class PtxasUse : std::uint8_t { automatic, require, off };

struct AnalyzeOptions {
    LaunchOptions launch;
    std::vector<std::string> gpus;               ///< names, aliases, files, "all"
    std::optional<std::uint32_t> sms;
    std::vector<double> clocks_mhz, power_limits_w;
    bool warm_cache{true};
    Objective objective{Objective::time};
    PtxasUse ptxas{PtxasUse::automatic};
    std::string ptxas_log;
    bool full_detail{};
    /// The reference launch counts as the team's own (the gate): findings are about it, and it comes in full detail.
    bool own_launch{};
    unsigned threads{1};
    Environment environment;
    /// How inputs that are source code become PTX; the command line reads its inputs with it.
    SourceOptions source;
};

/// Usage errors (FF07nn): exit 2. Input errors (FF08nn and parser errors): exit 3. Environment (FF06nn): exit 4.
[[nodiscard]] int exit_code_of(const Diagnostic& diagnostic);

/// A rule that findings come from; its page is docs/rules/ID.md.
struct RuleInfo { std::string id, family, title; };
/// All rules, by id.
[[nodiscard]] std::vector<RuleInfo> list_rules();

/// The main job. `inputs` as read_input gave them. Parser diagnostics are part of the Analysis, not of the error.
[[nodiscard]] Result<Analysis> analyze(const std::vector<Input>& inputs, const AnalyzeOptions& options);

}  // namespace flipflop
