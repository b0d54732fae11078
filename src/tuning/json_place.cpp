#include "tuning/json_place.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace flipflop::tuning {

namespace {

/// Steps over the values of a text that is known to be JSON. At its end every step stays where it is.
class Walk {
public:
    explicit Walk(std::string_view text) : text_(text) { skip_blanks(); }

    [[nodiscard]] std::size_t at() const { return at_; }
    [[nodiscard]] char head() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    /// Into the member or element `key` of the value here; false, and anywhere inside, where there is none.
    bool enter(std::string_view key) {
        const bool object = head() == '{';
        if (!object && head() != '[') return false;
        step(1);
        for (std::size_t i = 0; head() != (object ? '}' : ']') && head() != '\0'; ++i) {
            const std::string name = object ? text_of_string() : std::to_string(i);
            if (object) step(1);   // the colon
            if (name == key) return true;
            pass_value();
            if (head() == ',') step(1);
        }
        return false;
    }

private:
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    }
    void step(std::size_t bytes) {
        at_ = std::min(at_ + bytes, text_.size());
        skip_blanks();
    }
    /// Names in tuning files are plain; an escaped one keeps its backslash and matches nothing.
    std::string text_of_string() {
        const std::size_t begin = at_ + 1;
        std::size_t end = begin;
        while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
        end = std::min(end, text_.size());
        const std::string name(text_.substr(std::min(begin, end), end - std::min(begin, end)));
        at_ = end;
        step(1);
        return name;
    }
    void pass_value() {
        int depth = 0;
        do {
            const char c = head();
            if (c == '"') {
                text_of_string();
            } else if (c == '{' || c == '[') {
                ++depth;
                step(1);
            } else if (c == '}' || c == ']') {
                --depth;
                step(1);
            } else if (c == ',' || c == ':') {
                step(1);
            } else {
                while (at_ < text_.size() && std::string_view(",:]}\" \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
                skip_blanks();
            }
        } while (depth > 0 && at_ < text_.size());
    }

    std::string_view text_;
    std::size_t at_{};
};

}  // namespace

LineColumn json_place(std::string_view text, std::string_view pointer) {
    Walk walk(text);
    std::size_t at = walk.at();
    while (pointer.starts_with('/')) {
        pointer.remove_prefix(1);
        const std::string_view key = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(key.size());
        if (!walk.enter(key)) break;
        at = walk.at();
    }
    const std::string_view before = text.substr(0, at);
    const std::size_t line = before.rfind('\n');
    return {static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n')), static_cast<std::uint32_t>(at - (line == std::string_view::npos ? 0 : line + 1) + 1)};
}

}  // namespace flipflop::tuning
