// Containers made on the spot, byte by byte, for the tests of src/inputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flipflop::testing {

inline constexpr std::string_view kPtx =
    ".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry k(.param .u64 k_param_0)\n{\n\tret;\n}\n";

std::string utf16(std::string_view ascii, bool mark);

template <class T>
void put(std::string& to, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

/// One entry of a fatbin; the fields can lie.
struct FatbinEntry {
    std::uint16_t kind{1};
    std::string payload{kPtx};
    std::uint32_t architecture{80};
    std::uint64_t flags{0x11};
    std::uint32_t compressed_bytes{};
    std::uint64_t unpacked_bytes{};
    std::uint32_t header_bytes{64};
    std::uint64_t payload_bytes{~std::uint64_t{0}};     ///< the payload's own, padded to 8, unless given

    static FatbinEntry lz4(std::string_view text);
    static FatbinEntry zstd(std::string_view text);
};
std::string entry_bytes(FatbinEntry entry);
std::string fatbin(const std::vector<FatbinEntry>& entries);

/// A 64-bit little-endian ELF object with these sections.
struct ElfSection {
    std::string name, content;
    std::uint32_t type{1}, link{}, info{};              ///< SHT_PROGBITS
    std::uint64_t flags{2};
};
/// The first given is section 1; the names come last.
std::string elf(const std::vector<ElfSection>& sections, std::uint16_t machine = 62, std::uint8_t abi = 0, std::uint32_t flags = 0, std::uint16_t type = 1);

struct ArchiveMember { std::string name, content; };
std::string archive(const std::vector<ArchiveMember>& members);   ///< GNU names

/// A folder that goes away with the object.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }
    void write(const std::string& name, std::string_view content) const;

private:
    std::string path_;
};

}  // namespace flipflop::testing
