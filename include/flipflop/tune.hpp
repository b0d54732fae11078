// Owns: tuning kernels with compile-time parameters: from a space of configurations to variants that are compiled, put
// through the same engine as `analyze`, ranked and cut down to a short list. Input: a T1 file or definitions, options.
// Invariant: a configuration that does not compile or cannot launch is a row with its error, never left out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/advise.hpp"
#include "flipflop/source.hpp"

namespace flipflop {

struct TuneOptions {
    std::string spec;                        ///< a T1 file or a source file
    std::vector<std::string> defines;        ///< NAME=VALUES
    std::vector<std::string> restricts;      ///< conditions
    std::string block;                       ///< up to three expressions of parameters, divided by commas
    std::string configurations;              ///< a CSV file, or empty
    std::optional<std::uint64_t> sample;
    std::uint64_t seed{};
    std::uint64_t most{1'000'000};           ///< configurations of one run
    std::string reference;                   ///< PARAM=VALUE,...
    bool list_only{};                        ///< the configurations and nothing more
    AnalyzeOptions analyze;                  ///< GPUs, operating point, arguments, grid rules, ptxas, threads
    SourceOptions source;
    /// Called as variants are done, from any thread but one at a time.
    std::function<void(std::size_t done, std::size_t all)> on_progress;
};

/// One configuration on one GPU.
struct TuneRow {
    std::uint32_t configuration{};           ///< its place among those considered, from 0; value_of tells its values
    Dim3 block, grid;
    bool has_block{}, has_grid{};
    std::optional<std::uint32_t> registers;
    std::string registers_basis;
    std::optional<std::uint64_t> shared_bytes, spill_bytes;
    std::optional<double> occupancy;
    std::optional<double> time_us, time_low_us, time_high_us, floor_time_us;
    std::optional<double> power_w, energy_mj, energy_low_mj, energy_high_mj, edp;
    std::string bound_by;
    std::optional<bool> safe;
    std::string safe_reason;
    bool pareto{}, kept{}, recommended{}, reference{};
    std::optional<std::uint32_t> rank;
    std::string error, error_stage;          ///< stage: compile | launch | constraints
};

/// What a parameter is worth by itself: how the cost (time, or energy where that is the objective) changes between
/// configurations that differ in it alone, so that what goes along with it in the sample is not taken for it.
struct ParameterEffect {
    std::string name;
    std::optional<double> spread;            ///< cost at its worst value over that at its best; empty: too few pairs
    std::uint32_t groups{};                  ///< sets of configurations that agree in all else and differ in it
    struct At { std::string value; std::optional<double> best_cost, relative; std::uint32_t rows{}, kept{}; };   ///< relative: to its best value
    std::vector<At> values;
};

struct TuneParameter { std::string name; std::vector<std::string> values; std::vector<bool> numeric; std::string default_value; };

struct TuneResult {
    std::string gpu, gpu_note, architecture;
    std::vector<TuneRow> rows;               ///< best first; without a rank at the end
    std::uint64_t compiled{}, failed{}, launchable{}, kept{};
    std::vector<ParameterEffect> effects;    ///< largest first
    std::optional<std::size_t> recommended;  ///< index into rows
    std::vector<std::string> reasons, caveats;
    std::string confidence, no_recommendation;
    std::optional<std::size_t> reference;    ///< index into rows
};

/// One configuration and how it is launched, of a list.
struct TuneListing {
    std::uint32_t configuration{};
    Dim3 block, grid;
    bool has_block{}, has_grid{};
    std::string error;
};

struct TuneReport {
    std::string spec, source, kernel, kernel_demangled;
    bool t1{};
    std::vector<TuneParameter> parameters;
    std::vector<std::uint16_t> choices;      ///< by configuration, by parameter: which of the parameter's values
    std::vector<std::string> conditions;
    std::vector<std::string> compiler_options;
    std::optional<std::uint64_t> space_size; ///< empty: not counted
    double space_product{};
    std::uint64_t considered{};
    std::optional<std::uint64_t> sampled;
    std::uint64_t seed{};
    std::string objective;
    std::map<std::string, std::optional<std::string>> used;
    std::vector<TuneResult> results;         ///< by GPU
    std::vector<TuneListing> listed;         ///< with list_only
    std::vector<Assumption> assumptions;
    std::vector<Diagnostic> notes;

    /// What an exported script needs of the file.
    struct Launch {
        std::vector<std::string> problem_size;
        std::vector<std::string> divisors[3];
        bool has_divisors[3]{};
        std::string block[3];
    } launch;
    struct Argument { std::string name, type, memory, fill, value; std::optional<std::uint64_t> elements; bool constant{}, output{}; };
    std::vector<Argument> arguments;
    std::optional<std::size_t> kernel_parameters;   ///< of the kernel that was compiled
};

/// Which of a parameter's values a configuration has, and the value in words.
[[nodiscard]] inline std::size_t choice_of(const TuneReport& report, std::uint32_t configuration, std::size_t parameter) {
    return report.choices[std::size_t{configuration} * report.parameters.size() + parameter];
}
[[nodiscard]] inline const std::string& value_of(const TuneReport& report, std::uint32_t configuration, std::size_t parameter) {
    return report.parameters[parameter].values[choice_of(report, configuration, parameter)];
}

/// Usage errors FF07nn, tools FF06nn, the file and its source FF08nn.
[[nodiscard]] Result<TuneReport> tune(const TuneOptions& options);

}  // namespace flipflop
