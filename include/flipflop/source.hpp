// Owns: from source code (CUDA, LLVM IR, bitcode) to PTX by the compilers that are there: which are wanted, what they are
// given, where their answers are kept. Invariant: a compiler is run by argument list, in a folder of its own, with a time
// limit and bounded output; its messages come back with their lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace flipflop {

struct SourceOptions {
    std::string compiler{"auto"};            ///< auto | nvrtc | nvcc | clang, or the path of one
    std::string llc;                         ///< path, or empty: found
    std::vector<std::string> flags;          ///< what stands behind `--`
    std::vector<std::string> defines;        ///< NAME or NAME=VALUE
    std::vector<std::string> include_folders;
    std::string compile_commands;            ///< a compile_commands.json, its folder, or empty
    std::string architecture;                ///< "80", "90a"; empty: the compiler's oldest
    std::chrono::milliseconds timeout{120'000};
    // The surroundings, which the library does not read by itself.
    std::string path, cuda_home, temporary_folder{"/tmp"};
    std::string cache_folder;                ///< empty: nothing is kept
    std::uint64_t cache_limit_bytes{2ULL << 30};
    std::string self;                        ///< this program, to run NVRTC in a process of its own; empty: not used
};

/// Ends every compiler that is running, removes every temporary folder, and lets no program start from then on: for a caller
/// that is about to be ended by a signal: threads that ran one wait for that end. Not from a signal handler. Any thread.
void abandon_all_work();

/// What `flipflop --nvrtc-worker` does: reads jobs from standard input, compiles them with NVRTC, writes the answers to
/// standard output. Not for people; returns the exit code.
[[nodiscard]] int nvrtc_worker();

}  // namespace flipflop
