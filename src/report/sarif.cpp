// SARIF 2.1.0 (OASIS), as GitHub's code scanning takes it: one run, relative paths, fingerprints without line numbers, the
// worst first, limits kept and said.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "flipflop/gate_report.hpp"
#include "report/json_parts.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

std::string_view level_of(Severity severity) { return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note"; }

/// RFC 3986: everything but unreserved characters and '/' as %XX. A first segment with ':' would read as a scheme, so ':'
/// goes too.
std::string uri_of(std::string_view path) {
    std::string out;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
        out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
    return out;
}

void write_text(JsonWriter& json, std::string_view key, std::string_view text) {
    json.key(key);
    json.begin_object();
    json.member("text", text);
    json.end_object();
}

/// The first paragraph below "## What".
std::string what_of(const std::string& page) {
    constexpr std::string_view kWhat = "## What\n";
    const std::size_t at = page.find(kWhat);
    if (at == std::string::npos) { return page; }
    std::string text = page.substr(at + kWhat.size());
    text = text.substr(0, text.find("\n\n"));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

void write_rule(JsonWriter& json, const gate::RulePage& page) {
    json.begin_object();
    json.member("id", page.id);
    json.member("name", page.id);
    write_text(json, "shortDescription", page.title);
    write_text(json, "fullDescription", what_of(page.text));
    json.key("help");
    json.begin_object();
    json.member("text", page.text);
    json.member("markdown", page.text);
    json.end_object();
    json.key("defaultConfiguration");
    json.begin_object();
    json.member("level", page.family == "gate" ? "error" : page.family == "analysis" ? "note" : "warning");
    json.end_object();
    json.key("properties");
    json.begin_object();
    json.strings("tags", {"performance", page.family});
    json.member("precision", "medium");
    json.member("problem.severity", page.family == "gate" ? "error" : page.family == "analysis" ? "recommendation" : "warning");
    json.end_object();
    json.end_object();
}

void write_result(JsonWriter& json, const gate::Alert& alert, std::size_t rule_index) {
    const std::string kernel = report::printable(alert.kernel);
    std::string message = fmt::format("{} ({} on {}", report::printable(alert.message), kernel, report::printable(alert.gpu));
    message += alert.more_kernels == 0 ? ")" : fmt::format(", and {} more kernel{})", alert.more_kernels, alert.more_kernels == 1 ? "" : "s");
    json.begin_object();
    json.member("ruleId", alert.rule);
    json.member("ruleIndex", rule_index);
    json.member("level", level_of(alert.severity));
    write_text(json, "message", message);
    json.key("locations");
    json.begin_array();
    json.begin_object();
    json.key("physicalLocation");
    json.begin_object();
    json.key("artifactLocation");
    json.begin_object();
    json.member("uri", uri_of(alert.file));
    json.member("uriBaseId", "%SRCROOT%");
    json.end_object();
    json.key("region");
    json.begin_object();
    json.member("startLine", alert.line);
    json.end_object();
    json.end_object();
    json.end_object();
    json.end_array();
    json.key("partialFingerprints");
    json.begin_object();
    json.member("flipflop/v1", alert.fingerprint);
    json.end_object();
    if (!alert.state.empty()) { json.member("baselineState", alert.state); }
    if (!alert.suppressed.empty()) {
        json.key("suppressions");
        json.begin_array();
        json.begin_object();
        json.member("kind", alert.in_source ? "inSource" : "external");
        json.member("justification", report::printable(alert.suppressed));
        json.end_object();
        json.end_array();
    }
    json.key("properties");
    json.begin_object();
    json.member("kernel", kernel);
    json.member("gpu", report::printable(alert.gpu));
    json.member("cost_us", alert.cost_us);
    json.member("cost_mj", alert.cost_mj);
    json.end_object();
    json.end_object();
}

void write_left_out(JsonWriter& json, std::size_t shown, std::size_t all) {
    json.key("invocations");
    json.begin_array();
    json.begin_object();
    json.member("executionSuccessful", true);
    json.key("toolExecutionNotifications");
    json.begin_array();
    if (shown < all) {
        json.begin_object();
        json.member("level", "note");
        write_text(json, "message", fmt::format("{} of {} results are left out, the least severe ones: no more than {} are shown", all - shown, all, shown));
        json.end_object();
    }
    json.end_array();
    json.end_object();
    json.end_array();
}

}  // namespace

void write_sarif(const std::vector<gate::Alert>& alerts, const std::vector<std::string>& gpus, const TextSink& sink, std::size_t most) {
    const std::vector<gate::RulePage>& pages = gate::rule_pages();
    std::map<std::string, std::size_t, std::less<>> index;
    for (std::size_t i = 0; i < pages.size(); ++i) { index[pages[i].id] = i; }
    std::string category = "flipflop";
    for (const std::string& gpu : gpus) { category += "/" + uri_of(gpu); }
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json.member("version", "2.1.0");
    json.key("runs");
    json.begin_array(true);
    json.begin_object(true);
    json.key("tool");
    json.begin_object(true);
    json.key("driver");
    json.begin_object(true);
    json.member("name", "flipflop");
    json.member("semanticVersion", FLIPFLOP_VERSION);
    json.key("rules");
    json.begin_array(true);
    for (const gate::RulePage& page : pages) { write_rule(json, page); }
    json.end_array();
    json.end_object();
    json.end_object();
    json.key("automationDetails");
    json.begin_object();
    json.member("id", category + "/");   // all before the last slash is GitHub's category
    json.end_object();
    json.member("columnKind", "utf16CodeUnits");
    const std::size_t shown = std::min(most, alerts.size());
    write_left_out(json, shown, alerts.size());
    json.key("results");
    json.begin_array(true);
    for (std::size_t i = 0; i < shown; ++i) {
        const auto rule = index.find(alerts[i].rule);
        if (rule != index.end()) { write_result(json, alerts[i], rule->second); }
    }
    json.end_array();
    json.end_object();
    json.end_array();
    json.end_object();
    json.finish();
}

}  // namespace flipflop
