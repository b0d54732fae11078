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

/// Twelve hexadecimal digits of the sources that predictions come from: builds with equal ones predict alike.
[[nodiscard]] std::string_view model_version();

}  // namespace flipflop
