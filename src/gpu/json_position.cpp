#include "gpu/json_position.hpp"

#include <algorithm>

namespace flipflop::profile {
namespace {

/// A cursor over valid JSON. Skips values by counting brackets, so depth costs no stack.
class Cursor {
public:
    Cursor(std::string_view text, std::size_t at) : text_(text), at_(at) { skip_blank(); }

    [[nodiscard]] std::size_t at() const { return at_; }
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void skip_blank() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
            ++at_;
        }
    }
    void step() {
        ++at_;
        skip_blank();
    }
    /// The raw text between the quotes.
    std::string_view take_string() {
        const auto begin = at_ + 1;
        for (at_ = begin; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') {
                ++at_;
            }
        }
        const auto end = std::min(at_, text_.size());
        step();
        return text_.substr(std::min(begin, end), end - std::min(begin, end));
    }
    void skip_value() {
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            const char c = peek();
            if (c == '"') {
                take_string();
            } else if (c == '{' || c == '[') {
                ++depth;
                step();
            } else if (depth > 0 && (c == '}' || c == ']')) {
                --depth;
                step();
            } else if (depth > 0 || (c != ',' && c != '}' && c != ']')) {
                step();
            }
            if (depth == 0 && (peek() == ',' || peek() == '}' || peek() == ']')) {
                return;
            }
        }
    }

private:
    std::string_view text_;
    std::size_t at_;
};

bool enter_member(Cursor& cursor, std::string_view key) {
    cursor.step();
    while (cursor.peek() == '"') {
        const bool found = cursor.take_string() == key;
        cursor.step();   // ':'
        if (found) {
            return true;
        }
        cursor.skip_value();
        if (cursor.peek() == ',') {
            cursor.step();
        }
    }
    return false;
}

bool enter_element(Cursor& cursor, std::string_view index) {
    std::size_t left = 0;
    for (const char c : index) {
        left = left * 10 + static_cast<std::size_t>(c >= '0' && c <= '9' ? c - '0' : 0);
    }
    cursor.step();
    for (; left > 0 && cursor.peek() != ']' && cursor.peek() != '\0'; --left) {
        cursor.skip_value();
        if (cursor.peek() == ',') {
            cursor.step();
        }
    }
    return left == 0;
}

}  // namespace

std::size_t offset_of(std::string_view text, std::string_view json_pointer) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    Cursor cursor(text, text.substr(0, 3) == mark ? 3 : 0);
    std::size_t found = cursor.at();
    while (!json_pointer.empty() && json_pointer.front() == '/') {
        json_pointer.remove_prefix(1);
        const auto key = json_pointer.substr(0, json_pointer.find('/'));
        json_pointer.remove_prefix(key.size());
        const bool entered = cursor.peek() == '{'   ? enter_member(cursor, key)
                             : cursor.peek() == '[' ? enter_element(cursor, key)
                                                    : false;
        if (!entered) {
            break;
        }
        found = cursor.at();
    }
    return std::min(found, text.size());
}

LineColumn position_of(std::string_view text, std::size_t offset) {
    const auto before = text.substr(0, std::min(offset, text.size()));
    const auto newline = before.rfind('\n');
    return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
            static_cast<std::uint32_t>(newline == std::string_view::npos ? before.size() + 1 : before.size() - newline)};
}

std::string_view line_at(std::string_view text, std::size_t offset) {
    offset = std::min(offset, text.size());
    const auto newline = text.substr(0, offset).rfind('\n');
    const auto begin = newline == std::string_view::npos ? 0 : newline + 1;
    auto line = text.substr(begin, text.substr(begin).find('\n'));
    if (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
    }
    return line;
}

}  // namespace flipflop::profile
