// Owns: from an instruction to the line of the source that a person would look at.
#pragma once

#include <optional>

#include "flipflop/facts.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop {

/// The instruction's `.loc`, followed through `inlined_at` to the outermost line (the kernel's own file, where code
/// from a header was inlined). Empty without a `.loc`, or where the compiler wrote line 0 ("no line").
[[nodiscard]] std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Instruction& instruction);

/// The first line that the function's body names.
[[nodiscard]] std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Function& function);

}  // namespace flipflop
