#include "inputs_support.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

namespace flipflop::testing {

std::string utf16(std::string_view ascii, bool mark) {
    std::string result = mark ? "\xff\xfe" : "";
    for (const char c : ascii) (result += c) += '\0';
    return result;
}

FatbinEntry FatbinEntry::lz4(std::string_view text) {
    std::string packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
    const int bytes = LZ4_compress_default(text.data(), packed.data(), static_cast<int>(text.size()), static_cast<int>(packed.size()));
    packed.resize(static_cast<std::size_t>(bytes));
    FatbinEntry entry;
    entry.flags = 0x2011;
    entry.compressed_bytes = static_cast<std::uint32_t>(packed.size());
    entry.unpacked_bytes = text.size();
    entry.payload = std::move(packed);
    return entry;
}

FatbinEntry FatbinEntry::zstd(std::string_view text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    FatbinEntry entry;
    entry.flags = 0x8011;
    entry.compressed_bytes = static_cast<std::uint32_t>(packed.size());
    entry.unpacked_bytes = text.size();
    entry.payload = std::move(packed);
    return entry;
}

std::string entry_bytes(FatbinEntry entry) {
    while (entry.payload.size() % 8 != 0) entry.payload += '\0';
    std::string bytes;
    put<std::uint16_t>(bytes, entry.kind);
    put<std::uint16_t>(bytes, 0x101);
    put<std::uint32_t>(bytes, entry.header_bytes);
    put<std::uint64_t>(bytes, entry.payload_bytes == ~std::uint64_t{0} ? entry.payload.size() : entry.payload_bytes);
    put<std::uint32_t>(bytes, entry.compressed_bytes);
    put<std::uint32_t>(bytes, 64);
    put<std::uint16_t>(bytes, 0);
    put<std::uint16_t>(bytes, 9);
    put<std::uint32_t>(bytes, entry.architecture);
    put<std::uint64_t>(bytes, 0);
    put<std::uint64_t>(bytes, entry.flags);
    put<std::uint64_t>(bytes, 0);
    put<std::uint64_t>(bytes, entry.unpacked_bytes);
    return bytes + entry.payload;
}

std::string fatbin(const std::vector<FatbinEntry>& entries) {
    std::string body;
    for (const FatbinEntry& entry : entries) body += entry_bytes(entry);
    std::string bytes;
    put<std::uint32_t>(bytes, 0xBA55ED50);
    put<std::uint16_t>(bytes, 1);
    put<std::uint16_t>(bytes, 16);
    put<std::uint64_t>(bytes, body.size());
    return bytes + body;
}

std::string elf(const std::vector<ElfSection>& sections, std::uint16_t machine, std::uint8_t abi, std::uint32_t flags, std::uint16_t type) {
    std::string body, names{'\0'}, headers(64, '\0');
    const auto header = [&](const ElfSection& section) {
        const std::size_t name_at = names.size();
        (names += section.name) += '\0';
        put<std::uint32_t>(headers, static_cast<std::uint32_t>(name_at));
        put<std::uint32_t>(headers, section.type);
        put<std::uint64_t>(headers, section.flags);
        put<std::uint64_t>(headers, 0);
        put<std::uint64_t>(headers, 64 + body.size());
        put<std::uint64_t>(headers, section.content.size());
        put<std::uint32_t>(headers, section.link);
        put<std::uint32_t>(headers, section.info);
        for (int i = 0; i < 2; ++i) put<std::uint64_t>(headers, 0);
        body += section.content;
    };
    for (const ElfSection& section : sections) header(section);
    names += ".shstrtab";
    names += '\0';
    const std::string all_names = names;
    header({"", all_names});
    std::string bytes{"\x7f" "ELF\x02\x01\x01"};
    bytes += '\x29';
    bytes += static_cast<char>(abi);
    bytes.resize(16, '\0');
    put<std::uint16_t>(bytes, type);
    put<std::uint16_t>(bytes, machine);
    put<std::uint32_t>(bytes, 1);
    put<std::uint64_t>(bytes, 0);
    put<std::uint64_t>(bytes, 0);
    put<std::uint64_t>(bytes, 64 + body.size());           // e_shoff
    put<std::uint32_t>(bytes, flags);
    put<std::uint16_t>(bytes, 64);
    for (int i = 0; i < 2; ++i) put<std::uint16_t>(bytes, 0);
    put<std::uint16_t>(bytes, 64);                         // e_shentsize
    put<std::uint16_t>(bytes, static_cast<std::uint16_t>(sections.size() + 2));
    put<std::uint16_t>(bytes, static_cast<std::uint16_t>(sections.size() + 1));
    return bytes + body + headers;
}

std::string archive(const std::vector<ArchiveMember>& members) {
    std::string long_names;
    std::string bodies;
    const auto member = [&](const std::string& field, const std::string& content) {
        bodies += fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", field, 0, 0, 0, 644, content.size()) + content;
        if (content.size() % 2 != 0) bodies += '\n';
    };
    std::vector<std::string> fields;
    for (const ArchiveMember& m : members) {
        fields.push_back(m.name.size() < 16 ? m.name + "/" : fmt::format("/{}", long_names.size()));
        if (m.name.size() >= 16) long_names += m.name + "/\n";
    }
    if (!long_names.empty()) member("//", long_names);
    for (std::size_t i = 0; i < members.size(); ++i) member(fields[i], members[i].content);
    return "!<arch>\n" + bodies;
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "flipflop-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file, std::ios::binary} << content;
}

}  // namespace flipflop::testing
