#include "report/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "ptx_parser/utf8.hpp"

namespace flipflop::report {
namespace {

constexpr std::size_t kFlushAt = 64 * 1024;

/// Characters of three bytes that reorder or hide what stands around them (Unicode's bidirectional controls and separators).
std::uint32_t hidden_character(std::string_view text, std::size_t at, std::size_t length) {
    if (length != 3) { return 0; }
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
    const std::uint32_t code = ((byte(0) & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU);
    const bool hides = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x2069) || code == 0xFEFF;
    return hides ? code : 0;
}

void append_escaped(std::string& out, std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
        std::size_t plain = i;   // nearly always all of it
        while (plain < text.size() && text[plain] >= 0x20 && text[plain] < 0x7F && text[plain] != '"' && text[plain] != '\\') { ++plain; }
        out += text.substr(i, plain - i);
        i = plain;
        if (i == text.size()) { break; }
        const std::size_t length = utf8_length(text.substr(i));
        const auto c = static_cast<unsigned char>(text[i]);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            ++i;
            continue;
        }
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '\r') {
            out += "\\r";
        } else if (length == 2 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) {   // C1 controls move a terminal too
            const auto c1 = static_cast<unsigned char>(text[i + 1]);
            out += "\\u00";
            out += hex[c1 >> 4U];
            out += hex[c1 & 15U];
        } else if (const std::uint32_t code = hidden_character(text, i, length); code != 0) {
            out += "\\u";
            for (const unsigned shift : {12U, 8U, 4U, 0U}) { out += hex[(code >> shift) & 15U]; }
        } else if (c < 0x20 || c == 0x7F) {
            out += "\\u00";
            out += hex[c >> 4U];
            out += hex[c & 15U];
        } else {
            out += text.substr(i, length);
        }
        i += length;
    }
    out += '"';
}

}  // namespace

std::string valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = utf8_length(text.substr(i));
        out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(i, length);
        i += length == 0 ? 1 : length;
    }
    return out;
}

void JsonWriter::separate() {
    if (levels_.empty()) { return; }
    Level& level = levels_.back();
    if (!level.first) { buffer_ += ','; }
    if (level.lines) {
        buffer_ += '\n';
        buffer_.append(2 * levels_.size(), ' ');
    } else if (!level.first) {
        buffer_ += ' ';
    }
    level.first = false;
}

void JsonWriter::before_value() {
    if (after_key_) {
        after_key_ = false;
    } else {
        separate();
    }
}

void JsonWriter::begin(char bracket, bool lines) {
    before_value();
    buffer_ += bracket;
    levels_.push_back({lines && (levels_.empty() || levels_.back().lines), true});
}

void JsonWriter::end(char bracket) {
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.lines && !level.first) {
        buffer_ += '\n';
        buffer_.append(2 * levels_.size(), ' ');
    }
    buffer_ += bracket;
    flush_when_large();
}

void JsonWriter::key(std::string_view name) {
    separate();
    append_escaped(buffer_, name);
    buffer_ += ": ";
    after_key_ = true;
}

void JsonWriter::value(std::nullptr_t) {
    before_value();
    buffer_ += "null";
}

void JsonWriter::value(std::string_view text) {
    before_value();
    append_escaped(buffer_, text);
}

void JsonWriter::value(double number) {
    if (!std::isfinite(number)) {
        value(nullptr);
        return;
    }
    before_value();
    std::array<char, 32> digits{};
    const auto end_of = std::to_chars(digits.data(), digits.data() + digits.size(), number == 0 ? 0.0 : number);
    buffer_.append(digits.data(), end_of.ptr);
}

void JsonWriter::value(bool truth) {
    before_value();
    buffer_ += truth ? "true" : "false";
}

void JsonWriter::integer(const std::string& digits) {
    before_value();
    buffer_ += digits;
}

void JsonWriter::member_or_null(std::string_view name, std::string_view text) {
    key(name);
    if (text.empty()) {
        value(nullptr);
    } else {
        value(text);
    }
}

void JsonWriter::strings(std::string_view name, const std::vector<std::string>& texts) {
    key(name);
    begin_array();
    for (const std::string& text : texts) { value(text); }
    end_array();
}

void JsonWriter::flush_when_large() {
    if (buffer_.size() < kFlushAt) { return; }
    sink_(buffer_);
    buffer_.clear();
}

void JsonWriter::finish() {
    buffer_ += '\n';
    sink_(buffer_);
    buffer_.clear();
}

}  // namespace flipflop::report
