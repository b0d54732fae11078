// Owns: JSON as bytes, streamed. Numbers are the shortest that read back to the same double; NaN and infinity are null;
// strings are valid UTF-8 whatever came in. Keys appear in the order they are written.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/report.hpp"

namespace flipflop::report {

class JsonWriter {
public:
    explicit JsonWriter(const TextSink& sink) : sink_(sink) {}

    /// `lines`: one member a line, indented; else everything inside stays on one line.
    void begin_object(bool lines = false) { begin('{', lines); }
    void end_object() { end('}'); }
    void begin_array(bool lines = false) { begin('[', lines); }
    void end_array() { end(']'); }
    void key(std::string_view name);

    void value(std::nullptr_t);
    void value(std::string_view text);
    void value(const std::string& text) { value(std::string_view(text)); }
    void value(const char* text) { value(std::string_view(text)); }
    void value(double number);
    void value(bool truth);
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    void value(T number) { integer(std::to_string(number)); }
    template <std::signed_integral T>
    void value(T number) { integer(std::to_string(number)); }
    template <class T>
    void value(const std::optional<T>& maybe) {
        if (maybe) {
            value(*maybe);
        } else {
            value(nullptr);
        }
    }

    template <class T>
    void member(std::string_view name, const T& content) {
        key(name);
        value(content);
    }
    /// A text that is empty when it is not known.
    void member_or_null(std::string_view name, std::string_view text);
    void strings(std::string_view name, const std::vector<std::string>& texts);
    /// A list of objects: `write` fills one, inside its braces. `lines`: one a line.
    template <class List, class Write>
    void objects(std::string_view name, const List& list, Write&& write, bool lines = true) {
        key(name);
        begin_array(lines);
        for (const auto& item : list) {
            begin_object();
            write(item);
            end_object();
        }
        end_array();
    }

    /// Ends the document with a newline and hands the rest to the sink.
    void finish();

private:
    struct Level { bool lines{}, first{true}; };
    void begin(char bracket, bool lines);
    void end(char bracket);
    void before_value();
    void separate();
    void integer(const std::string& digits);
    void flush_when_large();

    const TextSink& sink_;
    std::string buffer_;
    std::vector<Level> levels_;
    bool after_key_{};
};

/// `text` with everything that is not well-formed UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace flipflop::report
