// Owns: text from an input inside GitHub-flavoured Markdown: nothing in it becomes markup, HTML, a mention, a cell or a
// workflow command.
#pragma once

#include <string>
#include <string_view>

namespace flipflop::report {

/// As plain text.
[[nodiscard]] std::string plain(std::string_view text);
/// As a code span, usable in a table cell too.
[[nodiscard]] std::string code(std::string_view text);

}  // namespace flipflop::report
