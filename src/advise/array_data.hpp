// Owns: the contents of arrays that a kernel reads (--data NAME=FILE[:TYPE]): .npy files, or raw little-endian bytes.
// Invariant: nothing is read without bound, and a header never decides how much memory is taken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flipflop/diagnostic.hpp"
#include "flipflop/launch.hpp"

namespace flipflop::advise {

inline constexpr std::uint64_t kMostDataBytes = std::uint64_t{1} << 30;

struct DataRequest {
    std::string text, name;      ///< parameter (by any of its names) or .const/.global symbol
    ArrayData data;
    std::string element_type;    ///< of the file: "f32", "s64"
};

/// FF0720 malformed, FF0721 unreadable or too large, FF0722 a .npy that is none or of a type that no kernel reads.
[[nodiscard]] Result<DataRequest> read_data(const std::string& text);

/// The array of a .npy file's bytes (format versions 1 to 3), big-endian elements turned round.
[[nodiscard]] tl::expected<ArrayData, std::string> parse_npy(const std::vector<std::uint8_t>& file);

}  // namespace flipflop::advise
