// ELF (System V ABI, chapter 4) as far as device code needs it: the sections .nv_fatbin and __nv_relfatbin of host
// objects, and fatbins among their data. Cubins (machine 190) are read in cubin.cpp.
#include <algorithm>
#include <cstring>
#include <utility>
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

    std::vector<std::pair<std::uint64_t, std::uint64_t>> device;   // begin, bytes
    for (const ElfSection& section : sections->sections) {
        const string_view title = elf_name(sections->names, section.name);
        if (section.type != kElfNoBits && (title == ".nv_fatbin" || title == "__nv_relfatbin") && section.bytes != 0) device.emplace_back(section.offset, section.bytes);
    }
    std::sort(device.begin(), device.end());
    std::uint64_t end = 0;
    for (const auto& [begin, bytes] : device) {
        const auto content = slice(elf, begin, bytes);
        if (!content) return to.damaged(name, fmt::format("the device code at byte {} ({} bytes) reaches past the end of the file", begin, bytes));
        if (begin < end) return to.damaged(name, fmt::format("sections of device code overlap at byte {}", begin));
        search_for_fatbins(elf, end, begin, name, steps, to);
        unpack_fatbins(*content, name, to);
        end = begin + bytes;
    }
    search_for_fatbins(elf, end, elf.size(), name, steps, to);
}

}  // namespace flipflop
