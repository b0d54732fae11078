// Owns: which names the parameters of a kernel have in the CUDA source that it was compiled from. Input: inputs that were
// source themselves, so that the text at hand is the one compiled. Invariant: a name that could be another's is none.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "flipflop/facts.hpp"
#include "flipflop/inputs.hpp"
#include "passes/cuda_names.hpp"

namespace flipflop::advise {

/// Reads each source file once. Thread-safe.
class SourceNames {
public:
    /// Names what has no name yet: from the file that the kernel's line table names (the input or a header of it), else
    /// from the input's own text. An input of another kind, or a file that cannot be read, names nothing.
    void apply(const Input& input, KernelFacts& kernel);

private:
    const std::vector<CudaSignature>& signatures_of(const std::string& path);

    std::mutex mutex_;
    std::map<std::string, std::vector<CudaSignature>> read_;
};

}  // namespace flipflop::advise
