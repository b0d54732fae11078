// Owns: which files of a directory are looked at, in which order. Invariant: sorted by path, directories that are
// symbolic links are not entered, what cannot be entered is reported.
#pragma once

#include <string>
#include <vector>

#include "flipflop/inputs.hpp"

namespace flipflop {

struct DirectoryListing {
    std::vector<std::string> files;          ///< regular files, as paths that begin with the directory's as given
    std::vector<Diagnostic> diagnostics;
};
[[nodiscard]] DirectoryListing list_directory(const std::string& path, const InputLimits& limits);

}  // namespace flipflop
