#include "sink.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx_parser/utf8.hpp"

namespace flipflop {

std::string_view to_string(Severity severity) {
    switch (severity) {
        case Severity::note: return "note";
        case Severity::warning: return "warning";
        case Severity::error: return "error";
    }
    return "error";
}

namespace {

bool is_control(std::string_view character, std::size_t length) {
    if (reorders(character.substr(0, length))) return true;
    const auto lead = static_cast<unsigned char>(character[0]);
    return lead < 0x20 || lead == 0x7f || (lead == 0xc2 && length == 2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

/// The same in a line that is shown above a caret: no byte more or less, so that the caret stays where it points.
void blank_controls(std::string& line) {
    for (std::size_t at = 0; at < line.size();) {
        const std::string_view rest = std::string_view(line).substr(at);
        const std::size_t length = utf8_length(rest);
        const std::size_t taken = std::max<std::size_t>(length, 1);
        if (length == 0 || is_control(rest, length)) line.replace(at, taken, taken, length == 0 ? '?' : ' ');
        at += taken;
    }
}

/// GitHub's runner reads "::" at the start of a line and "##[" anywhere in it as commands, on standard error too.
std::string disarmed(std::string lines) {
    for (std::size_t at = lines.find("##["); at != std::string::npos; at = lines.find("##[", at)) lines.replace(at, 3, "#.[");
    if (lines.starts_with("::")) lines.insert(0, ".");
    return lines;
}

}  // namespace

std::string harmless(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const bool control = is_control(text, length);
        const std::size_t taken = std::max<std::size_t>(length, 1);
        if (length == 0 || control)
            for (const char c : text.substr(0, taken)) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else out += text.substr(0, taken);
        text.remove_prefix(taken);
    }
    return out;
}

std::string render(const Diagnostic& diagnostic) {
    std::string out = harmless(diagnostic.file);
    if (diagnostic.at.line != 0) out += fmt::format(":{}", diagnostic.at.line);
    if (diagnostic.at.line != 0 && diagnostic.at.column != 0) out += fmt::format(":{}", diagnostic.at.column);
    if (!out.empty()) out += ": ";
    out += fmt::format("{}[{}]: {}\n", to_string(diagnostic.severity), diagnostic.id, harmless(diagnostic.message));
    if (!diagnostic.source_line.empty()) {
        const std::string number = std::to_string(diagnostic.at.line);
        std::string line = diagnostic.source_line;
        blank_controls(line);
        const std::uint32_t column = diagnostic.source_column != 0 ? diagnostic.source_column : diagnostic.at.column;
        out += fmt::format("{:>5} | {}\n", number, line);
        if (column != 0) {
            // The caret is placed by characters, not bytes: UTF-8 continuation bytes take no column.
            std::size_t cells = 0;
            for (std::size_t i = 0; i + 1 < column && i < line.size(); ++i)
                if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80) ++cells;
            out += fmt::format("{:>5} | {}^\n", "", std::string(cells, ' '));
        }
    }
    if (!diagnostic.help.empty()) out += fmt::format("{:>5} = help: {}\n", "", harmless(diagnostic.help));
    return disarmed(std::move(out));
}

}  // namespace flipflop

namespace flipflop::ptx::detail {
namespace {

Severity severity_of(Code code) {
    switch (code) {
#define FLIPFLOP_DIAGNOSTIC(number, identifier, severity, title) \
    case Code::identifier:                                      \
        return Severity::severity;
#include "diagnostics.def"
#undef FLIPFLOP_DIAGNOSTIC
    }
    return Severity::error;
}

}  // namespace

void Sink::show_line(Diagnostic& diagnostic, const char* at) const {
    constexpr std::size_t kWindow = 160;
    const char* begin = text_.data();
    const char* end = begin + text_.size();
    const void* newline = at > begin ? memrchr(begin, '\n', static_cast<std::size_t>(at - begin)) : nullptr;
    const char* line_begin = newline != nullptr ? static_cast<const char*>(newline) + 1 : begin;
    const void* next = at < end ? std::memchr(at, '\n', static_cast<std::size_t>(end - at)) : nullptr;
    const char* line_end = next != nullptr ? static_cast<const char*>(next) : end;
    if (line_end > line_begin && line_end[-1] == '\r' && line_end > at) --line_end;
    diagnostic.at.column = static_cast<std::uint32_t>(at - line_begin) + 1;
    const char* from = line_begin;
    if (static_cast<std::size_t>(line_end - line_begin) > kWindow) {
        if (static_cast<std::size_t>(at - line_begin) > kWindow / 2) {
            from = at - kWindow / 2;
            diagnostic.source_column = static_cast<std::uint32_t>(at - from) + 1;
        }
        if (static_cast<std::size_t>(line_end - from) > kWindow) line_end = from + kWindow;
    }
    diagnostic.source_line.assign(from, line_end);
}

namespace {

/// Names in a text can be as long as the text; a message stays readable.
std::string clipped(std::string message) {
    constexpr std::size_t kMost = 600;
    if (message.size() > kMost) message = message.substr(0, kMost / 2) + " ... " + message.substr(message.size() - kMost / 2);
    return message;
}

}  // namespace

void Sink::add(Code code, Position position, std::string message, std::string help) {
    const Severity severity = severity_of(code);
    if (severity == Severity::error) ++result_.errors;
    if (severity == Severity::warning) ++result_.warnings;
    if (!keeps()) return;
    Diagnostic diagnostic;
    diagnostic.id = fmt::format("FF{:04}", static_cast<unsigned>(code));
    diagnostic.severity = severity;
    diagnostic.file = file_;
    diagnostic.message = clipped(std::move(message));
    diagnostic.help = clipped(std::move(help));
    if (position.at != nullptr) {
        diagnostic.at.line = position.line;
        show_line(diagnostic, position.at);
    }
    result_.diagnostics.push_back(std::move(diagnostic));
}

}  // namespace flipflop::ptx::detail
