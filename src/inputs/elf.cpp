// ELF (System V ABI, chapter 4) as far as device code needs it: the sections .nv_fatbin and __nv_relfatbin of host
// objects, and fatbins among their data. Cubins (machine 190) are read in cubin.cpp.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/cubin.hpp"
#include "inputs/elf_sections.hpp"
#include "inputs/little_endian.hpp"

namespace flipflop {
namespace {

using std::string_view;

constexpr std::uint16_t kCudaMachine = 190;
constexpr string_view kFatbinMagic{"\x50\xed\x55\xba\x01\x00\x10\x00", 8};

/// Code of the host, tables of symbols, strings and relocations: no place for device code, and half of a large library.
bool holds_no_data(const ElfSection& section) {
    constexpr std::uint64_t kExecutable = 4;
    enum Type : std::uint32_t { symbols = kElfSymbols, strings = 3, relocations_with_addends = 4, hashes = 5, note = kElfNotes, relocations = 9, dynamic_symbols = 11 };
    if ((section.flags & kExecutable) != 0) return true;
    switch (section.type) {
        case symbols: case strings: case relocations_with_addends: case hashes: case note: case relocations: case dynamic_symbols: return true;
        default: return false;
    }
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

}  // namespace

void unpack_elf(string_view elf, const std::string& name, Collector& to) {
    if (elf.size() < 20) return to.damaged(name, "the ELF header is cut off");
    const ElfLayout layout{elf[4] == 2};
    if (elf[5] != 1) return;   // big-endian: no host of CUDA
    const auto machine = number_at<std::uint16_t>(elf, 18);
    if (machine == kCudaMachine) return to.add_cubin(name, cubin_architecture(elf), elf.size(), elf);

    std::uint64_t steps = kSearchSteps;
    const auto table = layout.word(elf, layout.wide ? 40 : 32);
    if (!table) return to.damaged(name, "the ELF header is cut off");
    if (*table == 0) return search_for_fatbins(elf, 0, elf.size(), name, steps, to);
    const auto sections = elf_section_table(elf, layout, *table);
    if (!sections) return to.damaged(name, sections.error());

    struct Range { std::uint64_t begin{}, bytes{}; bool device{}; };
    std::vector<Range> ranges;   // whose content is known; the rest is searched
    for (const ElfSection& section : sections->sections) {
        if (section.type == kElfNoBits || section.bytes == 0) continue;
        const string_view title = elf_name(sections->names, section.name);
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
