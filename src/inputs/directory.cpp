#include "inputs/directory.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "inputs/file.hpp"

namespace flipflop {
namespace {

namespace fs = std::filesystem;

struct Walk {
    DirectoryListing& listing;
    const InputLimits& limits;
    std::uint32_t looked_at{};
    bool full{};

    void enter(const fs::path& directory, std::uint32_t depth) {
        std::error_code error;
        fs::directory_iterator entries{directory, error};
        if (error) return complain("FF0803", directory, fmt::format("cannot be read: {}", error.message()));
        std::vector<fs::directory_entry> sorted;
        for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
            if (++looked_at > limits.max_files) return stop(directory);
            sorted.push_back(*entries);
        }
        std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.path().native() < b.path().native(); });
        for (const auto& entry : sorted) {
            if (full) return;
            std::error_code ignored;
            if (entry.is_directory(ignored)) {
                if (entry.is_symlink(ignored)) continue;   // a link upwards would never end
                if (depth == 0) complain("FF0808", entry.path(), "lies too deep and is not entered");
                else enter(entry.path(), depth - 1);
            } else if (entry.is_regular_file(ignored)) {
                listing.files.push_back(entry.path().string());
            }
        }
    }

    void stop(const fs::path& at) {
        full = true;
        complain("FF0808", at, fmt::format("more than {} files; the rest is not read", limits.max_files));
    }

    void complain(std::string id, const fs::path& at, std::string message) {
        listing.diagnostics.push_back(input_error(std::move(id), at.string(), std::move(message)));
    }
};

}  // namespace

DirectoryListing list_directory(const std::string& path, const InputLimits& limits) {
    DirectoryListing listing;
    Walk{listing, limits}.enter(path, limits.max_depth);
    return listing;
}

}  // namespace flipflop
