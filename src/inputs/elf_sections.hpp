// Owns: the section table of a little-endian ELF file (System V ABI, chapter 4), of host objects and of cubins.
// Invariant: nothing is read outside the file; a table that does not fit is told in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "inputs/little_endian.hpp"

namespace flipflop {

inline constexpr std::uint32_t kElfSymbols = 2, kElfNotes = 7, kElfNoBits = 8;   ///< sh_type

/// The 64-bit or the 32-bit form.
struct ElfLayout {
    bool wide{};
    [[nodiscard]] std::optional<std::uint64_t> word(std::string_view bytes, std::uint64_t at) const {
        if (wide) return number_at<std::uint64_t>(bytes, at);
        const auto narrow = number_at<std::uint32_t>(bytes, at);
        return narrow ? std::optional<std::uint64_t>{*narrow} : std::nullopt;
    }
};

struct ElfSection {
    std::uint32_t name{}, type{}, link{}, info{};
    std::uint64_t flags{}, offset{}, bytes{};
};

struct ElfSectionTable {
    std::vector<ElfSection> sections;
    std::string_view names;
};

/// The table at byte `table` (e_shoff) of `elf`.
[[nodiscard]] tl::expected<ElfSectionTable, std::string> elf_section_table(std::string_view elf, ElfLayout layout, std::uint64_t table);

/// The text at byte `at` of a string table, or nothing.
[[nodiscard]] std::string_view elf_name(std::string_view strings, std::uint32_t at);

}  // namespace flipflop
