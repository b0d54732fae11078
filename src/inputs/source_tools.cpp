// Which compilers are there: by flag, in CUDA_HOME, on PATH; each asked for its version before it is trusted.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "inputs/source_compile.hpp"

namespace flipflop {

namespace {

namespace fs = std::filesystem;
using Kind = CompilerTool::Kind;

Diagnostic complaint(const char* id, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = id;
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

std::string between(const std::string& text, std::string_view before, std::string_view stop) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + before.size();
    return text.substr(begin, std::min(text.find_first_of(stop, begin), text.size()) - begin);
}

Result<std::string> ask(const std::string& path, const std::string& option) {
    ProcessOptions process;
    process.timeout = std::chrono::seconds(10);
    process.max_output_bytes = 64 * 1024;
    const auto ran = run_process({path, option}, process);
    if (!ran) return tl::unexpected(ran.error());
    if (!ran->succeeded())
        return tl::unexpected(complaint("FF0611", fmt::format("{} {} {}", path, option, ran->timed_out ? "does not answer" : ran->signal != 0 ? fmt::format("crashed (signal {})", ran->signal) : fmt::format("ended with code {}", ran->exit_code))));
    return ran->output + ran->errors;
}

/// "compute_75", one a line.
std::vector<std::string> architectures_in(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = text.find("compute_"); at != std::string::npos; at = text.find("compute_", at + 8)) {
        const std::size_t end = text.find_first_not_of("0123456789", at + 8);
        std::string number = text.substr(at + 8, end == std::string::npos ? end : end - at - 8);
        if (!number.empty() && std::find(all.begin(), all.end(), number) == all.end()) all.push_back(std::move(number));
    }
    return all;
}

Result<CompilerTool> probe(Kind kind, const std::string& path, const SourceOptions& options) {
    CompilerTool tool;
    tool.kind = kind;
    tool.path = path;
    if (kind == Kind::nvrtc) {
        NvrtcAnswer answer = ask_nvrtc(options, path, "", "", {}, {});
        if (answer.version.empty()) return tl::unexpected(complaint("FF0611", fmt::format("{} does not work as NVRTC: {}", path, answer.trouble)));
        tool.version = std::move(answer.version);
        tool.architectures = std::move(answer.architectures);
        return tool;
    }
    auto version = ask(path, "--version");
    if (!version) return tl::unexpected(version.error());
    if (kind == Kind::nvcc) {
        tool.version = between(*version, ", V", " \n");
        const auto list = ask(path, "--list-gpu-arch");
        if (list) tool.architectures = architectures_in(*list);
    } else {
        tool.version = between(*version, "version ", " \n");
    }
    if (tool.version.empty()) return tl::unexpected(complaint("FF0611", fmt::format("{} --version does not tell a version: it is not {}", path, tool.name())));
    return tool;
}

std::optional<std::string> first_of(std::initializer_list<const char*> names, const SourceOptions& options) {
    for (const char* name : names) {
        if (!options.cuda_home.empty())
            if (auto found = find_executable(name, options.cuda_home + "/bin")) return found;
        if (auto found = find_executable(name, options.path)) return found;
    }
    return std::nullopt;
}

std::optional<std::string> nvrtc_library(const SourceOptions& options) {
    std::vector<fs::path> homes;
    if (!options.cuda_home.empty()) homes.emplace_back(options.cuda_home);
    if (const auto nvcc = find_executable("nvcc", options.path)) {
        std::error_code ignored;
        homes.push_back(fs::weakly_canonical(*nvcc, ignored).parent_path().parent_path());
    }
    for (const fs::path& home : homes)
        for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
            for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
                const fs::path candidate = home / folder / name;
                std::error_code ignored;
                if (fs::exists(candidate, ignored)) return candidate.string();
            }
    return std::nullopt;
}

/// What a named compiler is, by its file's name.
Kind kind_of(const std::string& name) {
    const std::string file = fs::path(name).filename().string();
    if (file.find("nvrtc") != std::string::npos) return Kind::nvrtc;
    if (file.find("clang") != std::string::npos) return Kind::clang;
    return Kind::nvcc;
}

Result<std::vector<CompilerTool>> named(const SourceOptions& options) {
    const std::string& name = options.compiler;
    const bool is_path = name.find('/') != std::string::npos;
    const Kind kind = kind_of(name);
    std::optional<std::string> path;
    if (is_path) path = fs::absolute(name).string();
    else if (kind == Kind::nvrtc) path = nvrtc_library(options);
    else if (kind == Kind::clang && name == "clang") path = first_of({"clang++-19", "clang++", "clang-19", "clang"}, options);
    else path = first_of({name.c_str()}, options);
    std::error_code ignored;
    if (!path || (is_path && !fs::exists(*path, ignored)))
        return tl::unexpected(complaint("FF0610", fmt::format("the compiler '{}' is not there", name), "it is looked for in CUDA_HOME and on PATH; --compiler FILE names one"));
    auto tool = probe(kind, *path, options);
    if (!tool) return tl::unexpected(tool.error());
    return std::vector<CompilerTool>{std::move(*tool)};
}

}  // namespace

std::string CompilerTool::name() const {
    switch (kind) {
        case Kind::nvrtc: return "nvrtc";
        case Kind::nvcc: return "nvcc";
        case Kind::clang: return "clang";
        case Kind::llc: return "llc";
    }
    return "compiler";
}

Result<std::vector<CompilerTool>> find_compilers(const SourceOptions& options, SourceLanguage language, bool fast) {
    if (language == SourceLanguage::cuda && options.compiler != "auto") return named(options);
    std::vector<std::pair<Kind, std::string>> candidates;
    if (language == SourceLanguage::llvm) {
        std::error_code ignored;
        const auto path = options.llc.empty()                              ? first_of({"llc-19", "llc", "llc-20", "llc-18", "llc-17", "llc-16"}, options)
                        : options.llc.find('/') == std::string::npos       ? first_of({options.llc.c_str()}, options)
                        : fs::exists(options.llc, ignored) ? std::optional(fs::absolute(options.llc).string()) : std::nullopt;
        if (path) candidates.emplace_back(Kind::llc, *path);
    } else {
        if (fast && !options.self.empty())
            if (auto library = nvrtc_library(options)) candidates.emplace_back(Kind::nvrtc, *library);
        if (auto nvcc = first_of({"nvcc"}, options)) candidates.emplace_back(Kind::nvcc, *nvcc);
        if (auto clang = first_of({"clang++-19", "clang++", "clang-19", "clang"}, options)) candidates.emplace_back(Kind::clang, *clang);
    }
    std::vector<CompilerTool> tools;
    std::optional<Diagnostic> trouble;
    for (const auto& [kind, path] : candidates) {
        auto tool = probe(kind, path, options);
        if (tool) tools.push_back(std::move(*tool));
        else if (!trouble) trouble = tool.error();
    }
    if (!tools.empty()) return tools;
    if (trouble) return tl::unexpected(*trouble);
    if (language == SourceLanguage::llvm)
        return tl::unexpected(complaint("FF0610", "LLVM IR needs llc to become PTX, and none is there", "Debian: apt install llvm-19; --llc FILE names one"));
    return tl::unexpected(complaint("FF0610", "CUDA source needs nvcc or clang to become PTX, and neither is there",
                                    "set CUDA_HOME, put nvcc on PATH, or name one: --compiler FILE"));
}

}  // namespace flipflop
