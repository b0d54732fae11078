#include "inputs/elf_sections.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop {
namespace {

using std::string_view;

std::optional<ElfSection> section_at(string_view elf, ElfLayout layout, std::uint64_t at) {
    const auto name = number_at<std::uint32_t>(elf, at), type = number_at<std::uint32_t>(elf, at + 4);
    const auto flags = layout.word(elf, at + 8);
    const auto offset = layout.word(elf, at + (layout.wide ? 24 : 16)), bytes = layout.word(elf, at + (layout.wide ? 32 : 20));
    const auto link = number_at<std::uint32_t>(elf, at + (layout.wide ? 40 : 24)), info = number_at<std::uint32_t>(elf, at + (layout.wide ? 44 : 28));
    if (!name || !type || !flags || !offset || !bytes || !link || !info) return std::nullopt;
    return ElfSection{*name, *type, *link, *info, *flags, *offset, *bytes};
}

}  // namespace

string_view elf_name(string_view strings, std::uint32_t at) {
    if (at >= strings.size()) return {};
    const string_view rest = strings.substr(at);
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

tl::expected<ElfSectionTable, std::string> elf_section_table(string_view elf, ElfLayout layout, std::uint64_t table) {
    const auto entry_bytes = number_at<std::uint16_t>(elf, layout.wide ? 58 : 46);
    const auto count16 = number_at<std::uint16_t>(elf, layout.wide ? 60 : 48), names16 = number_at<std::uint16_t>(elf, layout.wide ? 62 : 50);
    const auto first = section_at(elf, layout, table);
    if (!names16 || !first) return tl::unexpected(std::string{"the section table lies outside the file"});
    if (*entry_bytes < (layout.wide ? 64 : 40)) return tl::unexpected(fmt::format("section headers of {} bytes", *entry_bytes));
    // More than 0xff00 sections: the true numbers stand in the first header.
    const std::uint64_t count = *count16 == 0 ? first->bytes : *count16;
    const std::uint64_t names_at = *names16 == 0xffff ? first->link : *names16;
    if (count > (elf.size() - table) / *entry_bytes) return tl::unexpected(fmt::format("{} section headers do not fit into the file", count));
    ElfSectionTable result;
    result.sections.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) result.sections.push_back(*section_at(elf, layout, table + i * *entry_bytes));
    if (names_at >= count) return tl::unexpected(std::string{"no table of section names"});
    const ElfSection& names = result.sections[static_cast<std::size_t>(names_at)];
    const auto strings = slice(elf, names.offset, names.bytes);
    if (!strings) return tl::unexpected(std::string{"the section names lie outside the file"});
    result.names = *strings;
    return result;
}

}  // namespace flipflop
