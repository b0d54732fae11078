// Owns: what some bytes are, by their content. Input: the whole content (only its beginning is looked at, but for text
// whose first words decide nothing). Invariant: `ptx` begins as PTX does; `ptx_late` only has lines that do: damaged
// PTX, or prose about it.
#pragma once

#include <cstdint>
#include <string_view>

namespace flipflop {

enum class Content : std::uint8_t {
    empty, ptx, ptx_late, cuobjdump, elf, archive, thin_archive, fatbin, llvm_bitcode, llvm_ir, cuda, sass, utf16, compressed, binary, text,
};

[[nodiscard]] Content sniff(std::string_view bytes);

/// "an ELF file", "CUDA source", ...: what messages call it.
[[nodiscard]] std::string_view describe(Content content);

/// The text after white space, // and /* */ comments.
[[nodiscard]] std::string_view skip_comments(std::string_view text);

}  // namespace flipflop
