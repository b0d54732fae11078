// Owns: what a byte of PTX text may be part of, and the hash of short names. All scanning loops end at the NUL that
// std::string keeps behind its last character, so none of them needs a bounds check.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace flipflop::ptx::detail {

enum CharacterClass : std::uint8_t {
    kIdentifier = 1,  ///< letter, digit, _ $ %
    kDigit = 2,
    kBlank = 4,       ///< space, tab, CR, LF, vertical tab, form feed
    kOpcode = 8,      ///< identifier or dot
    kStart = 16,      ///< may start an identifier
};

inline constexpr auto kCharacters = [] {
    std::array<std::uint8_t, 256> table{};
    for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = kIdentifier | kOpcode | kStart;
    for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = kIdentifier | kOpcode | kStart;
    for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = kIdentifier | kOpcode | kDigit;
    for (char c : {'_', '$', '%'}) table[static_cast<std::size_t>(c)] = kIdentifier | kOpcode | kStart;
    for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) table[static_cast<std::size_t>(c)] = kBlank;
    table['.'] = kOpcode;
    return table;
}();

[[nodiscard]] inline std::uint8_t class_of(char c) { return kCharacters[static_cast<unsigned char>(c)]; }
[[nodiscard]] inline bool is_identifier(char c) { return (class_of(c) & kIdentifier) != 0; }
[[nodiscard]] inline bool is_start(char c) { return (class_of(c) & kStart) != 0; }
[[nodiscard]] inline bool is_digit(char c) { return (class_of(c) & kDigit) != 0; }

/// The first `length` (1 to 8) bytes at p as a number. `limit` is one past the last readable byte.
[[nodiscard]] inline std::uint64_t load_word(const char* p, std::size_t length, const char* limit) {
    std::uint64_t word = 0;
    if (limit - p >= 8) {
        std::memcpy(&word, p, 8);
        return length >= 8 ? word : word & ((std::uint64_t{1} << (8 * length)) - 1);
    }
    std::memcpy(&word, p, length < 8 ? length : 8);
    return word;
}

[[nodiscard]] inline std::uint64_t mix(std::uint64_t a) {
    a *= 0x9e3779b97f4a7c15u;
    return a ^ (a >> 32);
}

/// Equal bytes? For texts of one length that are a word long mostly; no call, unlike memcmp.
[[nodiscard]] inline bool same_bytes(const char* a, const char* b, std::size_t length) {
    if (length < 8) return std::memcmp(a, b, length) == 0;
    const auto word = [](const char* p) {
        std::uint64_t w;
        std::memcpy(&w, p, 8);
        return w;
    };
    std::uint64_t different = 0;
    for (std::size_t i = 0; i + 8 < length; i += 8) different |= word(a + i) ^ word(b + i);
    return (different | (word(a + length - 8) ^ word(b + length - 8))) == 0;
}

/// The hash of a name of at most eight characters that stand in `word`.
[[nodiscard]] inline std::uint64_t hash_of_word(std::uint64_t word, std::size_t length) { return mix(length ^ word); }

/// For lengths up to 8 this is a bijection of the characters: equal hashes of equal lengths are equal names.
[[nodiscard]] inline std::uint64_t hash_name(const char* p, std::size_t length, const char* limit) {
    std::uint64_t h = length;
    while (length > 8) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        h = mix(h ^ word) + 0x632be59bd9b4e019u;
        p += 8;
        length -= 8;
    }
    return mix(h ^ load_word(p, length, limit));
}

}  // namespace flipflop::ptx::detail
