// Owns: numbers in untrusted bytes. Invariant: nothing is read outside; who asks past the end gets nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flipflop {

/// The little-endian number of sizeof(T) bytes at `at`.
template <class T>
[[nodiscard]] std::optional<T> number_at(std::string_view bytes, std::uint64_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        value |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(at) + i])} << (8 * i);
    return static_cast<T>(value);
}

/// bytes[at, at + count), or nothing when that reaches outside.
[[nodiscard]] inline std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t at, std::uint64_t count) {
    if (at > bytes.size() || count > bytes.size() - at) return std::nullopt;
    return bytes.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
}

}  // namespace flipflop
