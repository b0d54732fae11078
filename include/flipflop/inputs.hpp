// Owns: from a path to PTX text. What an input is is decided by its content, never by its name.
// Invariant: nothing is read without bound; hostile containers are errors, not crashes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"
#include "flipflop/source.hpp"

namespace flipflop {

enum class InputKind : std::uint8_t { ptx, fatbin, elf, archive, cuda, llvm_ir, llvm_bitcode, triton, cuobjdump };
[[nodiscard]] std::string_view to_string(InputKind kind);   ///< the contract's words: "llvm-ir", ...

/// One PTX text of an input.
struct PtxText {
    std::string name;                       ///< what diagnostics and reports call it: the path, or "lib.a(member.o)#2.compute_80"
    std::shared_ptr<const std::string> text;
};

/// What machine code says of one of its kernels; empty: it does not.
struct CubinKernel {
    std::string name;                       ///< mangled
    std::uint64_t code_bytes{};             ///< of instructions
    std::optional<std::uint32_t> registers, barriers, max_registers;
    std::optional<std::array<std::uint32_t, 3>> max_block, required_block, cluster;
    std::optional<std::uint64_t> shared_bytes;       ///< a block's own, without what the system takes
    std::optional<std::uint64_t> stack_frame_bytes;  ///< a thread, as ptxas -v counts it
    bool linked{true};                      ///< false: of an object that is still to be linked, which may need more
};

/// Machine code that lies beside the PTX. `bytes` is its size as stored, compressed or not; cuobjdump text does not say.
struct CubinEntry {
    std::string name, architecture;
    std::optional<std::uint64_t> bytes;
    std::optional<std::vector<CubinKernel>> kernels;  ///< empty: it was not read
};

struct Input {
    std::string path;                       ///< as given, "-" for standard input
    InputKind kind{InputKind::ptx};
    std::string sha256;                     ///< of the file's bytes; empty without ReadOptions::digest
    std::vector<PtxText> texts;             ///< empty where ReadOptions::on_text took them
    std::vector<CubinEntry> cubins;
    std::map<std::string, std::string> metadata;   ///< Triton: the scalars of NAME.json ("num_warps" -> "4")
    std::vector<Diagnostic> diagnostics;    ///< what was damaged or left out; errors among them mean exit 3
    std::map<std::string, std::string> used;       ///< the outside tool that made PTX of it, and its version
    std::uint64_t file_bytes{}, text_bytes{};      ///< as stored, and of all PTX after unpacking
};

/// Bounds on what one input may cost. Real libraries stay far below them (the largest PTX module of the CUDA toolkit
/// has 32 MB, the largest library 0.6 GB).
struct InputLimits {
    std::uint64_t max_file_bytes{8ULL << 30};
    std::uint64_t max_stream_bytes{1ULL << 30};    ///< standard input and pipes, which are held in memory
    std::uint64_t max_text_bytes{512ULL << 20};    ///< one PTX text
    std::uint64_t max_expansion{256};              ///< all texts of a container: at most this times the file, and 64 MiB
    std::uint32_t max_entries{1U << 20};           ///< of one container
    std::uint32_t max_files{200'000};              ///< of one directory, looked at
    std::uint32_t max_depth{64};                   ///< of directories
    std::uint32_t pipe_seconds{10};                ///< that a named pipe is waited for until someone opens it to write
};

struct ReadOptions {
    InputLimits limits;
    /// Called with each text as it is unpacked, and the text is not kept: a library of gigabytes in bounded memory.
    /// The Input is the one that will be returned, as far as it is known by then.
    std::function<void(const Input&, PtxText)> on_text;
    /// With it, CUDA source, LLVM IR and bitcode that are named (not met in a directory) are compiled; without, refused.
    std::optional<SourceOptions> source{};
    bool digest{true};                      ///< false: nobody will ask for Input::sha256 (a file of half a gigabyte takes a while)
};

/// Reads one INPUT argument. A directory yields one Input a file inside that holds PTX, sorted by path; files of other
/// kinds in it are passed over, but a file named .ptx that is none is an Input with an error.
/// Missing, unreadable, empty, or of no known kind: an error Diagnostic (FF08nn) that says what the file is instead.
[[nodiscard]] Result<std::vector<Input>> read_input(const std::string& path, const ReadOptions& options = {});

/// The same for bytes that are already in memory; `name` stands for the path. Never a directory.
[[nodiscard]] Result<Input> read_input_bytes(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

/// Lower-case hexadecimal SHA-256 (FIPS 180-4).
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace flipflop
