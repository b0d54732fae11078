// Owns: from kernels and a user's description of their launches to an Analysis: search space, estimates, Pareto set,
// recommendation, findings. Input: parsed modules and AnalyzeOptions. Deterministic; prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/analysis.hpp"
#include "flipflop/passes.hpp"

namespace flipflop {

enum class Objective : std::uint8_t { time, energy, edp, energy_at_95 };
[[nodiscard]] std::string_view to_string(Objective objective);

/// Where a text of the launches file stands: a complaint about the option that it stands for is moved there.
struct TextOrigin {
    std::string option, text;                    ///< "--grid-x", "ceil(n / block.x)"
    std::string file;
    LineColumn at;                               ///< of the text's first character
    std::string source_line;
};

/// One problem size of a launch: what differs from the others.
struct CaseOptions {
    std::string name;
    std::vector<std::string> args;               ///< PARAM=VALUE
    std::optional<Dim3> work, grid;
    int work_axes{}, grid_axes{};                ///< as in LaunchOptions
    double weight{1};
    std::optional<double> swept;                 ///< the value of --sweep's parameter
    std::optional<TextOrigin> origin;            ///< in a launches file
};

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
    std::optional<std::string> work_expression[3];   ///< threads wanted on an axis as an expression over the arguments
    std::vector<std::string> case_texts;         ///< --case NAME:PARAM=VALUE,...,weight=W
    std::optional<std::string> sweep;            ///< --sweep PARAM=FROM:TO:xSTEP
    std::vector<CaseOptions> cases;              ///< those of a launches file
    std::size_t file_args{}, file_data{};        ///< so many of `args` and `data` (the first) are a launches file's: others override them
    std::vector<TextOrigin> origins;             ///< of what a launches file gave
    bool experimental{};                     ///< --experimental: rules whose findings are often wrong
};

/// A name for a field of a struct passed by value.
struct FieldName {
    std::size_t parameter{};                     ///< index
    std::string name;                            ///< "grid.nx"
    std::uint32_t offset{};                      ///< bytes
    std::string type;                            ///< "u32", as in --arg P+OFFSET:TYPE=V
};

/// One [[kernel]] of a launches file.
struct KernelLaunches {
    std::string match;                           ///< as --kernel
    std::vector<std::string> params;             ///< source names, by position
    std::vector<FieldName> fields;
    LaunchOptions launch;
    std::optional<double> calls;                 ///< launches per step
    LineColumn at;
};

/// A team's launches.toml. A kernel is described by the first entry that matches it.
struct LaunchesFile {
    std::string path;
    std::vector<KernelLaunches> kernels;
};
/// FF0760 with line and column: not TOML, an unknown key, a wrong type, a value out of range.
[[nodiscard]] Result<LaunchesFile> read_launches(const std::string& path);
[[nodiscard]] Result<LaunchesFile> parse_launches(std::string_view text, const std::string& path);

/// What of its surroundings the caller lets outside tools use. The library itself reads no environment.
struct Environment {
    std::string path;                            ///< as PATH: where ptxas is looked for
    std::string cuda_home;                       ///< as CUDA_HOME, may be empty
    std::string temporary_directory{"/tmp"};
};

enum class PtxasUse : std::uint8_t { automatic, require, off };

struct AnalyzeOptions {
    LaunchOptions launch;
    std::optional<LaunchesFile> launches;        ///< --launches; what `launch` says goes before it
    bool variants{};                             ///< the inputs' kernels are variants of one computation: rank them
    std::string variant_table;                   ///< CSV with the variants' parameters
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
    bool listing{};                              ///< KernelAnalysis::listing is wanted
    /// Where an overview is made (Analysis::overview), keep of each kernel only what its one line says: a library of
    /// thousands then needs the memory of its lines.
    bool lines_only{};
    /// Gives the text of a source file that a `.loc` of a module names, for `// flipflop: ignore FF101 reason`; empty: findings
    /// are never suppressed in the source.
    std::function<std::optional<std::string>(const std::string& file, const std::string& module)> source_text;
    /// Called as kernels are done, from any thread but one at a time.
    std::function<void(std::size_t done, std::size_t all)> on_progress;
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
