#include "inputs/cubin.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "inputs/elf_sections.hpp"

namespace flipflop {
namespace {

using std::string_view;

constexpr unsigned char kEntryPoint = 0x10;  ///< STO_CUDA_ENTRY, in st_other
constexpr unsigned char kFunction = 2;       ///< STT_FUNC
constexpr std::uint16_t kRelocatable = 1;    ///< ET_REL
constexpr int kFirstNewAbi = 8;
/// From 9.0 on every block has this much shared memory for the system; the section's size holds it, ptxas -v does not.
constexpr std::uint64_t kSystemShared = 1024;

/// Attributes of .nv.info (names as cuobjdump -elf prints them).
enum Attribute : std::uint8_t {
    max_threads = 0x05, required_threads = 0x10, frame_size = 0x11, max_register_count = 0x1b, register_count = 0x2f,
    cluster_size = 0x3d, barrier_count = 0x4c,
};
/// How an attribute carries its value: none, in the low byte, in both bytes, or as so many bytes behind.
enum Form : std::uint8_t { none = 1, byte = 2, half = 3, sized = 4 };

struct Header {
    ElfLayout layout;
    std::uint16_t type{};
    int abi{};
    std::uint32_t flags{};
    [[nodiscard]] bool is_new() const { return abi >= kFirstNewAbi; }
    [[nodiscard]] std::uint32_t architecture() const { return is_new() ? (flags >> 8) & 0xffff : flags & 0xff; }
};

std::optional<Header> header_of(string_view elf) {
    if (elf.size() < 20) return std::nullopt;
    const ElfLayout layout{elf[4] == 2};
    const auto flags = number_at<std::uint32_t>(elf, layout.wide ? 48 : 36);
    if (!flags) return std::nullopt;
    return Header{layout, *number_at<std::uint16_t>(elf, 16), static_cast<unsigned char>(elf[8]), *flags};
}

tl::expected<ElfSectionTable, std::string> sections_of(string_view elf, const Header& header) {
    const auto table = header.layout.word(elf, header.layout.wide ? 40 : 32);
    if (!table || *table == 0) return tl::unexpected(std::string{"machine code without a section table"});
    return elf_section_table(elf, header.layout, *table);
}

string_view content_of(string_view elf, const ElfSection& section) {
    if (section.type == kElfNoBits) return {};
    return slice(elf, section.offset, section.bytes).value_or(string_view{});
}

/// 'a' or 'f' behind "-arch sm_100f" in the command line that ptxas leaves in .note.nv.tkinfo; 0 where there is none.
char suffix_in(string_view note, std::uint32_t architecture) {
    const std::string wanted = fmt::format("sm_{}", architecture);
    for (std::size_t at = note.find("-arch"); at != string_view::npos; at = note.find("-arch", at + 1)) {
        string_view rest = note.substr(at + 5);
        rest.remove_prefix(std::min(rest.find_first_not_of(" ="), rest.size()));
        if (!rest.starts_with(wanted) || rest.size() <= wanted.size()) continue;
        const char suffix = rest[wanted.size()];
        return suffix == 'a' || suffix == 'f' ? suffix : '\0';
    }
    return '\0';
}

/// Reads one cubin's sections into kernels.
class Reader {
public:
    Reader(string_view elf, const Header& header, const ElfSectionTable& table) : elf_(elf), header_(header), table_(table) {
        for (const ElfSection& section : table.sections) by_name_.emplace(elf_name(table.names, section.name), &section);
    }

    tl::expected<std::vector<CubinKernel>, std::string> read() {
        for (const ElfSection& section : table_.sections)
            if (section.type == kElfSymbols)
                if (!take_symbols(section)) return tl::unexpected(std::string{"the symbols of the machine code lie outside the file"});
        if (const ElfSection* const info = section(".nv.info"))
            if (!take_shared_attributes(content_of(elf_, *info))) return tl::unexpected(std::string{"the attributes in .nv.info are cut off"});
        for (CubinKernel& kernel : kernels_) {
            const ElfSection* const info = section(".nv.info." + kernel.name);
            if (info != nullptr && !take_attributes(content_of(elf_, *info), kernel))
                return tl::unexpected(fmt::format("the attributes in .nv.info.{} are cut off", kernel.name));
            take_sections(kernel);
        }
        return std::move(kernels_);
    }

private:
    const ElfSection* section(const std::string& name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }

    bool take_symbols(const ElfSection& symbols) {
        const bool wide = header_.layout.wide;
        const std::uint64_t bytes_each = wide ? 24 : 16;
        const auto table = slice(elf_, symbols.offset, symbols.bytes);
        if (!table || symbols.link >= table_.sections.size()) return false;
        const string_view names = content_of(elf_, table_.sections[symbols.link]);
        for (std::uint64_t i = 0; (i + 1) * bytes_each <= table->size(); ++i) {
            const std::uint64_t at = i * bytes_each;
            const auto type = static_cast<unsigned char>((*table)[at + (wide ? 4 : 12)]), other = static_cast<unsigned char>((*table)[at + (wide ? 5 : 13)]);
            if ((type & 0xf) != kFunction || (other & kEntryPoint) == 0) continue;
            CubinKernel kernel;
            kernel.name = elf_name(names, *number_at<std::uint32_t>(*table, at));
            kernel.linked = header_.type != kRelocatable;
            if (kernel.name.empty()) continue;
            by_symbol_.emplace(i, kernels_.size());
            kernels_.push_back(std::move(kernel));
        }
        return true;
    }

    /// Calls `visit(attribute, form, value, bytes)` for each; false when one reaches past the end.
    template <class Visit>
    static bool for_each_attribute(string_view bytes, Visit&& visit) {
        while (bytes.size() >= 4) {
            const auto form = static_cast<std::uint8_t>(bytes[0]), attribute = static_cast<std::uint8_t>(bytes[1]);
            const std::uint16_t value = *number_at<std::uint16_t>(bytes, 2);
            bytes.remove_prefix(4);
            const std::uint64_t more = form == Form::sized ? value : 0;
            const auto payload = slice(bytes, 0, more);
            if (!payload) return false;
            visit(attribute, form, value, *payload);
            bytes.remove_prefix(payload->size());
        }
        return bytes.empty();
    }

    /// .nv.info: attributes of any function, by the number of its symbol.
    bool take_shared_attributes(string_view bytes) {
        return for_each_attribute(bytes, [&](std::uint8_t attribute, std::uint8_t form, std::uint16_t, string_view payload) {
            const auto symbol = number_at<std::uint32_t>(payload, 0), value = number_at<std::uint32_t>(payload, 4);
            if (form != Form::sized || !symbol || !value) return;
            const auto found = by_symbol_.find(*symbol);
            if (found == by_symbol_.end()) return;
            CubinKernel& kernel = kernels_[found->second];
            if (attribute == Attribute::register_count) kernel.registers = *value;
            if (attribute == Attribute::frame_size) kernel.stack_frame_bytes = *value;
        });
    }

    static std::optional<std::array<std::uint32_t, 3>> three(string_view payload) {
        const auto x = number_at<std::uint32_t>(payload, 0), y = number_at<std::uint32_t>(payload, 4), z = number_at<std::uint32_t>(payload, 8);
        if (!x || !y || !z || *x == 0 || *y == 0 || *z == 0) return std::nullopt;
        return std::array{*x, *y, *z};
    }

    /// .nv.info.KERNEL
    bool take_attributes(string_view bytes, CubinKernel& kernel) const {
        return for_each_attribute(bytes, [&](std::uint8_t attribute, std::uint8_t form, std::uint16_t value, string_view payload) {
            switch (attribute) {
                case Attribute::max_threads: kernel.max_block = three(payload); break;
                case Attribute::required_threads: kernel.required_block = three(payload); break;
                case Attribute::cluster_size: kernel.cluster = three(payload); break;
                case Attribute::max_register_count: kernel.max_registers = value; break;
                case Attribute::barrier_count: kernel.barriers = form == Form::byte ? value & 0xffU : value; break;
                default: break;
            }
        });
    }

    void take_sections(CubinKernel& kernel) const {
        const ElfSection* const text = section(".text." + kernel.name);
        if (text != nullptr) {
            kernel.code_bytes = text->bytes;
            // Until CUDA 10 the count of registers stood here alone; the barriers did until the ABI changed.
            if (!kernel.registers && !header_.is_new() && text->info >> 24 != 0) kernel.registers = text->info >> 24;
            if (!kernel.barriers && !header_.is_new()) kernel.barriers = static_cast<std::uint32_t>(text->flags >> 20) & 0x7f;
            if (!kernel.barriers) kernel.barriers = 0;   // the new ABI leaves out what is zero
        }
        if (!kernel.linked) return;   // variables get their place when it is linked
        const ElfSection* const shared = section(".nv.shared." + kernel.name);
        const std::uint64_t bytes = shared == nullptr ? 0 : shared->bytes;
        const std::uint64_t system = header_.architecture() >= 90 ? kSystemShared : 0;
        kernel.shared_bytes = bytes - std::min(bytes, system);
    }

    string_view elf_;
    const Header& header_;
    const ElfSectionTable& table_;
    std::unordered_map<string_view, const ElfSection*> by_name_;
    std::unordered_map<std::uint64_t, std::size_t> by_symbol_;
    std::vector<CubinKernel> kernels_;
};

}  // namespace

std::string cubin_architecture(string_view elf) {
    const auto header = header_of(elf);
    if (!header) return "unknown";
    char suffix = !header->is_new() && (header->flags & 0x800) != 0 ? 'a' : '\0';
    if (header->is_new()) {
        if (const auto table = sections_of(elf, *header))
            for (const ElfSection& section : table->sections)
                if (section.type == kElfNotes && elf_name(table->names, section.name) == ".note.nv.tkinfo")
                    suffix = suffix_in(content_of(elf, section), header->architecture());
    }
    return fmt::format("sm_{}{}", header->architecture(), suffix == '\0' ? std::string{} : std::string(1, suffix));
}

tl::expected<std::vector<CubinKernel>, std::string> read_cubin(string_view elf) {
    const auto header = header_of(elf);
    if (!header) return tl::unexpected(std::string{"the header of the machine code is cut off"});
    const auto table = sections_of(elf, *header);
    if (!table) return tl::unexpected(table.error());
    return Reader(elf, *header, *table).read();
}

}  // namespace flipflop
