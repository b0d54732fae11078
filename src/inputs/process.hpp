// Owns: running another program: by argument list (no shell), with a time limit, bounded output and a folder of its own.
// Input: what to run. Invariant: no child outlives the call; a program that prints without end costs no memory.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flipflop/diagnostic.hpp"

namespace flipflop {

/// The parts of the environment that finding and running tools needs; filled by the caller (the command line does).
struct ToolEnvironment {
    std::string path;                    ///< PATH
    std::string cuda_home;               ///< CUDA_HOME, or empty
    std::string temporary_folder{P_tmpdir};  ///< TMPDIR
};

struct ProcessOptions {
    std::chrono::milliseconds timeout{60'000};
    std::size_t max_output_bytes{4U << 20};   ///< of each stream; what goes beyond is read and dropped
    std::string working_directory;            ///< empty: the caller's
    std::string standard_input;               ///< given to the program; it sees end of file afterwards
    std::string temporary_folder;             ///< TMPDIR of the program; empty: the caller's
};

struct ProcessResult {
    int exit_code{-1};                   ///< of a program that ended by itself, else -1
    int signal{};                        ///< that ended it, or 0
    bool timed_out{};
    bool output_cut{};
    std::string output, errors;          ///< standard output and standard error
    [[nodiscard]] bool succeeded() const { return exit_code == 0 && !timed_out && signal == 0; }
};

/// Runs `arguments[0]`, a path. FF0602 when it cannot start.
[[nodiscard]] Result<ProcessResult> run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// First executable regular file called `name` in a PATH-like list.
[[nodiscard]] std::optional<std::string> find_executable(std::string_view name, std::string_view path);

/// A new empty folder, removed with all it holds when the object goes.
class TemporaryFolder {
public:
    [[nodiscard]] static Result<TemporaryFolder> make(const std::string& parent);
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ~TemporaryFolder();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    explicit TemporaryFolder(std::filesystem::path path);
    std::filesystem::path path_;
};

}  // namespace flipflop
