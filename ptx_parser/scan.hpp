// Owns: the ends of runs of characters, sixteen bytes at a time where the machine can (SSE2 is part of every x86-64),
// and the number that a name ends in. A run ends at the NUL behind the text at the latest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "characters.hpp"

namespace flipflop::ptx::detail {

#if defined(__SSE2__)
/// Bit i: p[i] is a letter, a digit, '_', '$' or '%'; and which ones are '.'.
struct NameMasks {
    std::uint32_t identifier{}, dot{};
};

/// Of the sixteen bytes at p.
[[nodiscard]] inline NameMasks name_masks(const char* p) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto within = [](__m128i bytes, char low, char high) {   // one unsigned comparison: bytes - low <= high - low
        const __m128i above = _mm_sub_epi8(bytes, _mm_set1_epi8(low));
        return _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(static_cast<char>(high - low))), above);
    };
    __m128i found = _mm_or_si128(within(_mm_or_si128(c, _mm_set1_epi8(0x20)), 'a', 'z'), within(c, '0', '9'));
    found = _mm_or_si128(found, _mm_or_si128(within(c, '$', '%'), _mm_cmpeq_epi8(c, _mm_set1_epi8('_'))));
    const __m128i dots = _mm_cmpeq_epi8(c, _mm_set1_epi8('.'));
    return {static_cast<std::uint32_t>(_mm_movemask_epi8(found)), static_cast<std::uint32_t>(_mm_movemask_epi8(dots))};
}
#endif

/// The first byte from p on that is not of the class. `limit` is one past the last readable byte.
template <CharacterClass kClass>
[[nodiscard]] inline const char* end_of_run(const char* p, const char* limit) {
    static_assert(kClass == kIdentifier || kClass == kOpcode);
#if defined(__SSE2__)
    while (limit - p >= 16) {
        const NameMasks masks = name_masks(p);
        const std::uint32_t others = (kClass == kOpcode ? masks.identifier | masks.dot : masks.identifier) ^ 0xffffu;
        if (others != 0) return p + std::countr_zero(others);
        p += 16;
    }
#else
    static_cast<void>(limit);
#endif
    while ((class_of(*p) & kClass) != 0) ++p;
    return p;
}

/// Where the first word at p ends, and where the dots and words behind it end: "add" and "add.s32".
struct OpcodeEnds {
    const char* word{};
    const char* opcode{};
};

[[nodiscard]] inline OpcodeEnds opcode_ends(const char* p, const char* limit) {
#if defined(__SSE2__)
    if (limit - p >= 16) {
        const NameMasks masks = name_masks(p);
        const std::uint32_t others = masks.identifier ^ 0xffffu, ends = others & ~masks.dot;
        if (ends != 0) return {p + std::countr_zero(others), p + std::countr_zero(ends)};
    }
#endif
    const char* const word = end_of_run<kIdentifier>(p, limit);
    return {word, end_of_run<kOpcode>(word, limit)};
}

/// The number of eight decimal digits, each in a byte of its own, the first one lowest.
[[nodiscard]] inline std::uint32_t number_of(std::uint64_t digits) {
    digits = digits * 10 + (digits >> 8);   // pairs, in every second byte
    return static_cast<std::uint32_t>(((digits & 0x000000ff000000ffu) * 0x000f424000000064u + (digits >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32);
}

struct TrailingNumber {
    std::uint32_t digits{};   ///< how many the name ends in; 9 stands for "more than eight"
    std::uint32_t value{};    ///< of up to eight digits
};

/// The digits before `end`. The eight bytes before it must be readable, and some byte before the digits no digit.
[[nodiscard]] inline TrailingNumber trailing_number(const char* end) {
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    if constexpr (std::endian::native == std::endian::little) {
        std::uint64_t word;
        std::memcpy(&word, end - 8, 8);
        const std::uint64_t offsets = word ^ (kOnes * '0');   // 0 to 9 where there is a digit
        const std::uint64_t others = (((offsets & (kOnes * 0x7f)) + kOnes * 0x76) | offsets) & (kOnes * 0x80);
        if (others == 0) return {9, 0};
        const auto digits = static_cast<std::uint32_t>(std::countl_zero(others)) / 8;
        if (digits == 0) return {};
        const std::uint32_t unused = 64 - 8 * digits;
        return {digits, number_of(offsets >> unused << unused)};   // leading zeros for what is no digit
    } else {
        TrailingNumber number;
        std::uint32_t weight = 1;
        for (const char* p = end - 1; number.digits < 9 && is_digit(*p); --p, weight *= 10) {
            if (number.digits++ < 8) number.value += weight * static_cast<std::uint32_t>(*p - '0');
        }
        return number;
    }
}

/// "%r12" as compilers write registers: two to four characters and up to seven digits, then no more of a name.
struct PlainName {
    std::uint32_t prefix_length{};   ///< 0: it is not such a name
    std::uint32_t length{};
    std::uint32_t prefix{};          ///< its characters, the first one lowest
    std::uint32_t number{};
};

/// The plain name at p, where sixteen bytes are readable; p[0] may start a name.
[[nodiscard]] inline PlainName plain_name(const char* p) {
    if constexpr (std::endian::native != std::endian::little) return {};
    const std::uint32_t prefix_length = is_digit(p[2]) ? 2 : is_digit(p[3]) ? 3 : 4;
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    std::uint64_t word;
    std::memcpy(&word, p + prefix_length, 8);
    const std::uint64_t offsets = word ^ (kOnes * '0');
    const std::uint64_t others = (((offsets & (kOnes * 0x7f)) + kOnes * 0x76) | offsets) & (kOnes * 0x80);
    const auto digits = static_cast<std::uint32_t>(std::countr_zero(others)) / 8;   // 8 when all are
    if (digits == 0 || digits == 8 || is_digit(p[1]) || (class_of(p[prefix_length + digits]) & kOpcode) != 0) return {};
    std::uint32_t prefix;
    std::memcpy(&prefix, p, 4);
    return {prefix_length, prefix_length + digits, prefix & (0xffffffffu >> (32 - 8 * prefix_length)), number_of(offsets << (64 - 8 * digits))};
}

}  // namespace flipflop::ptx::detail
