// Owns: what a byte sequence is as UTF-8, for everything that shows names and lines of inputs.
#pragma once

#include <cstddef>
#include <string_view>

namespace flipflop {

/// Bytes of the UTF-8 character that begins a text that is not empty; 0 where none does (RFC 3629, section 4).
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    // Longer than need be, halves of UTF-16 pairs, and beyond U+10FFFF.
    const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
    const bool is_none = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) || (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90);
    return is_none ? 0 : length;
}

/// Marks that reorder what a reader sees (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and the two odd line ends
/// (U+2028, U+2029) begin here: three bytes each in UTF-8.
[[nodiscard]] inline bool reorders(std::string_view text) {
    if (text.size() < 3 || text[0] != '\xE2') return false;
    const auto middle = static_cast<unsigned char>(text[1]);
    const auto last = static_cast<unsigned char>(text[2]);
    if (middle == 0x80) return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
    return middle == 0x81 && last >= 0xA6 && last <= 0xA9;
}

}  // namespace flipflop
