// The file as a whole: what its bytes are, where its modules begin, blanks, words and recovery.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "parser.hpp"

namespace flipflop::ptx {

ParseResult parse(std::shared_ptr<const std::string> text, std::string name, const ParseOptions& options) {
    ParseResult result;
    detail::Parser parser(std::move(text), std::move(name), options, result);
    parser.run();
    return result;
}

namespace detail {

Parser::Parser(std::shared_ptr<const std::string> text, std::string name, const ParseOptions& options, ParseResult& result)
    : text_(std::move(text)), name_(std::move(name)), result_(result), sink_(*text_, name_, options, result) {
    begin_ = p_ = text_->data();
    limit_ = begin_ + text_->size() + 1;
    end_ = static_cast<const char*>(std::memchr(begin_, 0, text_->size() + 1));
    label_slots_.resize(256);
}

void Parser::run() {
    if (!check_bytes()) return;
    seek_first_module();
    while (!at_end()) parse_module();
    for (std::size_t i = 0; i < result_.modules.size(); ++i) {
        Module& m = result_.modules[i];
        if (i == 0) m.begin_offset = 0;
        m.end_offset = i + 1 < result_.modules.size() ? result_.modules[i + 1].begin_offset : static_cast<std::uint32_t>(text_->size());
    }
    // Labels are resolved at the end of their function: what is said comes in the order of the text all the same.
    std::vector<std::size_t> order(result_.diagnostics.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
        const LineColumn& x = result_.diagnostics[a].at;
        const LineColumn& y = result_.diagnostics[b].at;
        return std::tie(x.line, x.column, a) < std::tie(y.line, y.column, b);
    });
    std::vector<Diagnostic> sorted;
    sorted.reserve(order.size());
    for (std::size_t i : order) sorted.push_back(std::move(result_.diagnostics[i]));
    result_.diagnostics = std::move(sorted);
}

namespace {

struct Magic {
    std::string_view bytes;
    std::string_view what;
};

// What people hand over by mistake, by its first bytes.
constexpr Magic kMagics[] = {
    {"\x7f" "ELF", "an ELF file (a cubin, object or executable)"},
    {"\x50\xed\x55\xba", "a fatbin"},
    {"!<arch>", "a static archive"},
    {"BC\xc0\xde", "LLVM bitcode"},
    {"\x1f\x8b", "a gzip file"},
    {"PK\x03\x04", "a zip file"},
    {"\x28\xb5\x2f\xfd", "a zstd file"},
    {"\x89PNG", "a PNG image"},
    {"MZ", "a Windows executable"},
};

// Text that is not PTX but near it, by a line that only it has.
constexpr Magic kOtherTexts[] = {
    {"target triple", "LLVM IR"},
    {"; ModuleID", "LLVM IR"},
    {"define ", "LLVM IR"},
    {"/*0000*/", "SASS, as a disassembler prints it"},
    {"__global__", "CUDA C++ source"},
    {"#include", "C++ source"},
    {"module {", "MLIR"},
};

bool looks_utf16(std::string_view text) {
    if (text.size() >= 2 && (text.substr(0, 2) == "\xff\xfe" || text.substr(0, 2) == "\xfe\xff")) return true;
    const std::string_view head = text.substr(0, 64);
    std::size_t zeros[2] = {0, 0};
    for (std::size_t i = 0; i < head.size(); ++i)
        if (head[i] == 0) ++zeros[i % 2];
    return head.size() >= 8 && (zeros[0] >= head.size() / 2 - 1 || zeros[1] >= head.size() / 2 - 1) && zeros[0] + zeros[1] < head.size() - 2;
}

bool looks_binary(std::string_view text) {
    const std::string_view head = text.substr(0, 512);
    std::size_t odd = 0;
    for (char c : head)
        if (const auto u = static_cast<unsigned char>(c); u < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v') ++odd;
    return odd * 20 > head.size();
}

std::string_view line_at(const char* p, const char* end) {
    const char* q = p;
    while (q < end && *q != '\n') ++q;
    return {p, static_cast<std::size_t>(q - p)};
}

// Lines that `cuobjdump --dump-ptx` puts around a module.
bool is_banner(std::string_view line) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty() || line.find_first_not_of('=') == std::string_view::npos) return true;
    for (std::string_view start : {"Fatbin ", "arch =", "code version =", "host =", "compile_size =", "producer =", "compressed", "identifier =",
                                   "identifier:", "ptxasOptions", "has debug info", "member ", "Member ", "PTX file", "kind =", "debug", "//"})
        if (line.substr(0, start.size()) == start) return true;
    return false;
}

}  // namespace

bool Parser::check_bytes() {
    const std::string_view text(*text_);
    const std::size_t nul = static_cast<std::size_t>(end_ - begin_);
    if (text.size() > 0xfffffff0u) return report(Code::text_too_large, {}, "PTX text of more than 4 GB"), false;
    if (text.empty()) return report(Code::empty_text, {}, "the file is empty", "a PTX file starts with .version"), false;
    for (const Magic& magic : kMagics)
        if (text.substr(0, magic.bytes.size()) == magic.bytes)
            return report(Code::binary_text, {}, fmt::format("this is {}, not PTX text", magic.what)), false;
    if (looks_utf16(text))
        return report(Code::utf16_text, {}, "the file is UTF-16, not ASCII", "save it as ASCII or UTF-8 without a byte order mark"), false;
    if (looks_binary(text.substr(0, nul > 64 ? nul : text.size()))) return report(Code::binary_text, {}, "the file is binary, not PTX text"), false;
    if (text.substr(0, 3) == "\xef\xbb\xbf") {
        p_ += 3;
        report(Code::byte_order_mark, {}, "the file starts with a UTF-8 byte order mark, which ptxas refuses");
    }
    // Block by block: a large text comes from memory once.
    constexpr std::ptrdiff_t kBlock = 16 * 1024;
    unsigned char all = 0;
    bool has_cr = false;
    for (const char* block = p_; block < end_; block += std::min(kBlock, end_ - block)) {
        const std::ptrdiff_t bytes = std::min(kBlock, end_ - block);
        for (std::ptrdiff_t i = 0; i < bytes; ++i) all |= static_cast<unsigned char>(block[i]);
        has_cr = has_cr || std::memchr(block, '\r', static_cast<std::size_t>(bytes)) != nullptr;
    }
    non_ascii_ = (all & 0x80) != 0;
    if (has_cr && std::memchr(begin_, '\n', nul) == nullptr && text.substr(0, nul).find("//") != std::string_view::npos)
        return report(Code::lone_carriage_returns, {}, "the line ends are lone carriage returns, so that a // comment swallows the rest of the file",
                      "convert the line ends to LF"), false;
    if (nul < text.size() && text.find_first_not_of('\0', nul) != std::string_view::npos)
        report(Code::text_after_nul, {}, "the text ends at a NUL byte, as for the driver; what follows it is ignored");
    return true;
}

/// Skips what stands before the first .version: blanks, comments, the banner of cuobjdump.
void Parser::seek_first_module() {
    skip_blanks();
    if (at_end()) {
        report(Code::empty_text, {}, "the file holds no PTX, only blanks and comments", "a PTX file starts with .version");
        return;
    }
    if (peek_directive() == "version") return;
    const std::string_view text(p_, static_cast<std::size_t>(end_ - p_));
    for (const Magic& other : kOtherTexts)
        if (text.find(other.bytes) != std::string_view::npos && text.find(".version") == std::string_view::npos) {
            report(Code::not_ptx, {}, fmt::format("this looks like {}, not PTX", other.what), "a PTX file starts with .version");
            p_ = end_;
            return;
        }
    if (*p_ == '.' && is_start(p_[1])) {  // PTX whose head is missing
        report(Code::missing_version, here(), "the text does not start with .version", "a PTX module starts with .version, then .target");
        start_module();
        return;
    }
    bool complained = false;
    while (!at_end() && peek_directive() != "version") {
        if (skip_line_marker()) continue;
        const std::string_view line = line_at(p_, end_);
        if (!is_banner(line) && !complained) {
            complained = true;
            const bool any = text.find(".version") != std::string_view::npos;
            report(any ? Code::text_before_version : Code::not_ptx, here(), any ? "this text before .version is not PTX" : "this is not PTX: it has no .version directive",
                   "a PTX file starts with .version");
        }
        p_ += line.size();
        skip_blanks();
    }
}

void Parser::skip_more_blanks() {
    for (;;) {
        const char c = *p_;
        if (c == ' ' || c == '\t') {
            ++p_;
        } else if (c == '\n') {
            ++p_;
            ++line_;
        } else if (c == '/' && (p_[1] == '/' || p_[1] == '*')) {
            skip_comment();
        } else if (c == '\r' || c == '\v' || c == '\f' || c == '\x1a') {  // 0x1a: end of file of DOS editors
            ++p_;
        } else {
            return;
        }
    }
}

void Parser::skip_comment() {
    const char* start = p_;
    const Position at = here();
    if (p_[1] == '/') {
        const void* newline = std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_));
        p_ = newline != nullptr ? static_cast<const char*>(newline) : end_;
    } else {
        const char* q = p_ + 2;
        while (q < end_ && !(q[0] == '*' && q[1] == '/')) {
            if (*q == '\n') ++line_;
            ++q;
        }
        if (q >= end_) {
            report(Code::unterminated_comment, at, "this comment is never closed", "close it with */");
            p_ = end_;
        } else {
            p_ = q + 2;
        }
    }
    if (non_ascii_ && !non_ascii_reported_)
        for (const char* q = start; q < p_; ++q)
            if ((static_cast<unsigned char>(*q) & 0x80) != 0) {
                non_ascii_reported_ = true;
                report(Code::non_ascii, {start, at.line}, "a comment holds bytes that are not ASCII; ptxas refuses the file");
                break;
            }
}

/// `# 12 "kernel.cu"`: what a C preprocessor leaves behind, and ptxas passes over.
bool Parser::skip_line_marker() {
    if (*p_ != '#' || (p_[1] != ' ' && p_[1] != '\t')) return false;
    const char* q = p_ + 1;
    while (*q == ' ' || *q == '\t') ++q;
    if (!is_digit(*q)) return false;
    while (!at_end() && *p_ != '\n') ++p_;
    skip_blanks();
    return true;
}

std::string Parser::found_here() const {
    if (p_ >= end_) return "the end of the text";
    if (is_identifier(*p_)) {
        const char* q = p_;
        while (is_identifier(*q) && q - p_ < 40) ++q;
        return fmt::format("'{}'", std::string_view(p_, static_cast<std::size_t>(q - p_)));
    }
    const auto c = static_cast<unsigned char>(*p_);
    if (c < 0x20 || c >= 0x7f) return fmt::format("the byte 0x{:02x}", c);
    if (c == '.' && is_start(p_[1])) return fmt::format("'.{}'", peek_directive());
    return fmt::format("'{}'", *p_);
}

void Parser::report_unexpected(std::string_view expected) {
    skip_blanks();
    if (at_end()) {
        report(Code::unexpected_end, here(), fmt::format("the text ends where {} should stand", expected), "the file looks truncated");
        return;
    }
    if ((static_cast<unsigned char>(*p_) & 0x80) != 0) {
        report(Code::non_ascii_token, here(), fmt::format("expected {}, found {}, which is not ASCII", expected, found_here()));
        return;
    }
    report(Code::unexpected_text, here(), fmt::format("expected {}, found {}", expected, found_here()));
}

bool Parser::expect(char c, std::string_view context) {
    if (accept(c)) return true;
    report_unexpected(fmt::format("'{}' {}", c, context));
    return false;
}

void Parser::recover() {
    unsigned depth = 0;
    while (!at_end()) {
        const char c = *p_;
        if (c == '\n') {
            ++line_;
        } else if (c == ';') {
            if (depth == 0) {
                ++p_;
                return;
            }
        } else if (c == '{') {
            ++depth;
        } else if (c == '}') {
            if (depth == 0) return;
            --depth;
        } else if (c == '"') {
            const char* q = p_ + 1;
            while (q < end_ && *q != '"' && *q != '\n') ++q;
            p_ = q < end_ && *q == '"' ? q : p_;
        } else if (c == '/' && (p_[1] == '/' || p_[1] == '*')) {
            skip_comment();
            continue;
        }
        ++p_;
    }
}

Name Parser::read_name() {
    Name name;
    name.at = p_;
    if (!is_start(*p_)) return name;
    p_ = end_of_run<kIdentifier>(p_, limit_);
    name.length = static_cast<std::uint32_t>(p_ - name.at);
    if (p_ - begin_ >= 8) {   // %r01 is %r1, as for ptxas
        const TrailingNumber last = trailing_number(p_);
        if (last.digits <= 8) {
            name.numbered = last.digits != 0;
            name.prefix_length = name.length - last.digits;
            name.number = last.value;
            return name;
        }
    }
    const char* d = p_;
    while (d > name.at && is_digit(d[-1])) --d;
    const auto digits = static_cast<std::uint32_t>(p_ - d);
    if (digits == 0 || digits > 9) return name;
    name.numbered = true;
    name.prefix_length = static_cast<std::uint32_t>(d - name.at);
    for (; d < p_; ++d) name.number = name.number * 10 + static_cast<std::uint32_t>(*d - '0');
    return name;
}

std::string_view Parser::peek_directive() const {
    if (*p_ != '.') return {};
    const char* q = end_of_run<kIdentifier>(p_ + 1, limit_);
    return {p_ + 1, static_cast<std::size_t>(q - p_ - 1)};
}

std::string_view Parser::read_directive() {
    skip_blanks();
    const std::string_view word = peek_directive();
    if (!word.empty()) p_ += word.size() + 1;
    return word;
}

std::optional<std::string_view> Parser::read_string() {
    skip_blanks();
    if (*p_ != '"') {
        report_unexpected("a string");
        return std::nullopt;
    }
    const Position start = here();
    const char* q = p_ + 1;
    while (q < end_ && *q != '"' && *q != '\n') {
        if ((static_cast<unsigned char>(*q) & 0x80) != 0 && !non_ascii_reported_) {
            non_ascii_reported_ = true;
            report(Code::non_ascii, {q, line_}, "a string holds bytes that are not ASCII; ptxas refuses the file");
        }
        q += *q == '\\' && q + 1 < end_ && q[1] != '\n' ? 2 : 1;
    }
    if (q >= end_ || *q != '"') {
        report(Code::unterminated_string, start, "this string is never closed");
        p_ = q < end_ ? q : end_;
        return std::nullopt;
    }
    const std::string_view text(p_ + 1, static_cast<std::size_t>(q - p_ - 1));
    p_ = q + 1;
    return text;
}

}  // namespace detail
}  // namespace flipflop::ptx
