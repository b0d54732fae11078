#include "inputs/sniff.hpp"

#include <algorithm>
#include <array>

namespace flipflop {
namespace {

using std::string_view;

constexpr string_view kSpace = " \t\r\n\v\f";
constexpr std::size_t kLook = 64 * 1024;   // of a text, where its first word decides nothing

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool starts_with_word(string_view text, string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || !is_word(text[word.size()]));
}

/// A line of `text` that begins (after blanks) with one of `words`.
bool any_line_starts(string_view text, std::initializer_list<string_view> words) {
    while (!text.empty()) {
        const auto end = std::min(text.find_first_of("\r\n"), text.size());
        const auto first = text.substr(0, end).find_first_not_of(" \t");
        if (first != string_view::npos && first < end)
            for (const string_view word : words)
                if (text.substr(first, end - first).starts_with(word)) return true;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

bool contains_any(string_view text, std::initializer_list<string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](string_view word) { return text.find(word) != string_view::npos; });
}

bool is_utf16_or_32(string_view bytes) {
    if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) return true;
    // Without a mark: ASCII in UTF-16 has a NUL as every second byte.
    const string_view head = bytes.substr(0, 64);
    if (head.size() < 8) return false;
    std::array<std::size_t, 2> nuls{};
    for (std::size_t i = 0; i < head.size(); ++i)
        if (head[i] == '\0') ++nuls[i % 2];
    const std::size_t half = head.size() / 2;
    return (nuls[0] >= half && nuls[1] == 0) || (nuls[1] >= half && nuls[0] == 0);
}

bool is_compressed(string_view bytes) {
    using namespace std::string_view_literals;
    return bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd") || bytes.starts_with("\xfd" "7zXZ") ||
           bytes.starts_with("BZh") || bytes.starts_with("PK\x03\x04") || bytes.starts_with("\x04\x22\x4d\x18") ||
           bytes.starts_with("7z\xbc\xaf");
}

bool has_control_bytes(string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return (u < 32 && kSpace.find(c) == string_view::npos && u != 0x1b) || u == 0x7f;
    });
}

Content sniff_text(string_view text) {
    const string_view body = skip_comments(text);
    if (body.empty()) return Content::text;
    // Not .file, .global, .weak and .extern: assemblers of other machines begin so too.
    for (const string_view directive : {".version", ".target", ".address_size", ".visible", ".entry", ".func"})
        if (starts_with_word(body, directive)) return Content::ptx;

    const string_view head = text.substr(0, kLook);
    if (any_line_starts(head, {"Fatbin ptx code:", "Fatbin elf code:"}) && any_line_starts(text, {"Fatbin ptx code:"}))
        return Content::cuobjdump;
    if (any_line_starts(head, {".headerflags", "code for sm_", "Function :"}) || contains_any(head, {"/*0000*/"})) return Content::sass;
    if (any_line_starts(head, {"; ModuleID", "source_filename =", "target datalayout", "target triple"}) ||
        (any_line_starts(head, {"define ", "declare "}) && any_line_starts(head, {"ret ", "attributes #", "declare "})))
        return Content::llvm_ir;
    if (any_line_starts(head, {".version", ".visible .", ".entry ", ".address_size", ".extern .", ".weak ."})) return Content::ptx_late;
    if (contains_any(head, {"__global__", "__device__", "blockIdx.", "threadIdx."}) || any_line_starts(head, {"#include", "#define", "#pragma"}))
        return Content::cuda;
    return Content::text;
}

}  // namespace

string_view skip_comments(string_view text) {
    for (;;) {
        const auto first = text.find_first_not_of(kSpace);
        if (first == string_view::npos) return {};
        text.remove_prefix(first);
        std::size_t end{};
        if (text.starts_with("//")) {
            end = text.find('\n');
        } else if (text.starts_with("/*")) {
            end = text.find("*/", 2);
            if (end != string_view::npos) end += 2;
        } else {
            return text;
        }
        if (end == string_view::npos) return {};
        text.remove_prefix(end);
    }
}

Content sniff(string_view bytes) {
    if (bytes.empty()) return Content::empty;
    if (bytes.starts_with("\x7f" "ELF")) return Content::elf;
    if (bytes.starts_with("!<arch>\n")) return Content::archive;
    if (bytes.starts_with("!<thin>\n")) return Content::thin_archive;
    if (bytes.starts_with("\x50\xed\x55\xba")) return Content::fatbin;
    if (bytes.starts_with("BC\xc0\xde") || bytes.starts_with("\xde\xc0\x17\x0b")) return Content::llvm_bitcode;
    if (is_utf16_or_32(bytes)) return Content::utf16;
    if (is_compressed(bytes)) return Content::compressed;
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
    // PTX handed to a driver often ends in NULs; text ends at the first.
    const string_view text = bytes.substr(0, std::min(bytes.find('\0'), bytes.size()));
    if (text.empty()) return Content::binary;
    const Content content = sniff_text(text);
    if (content == Content::ptx || content == Content::ptx_late || content == Content::cuobjdump) return content;
    if (text.size() != bytes.size() || has_control_bytes(text.substr(0, kLook))) return Content::binary;
    return text.find_first_not_of(kSpace) == string_view::npos ? Content::empty : content;
}

string_view describe(Content content) {
    switch (content) {
        case Content::empty: return "empty";
        case Content::ptx: return "PTX";
        case Content::ptx_late: return "text with PTX directives in it";
        case Content::cuobjdump: return "cuobjdump text";
        case Content::elf: return "an ELF file";
        case Content::archive: return "a static archive";
        case Content::thin_archive: return "a thin archive";
        case Content::fatbin: return "a fatbin";
        case Content::llvm_bitcode: return "LLVM bitcode";
        case Content::llvm_ir: return "LLVM IR";
        case Content::cuda: return "CUDA or C++ source";
        case Content::sass: return "SASS text (disassembled machine code)";
        case Content::utf16: return "UTF-16 or UTF-32 text";
        case Content::compressed: return "a compressed file";
        case Content::binary: return "a binary file";
        case Content::text: return "text of another kind";
    }
    return "unknown";
}

}  // namespace flipflop
