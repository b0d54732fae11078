// Owns: the two compressions of fatbin entries. Invariant: memory grows with what is really unpacked, never beyond
// `declared`; a stream that is damaged, too short or too long is an error, told in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace flipflop {

/// A raw LZ4 block (fatbin flag 0x2000).
[[nodiscard]] tl::expected<std::string, std::string> unpack_lz4(std::string_view packed, std::uint64_t declared);
/// A zstd frame (fatbin flag 0x8000).
[[nodiscard]] tl::expected<std::string, std::string> unpack_zstd(std::string_view packed, std::uint64_t declared);

}  // namespace flipflop
