// Owns: how a prediction is checked on a GPU: for each fact of a launch the Nsight Compute metric that confirms it, what
// flipflop predicts for it, and one command that measures them all. Invariant: a metric without a prediction says why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flipflop/analysis.hpp"

namespace flipflop {

struct NcuMetric {
    std::string metric;                      ///< as `ncu --query-metrics` lists it, with its suffix
    std::string unit;                        ///< of `predicted`: "us", "sector", "byte", "block", "%", ...
    std::string fact;                        ///< what it confirms, in words
    std::optional<double> predicted, low, high;
    std::string note;                        ///< why there is no prediction, or what to mind when comparing
};

struct NcuPlan {
    std::vector<NcuMetric> metrics;
    std::string command;                     ///< for a POSIX shell; empty where ncu does not support the GPU
    std::string unsupported;                 ///< why it is empty
    std::vector<std::string> not_covered;    ///< what no metric confirms
};

[[nodiscard]] NcuPlan ncu_plan(const KernelFacts& kernel, const Resources& resources, const ConfigResult& config, const GpuProfile& gpu, bool warm_cache);

}  // namespace flipflop
