// Owns: names of kernels' parameters as CUDA C++ source declares them. Input: the source's text, which is read as tokens and
// never preprocessed: what macros hide is not seen. Invariant: a name that could be another's is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/facts.hpp"

namespace flipflop {

/// A declaration or definition with __global__: its name without namespaces and template arguments.
struct CudaSignature {
    std::string name;
    std::vector<std::string> parameters;    ///< "" where a declaration names none
    std::vector<std::string> types;         ///< parallel: as a demangler writes them without const; "" for all but built-in types
    bool any_number{};                      ///< a parameter pack: an instance has as many as it likes
    std::uint32_t first_line{}, last_line{};   ///< of a definition, to the end of its body; 0: a declaration
};

[[nodiscard]] std::vector<CudaSignature> cuda_signatures(std::string_view source);

/// Sets source_name of the parameters that have none, from the signatures that fit the kernel's name, their number and
/// types, where these agree. `line`: of the kernel's code in this text, where it is known: only the definition around it counts.
void name_parameters(const std::vector<CudaSignature>& signatures, KernelFacts& kernel, std::optional<std::uint32_t> line = {});

}  // namespace flipflop
