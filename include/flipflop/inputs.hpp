// Owns: from a path to PTX text. What an input is is decided by its content, never by its name.
// Invariant: nothing is read without bound; hostile containers are errors, not crashes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop {

enum class InputKind : std::uint8_t { ptx, fatbin, elf, archive, cuda, llvm_ir, llvm_bitcode, triton, cuobjdump };
[[nodiscard]] std::string_view to_string(InputKind kind);   ///< the contract's words: "llvm-ir", ...

/// One PTX text of an input.
struct PtxText {
    std::string name;                       ///< what diagnostics and reports call it
    std::shared_ptr<const std::string> text;
};

struct CubinEntry { std::string name, architecture; std::uint64_t bytes{}; };

struct Input {
    std::string path;                       ///< as given, "-" for standard input
    InputKind kind{InputKind::ptx};
    std::string sha256;                     ///< of the file's bytes
    std::vector<PtxText> texts;
    std::vector<CubinEntry> cubins;
    std::vector<Diagnostic> diagnostics;
};

/// Reads one INPUT argument. A directory yields one Input a file inside that holds PTX, sorted by path.
/// Missing, unreadable, empty, or of no known kind: an error Diagnostic (FF08nn) that says what the file is instead.
[[nodiscard]] Result<std::vector<Input>> read_input(const std::string& path);

/// Lower-case hexadecimal SHA-256 (FIPS 180-4).
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace flipflop
