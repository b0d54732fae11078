// Owns: the options for inputs that a compiler must turn into PTX first, as CLI11 sees them, and their translation.
#pragma once

#include <string>
#include <vector>

#include "flipflop/source.hpp"

namespace CLI {
class App;
}

namespace flipflop::cli {

struct SourceArguments {
    std::string compiler{"auto"}, llc, compile_commands;
    std::vector<std::string> defines, include_folders;
    std::vector<std::string> flags;          ///< behind `--`
    unsigned timeout_seconds{120};
    unsigned cache_limit_mib{2048};
    bool no_cache{};
};

void add_source_options(CLI::App& command, SourceArguments& arguments);

/// With the surroundings: PATH, CUDA_HOME, TMPDIR, XDG_CACHE_HOME. `gpus`: PTX for the oldest of them runs on all.
[[nodiscard]] SourceOptions to_source_options(const SourceArguments& arguments, const std::vector<std::string>& gpus);

}  // namespace flipflop::cli
