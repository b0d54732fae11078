// Owns: which blocks are looked at, and which of them no launch can have whatever the resources.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flipflop/facts.hpp"
#include "flipflop/gpu.hpp"

namespace flipflop::advise {

/// The contract's search space: 1-D kernels multiples of 32 up to 1024; 2-D and 3-D powers of two an axis with a product
/// of 32 to 1024 (z at most 64, the hardware's limit). In ascending order of threads, then x, then y.
[[nodiscard]] std::vector<Dim3> search_space(int dimensions);

/// .reqntid, else 256 / 16,16 / 8,8,4, halved until it respects .maxntid.
[[nodiscard]] Dim3 reference_block(const KernelFacts& kernel, bool ignore_bounds);

struct Obstacle {
    std::string reason;      ///< key of rejected_by: "block_size", "required_block", "max_threads", "architecture", ...
    std::string words;
};
/// Why no launch of this kernel can have this block: hardware limits and the kernel's own bounds.
[[nodiscard]] std::optional<Obstacle> block_obstacle(const KernelFacts& kernel, Dim3 block, bool ignore_bounds);

/// Blocks of a cluster that every GPU with clusters takes (CUDA Programming Guide, "Thread Block Clusters").
inline constexpr std::uint64_t kPortableCluster = 8;

/// Clusters: compute capability, size, and the shape that the kernel demands.
[[nodiscard]] std::optional<Obstacle> cluster_obstacle(const KernelFacts& kernel, std::optional<Dim3> cluster, const ComputeCapability& cc);

/// Does PTX for `target` ("sm_90a") run on `cc`? Plain targets on anything as new, `f` in the family from the target on,
/// `a` on exactly that capability (PTX ISA, ".target").
[[nodiscard]] bool ptx_runs_on(const std::string& target, const ComputeCapability& cc);
/// Does machine code for `architecture` ("sm_86") run on `cc`? Within the major version, on a minor as high.
[[nodiscard]] bool cubin_runs_on(const std::string& architecture, const ComputeCapability& cc);

}  // namespace flipflop::advise
