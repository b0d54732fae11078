// analyze as one HTML page: an overview of all kernels, then a section each.
#include <algorithm>

#include <fmt/core.h>

#include "flipflop/html_report.hpp"
#include "report/analysis_memory.hpp"
#include "report/html/html_text.hpp"
#include "report/html/kernel_section.hpp"
#include "report/html/page.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

constexpr std::size_t kOverviewBytes = 700'000;

std::string header_html(const Analysis& analysis) {
    std::string tools;
    for (const auto& [tool, version] : analysis.used) { tools += fmt::format("{}{} {}", tools.empty() ? "" : ", ", tool, version ? *version : "not used"); }
    std::string inputs;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, analysis.inputs.size()); ++i) {
        const std::string& path = analysis.inputs[i].path;
        inputs += (inputs.empty() ? "" : ", ") + path.substr(path.find_last_of('/') + 1);
    }
    if (analysis.inputs.size() > 3) { inputs += fmt::format(" and {} more", analysis.inputs.size() - 3); }
    return fmt::format("<a class=\"skip\" href=\"#main\">To the content</a>\n<div class=\"wrap\">\n<header class=\"top\"><h1>flipflop: {}</h1><span class=\"about\">predicted, nothing was run; flipflop {}, {}</span>"
                       "<button type=\"button\" class=\"theme\" hidden>Light or dark</button></header>\n<main id=\"main\">\n",
                       esc(inputs), FLIPFLOP_VERSION, esc(tools));
}

struct Entry { const KernelAnalysis* kernel{}; const KernelResult* result{}; std::string id; bool written{}; };

std::string overview_row(const Entry& entry) {
    const KernelResult& result = *entry.result;
    const std::string name = esc(elide(kernel_name(entry.kernel->facts), 90));
    std::string out = fmt::format("<tr><td>{}</td><td>{}</td>", entry.written ? fmt::format("<a href=\"#{}\"><code>{}</code></a>", entry.id, name) : "<code>" + name + "</code>", esc(result.profile.name.empty() ? result.gpu : result.profile.name));
    const ConfigResult* const config = headline_config(result);
    if (config == nullptr) { return out + fmt::format("<td colspan=\"6\">{}</td></tr>\n", esc(result.code.compatible ? result.no_recommendation : "cannot run there: " + result.code.why_not)); }
    const Prediction& p = *config->predicted;
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", p.time.total.value, esc(time_with_interval(p.time.total.value, p.time.interval)));
    out += p.power ? fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", p.power->energy.value, esc(energy_with_interval(p.power->energy.value, p.power->energy_interval))) : std::string("<td class=\"n\">unknown</td>");
    out += fmt::format("<td>{}</td>", esc(bound_cell(p.time.bound_by)));
    if (!result.recommendation) { return out + fmt::format("<td colspan=\"2\">nothing recommended</td><td class=\"n\">{}</td></tr>\n", result.findings.size()); }
    const Recommendation& r = *result.recommendation;
    const std::optional<Gain>& gain = r.over_current ? r.over_current : r.over_heuristic;
    const bool same = !gain || gain->block == r.block;
    return out + fmt::format("<td>{}{}</td><td class=\"n\" data-v=\"{}\">{}</td><td class=\"n\">{}</td></tr>\n", dim_text(r.block), r.safe == std::optional(true) ? "" : " <span class=\"badge warn\">unverified</span>", gain ? gain->time_ratio : 1,
                             same ? "the same" : esc(change_text(gain->time_ratio, gain->time_ratio_low, gain->time_ratio_high, "time")), result.findings.size());
}

std::string overview_html(const std::vector<Entry>& entries) {
    std::string rows;
    std::size_t left_out = 0;
    for (const Entry& entry : entries) {
        if (rows.size() > kOverviewBytes) {
            ++left_out;
        } else {
            rows += overview_row(entry);
        }
    }
    const auto hidden = std::count_if(entries.begin(), entries.end(), [](const Entry& e) { return !e.written; });
    std::string out = fmt::format("<section class=\"kernel\"><h2>{} kernels</h2>\n", entries.size());
    if (hidden > 0) { out += fmt::format("<p class=\"sub\">{} of them are in this table only, so that the page stays small; --kernel chooses, and the JSON report has all.</p>\n", hidden); }
    out += "<p class=\"tools\" hidden><label>Find <input type=\"search\" class=\"find\" data-table=\"overview\" hidden></label></p>\n";
    out += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"all kernels\"><table class=\"sortable\" id=\"overview\"><thead><tr><th>kernel</th><th>GPU</th><th class=\"n\">time</th><th class=\"n\">energy</th><th>bound by</th><th>recommended</th>"
           "<th class=\"n\">against today, else the heuristic</th><th class=\"n\">findings</th></tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
    if (left_out > 0) { out += fmt::format("<p class=\"sub\">{} more kernels are left out; the JSON report has all.</p>\n", left_out); }
    return out + "</section>\n";
}

std::string footer_html() {
    const std::string_view charts = has_chart_library() ? "" : " This flipflop was built without Chart.js: charts are static; hold the pointer over a point for its numbers.";
    return fmt::format("</main>\n<footer><p>Everything here is predicted from PTX; nothing was measured. Intervals are 90 %. <code>flipflop explain</code> shows each number's derivation, <code>flipflop validate</code> how good predictions are against measurements.{}</p>"
                       "<p class=\"nojs\">Without JavaScript charts do not answer to the pointer; each has its numbers in a table below it.</p></footer>\n</div>\n",
                       charts);
}

}  // namespace

bool html_is_interactive() { return report::has_chart_library(); }

std::string html_report(const Analysis& analysis, const HtmlOptions& options) {
    std::vector<Entry> entries;
    for (const KernelAnalysis& kernel : analysis.kernels) {
        for (const KernelResult& result : kernel.results) { entries.push_back({&kernel, &result, fmt::format("k{}", entries.size()), true}); }
    }
    Page sections;
    const std::size_t overview = entries.size() > 1 ? std::min(kOverviewBytes, 600 * entries.size()) : 0;
    const std::size_t fixed = overview + asset("third_party/chart.min.js").size() + 60'000;
    const std::size_t room = options.most_bytes > fixed ? options.most_bytes - fixed : 0;
    bool full = false;
    for (Entry& entry : entries) {
        const auto fits = [&](Extent extent) {
            Page tried;
            add_kernel_section(tried, analysis, *entry.kernel, *entry.result, entry.id, options, extent);
            if (sections.size() + tried.size() > room) { return false; }
            sections.add(tried);
            return true;
        };
        // A page of many kernels has its room for kernels; the code is shown when few are chosen.
        entry.written = !full && ((entries.size() <= kOverviewAbove && fits(Extent::whole)) || fits(Extent::without_code));
        full = !entry.written;
    }
    Page page;
    page.add(header_html(analysis));
    if (entries.size() > 1) { page.add(overview_html(entries)); }
    if (entries.empty()) { page.add("<p class=\"lead\">No kernel was analysed.</p>\n"); }
    page.add(sections);
    page.add(footer_html());
    std::string title = "flipflop";
    if (!analysis.kernels.empty()) { title += ": " + elide(kernel_name(analysis.kernels.front().facts), 60) + (analysis.kernels.size() > 1 ? fmt::format(" and {} more", analysis.kernels.size() - 1) : ""); }
    return page.finish(title);
}

}  // namespace flipflop
