#include "report/markdown_text.hpp"

#include <algorithm>

#include "report/text_format.hpp"

namespace flipflop::report {

std::string plain(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '@': out += "&#64;"; break;
            case '|': out += "&#124;"; break;
            case '*': case '_': case '`': case '[': case ']': case '\\': case '~': case '#':
                out += '\\';
                out += c;
                break;
            default: out += c;
        }
    }
    return out;
}

// A code span that nothing inside can end.
std::string code(std::string_view text) {
    std::string content = printable(text);
    std::replace(content.begin(), content.end(), '`', '\'');
    std::replace(content.begin(), content.end(), '|', '/');
    return "`" + content + "`";
}

}  // namespace flipflop::report
