// Owns: from an instruction to the line of the source that a person would look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flipflop/facts.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop {

/// The instruction's `.loc` as a line of the kernel's own file: of a helper in that file that was inlined the helper's
/// line, of code from a header the line that called it. Empty without a `.loc`, or where the compiler wrote line 0.
[[nodiscard]] std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Instruction& instruction);

/// Where the function stands: the first `.loc` of its body, followed to the outermost caller.
[[nodiscard]] std::optional<SourceLine> source_of(const ptx::Module& module, const ptx::Function& function);

/// What a person may call an instruction by: "ptx:LINE", "module.ptx:LINE", and "file:line" of every line it was inlined through, with the
/// path as the compiler wrote it and without folders.
[[nodiscard]] std::vector<std::string> place_names(const ptx::Module& module, const ptx::Instruction& instruction);

}  // namespace flipflop
