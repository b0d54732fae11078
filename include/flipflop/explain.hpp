// Owns: what `flipflop explain` says: configurations with their whole term trees, side by side, and why one is not the
// recommended one. Input: as analyze. Invariant: every comparison is made of differences of terms that both trees hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/advise.hpp"
#include "flipflop/analysis.hpp"
#include "flipflop/ncu.hpp"

namespace flipflop {

struct ExplainRequest {
    std::optional<Dim3> block;                ///< --block; empty: the recommended one
    std::optional<Dim3> versus;               ///< --versus
    std::optional<Dim3> why_not;              ///< --why-not
    bool ncu{};                               ///< --ncu
};

/// A term of the first configuration and its counterpart at the same place of the second one's tree.
struct TermChange {
    std::string path;                         ///< ids from the root, "time/memory/dram"
    std::string unit;
    std::optional<double> value, other;       ///< empty where one tree has no such term
};

struct ExplainedConfig {
    std::string role;                         ///< "asked" | "recommended" | "versus" | "why_not"
    ConfigResult config;
};

struct Comparison {
    std::size_t first{}, second{};            ///< indices into ExplainedKernel::configs
    std::optional<double> time_ratio, time_ratio_low, time_ratio_high;       ///< first over second
    std::optional<double> energy_ratio, energy_ratio_low, energy_ratio_high;
    std::vector<Reason> reasons;              ///< what each demand on the GPU is worth, first minus second; may be empty
    std::vector<TermChange> changes;          ///< of the terms in the unit of the root, largest difference first
    std::string verdict;                      ///< one sentence
};

struct ExplainedKernel {
    KernelFacts facts;
    std::vector<ParameterValue> parameter_values;
    std::string gpu, gpu_name, case_name;
    Resources resources;
    std::vector<Assumption> assumptions;
    std::vector<ExplainedConfig> configs;     ///< the one explained first
    std::vector<Comparison> comparisons;
    std::vector<std::string> why_not;         ///< reasons, worst first; empty unless --why-not
    std::vector<Finding> findings;
    std::optional<NcuPlan> ncu;               ///< of the first configuration; empty unless --ncu
};

struct Explanation {
    std::map<std::string, std::optional<std::string>> used;
    std::vector<InputSummary> inputs;
    std::vector<ExplainedKernel> kernels;
    std::vector<Diagnostic> notes;            ///< as Analysis::notes
    std::uint64_t errors{}, warnings{};
};

/// The part of a term that decides its value: the largest of a sum, max or norm, the smallest of a min, the first of a
/// difference or ratio; of a product the time, else the first with parts of its own. A leaf has none.
[[nodiscard]] std::optional<std::size_t> dominant_part(const Term& term);

/// One term with all of a configuration's derivation: energy, with the whole trees of power and time in the places where
/// the model names their values, or time alone where power is not known. Empty where nothing is predicted.
[[nodiscard]] std::optional<Term> whole_term(const ConfigResult& config);

[[nodiscard]] Result<Explanation> explain(const std::vector<Input>& inputs, const AnalyzeOptions& options,
                                          const ExplainRequest& request);

}  // namespace flipflop
