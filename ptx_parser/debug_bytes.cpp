// Lists of bytes and labels to bytes.
#include "debug_bytes.hpp"

#include <charconv>

#include "characters.hpp"

namespace flipflop::ptx::detail {
namespace {

bool ends_item(char c) { return c == ',' || c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == ';' || c == '{' || c == '}'; }

/// A number as PTX writes one, negative ones too; false for an expression of symbols.
bool read_number(std::string_view text, std::uint64_t& value) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    while (text.ends_with('U') || text.ends_with('u')) text.remove_suffix(1);
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        text.remove_prefix(2);
        base = 16;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    if (negative) value = 0 - value;
    return true;
}

class Assembler {
public:
    explicit Assembler(std::string_view body) : text_(body) {}
    DebugBytes run() {
        while (skip_blanks()) {
            const std::string_view word = item();
            if (word.empty()) ++at_;   // a brace, a comma
            else if (word.ends_with(':')) out_.labels.emplace(word.substr(0, word.size() - 1), out_.bytes.size());
            else if (const unsigned size = size_of(word)) list(size);
        }
        return std::move(out_);
    }

private:
    static unsigned size_of(std::string_view word) {
        return word == ".b8" ? 1 : word == ".b16" ? 2 : word == ".b32" ? 4 : word == ".b64" ? 8 : 0;
    }
    bool skip_blanks() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == ' ' || c == '\t' || c == '\n' || c == '\r') ++at_;
            else if (text_.substr(at_, 2) == "//") at_ = std::min(text_.find('\n', at_), text_.size());
            else if (text_.substr(at_, 2) == "/*") at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
            else return true;
        }
        return false;
    }
    std::string_view item() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && !ends_item(text_[at_])) {
            ++at_;
            if (text_[at_ - 1] == ':') break;
        }
        return text_.substr(begin, at_ - begin);
    }
    void list(unsigned size) {
        for (;;) {
            if (!skip_blanks()) return;
            const std::string_view word = item();
            if (word.empty()) return;
            std::uint64_t value = 0;
            if (!read_number(word, value)) out_.symbols.emplace(out_.bytes.size(), word);
            for (unsigned i = 0; i < size; ++i) out_.bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
            const std::size_t here = at_;
            if (!skip_blanks()) return;
            if (text_[at_] != ',') {
                at_ = here;
                return;
            }
            ++at_;
        }
    }

    std::string_view text_;
    std::size_t at_{};
    DebugBytes out_;
};

}  // namespace

DebugBytes assemble_debug(std::string_view body) { return Assembler(body).run(); }

std::uint64_t DebugReader::number(unsigned size) {
    const std::uint64_t begin = at_;
    skip(size);
    if (bad_) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size && i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(from_->bytes[begin + i])} << (8 * i);
    return value;
}

std::uint64_t DebugReader::uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const std::uint64_t byte = number(1);
        if (shift < 64) value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0 || bad_) return value;
    }
}

std::string_view DebugReader::string() {
    const std::size_t zero = from_->bytes.find('\0', at_);
    if (bad_ || zero == std::string::npos) {
        bad_ = true;
        at_ = end_;
        return {};
    }
    const std::string_view text = std::string_view(from_->bytes).substr(at_, zero - at_);
    at_ = zero + 1;
    return text;
}

}  // namespace flipflop::ptx::detail
