#include "cli/source_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "flipflop/gpu.hpp"

namespace flipflop::cli {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
    return value != nullptr ? value : "";
}

/// As the XDG base directory specification says; nothing where there is no home.
std::string cache_folder() {
    const std::string xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
    if (xdg.starts_with('/')) { return xdg + "/flipflop"; }
    return home.starts_with('/') ? home + "/.cache/flipflop" : std::string();
}

}  // namespace

void add_source_options(CLI::App& command, SourceArguments& a) {
    constexpr const char* group = "Source (.cu, .ll, .bc)";
    command.add_option("--compiler", a.compiler, "auto, nvcc, clang, nvrtc, or the path of one; flags for it stand behind --")->type_name("NAME")->group(group);
    command.add_option("--llc", a.llc, "the llc for LLVM IR and bitcode; default: llc-19 or llc on PATH")->type_name("FILE")->group(group);
    command.add_option("-D", a.defines, "macro for the compiler, repeatable")->allow_extra_args(false)->type_name("NAME[=VALUE]")->group(group);
    command.add_option("-I", a.include_folders, "folder of headers, repeatable")->allow_extra_args(false)->type_name("FOLDER")->group(group);
    command.add_option("--compile-commands", a.compile_commands, "a compile_commands.json (or its folder): macros and folders of the source")->type_name("FILE")->group(group);
    command.add_option("--compile-timeout", a.timeout_seconds, "for one compilation")->type_name("SECONDS")->check(CLI::Range(1U, 86400U))->group(group);
    command.add_option("--cache-limit", a.cache_limit_mib, "what is kept beyond this is dropped, the longest unused first (default 2048)")->type_name("MIB")->check(CLI::Range(1U, 1U << 22))->group(group);
    command.add_flag("--no-cache", a.no_cache, "compile anew, and keep nothing")->group(group);
}

SourceOptions to_source_options(const SourceArguments& a, const std::vector<std::string>& gpus) {
    SourceOptions out;
    out.compiler = a.compiler;
    out.llc = a.llc;
    out.flags = a.flags;
    out.defines = a.defines;
    out.include_folders = a.include_folders;
    out.compile_commands = a.compile_commands;
    out.timeout = std::chrono::seconds(a.timeout_seconds);
    out.path = variable("PATH");
    out.cuda_home = variable("CUDA_HOME");
    if (const std::string folder = variable("TMPDIR"); !folder.empty()) { out.temporary_folder = folder; }
    out.cache_limit_bytes = std::uint64_t{a.cache_limit_mib} << 20;
    if (!a.no_cache) { out.cache_folder = cache_folder(); }
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) { out.self = self.string(); }
    std::optional<int> oldest;
    for (const std::string& name : gpus) {
        const Result<GpuProfile> gpu = name == "all" ? Result<GpuProfile>(tl::unexpected(Diagnostic{})) : load_gpu(name);
        if (!gpu) { return out; }   // who is wrong about a GPU hears of it elsewhere
        const int number = gpu->cc.major * 10 + gpu->cc.minor;
        oldest = oldest ? std::min(*oldest, number) : number;
    }
    if (oldest) { out.architecture = std::to_string(*oldest); }
    return out;
}

}  // namespace flipflop::cli
