// Fatbins, as nvcc's fatbinary writes them and the driver reads them. No specification is public; the fields are those
// that fatbinary of CUDA 13 writes and that cricket (RWTH Aachen, cpu-elf2.c) describes:
//   container  u32 magic 0xBA55ED50, u16 version, u16 header bytes (16), u64 bytes of entries that follow
//   entry      u16 kind (1 PTX, 2 cubin, 8 LTO IR), u16 version, u32 header bytes, u64 payload bytes (padded to 8),
//              u32 compressed bytes, u32, u16 minor, u16 major, u32 architecture, u32 and u32 name, u64 flags, u64,
//              u64 bytes after unpacking
// Flags: 0x2000 LZ4 block, 0x8000 zstd frame, 0x100000 an "a" target, 0x200000 an "f" target.
#include <utility>

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/decompress.hpp"
#include "inputs/little_endian.hpp"

namespace flipflop {
namespace {

using std::string_view;

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint64_t kContainerHeader = 16, kEntryHeader = 64;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000, kArchitectureSpecific = 0x100000, kFamilySpecific = 0x200000;

struct Entry {
    std::uint16_t kind{};
    std::uint64_t compressed_bytes{}, unpacked_bytes{}, flags{};
    std::uint32_t architecture{};
    string_view payload;

    [[nodiscard]] bool compressed() const { return (flags & (kLz4 | kZstd)) != 0; }
    [[nodiscard]] std::string target(string_view prefix) const {
        const char* suffix = (flags & kArchitectureSpecific) != 0 ? "a" : (flags & kFamilySpecific) != 0 ? "f" : "";
        return fmt::format("{}_{}{}", prefix, architecture, suffix);
    }
};

/// What was packed. The payload is padded; the compressed bytes are its beginning. Old writers leave the field at 0 for
/// "all of it".
tl::expected<std::string, std::string> unpacked(const Entry& entry) {
    const std::uint64_t used = entry.compressed_bytes == 0 ? entry.payload.size() : entry.compressed_bytes;
    const auto packed = slice(entry.payload, 0, used);
    if (!packed) return tl::unexpected(fmt::format("{} compressed bytes do not fit into an entry of {}", used, entry.payload.size()));
    return (entry.flags & kZstd) != 0 ? unpack_zstd(*packed, entry.unpacked_bytes) : unpack_lz4(*packed, entry.unpacked_bytes);
}

void unpack_ptx_entry(const Entry& entry, const std::string& name, Collector& to) {
    if (!entry.compressed()) return unpack_ptx(std::string{entry.payload}, name, to);
    if (entry.unpacked_bytes > to.text_budget())
        return to.limit(name, fmt::format("claims to unpack to {} bytes, more than is read of one input", entry.unpacked_bytes));
    auto text = unpacked(entry);
    if (!text) return to.damaged(name, text.error());
    unpack_ptx(std::move(*text), name, to);
}

/// Machine code is listed whatever becomes of its content; what it says of its kernels is read as far as the budget goes.
void list_cubin(const Entry& entry, const std::string& name, Collector& to) {
    const std::string target = entry.target("sm");
    if (!entry.compressed()) return to.add_cubin(name, target, entry.payload.size(), entry.payload);
    if (!to.spend_on_machine_code(entry.unpacked_bytes)) return to.add_cubin(name, target, entry.payload.size(), {});
    const auto code = unpacked(entry);
    to.add_cubin(name, target, entry.payload.size(), code ? string_view(*code) : string_view{});
}

void take(const Entry& entry, const std::string& name, Collector& to) {
    switch (entry.kind) {
        case 1: return unpack_ptx_entry(entry, fmt::format("{}#{}.{}", name, to.texts() + 1, entry.target("compute")), to);
        case 2:
        case 4: return list_cubin(entry, fmt::format("{}#cubin{}.{}", name, to.input().cubins.size() + 1, entry.target("sm")), to);
        case 8: return to.pass_over("LTO IR");
        default: return to.pass_over(fmt::format("kind {}", entry.kind));
    }
}

/// The entries of one container, one after the other.
void walk_entries(string_view entries, const std::string& name, Collector& to) {
    std::uint64_t at = 0;
    while (at < entries.size()) {
        const auto header = slice(entries, at, kEntryHeader);
        if (!header) return to.damaged(name, fmt::format("fatbin entry at byte {}: its header is cut off", at));
        const std::uint32_t header_bytes = *number_at<std::uint32_t>(*header, 4);
        const std::uint64_t payload_bytes = *number_at<std::uint64_t>(*header, 8);
        const auto payload = header_bytes < kEntryHeader ? std::nullopt : slice(entries, at + header_bytes, payload_bytes);
        if (!payload)
            return to.damaged(name, fmt::format("fatbin entry at byte {}: {} + {} bytes do not fit into what is left ({})", at, header_bytes,
                                                payload_bytes, entries.size() - at));
        if (!to.count_entry()) return;
        take({*number_at<std::uint16_t>(*header, 0), *number_at<std::uint32_t>(*header, 16), *number_at<std::uint64_t>(*header, 56),
              *number_at<std::uint64_t>(*header, 40), *number_at<std::uint32_t>(*header, 28), *payload}, name, to);
        at += header_bytes + payload_bytes;
        to.passed(entries.data() + at);
    }
}

}  // namespace

bool is_sound_fatbin(string_view bytes, std::uint64_t& steps) {
    if (number_at<std::uint32_t>(bytes, 0) != kMagic || number_at<std::uint64_t>(bytes, 8) != bytes.size() - kContainerHeader) return false;
    std::uint64_t at = kContainerHeader;
    while (at < bytes.size()) {
        if (steps == 0 || --steps == 0) return false;
        const auto header_bytes = number_at<std::uint32_t>(bytes, at + 4);
        const auto payload_bytes = number_at<std::uint64_t>(bytes, at + 8);
        if (!payload_bytes || *header_bytes < kEntryHeader || !slice(bytes, at + *header_bytes, *payload_bytes)) return false;
        at += *header_bytes + *payload_bytes;
    }
    return true;
}

void unpack_fatbins(string_view bytes, const std::string& name, Collector& to) {
    std::uint64_t at = 0;
    for (;;) {
        const auto next = bytes.find_first_not_of('\0', static_cast<std::size_t>(at));   // padding between containers
        if (next == string_view::npos) return;
        at = next;
        const auto magic = number_at<std::uint32_t>(bytes, at);
        const auto header_bytes = number_at<std::uint16_t>(bytes, at + 6);
        const auto entry_bytes = number_at<std::uint64_t>(bytes, at + 8);
        if (magic != kMagic) return to.damaged(name, fmt::format("no fatbin header at byte {} of the device code", at));
        const auto entries = !entry_bytes || *header_bytes < kContainerHeader ? std::nullopt : slice(bytes, at + *header_bytes, *entry_bytes);
        if (!entries) return to.damaged(name, fmt::format("the fatbin at byte {} reaches past the end of the device code", at));
        if (!to.count_entry()) return;
        walk_entries(*entries, name, to);
        at += *header_bytes + *entry_bytes;
    }
}

}  // namespace flipflop
