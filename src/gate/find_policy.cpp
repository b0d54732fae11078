// Where a team's flipflop.toml is: beside the input or above it, as far as the repository goes.
#include <filesystem>
#include <system_error>

#include "flipflop/gate.hpp"

namespace flipflop::gate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "flipflop.toml";

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

/// From `folder` up to the repository's root; where there is no repository, in `folder` alone.
std::string search_up(fs::path folder) {
    std::error_code error;
    const fs::path start = folder;
    fs::path found;
    for (int depth = 0; depth < 256; ++depth) {
        if (found.empty() && is_file(folder / kName)) { found = folder / kName; }
        if (fs::exists(folder / ".git", error)) { return found.string(); }
        if (!folder.has_parent_path() || folder == folder.parent_path()) { break; }
        folder = folder.parent_path();
    }
    return is_file(start / kName) ? (start / kName).string() : std::string();
}

/// As people would write it: relative where it lies below the working directory.
std::string shown(const std::string& path, const fs::path& working_directory) {
    const fs::path relative = fs::path(path).lexically_relative(working_directory);
    return relative.empty() || relative.native().starts_with("..") ? path : relative.string();
}

}  // namespace

std::string find_policy(const std::string& input, const std::string& working_directory, const std::string& config_home) {
    std::error_code error;
    const fs::path here = fs::absolute(working_directory, error);
    std::vector<fs::path> starts;
    if (!input.empty() && input != "-") {
        const fs::path path = fs::weakly_canonical(here / input, error);
        if (!error) { starts.push_back(fs::is_directory(path, error) ? path : path.parent_path()); }
    }
    starts.push_back(here);
    for (const fs::path& start : starts) {
        if (const std::string found = search_up(start); !found.empty()) { return shown(found, here); }
    }
    if (!config_home.empty()) {
        const fs::path mine = fs::path(config_home) / "flipflop" / kName;
        if (is_file(mine)) { return mine.string(); }
    }
    return {};
}

}  // namespace flipflop::gate
