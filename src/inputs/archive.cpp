// Static archives (ar): "!<arch>\n", then members of a 60-byte header in ASCII and their bytes, at even positions.
// Long names: GNU "/offset" into the member "//", BSD "#1/length" before the bytes.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/little_endian.hpp"
#include "inputs/sniff.hpp"

namespace flipflop {
namespace {

using std::string_view;

constexpr std::uint64_t kMagic = 8, kHeader = 60;

std::optional<std::uint64_t> decimal(string_view field) {
    field = field.substr(0, field.find_last_not_of(' ') + 1);
    std::uint64_t value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (field.empty() || error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
    return value;
}

/// A member's name may hold anything; messages get at most 256 printable bytes of it.
std::string printable(string_view name) {
    std::string result{name.substr(0, 256)};
    std::replace_if(result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < 32 || c == 0x7f; }, '?');
    return result;
}

struct Member {
    string_view name, content;
    bool is_index{};                 ///< symbol table or table of long names
};

Member named(string_view field, string_view content, string_view long_names) {
    field = field.substr(0, field.find_last_not_of(' ') + 1);
    if (field == "/" || field == "//" || field == "/SYM64/" || field.starts_with("__.SYMDEF")) return {field, content, true};
    if (field.starts_with("#1/"))
        if (const auto length = decimal(field.substr(3)); length && *length <= content.size()) {
            const string_view name = content.substr(0, static_cast<std::size_t>(*length));
            return {name.substr(0, std::min(name.find('\0'), name.size())), content.substr(static_cast<std::size_t>(*length)), name.starts_with("__.SYMDEF")};
        }
    if (field.starts_with("/"))
        if (const auto at = decimal(field.substr(1)); at && *at < long_names.size()) {
            const string_view rest = long_names.substr(static_cast<std::size_t>(*at));
            field = rest.substr(0, std::min(rest.find('\n'), rest.size()));
        }
    if (field.ends_with("/")) field.remove_suffix(1);
    return {field, content, false};
}

void unpack_member(const Member& member, const std::string& archive, Collector& to) {
    const std::string name = fmt::format("{}({})", archive, printable(member.name));
    switch (sniff(member.content)) {
        case Content::elf: return unpack_elf(member.content, name, to);
        case Content::fatbin: return unpack_fatbins(member.content, name, to);
        case Content::ptx: return unpack_ptx(std::string{member.content}, name, to);
        case Content::cuobjdump: return unpack_cuobjdump(member.content, name, to);
        default: return;             // an archive may hold anything
    }
}

}  // namespace

void unpack_archive(string_view bytes, const std::string& name, Collector& to) {
    string_view long_names;
    for (std::uint64_t at = kMagic; at < bytes.size();) {
        const auto header = slice(bytes, at, kHeader);
        if (!header || header->substr(58) != "`\n") return to.damaged(name, fmt::format("no member header at byte {}", at));
        const auto length = decimal(header->substr(48, 10));
        const auto content = length ? slice(bytes, at + kHeader, *length) : std::nullopt;
        if (!content) return to.damaged(name, fmt::format("the member at byte {} reaches past the end of the file", at));
        if (!to.count_entry()) return;
        const string_view field = header->substr(0, 16);
        if (field.starts_with("// ")) long_names = *content;
        const Member member = named(field, *content, long_names);
        if (!member.is_index) unpack_member(member, name, to);
        at += kHeader + *length + *length % 2;
    }
}

}  // namespace flipflop
