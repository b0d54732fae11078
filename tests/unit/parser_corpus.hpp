// PTX files for tests of the parser: the given cases, everything else under tests/data and examples, and, where it is
// there, the shared folder beside the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "flipflop/ptx.hpp"

namespace flipflop::testing {

inline std::shared_ptr<const std::string> file_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream buffer;
    buffer << in.rdbuf();
    return std::make_shared<const std::string>(buffer.str());
}

inline std::filesystem::path shared_folder() {
    if (const char* given = std::getenv("FLIPFLOP_SHARED")) return given;
    return std::filesystem::path(FLIPFLOP_SOURCE_DIR) / ".." / "shared";
}

inline std::vector<std::filesystem::path> ptx_files() {
    std::vector<std::filesystem::path> found;
    for (const std::filesystem::path& root : {std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "tests" / "data", std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "examples",
                                              shared_folder() / "known_answers", shared_folder() / "reblocking"}) {
        if (!std::filesystem::is_directory(root)) continue;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
            if (entry.path().extension() == ".ptx") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace flipflop::testing
