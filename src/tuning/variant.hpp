// Owns: one compiled variant from its PTX to a row: parsed, its kernel found, its arguments bound, put on a GPU. Input:
// PTX text, a launch. Invariant: what goes wrong with one variant is in its row; nothing here ends a run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/gpu_result.hpp"
#include "advise/trials.hpp"
#include "flipflop/ptx.hpp"
#include "inputs/content_cache.hpp"
#include "passes/ptxas_resources.hpp"
#include "tuning/spec.hpp"

namespace flipflop::tuning {

inline constexpr int kMostTimeouts = 2;      ///< a ptxas that hangs is not waited for again and again

/// What all variants share.
struct Bench {
    const Spec* spec{};
    const TuneOptions* options{};
    advise::Requests requests;               ///< of the command line
    std::vector<GpuProfile> gpus;
    std::vector<GpuModel> models;
    std::vector<PairedError> paired;
    OperatingPoint point;
    std::optional<PtxasTool> ptxas;
    mutable std::atomic<int> ptxas_timeouts{0};   ///< from kMostTimeouts on it is not run again
    std::unique_ptr<ContentCache> cache;
};

/// A variant ready to be launched in any block and grid. Keeps what its kernel points into.
struct Prepared {
    std::unique_ptr<ptx::ParseResult> parsed;
    const ptx::Module* module{};
    std::shared_ptr<const std::string> text;
    KernelCode code;
    advise::Subject subject;
    std::vector<Assumption> assumptions;
};

struct Failure { std::string stage, message; };

/// Finds the kernel that is meant: by the file's name, --kernel, or as the only one.
[[nodiscard]] tl::expected<std::unique_ptr<Prepared>, Failure> prepare(const Bench& bench, std::string ptx, const std::uint16_t* configuration, const Geometry& geometry);

/// The launch of a prepared variant, for verdicts.
struct Placed { Dim3 block, grid; std::uint64_t dynamic_shared_bytes{}; };
[[nodiscard]] Launch launch_of(const Prepared& prepared, const Placed& placed);

/// Fills a row with all but ranking and verdict. `placed` is where it was launched, if it could be.
void evaluate(const Bench& bench, const Prepared& prepared, const Geometry& geometry, std::size_t gpu, TuneRow& row, std::optional<Placed>& placed);

}  // namespace flipflop::tuning
