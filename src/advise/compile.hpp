// Owns: which code runs on a GPU and what it needs there: a cubin or PTX, and registers from ptxas, its log, or the
// estimate. Input: a kernel, its input, the environment. Invariant: where ptxas was not used the report can say so.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/advise.hpp"
#include "flipflop/inputs.hpp"
#include "flipflop/passes.hpp"
#include "passes/ptxas_resources.hpp"

namespace flipflop::advise {

[[nodiscard]] CodeChoice choose_code(const Input& input, const ptx::Module& module, const ComputeCapability& cc);

/// ptxas's reports, each module and architecture assembled once. Thread-safe.
class Compiler {
public:
    /// Finds ptxas or reads the log, as the options say. FF06nn when it is required and not there, FF0755 for a log that
    /// cannot be read.
    [[nodiscard]] static Result<std::unique_ptr<Compiler>> make(const AnalyzeOptions& options);

    /// The kernel's resources on `gpu`. FF06nn when ptxas is required and fails.
    [[nodiscard]] Result<Resources> resources(const KernelCode& code, const ptx::Module& module, const GpuProfile& gpu);

    /// Before modules go: what is known of them.
    void forget();

    [[nodiscard]] const std::optional<std::string>& version() const { return version_; }   ///< of a ptxas that was found
    [[nodiscard]] const std::vector<Diagnostic>& notes() const { return notes_; }

private:
    using Report = Result<std::vector<PtxasKernel>>;
    PtxasUse use_{PtxasUse::automatic};
    std::optional<PtxasTool> tool_;
    std::optional<std::vector<PtxasKernel>> log_;
    std::optional<std::string> version_;
    std::mutex mutex_;
    std::map<std::pair<const ptx::Module*, std::string>, Report> reports_;
    std::vector<Diagnostic> notes_;
};

}  // namespace flipflop::advise
