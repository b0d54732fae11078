// Owns: the vocabulary of complaint that every stage shares. A Diagnostic is complete in itself (it can be printed
// after the text it speaks of is gone). Invariant: `id` is permanent; FF0nnn are diagnostics, FF1nn and up are rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace flipflop {

enum class Severity : std::uint8_t { note, warning, error };

/// 1-based position in a text; line 0 means "the file as a whole".
struct LineColumn {
    std::uint32_t line{};
    std::uint32_t column{};
};

/// What went wrong, where, and what would help. `source_line` is the offending line for the caret display, or empty.
struct Diagnostic {
    std::string id;  ///< "FF0012"
    Severity severity{Severity::error};
    std::string file;
    LineColumn at;
    std::string message;
    std::string source_line;         ///< a window around the column when the line is very long
    std::string help;
    std::uint32_t source_column{};   ///< of the caret in source_line when that is a window, else 0 (= at.column)
};

template <class T>
using Result = tl::expected<T, Diagnostic>;

/// "file:line:col: error[FF0012]: message", the line, a caret and a help line, as far as they are known.
/// Paths, options and file contents come from outside: what could move the cursor or colour a terminal (C0, C1, DEL), and
/// what is no UTF-8, is written as \xNN.
[[nodiscard]] std::string harmless(std::string_view text);

/// Ends in a newline. Control characters of the source line are shown as spaces.
[[nodiscard]] std::string render(const Diagnostic& diagnostic);

[[nodiscard]] std::string_view to_string(Severity severity);

}  // namespace flipflop
