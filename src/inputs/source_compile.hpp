// Owns: running the compilers that make PTX: nvcc, clang, llc, and NVRTC in a process of its own. Input: source text and
// jobs (definitions). Output: PTX, or what the compiler said. Invariant: a compiler that crashes, hangs or talks without
// end costs its time limit and nothing else; a log is cut at kMostLog bytes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"
#include "flipflop/source.hpp"
#include "inputs/content_cache.hpp"
#include "inputs/process.hpp"

namespace flipflop {

enum class SourceLanguage : std::uint8_t { cuda, llvm };

struct CompilerTool {
    enum class Kind : std::uint8_t { nvrtc, nvcc, clang, llc } kind{Kind::nvcc};
    std::string path, version;               ///< of NVRTC: its library
    std::vector<std::string> architectures;  ///< "75", "80", ...; empty: not told
    [[nodiscard]] std::string name() const;  ///< "nvcc", ...
};

/// The compilers for a language that are there, the preferred first; `fast` prefers NVRTC, which compiles one kernel in a
/// sixth of nvcc's time and takes device code only. FF0610: there is none; FF0611: the one that was named does not work.
[[nodiscard]] Result<std::vector<CompilerTool>> find_compilers(const SourceOptions& options, SourceLanguage language, bool fast);

struct SourceText {
    std::string name;                        ///< as given, for messages and line tables
    std::string path;                        ///< of the file, or empty: standard input
    std::string_view bytes;
};

struct CompileResult {
    std::optional<std::string> ptx;
    std::vector<Diagnostic> messages;        ///< errors first; of the compiler, with file and line where it names them
    bool from_cache{};
    bool tool_failed{};                      ///< crashed, hung, or refuses how it was called: says nothing of the source
};

class SourceCompiler {
public:
    SourceCompiler(CompilerTool tool, const SourceOptions& options, SourceText source);

    /// One result a job, on `threads` threads; `done` is called after each, one at a time.
    [[nodiscard]] std::vector<CompileResult> compile(const std::vector<std::vector<std::string>>& defines, unsigned threads,
                                                     const std::function<void(std::size_t)>& done = {});
    [[nodiscard]] const CompilerTool& tool() const { return tool_; }
    [[nodiscard]] const ContentCache& cache() const { return cache_; }
    /// What a compiler is asked for: "80". The oldest it knows where none was asked for.
    [[nodiscard]] const std::string& architecture() const { return architecture_; }
    /// Why the tool cannot compile for the architecture, or nothing.
    [[nodiscard]] std::optional<Diagnostic> refusal() const;

private:
    [[nodiscard]] std::string key_of(const std::vector<std::string>& defines) const;
    [[nodiscard]] CompileResult run(const std::vector<std::string>& defines) const;
    [[nodiscard]] std::vector<CompileResult> run_nvrtc(const std::vector<const std::vector<std::string>*>& jobs) const;
    [[nodiscard]] std::vector<std::string> arguments(const std::vector<std::string>& defines, const std::string& source, const std::string& out) const;
    [[nodiscard]] std::vector<std::string> nvrtc_options() const;
    [[nodiscard]] CompileResult outcome(const ProcessResult& process, std::string ptx) const;
    [[nodiscard]] std::vector<Diagnostic> messages_in(const std::string& log) const;
    void name_source(std::string& ptx, const std::string& compiled) const;

    CompilerTool tool_;
    SourceOptions options_;
    SourceText source_;
    std::vector<std::string> flags_;         ///< from compile_commands.json, then from `--`
    std::string architecture_;
    std::string base_key_;                   ///< all that jobs share; empty: not to be cached
    ContentCache cache_;
    std::optional<Diagnostic> bad_commands_;
};

/// Flags of a source file in a compile_commands.json that matter to device code. FF0612: unreadable, or no such file in it.
[[nodiscard]] Result<std::vector<std::string>> compile_command_flags(const std::string& commands, const std::string& source);

/// NVRTC, told of in a process of its own.
struct NvrtcReply { bool compiled{}; bool bad_option{}; std::string ptx, log; };
struct NvrtcAnswer {
    std::string version;
    std::vector<std::string> architectures;
    std::vector<NvrtcReply> replies;         ///< fewer than jobs when it ended early
    std::string trouble;                     ///< why, or empty
    bool timed_out{};
};
[[nodiscard]] NvrtcAnswer ask_nvrtc(const SourceOptions& options, const std::string& library, const std::string& name, std::string_view source,
                                    const std::vector<std::string>& common, const std::vector<const std::vector<std::string>*>& jobs);

/// Files that the text includes by name, theirs too, as one digest; nothing where a name is a macro.
[[nodiscard]] std::optional<std::string> digest_with_includes(const SourceText& source, const std::vector<std::string>& folders);

}  // namespace flipflop
