// Owns: which code runs on a GPU and what it needs there: a cubin or PTX, and registers from ptxas, its log, or the
// estimate. Input: a kernel, its input, the environment. Invariant: where ptxas was not used the report can say so.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "flipflop/advise.hpp"
#include "flipflop/inputs.hpp"
#include "flipflop/passes.hpp"
#include "passes/ptxas_resources.hpp"

namespace flipflop::advise {

/// The cubin that a GPU runs instead of PTX: of the newest architecture that it knows, `a` and `f` before plain ones. With a
/// kernel's name one that holds it, or that was not read. Null: the PTX is assembled.
[[nodiscard]] const CubinEntry* running_cubin(const Input& input, const std::string& kernel, const ComputeCapability& cc);

[[nodiscard]] CodeChoice choose_code(const Input& input, const ptx::Module& module, const std::string& kernel, const ComputeCapability& cc);

/// `estimate` with what a cubin knows better. Spills stay as ptxas said them where the cubin has the same registers and
/// stack, are none where there is no stack frame, and are else not known.
[[nodiscard]] Resources refine(const Resources& estimate, const CubinKernel& measured);

/// ptxas's reports, each module (or kernel of it) and architecture assembled once, side by side as threads ask for them.
class Compiler {
public:
    /// Finds ptxas or reads the log, as the options say. FF06nn when it is required and not there, FF0755 for a log that
    /// cannot be read.
    [[nodiscard]] static Result<std::unique_ptr<Compiler>> make(const AnalyzeOptions& options);

    /// The kernel's resources on `gpu`: of the cubin that runs there, of the log, of ptxas, or estimated, the first that there
    /// is. FF06nn when ptxas is required and fails.
    [[nodiscard]] Result<Resources> resources(const Input& input, const KernelCode& code, const ptx::Module& module, const GpuProfile& gpu);

    /// That `resources` will be asked of a kernel of this module; before the first is.
    void expect(const ptx::Module& module) { ++expected_[&module]; }

    /// Before modules go: what is known of them.
    void forget();

    [[nodiscard]] const std::optional<std::string>& version() const { return version_; }   ///< of a ptxas that was found
    /// What went wrong with ptxas, in an order that does not depend on threads. After the last question.
    [[nodiscard]] std::vector<Diagnostic> notes() const;

private:
    [[nodiscard]] Result<Resources> without_cubin(const KernelCode& code, const ptx::Module& module, const GpuProfile& gpu);

    using Report = Result<std::vector<PtxasKernel>>;
    using ReportPlace = std::tuple<const ptx::Module*, std::string, std::string>;   ///< architecture, entry or empty
    [[nodiscard]] const Report& report_on(const ptx::Module& module, const std::string& kernel, const std::string& architecture);
    [[nodiscard]] Report ask(const ptx::Module& module, const std::string& entry, const std::string& architecture);

    PtxasUse use_{PtxasUse::automatic};
    std::optional<PtxasTool> tool_;
    std::optional<std::vector<PtxasKernel>> log_;
    std::optional<std::string> version_;
    std::mutex mutex_;
    std::map<const ptx::Module*, std::size_t> expected_;
    std::map<ReportPlace, std::shared_future<Report>> reports_;
    std::unique_ptr<ContentCache> cache_;
    int timeouts_{};
    std::vector<Diagnostic> notes_;
};

}  // namespace flipflop::advise
