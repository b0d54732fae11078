// Owns: everything `analyze`, `explain` and the reports say, as plain data: the struct behind CONTRACT.md section 6.
// Made by src/advise, read by src/report, which computes nothing. Invariant: a value that is not known is empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/facts.hpp"
#include "flipflop/inputs.hpp"
#include "flipflop/launch.hpp"
#include "flipflop/models.hpp"

namespace flipflop {

/// Everything the estimate of one configuration says, contract key `predicted`.
struct Prediction {
    TimeEstimate time;
    std::optional<PowerEstimate> power;
    std::string power_unknown;               ///< why `power` is empty
    std::optional<double> p_within_5pct;     ///< probability of lying within 5 % of the best, from paired errors
};

struct ConfigResult {
    Dim3 block, grid;
    std::uint64_t dynamic_shared_bytes{};
    std::optional<double> clock_mhz, power_limit_w;
    bool full_detail{};
    bool launchable{};
    std::string why_not;
    std::optional<bool> safe;
    std::string safe_reason;
    Occupancy occupancy;
    std::optional<LaunchFacts> facts;        ///< empty when not launchable
    std::optional<Prediction> predicted;
    bool pareto{}, kept{}, recommended{};
    std::optional<std::uint32_t> rank;       ///< 1 = best by the objective; empty when not launchable
    bool is_current{}, is_heuristic{};
    bool is_reference{};                     ///< what `safe` is judged against: today's launch, else the assumed one
    std::optional<double> regret;            ///< among several cases: cost over the case's own best, minus 1
    std::string chosen_for;                  ///< "least_worst_regret least_weighted_cost dispatch", as far as it is that
};

struct Assumption {
    std::string name, value, reason;
    std::optional<std::string> could_change;
};

struct SearchSpace {
    std::uint64_t candidates{}, launchable{}, kept{};
    std::map<std::string, std::uint64_t> rejected_by;
    std::optional<double> reduction;         ///< 1 - kept / launchable
};

struct Gain {
    Dim3 block;                                                         ///< the other: heuristic's or current
    double time_ratio{}, time_ratio_low{}, time_ratio_high{};           ///< recommended over other
    std::optional<double> energy_ratio, energy_ratio_low, energy_ratio_high;
};

struct Reason { std::string what; std::optional<double> delta_us, delta_mj; };
/// What another value of an assumption would do to the answer: the best block (of those kept and the baselines) and its
/// time at either end.
struct Sensitivity {
    std::string name;
    std::string low, high;                   ///< the values tried
    std::string effect;
    std::optional<Dim3> best_low, best_high;
    std::optional<double> time_us_low, time_us_high;
    bool changes_answer{};
};

struct Recommendation {
    std::string objective;
    Dim3 block, grid;
    std::optional<double> clock_mhz, power_limit_w;
    std::optional<bool> safe;
    std::string confidence, confidence_reason;       ///< "high" | "medium" | "low"
    std::optional<Gain> over_heuristic, over_current;
    bool keep_current{};                     ///< today's launch is this one, or no worse within the interval of the gain
    std::vector<Reason> reasons;
    std::vector<std::string> caveats;
    std::vector<Sensitivity> sensitivity;
};

struct Finding {
    std::string rule;                        ///< "FF101"
    Severity severity{Severity::warning};
    std::string message;
    std::uint32_t ptx_line{};
    std::optional<SourceLine> source;
    std::optional<double> cost_us, cost_mj;
    std::string help;
};

struct SuppressedFinding { Finding finding; std::string reason; };

struct CodeChoice {
    std::string analysed;                    ///< "ptx"
    std::string runs;                        ///< "ptx (just-in-time)", "cubin sm_80", ...
    std::optional<bool> same_source;
    bool compatible{true};
    std::string why_not;
};

struct Reblocking {
    std::string verdict;                     ///< safe | unsafe | unverified (of the recommended block; unverified when none)
    Dim3 reference_block, reference_grid;
    std::string reference_basis;             ///< given | assumed | required
    std::string reason;
};

/// One kernel on one GPU in one case.
struct KernelResult {
    std::string gpu, case_name;
    std::string gpu_note;                    ///< what an alias stood for
    GpuProfile profile;
    CodeChoice code;
    Resources resources;
    Reblocking reblocking;
    std::vector<Assumption> assumptions;
    SearchSpace space;
    std::vector<ConfigResult> configs;       ///< --block order, or best first
    std::optional<Recommendation> recommendation;
    std::string no_recommendation;           ///< why it is empty
    std::vector<Finding> findings;           ///< worst first
    std::vector<SuppressedFinding> suppressed;   ///< answered by a comment in the source; none of these is among `findings`
};

struct ParameterValue { std::string value; bool given{}; };

/// A kernel's code for reports that show it. Empty unless AnalyzeOptions::listing.
struct Listing {
    struct Instruction {
        std::uint32_t ptx_line{};
        std::uint32_t file{}, line{};        ///< of the source: index into `files` plus one, 0 where no .loc says
        std::int32_t access{-1};             ///< index into KernelFacts::accesses of its first side, -1: touches no memory
        std::string_view kind;               ///< of kClassNames
    };
    std::vector<std::string> files;
    std::vector<Instruction> instructions;   ///< parallel to LaunchFacts::executions
    std::uint32_t first_line{};              ///< of `lines.front()` in the PTX
    std::vector<std::string> lines;          ///< the entry, as its text has it
};

/// A launch for several cases: a block at an operating point.
struct CommonLaunch {
    Dim3 block;
    std::optional<double> clock_mhz, power_limit_w;
    std::optional<bool> safe;                ///< in all the cases that it is for
    double weighted_cost{};                  ///< mean over its cases, by their weights
    double worst_regret{};                   ///< largest cost over the case's own best, minus 1
    std::string worst_case;
    std::vector<double> regrets;             ///< by case of AcrossCases::cases
};

struct CaseLine {
    std::string name;
    double weight{1};
    std::optional<double> swept;             ///< the value of the swept parameter
    Dim3 best_block, best_grid;
    double best_cost{};
    std::optional<bool> safe;
};

/// One row of a dispatch table: the cases that one launch is for.
struct DispatchRow {
    Dim3 block;
    std::optional<double> clock_mhz, power_limit_w;
    std::optional<bool> safe;
    std::vector<std::string> cases;
    std::optional<double> from, to;          ///< of the swept parameter: the points at its ends
    std::optional<double> crossing;          ///< from this value on the next row is better
};

/// Several cases on one GPU: a launch for all of them, and what more than one would gain.
struct AcrossCases {
    std::string objective, unit;             ///< "time", "us"
    std::string swept;                       ///< the parameter of --sweep, or empty
    std::vector<CaseLine> cases;             ///< those with a recommendation
    std::optional<CommonLaunch> least_worst_regret, least_weighted_cost;
    std::string none_because;                ///< why there is none for all
    struct Second { Dim3 first, second; double cost_ratio{}, cost_ratio_low{}, cost_ratio_high{}; bool pays{}; };
    std::optional<Second> second_launch;     ///< the best pair over the best single launch
    std::vector<DispatchRow> dispatch;       ///< where it pays
};

struct KernelAnalysis {
    KernelFacts facts;
    std::vector<ParameterValue> parameter_values;    ///< parallel to facts.parameters
    Listing listing;
    std::vector<KernelResult> results;       ///< by GPU, then by case
    std::vector<AcrossCases> across;         ///< by GPU, where there are cases
    std::optional<double> calls;             ///< launches per step, of the launches file
    std::string input;                       ///< path of the input that it came from
    std::map<std::string, std::string> metadata;   ///< Triton's, and the variant table's: "num_warps" -> "4"
};

struct ModuleSummary {
    std::string name, ptx_version, target;
    std::uint32_t address_size{64}, lines{};
    bool line_table{};
    std::string producer;                    ///< who wrote the PTX, by its own header ("CUDA 13.0.88"), or empty
    std::vector<Diagnostic> diagnostics;
};

struct InputSummary {
    std::string path;
    InputKind kind{InputKind::ptx};
    std::string sha256;
    std::vector<ModuleSummary> modules;
    std::vector<Diagnostic> diagnostics;     ///< of the container itself; the texts' are with their modules
};

/// One kernel's part of a step: `calls` launches of today's launch (or of the recommended one, where none was named).
struct StepLine {
    std::size_t kernel{};                    ///< index into Analysis::kernels
    double calls{};
    Dim3 block;
    std::string launch;                      ///< "current" | "named" | "recommended"
    double time_us{}, time_share{};          ///< a step's
    std::optional<double> energy_mj, energy_share;
    std::optional<double> recommended_time_us, recommended_energy_mj;   ///< the same with the recommended launch
};

/// All kernels of a launches file with `calls`, on one GPU. Cases of a kernel count by their weights.
struct StepSummary {
    std::string gpu;
    std::vector<StepLine> lines;             ///< costliest first
    double time_us{};
    std::optional<double> energy_mj;         ///< empty when one of them is not known
    std::optional<double> recommended_time_us, recommended_energy_mj;
    std::vector<std::size_t> uncounted;      ///< kernels without `calls`
    std::vector<std::size_t> unpredicted;    ///< kernels with calls that cannot be launched
};

/// One variant of a computation at its own best launch.
struct VariantLine {
    std::size_t kernel{};                    ///< index into Analysis::kernels
    Dim3 block, grid;
    std::uint64_t dynamic_shared_bytes{};
    std::optional<double> time_us, energy_mj;
    std::optional<bool> safe;
    std::optional<double> cost_ratio, cost_ratio_low, cost_ratio_high;   ///< over the best variant, by the objective
    std::optional<std::uint32_t> rank;
    std::string why_not;                     ///< why it has no rank
};

/// Variants of one computation on one GPU in one case, best first (--variants).
struct VariantRanking {
    std::string name, gpu, case_name, objective;
    std::vector<std::string> parameters;     ///< the metadata in which they differ
    std::string note;                        ///< why the order may mean little, or empty
    std::vector<VariantLine> lines;
};

/// A kernel of an input without PTX, on a GPU that runs its machine code: what it needs and what fits, no more.
struct MachineKernel {
    std::string input, cubin, architecture, demangled, gpu;
    CubinKernel needs;
    std::uint32_t block_threads{};
    bool block_is_required{};                ///< .reqntid; else 256 are assumed, or what the launch bound allows
    Occupancy occupancy;
};

struct Analysis {
    std::map<std::string, std::optional<std::string>> used;   ///< tool -> version
    std::vector<InputSummary> inputs;
    std::vector<KernelAnalysis> kernels;
    std::vector<StepSummary> steps;          ///< by GPU, where `calls` were given
    std::vector<VariantRanking> variants;
    std::vector<MachineKernel> machine_kernels;   ///< in the inputs' order, GPU by GPU
    std::vector<Diagnostic> notes;           ///< for standard error: what was asked for and did not apply everywhere
    bool overview{};                         ///< many kernels: each was given a tenth of the effort, and no sensitivities
    std::uint64_t errors{}, warnings{};      ///< of all inputs' and modules' diagnostics
};

}  // namespace flipflop
