// Owns: kernels of which there is machine code and no PTX. Input: inputs, the --kernel patterns, GPUs. Output: what each
// kernel needs, and how many blocks fit on a multiprocessor. Invariant: nothing is said of a GPU that does not run the code.
#pragma once

#include <string>
#include <vector>

#include "flipflop/analysis.hpp"
#include "flipflop/inputs.hpp"

namespace flipflop::advise {

/// FF0701 and FF0702 as select_kernels.
[[nodiscard]] Result<std::vector<MachineKernel>> machine_kernels(const std::vector<Input>& inputs, const std::vector<std::string>& patterns,
                                                                 const std::vector<GpuProfile>& gpus);

}  // namespace flipflop::advise
