// Owns: who wrote a PTX text, as its own header comment says. Versions of compilers decide registers and instructions, so
// the gate tells a change of toolchain apart from a change of code.
#pragma once

#include <string>
#include <string_view>

namespace flipflop::advise {

/// "CUDA 13.0.88", "LLVM NVPTX Back-End", or empty where the text does not say. Looks at the comments before `.version`.
[[nodiscard]] std::string producer_of(std::string_view text);

}  // namespace flipflop::advise
