// PTX text as it is, and PTX between the banners that cuobjdump prints.
#include <algorithm>

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/sniff.hpp"

namespace flipflop {
namespace {

using std::string_view;

/// The next line of `text` from `at`, without its end; moves `at` behind it.
string_view next_line(string_view text, std::size_t& at) {
    const std::size_t begin = at;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    at = std::min(end + 1, text.size());
    return text.substr(begin, end - begin);
}

string_view trimmed(string_view line) {
    const auto first = line.find_first_not_of(" \t\r");
    return first == string_view::npos ? string_view{} : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

void unpack_ptx(std::string text, const std::string& name, Collector& to) {
    // The driver stops at the first NUL; blobs padded with NULs are common. More text behind one is worth a word.
    const std::size_t nul = std::min(text.find('\0'), text.size());
    if (text.find_first_not_of('\0', nul) != std::string::npos)
        to.note(Severity::warning, "FF0816", name, fmt::format("what follows the NUL at byte {} is ignored, as the driver does", nul));
    text.resize(nul);
    // A byte-order mark becomes three blanks: the positions in messages stay those of the file.
    if (text.starts_with("\xef\xbb\xbf")) text.replace(0, 3, "   ");
    to.add_text(name, std::move(text));
}

// "Fatbin ptx code:", "=====", "arch = sm_80", ..., blank line, PTX. All that is no PTX is blanked out, so that every
// line keeps its number; machine code sections are listed.
void unpack_cuobjdump(string_view bytes, const std::string& name, Collector& to) {
    std::string text{bytes.substr(0, std::min(bytes.find('\0'), bytes.size()))};
    enum class In : std::uint8_t { nothing, ptx_header, ptx, elf } in = In::nothing;
    std::size_t at = 0;
    std::uint64_t cubins = 0;
    while (at < text.size()) {
        const std::size_t begin = at;
        const string_view raw = next_line(text, at);
        const string_view line = trimmed(raw);
        if (line == "Fatbin ptx code:") in = In::ptx_header;
        else if (line == "Fatbin elf code:") in = In::elf;
        else if (in == In::elf && line.starts_with("arch = "))
            to.add_cubin(fmt::format("{}#cubin.{}", name, ++cubins), std::string{line.substr(7)}, std::nullopt, {});
        else if (in == In::ptx_header && (line.starts_with(".version") || line.starts_with("//"))) in = In::ptx;
        if (in != In::ptx) std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(begin), raw.size(), ' ');
    }
    to.add_text(name, std::move(text));
}

}  // namespace flipflop
