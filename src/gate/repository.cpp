// From the paths that compilers leave in PTX to files that a reader of the repository can open.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "flipflop/gate.hpp"

namespace flipflop::gate {
namespace {

namespace fs = std::filesystem;

/// Relative to the root, where the file is a regular one inside of it (links followed: one that leads out is outside).
std::string inside(const fs::path& path, const fs::path& root) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(path, error);
    if (error || !fs::is_regular_file(real, error)) { return {}; }
    const fs::path relative = real.lexically_relative(root);
    if (relative.empty() || relative.is_absolute() || relative.begin()->string() == ".." || relative == ".") { return {}; }
    return relative.generic_string();
}

std::string in_repository(const Repository& repository, const std::string& path, const std::string& beside) {
    if (path.empty() || path.find('\0') != std::string::npos) { return {}; }
    const fs::path root(repository.root);
    if (fs::path(path).is_absolute()) { return inside(path, root); }
    for (const fs::path& start : {fs::path(repository.working_directory), root, fs::path(beside)}) {
        if (start.empty()) { continue; }
        if (std::string found = inside(start / path, root); !found.empty()) { return found; }
    }
    return {};
}

/// "lib.a(member.o)#2.compute_80" -> "lib.a"
std::string file_of(const std::string& module) { return module.substr(0, module.find_first_of("(#")); }

std::string folder_of(const Repository& repository, const std::string& module) {
    return (fs::path(repository.working_directory) / fs::path(file_of(module)).parent_path()).string();
}

/// A name alone, so that nothing of the machine and no way upwards is in it.
std::string last_part(const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    return name.empty() || name == "." || name == ".." || name == "-" ? "stdin.ptx" : name;
}

}  // namespace

Repository find_repository(const std::string& working_directory, const std::string& fallback) {
    std::error_code error;
    const fs::path here = fs::weakly_canonical(working_directory, error);
    Repository repository{here.string(), here.string(), fallback};
    for (fs::path folder = here; !folder.empty(); folder = folder.parent_path()) {
        if (fs::exists(folder / ".git", error)) {
            repository.root = folder.string();
            break;
        }
        if (folder == folder.parent_path()) { break; }
    }
    return repository;
}

std::optional<std::string> source_text(const Repository& repository, const std::string& file, const std::string& module) {
    constexpr std::uintmax_t kMostBytes = 4U << 20U;
    const std::string found = in_repository(repository, file, folder_of(repository, module));
    if (found.empty()) { return std::nullopt; }
    const fs::path path = fs::path(repository.root) / found;
    std::error_code error;
    if (fs::file_size(path, error) > kMostBytes || error) { return std::nullopt; }
    std::ifstream stream(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    return stream.bad() ? std::nullopt : std::optional(std::move(text));
}

RepositoryPlace locate(const Repository& repository, const std::optional<SourceLine>& source, const std::string& module, std::uint32_t ptx_line) {
    const std::string ptx = file_of(module);
    const std::string beside = folder_of(repository, module);
    if (source) {
        if (std::string file = in_repository(repository, source->file, beside); !file.empty()) { return {std::move(file), std::max(source->line, 1U)}; }
    }
    // Inside a container the line is that of a text that nobody can open.
    const std::uint32_t line = ptx == module ? std::max(ptx_line, 1U) : 1;
    if (std::string file = in_repository(repository, ptx, {}); !file.empty()) { return {std::move(file), line}; }
    if (std::string file = in_repository(repository, repository.fallback, {}); !file.empty()) { return {std::move(file), 1}; }
    return {last_part(ptx), line};
}

}  // namespace flipflop::gate
