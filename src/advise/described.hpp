// Owns: which description of a launch each kernel has: the command line's alone, or with an entry of the launches file.
// Invariant: a kernel is described by the first entry that matches it; entries that describe nothing are said.
#pragma once

#include <vector>

#include "advise/select_kernels.hpp"
#include "advise/subject.hpp"
#include "advise/variants.hpp"

namespace flipflop::advise {

struct Described {
    std::vector<Requests> requests;              ///< the first is the command line's alone
    std::vector<std::size_t> of_kernel;          ///< by chosen kernel: index into `requests`
    std::vector<std::optional<double>> calls;    ///< by chosen kernel: launches per step
    std::vector<Diagnostic> notes;
};

/// `all` are the kernels of the inputs, `chosen` those that are analysed. FF0764 when a launches file matches none of them.
[[nodiscard]] Result<Described> describe(Requests command, const AnalyzeOptions& options, const std::vector<KernelName>& all, const std::vector<std::size_t>& chosen);

/// Gives every kernel the names of what it was compiled with (by chosen kernel): Triton's shared memory is the launch's.
void add_metadata(Described& described, const std::vector<Metadata>& metadata);

/// Gives the parameters their names. FF0765 when there are more names than parameters.
[[nodiscard]] std::optional<Diagnostic> name_parameters(const Requests& requests, KernelFacts& kernel);

}  // namespace flipflop::advise
