// Owns: the data files compiled into the library (cmake/embed.cmake). Paths are relative to the source root.
#pragma once

#include <span>
#include <string_view>

namespace flipflop {

struct EmbeddedFile {
    std::string_view path;
    std::string_view content;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

}  // namespace flipflop
