#include "report/html/page.hpp"

#include <fmt/core.h>

#include "gpu/embedded_data.hpp"
#include "report/html/html_text.hpp"

namespace flipflop::report {
namespace {

constexpr std::string_view kChartLibrary = "third_party/chart.min.js";

/// A script element holds the bytes up to its end tag, and the hash is of exactly these.
struct Script { std::string_view content; std::string_view licence; };

std::string script_element(const Script& script) {
    const std::string notice = script.licence.empty() ? "" : fmt::format("<!--\n{}-->\n", script.licence);
    return fmt::format("{}<script>{}</script>\n", notice, script.content);
}

}  // namespace

std::string_view asset(std::string_view path) {
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path == path) { return file.content; }
    }
    return {};
}

bool has_chart_library() { return !asset(kChartLibrary).empty(); }

void Page::add_data(std::string_view id, std::string_view json) {
    data_ += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", esc(id), script_data(json));
}

std::string Page::finish(std::string_view title) const {
    const std::string_view style = asset("src/report/html/report.css");
    std::vector<Script> scripts;
    // Without charts the library would be dead weight.
    if (has_chart_library() && !data_.empty()) { scripts.push_back({asset(kChartLibrary), asset("src/report/html/chart_licence.txt")}); }
    scripts.push_back({asset("src/report/html/report.js"), {}});
    std::string hashes;
    for (const Script& script : scripts) { hashes += " " + csp_hash(script.content); }
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src{}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"flipflop {}\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
        hashes, csp_hash(style), FLIPFLOP_VERSION, esc(title), style);
    out += body_;
    out += data_;
    for (const Script& script : scripts) { out += script_element(script); }
    return out + "</body>\n</html>\n";
}

}  // namespace flipflop::report
