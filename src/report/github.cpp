// Annotations: workflow commands that GitHub's runner reads from the log. Escapes as its toolkit has them.
#include <array>

#include <fmt/core.h>

#include "flipflop/gate_report.hpp"
#include "report/json_writer.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

/// `property`: inside key=value, where ':' and ',' separate too.
std::string escaped(std::string_view text, bool property) {
    std::string out;
    for (const char c : report::valid_utf8(text)) {
        switch (c) {
            case '%': out += "%25"; break;
            case '\r': out += "%0D"; break;
            case '\n': out += "%0A"; break;
            case ':': out += property ? "%3A" : ":"; break;
            case ',': out += property ? "%2C" : ","; break;
            default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
        }
    }
    // The runner's older form is looked for anywhere in a line.
    for (std::size_t at = out.find("##["); at != std::string::npos; at = out.find("##[", at)) { out.replace(at, 3, "# #["); }
    return out;
}

}  // namespace

std::string github_annotations(const std::vector<gate::Alert>& alerts) {
    constexpr std::array<std::string_view, 3> kCommands{"notice", "warning", "error"};
    constexpr std::size_t kMost = 10;   // a step, of each kind
    std::array<std::size_t, 3> said{};
    std::size_t left_out = 0;
    std::size_t open = 0;
    for (const gate::Alert& alert : alerts) { open += alert.suppressed.empty(); }
    std::string out;
    for (const gate::Alert& alert : alerts) {
        if (!alert.suppressed.empty()) { continue; }
        const auto kind = static_cast<std::size_t>(alert.severity);
        const std::size_t most = kind == 0 && open > kMost - 1 ? kMost - 1 : kMost;   // the last notice counts what is left out
        if (said[kind] >= most) {
            ++left_out;
            continue;
        }
        ++said[kind];
        std::string message = fmt::format("{} ({} on {}", report::printable(alert.message), report::printable(alert.kernel), report::printable(alert.gpu));
        message += alert.more_kernels == 0 ? ")" : fmt::format(", and {} more kernel{})", alert.more_kernels, alert.more_kernels == 1 ? "" : "s");
        out += fmt::format("::{} file={},line={},endLine={},title={}::{}\n", kCommands[kind], escaped(alert.file, true), alert.line, alert.line, escaped(alert.rule, true), escaped(message, false));
    }
    if (left_out > 0) { out += fmt::format("::notice title=flipflop::{} more, less severe; the report has them\n", left_out); }
    return out;
}

}  // namespace flipflop
