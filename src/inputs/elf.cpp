// ELF (System V ABI, chapter 4) as far as device code needs it: the sections .nv_fatbin and __nv_relfatbin of host
// objects, fatbins among their data, and what a cubin (machine 190) is for.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/little_endian.hpp"

namespace flipflop {
namespace {

using std::string_view;

constexpr std::uint16_t kCudaMachine = 190;
constexpr std::uint32_t kNoBits = 8;
constexpr string_view kFatbinMagic{"\x50\xed\x55\xba\x01\x00\x10\x00", 8};

struct Layout {                              // of the 64-bit and the 32-bit form
    bool wide{};
    [[nodiscard]] std::optional<std::uint64_t> word(string_view bytes, std::uint64_t at) const {
        if (wide) return number_at<std::uint64_t>(bytes, at);
        const auto narrow = number_at<std::uint32_t>(bytes, at);
        return narrow ? std::optional<std::uint64_t>{*narrow} : std::nullopt;
    }
};

struct Section {
    std::uint32_t name{}, type{}, link{};
    std::uint64_t flags{}, offset{}, bytes{};
};

/// Code of the host, tables of symbols, strings and relocations: no place for device code, and half of a large library.
bool holds_no_data(const Section& section) {
    constexpr std::uint64_t kExecutable = 4;
    enum Type : std::uint32_t { symbols = 2, strings = 3, relocations_with_addends = 4, hashes = 5, note = 7, relocations = 9, dynamic_symbols = 11 };
    if ((section.flags & kExecutable) != 0) return true;
    switch (section.type) {
        case symbols: case strings: case relocations_with_addends: case hashes: case note: case relocations: case dynamic_symbols: return true;
        default: return false;
    }
}

std::optional<Section> section_at(string_view elf, Layout layout, std::uint64_t at) {
    const auto name = number_at<std::uint32_t>(elf, at), type = number_at<std::uint32_t>(elf, at + 4);
    const auto offset = layout.word(elf, at + (layout.wide ? 24 : 16)), bytes = layout.word(elf, at + (layout.wide ? 32 : 20));
    const auto link = number_at<std::uint32_t>(elf, at + (layout.wide ? 40 : 24));
    const auto flags = layout.word(elf, at + 8);
    if (!name || !type || !offset || !bytes || !link || !flags) return std::nullopt;
    return Section{*name, *type, *link, *flags, *offset, *bytes};
}

string_view name_in(string_view strings, std::uint32_t at) {
    if (at >= strings.size()) return {};
    const string_view rest = strings.substr(at);
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

/// "sm_90a" from the header of a cubin: the number moved when the ABI's version became 8 (CUDA 13).
std::string cubin_architecture(string_view elf, Layout layout) {
    const auto flags = number_at<std::uint32_t>(elf, layout.wide ? 48 : 36);
    if (!flags || elf.size() < 9) return "unknown";
    const bool newer = static_cast<unsigned char>(elf[8]) >= 8;
    const bool accelerated = !newer && (*flags & 0x800) != 0;
    return fmt::format("sm_{}{}", newer ? (*flags >> 8) & 0xff : *flags & 0xff, accelerated ? "a" : "");
}

/// Device code outside the sections that nvcc makes for it: libraries that load modules by hand keep fatbins among
/// their data (libcufft: 8,000 of them), and some strippers remove the section table. Found by the first eight bytes.
/// What only looks like a fatbin is no error here; a file made of such looks would take forever, and is one.
constexpr std::uint64_t kSearchSteps = 4'000'000;
void search_for_fatbins(string_view elf, std::uint64_t from, std::uint64_t to_byte, const std::string& name, std::uint64_t& steps, Collector& to) {
    constexpr std::uint64_t kWindow = 16ULL << 20;
    std::uint64_t at = from;
    while (at < to_byte) {
        to.passed(elf.data() + at);
        const std::uint64_t looked = std::min(to_byte - at, kWindow);
        const void* found = ::memmem(elf.data() + at, static_cast<std::size_t>(looked), kFatbinMagic.data(), kFatbinMagic.size());
        if (found == nullptr) {
            if (looked < kWindow) return;
            at += looked - kFatbinMagic.size() + 1;   // a magic number may lie across the window's end
            continue;
        }
        at = static_cast<std::uint64_t>(static_cast<const char*>(found) - elf.data());
        const auto bytes = number_at<std::uint64_t>(elf, at + 8);
        const auto whole = bytes && *bytes < to_byte - at ? slice(elf, at, *bytes + 16) : std::nullopt;
        const bool sound = whole && at + whole->size() <= to_byte && is_sound_fatbin(*whole, steps);
        if (steps == 0) return to.limit(name, "holds too much that looks like device code and is none");
        if (sound) unpack_fatbins(*whole, name, to);
        at += sound ? whole->size() : kFatbinMagic.size();
    }
}

struct SectionTable {
    std::vector<Section> sections;
    string_view names;
};

tl::expected<SectionTable, std::string> section_table(string_view elf, Layout layout, std::uint64_t table) {
    const auto entry_bytes = number_at<std::uint16_t>(elf, layout.wide ? 58 : 46);
    const auto count16 = number_at<std::uint16_t>(elf, layout.wide ? 60 : 48), names16 = number_at<std::uint16_t>(elf, layout.wide ? 62 : 50);
    const auto first = section_at(elf, layout, table);
    if (!names16 || !first) return tl::unexpected(std::string{"the section table lies outside the file"});
    if (*entry_bytes < (layout.wide ? 64 : 40)) return tl::unexpected(fmt::format("section headers of {} bytes", *entry_bytes));
    // More than 0xff00 sections: the true numbers stand in the first header.
    const std::uint64_t count = *count16 == 0 ? first->bytes : *count16;
    const std::uint64_t names_at = *names16 == 0xffff ? first->link : *names16;
    if (count > (elf.size() - table) / *entry_bytes) return tl::unexpected(fmt::format("{} section headers do not fit into the file", count));
    SectionTable result;
    result.sections.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) result.sections.push_back(*section_at(elf, layout, table + i * *entry_bytes));
    if (names_at >= count) return tl::unexpected(std::string{"no table of section names"});
    const Section& names = result.sections[static_cast<std::size_t>(names_at)];
    const auto strings = slice(elf, names.offset, names.bytes);
    if (!strings) return tl::unexpected(std::string{"the section names lie outside the file"});
    result.names = *strings;
    return result;
}

}  // namespace

void unpack_elf(string_view elf, const std::string& name, Collector& to) {
    if (elf.size() < 20) return to.damaged(name, "the ELF header is cut off");
    const Layout layout{elf[4] == 2};
    if (elf[5] != 1) return;   // big-endian: no host of CUDA
    const auto machine = number_at<std::uint16_t>(elf, 18);
    if (machine == kCudaMachine) return to.add_cubin(name, cubin_architecture(elf, layout), elf.size());

    std::uint64_t steps = kSearchSteps;
    const auto table = layout.word(elf, layout.wide ? 40 : 32);
    if (!table) return to.damaged(name, "the ELF header is cut off");
    if (*table == 0) return search_for_fatbins(elf, 0, elf.size(), name, steps, to);
    const auto sections = section_table(elf, layout, *table);
    if (!sections) return to.damaged(name, sections.error());

    struct Range { std::uint64_t begin{}, bytes{}; bool device{}; };
    std::vector<Range> ranges;   // whose content is known; the rest is searched
    for (const Section& section : sections->sections) {
        if (section.type == kNoBits || section.bytes == 0) continue;
        const string_view title = name_in(sections->names, section.name);
        const bool device = title == ".nv_fatbin" || title == "__nv_relfatbin";
        if (device || holds_no_data(section)) ranges.push_back({section.offset, section.bytes, device});
    }
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::uint64_t end = 0, device_end = 0;   // of what was looked at, and of the device code in it
    for (const Range& range : ranges) {
        const auto content = slice(elf, range.begin, range.bytes);
        if (!content && !range.device) continue;
        if (!content) return to.damaged(name, fmt::format("the device code at byte {} ({} bytes) reaches past the end of the file", range.begin, range.bytes));
        if (range.device && range.begin < device_end) return to.damaged(name, fmt::format("sections of device code overlap at byte {}", range.begin));
        if (range.begin > end) search_for_fatbins(elf, end, range.begin, name, steps, to);
        if (range.device) {
            unpack_fatbins(*content, name, to);
            device_end = range.begin + range.bytes;
        }
        end = std::max(end, range.begin + range.bytes);
    }
    search_for_fatbins(elf, end, elf.size(), name, steps, to);
}

}  // namespace flipflop
