// Owns: SHA-256 without the processor's own instructions, so that a test can hold the two against each other.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace flipflop {

[[nodiscard]] std::string sha256_portable(std::string_view bytes);

/// The same digest; `passed` is told every few megabytes how far it is, so that a mapped file need not stay in memory.
[[nodiscard]] std::string sha256(std::string_view bytes, const std::function<void(std::size_t)>& passed);

}  // namespace flipflop
