// Owns: what machine code for NVIDIA GPUs (a cubin: ELF, machine 190) says of its kernels. No specification is public: the
// attributes of .nv.info, the bits of section and symbol headers, and where the architecture stands were read from the
// cubins of ptxas 11.8 to 13.5 beside its own report (tests/cli/test_toolkits.py does so again with what is installed).
// Invariant: nothing is read outside the file; a field that the file does not have stays empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "flipflop/inputs.hpp"

namespace flipflop {

/// "sm_90a" from the header (the number moved when the ABI's version became 8) and, for the suffix, from ptxas's note.
/// "unknown" where there is no header.
[[nodiscard]] std::string cubin_architecture(std::string_view elf);

/// The kernels in the order of the symbol table. An error in words when the file is damaged.
[[nodiscard]] tl::expected<std::vector<CubinKernel>, std::string> read_cubin(std::string_view elf);

}  // namespace flipflop
