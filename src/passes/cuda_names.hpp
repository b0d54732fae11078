// Owns: names of kernels' parameters as CUDA C++ source declares them. Input: the source's text, which is read as tokens and
// never preprocessed: what macros hide is not seen. Invariant: a name that could be another's is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flipflop/facts.hpp"

namespace flipflop {

/// A declaration or definition with __global__: its name without namespaces and template arguments.
struct CudaSignature {
    std::string name;
    std::vector<std::string> parameters;    ///< "" where a declaration names none
};

[[nodiscard]] std::vector<CudaSignature> cuda_signatures(std::string_view source);

/// Sets source_name of the parameters that have none, from the one signature that fits the kernel's name and their number.
void name_parameters(const std::vector<CudaSignature>& signatures, KernelFacts& kernel);

}  // namespace flipflop
