// Owns: one kernel on all GPUs in all cases: from its code and the requests for it to a KernelAnalysis.
#pragma once

#include <memory>
#include <vector>

#include "advise/compile.hpp"
#include "advise/subject.hpp"

namespace flipflop::advise {

struct KernelPlace { const Input* input{}; const ptx::Module* module{}; std::uint32_t entry{}; };

/// What all kernels are analysed on.
struct Boards {
    std::vector<GpuProfile> gpus;
    std::vector<GpuModel> models;            ///< by GPU
    std::vector<PairedError> paired;         ///< by GPU
    std::vector<OperatingPoint> points;
    std::unique_ptr<Compiler> compiler;
};

/// From more kernels on than this, one kernel of a search is a line among many: see `brief`.
inline constexpr std::size_t kManyKernels = 10;

/// `code` is used up. `brief`: with a tenth of the evaluator's budget and without trying what the assumptions could change. Usage errors of the requests (an expression without an answer) come at their place.
[[nodiscard]] Result<KernelAnalysis> analyse_on_boards(const KernelPlace& place, KernelCode& code, const Requests& requests, const Boards& boards,
                                                       const AnalyzeOptions& options, unsigned threads, bool brief = false);

}  // namespace flipflop::advise
