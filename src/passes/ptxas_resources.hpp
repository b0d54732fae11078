// Owns: what NVIDIA's assembler says of a kernel (registers, spills, stack, shared memory, barriers), when there is one or
// its log. Input: PTX text and an architecture, or a log. Invariant: a field that the log does not have stays empty.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"
#include "flipflop/facts.hpp"
#include "inputs/content_cache.hpp"
#include "inputs/process.hpp"

namespace flipflop {

struct PtxasTool {
    std::string path;
    std::string version;                 ///< "13.0.88"
    std::chrono::milliseconds timeout{60'000};
    std::string temporary_folder{P_tmpdir};
};

/// One "Compiling entry function" of a log (PTX: one kernel for one architecture).
struct PtxasKernel {
    std::string name;                    ///< mangled
    std::string architecture;            ///< "sm_80"
    std::optional<std::uint32_t> registers, barriers;
    std::optional<std::uint64_t> stack_frame_bytes, spill_store_bytes, spill_load_bytes, shared_bytes;
};

/// `explicit_path` (--ptxas FILE), else CUDA_HOME/bin, else PATH; asks the tool its version.
/// FF0601: there is none; FF0602 to FF0604: it does not run.
[[nodiscard]] Result<PtxasTool> find_ptxas(const std::string& explicit_path, const ToolEnvironment& environment);

/// Assembles `ptx_text` for `architecture` ("sm_80"), one `entry` of it or all (empty), and reads the report; it is kept in
/// `cache` by the PTX, what was asked, and the version of ptxas.
/// FF0603: it took too long; FF0604: it failed (its first error is in the message); FF0605: no kernel in its report.
[[nodiscard]] Result<std::vector<PtxasKernel>> run_ptxas(const PtxasTool& tool, std::string_view ptx_text, const std::string& architecture,
                                                         const std::string& entry = {}, const ContentCache& cache = ContentCache({}));

/// Reads the output of `ptxas -v`, `nvcc -Xptxas -v` or a build log that holds it (CUDA 9 to 13); other lines are skipped.
/// FF0605: no kernel in it.
[[nodiscard]] Result<std::vector<PtxasKernel>> parse_ptxas_log(std::string_view log);

/// The report on a kernel for an architecture; any architecture when it is empty. Null: not there.
[[nodiscard]] const PtxasKernel* find_kernel(const std::vector<PtxasKernel>& report, std::string_view name, std::string_view architecture);

/// `estimate` with what ptxas knows better in its place.
[[nodiscard]] Resources refine(const Resources& estimate, const PtxasKernel& measured);

}  // namespace flipflop
