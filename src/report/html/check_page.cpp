// check as one HTML page: the verdict, what changed worst first, what it comes to in a year, waivers and notes.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "flipflop/html_report.hpp"
#include "report/check_parts.hpp"
#include "report/html/html_text.hpp"
#include "report/html/page.hpp"

namespace flipflop {
namespace {

using namespace report;

constexpr std::size_t kMostBytes = 1'600'000;

std::string_view badge_of(gate::Verdict verdict) {
    switch (verdict) {
        case gate::Verdict::regressed: return "bad";
        case gate::Verdict::uncertain: return "warn";
        case gate::Verdict::improved: return "good";
        default: return "dim";
    }
}

/// The change as a point on its interval, with nothing in the middle and the threshold as a dashed line. `most`: the share
/// at either end.
std::string interval_svg(const gate::Change& change, double most) {
    if (!change.relative || !change.change || change.budget) { return {}; }
    const auto at = [&](double share) { return 80 + std::clamp(share / most, -1.0, 1.0) * 76; };
    const std::string_view role = badge_of(change.verdict) == "dim" ? "other" : badge_of(change.verdict);
    std::string out = "<svg class=\"delta\" width=\"160\" height=\"18\" viewBox=\"0 0 160 18\" aria-hidden=\"true\"><path class=\"frame\" d=\"M80 1V17\"/>";
    if (change.threshold) { out += fmt::format("<path class=\"limit\" d=\"M{0:.1f} 2V16\"/>", at(*change.threshold)); }
    if (change.low && change.high) { out += fmt::format("<path class=\"whisker\" d=\"M{:.1f} 9H{:.1f}\"/>", at(*change.low), at(*change.high)); }
    return out + fmt::format("<g class=\"m {}\"><circle cx=\"{:.1f}\" cy=\"9\" r=\"4.5\"/></g></svg>", role, at(*change.change));
}

/// The scale that all bars of the page share: the largest change that is not beyond all others.
double largest_change(const gate::CheckReport& report) {
    double most = 0.1;
    for (const gate::KernelCheck& kernel : report.kernels) {
        for (const gate::Change& c : kernel.changes) {
            if (c.relative && c.change && !c.budget) { most = std::max({most, std::abs(c.low.value_or(*c.change)), std::abs(c.high.value_or(*c.change))}); }
        }
    }
    return std::min(most, 1.0);
}

std::string rows_html(const gate::KernelCheck& kernel, bool gpus, double most) {
    std::string out;
    for (const gate::Change& change : kernel.changes) {
        if (change.verdict == gate::Verdict::incomparable && change.base == change.head) { continue; }
        const std::string verdict(change.budget && change.verdict == gate::Verdict::regressed ? "over budget" : to_string(change.verdict));
        out += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\" data-v=\"{}\">{}</td><td>{}</td><td><span class=\"badge {}\">{}</span></td><td>{}</td></tr>\n", esc(where_text(kernel, gpus)),
                           metric_words(change.metric), change.budget ? "" : esc(metric_text(change.metric, change.base)), esc(metric_text(change.metric, change.head)), change.change.value_or(0), esc(change_words(change)), interval_svg(change, most),
                           badge_of(change.verdict), esc(verdict), esc(change.why.empty() ? limit_text(change) : change.why));
    }
    for (const gate::NewFinding& finding : kernel.new_findings) {
        if (kernel.base == nullptr && finding.verdict == gate::Verdict::ok) { continue; }
        const std::string message = finding.candidates.size() == 1 ? finding.candidates.front()->message : "";
        out += fmt::format("<tr><td><code>{}</code></td><td>finding</td><td></td><td class=\"n\">{} new</td><td colspan=\"2\"><code>{}</code> {}</td><td><span class=\"badge {}\">{}</span></td><td>{}</td></tr>\n", esc(where_text(kernel, gpus)), finding.count, esc(finding.rule),
                           esc(message), badge_of(finding.verdict), finding.verdict == gate::Verdict::ok ? "new" : to_string(finding.verdict), to_string(finding.severity));
    }
    return out;
}

std::string changes_html(const gate::CheckReport& report) {
    const bool gpus = several_gpus(report);
    const double most = largest_change(report);
    std::string rows;
    std::size_t left_out = 0;
    for (const gate::KernelCheck* kernel : worst_first(report)) {
        std::string more = rows_html(*kernel, gpus, most);
        if (left_out > 0 || rows.size() + more.size() > kMostBytes) {
            left_out += !more.empty();
        } else {
            rows += more;
        }
    }
    if (rows.empty()) { return "<section class=\"kernel\"><h2>Changes</h2><p>None that the gate looks at.</p></section>\n"; }
    std::string out = fmt::format("<section class=\"kernel\"><h2>Changes</h2>\n<p class=\"sub\">Worst first. The line in the middle is no change, the ends are {} %, the dashed line is the limit; whiskers are 90 % intervals of the change.</p>\n"
                                  "<p class=\"tools\" hidden><label>Find <input type=\"search\" class=\"find\" data-table=\"changes\" hidden></label></p>\n"
                                  "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"changes\"><table class=\"sortable\" id=\"changes\"><thead><tr><th>kernel</th><th>metric</th><th class=\"n\">base</th><th class=\"n\">now</th><th class=\"n\">change (90 %)</th><th></th><th>verdict</th><th>limit or reason</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
                                  significant(100 * most), rows);
    if (left_out > 0) { out += fmt::format("<p class=\"sub\">{} more kernels are left out, the least severe ones; the JSON report has all.</p>\n", left_out); }
    return out + "</section>\n";
}

std::string yearly_html(const gate::CheckReport& report) {
    if (!report.yearly) { return {}; }
    const gate::Yearly& yearly = *report.yearly;
    std::string out = fmt::format("<section class=\"kernel\"><h2>In a year</h2>\n<p class=\"lead\">{}</p>\n", esc(yearly_sentence(yearly)));
    if (!yearly.kernels.empty()) {
        const bool gpus = several_gpus(report);
        out += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"energy in a year\"><table class=\"sortable\"><thead><tr><th>kernel</th><th class=\"n\">calls</th><th class=\"n\">energy (90 %)</th><th class=\"n\">cost</th><th class=\"n\">CO2e</th></tr></thead><tbody>\n";
        for (const gate::YearlyChange& entry : yearly.kernels) {
            out += fmt::format("<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\" data-v=\"{}\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", esc(where_text(*entry.kernel, gpus)), significant(entry.calls, 4), entry.change.kwh, esc(kwh_text(entry)),
                               esc(cost_text(entry.change, yearly.currency)), esc(co2e_text(entry.change)));
        }
        out += "</tbody></table></div>\n";
    }
    out += "<p class=\"sub\">Assumed:</p><ul class=\"plain\">";
    for (const std::string& assumption : yearly.assumptions) { out += "<li>" + esc(assumption) + "</li>\n"; }
    return out + "</ul></section>\n";
}

std::string waivers_html(const gate::CheckReport& report) {
    if (report.waivers.empty()) { return {}; }
    std::string out = "<section class=\"kernel\"><h2>Waivers</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"waivers\"><table class=\"sortable\"><thead><tr><th>for</th><th>of</th><th>reason</th><th>owner</th><th>expires</th><th>state</th></tr></thead><tbody>\n";
    for (const gate::WaiverUse& use : report.waivers) {
        const gate::Waiver& w = *use.waiver;
        out += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><span class=\"badge {}\">{}</span></td></tr>\n", esc(w.match), esc(w.metric ? std::string(to_string(*w.metric)) : w.rule), esc(w.reason), esc(w.owner),
                           esc(w.expires), use.expired || !use.used ? "warn" : "dim", use.expired ? "expired" : use.used ? "used" : "not used");
    }
    return out + "</tbody></table></div></section>\n";
}

std::string notes_html(const gate::CheckReport& report) {
    constexpr std::size_t kMost = 500;
    if (report.notes.empty()) { return {}; }
    std::string out = "<section class=\"kernel\"><h2>Notes</h2>\n<ul class=\"plain\">\n";
    for (std::size_t i = 0; i < std::min(kMost, report.notes.size()); ++i) { out += fmt::format("<li><span class=\"badge dim\">{}</span> {}</li>\n", esc(report.notes[i].kind), esc(report.notes[i].message)); }
    if (report.notes.size() > kMost) { out += fmt::format("<li>{} more notes; the JSON report has all.</li>\n", report.notes.size() - kMost); }
    return out + "</ul></section>\n";
}

}  // namespace

std::string html_report(const gate::CheckReport& report, const gate::Snapshot& head) {
    Page page;
    page.add(fmt::format("<a class=\"skip\" href=\"#main\">To the content</a>\n<div class=\"wrap\">\n<header class=\"top\"><h1>flipflop check</h1><span class=\"about\">predicted, nothing was run; flipflop {}, ptxas {}; base: {}</span>"
                         "<button type=\"button\" class=\"theme\" hidden>Light or dark</button></header>\n<main id=\"main\">\n",
                         FLIPFLOP_VERSION, esc(head.ptxas.value_or("not used")), report.has_base ? esc(report.base_origin) : "none, findings and budgets only"));
    page.add(fmt::format("<div class=\"verdict {}\" role=\"status\">{}<p>{}</p></div>\n", report.fail ? "fail" : "pass", report.fail ? "The gate failed" : "The gate passed", esc(nothing_changed(report) ? "Nothing changed." : counts_text(report) + ".")));
    page.add(changes_html(report) + yearly_html(report) + waivers_html(report) + notes_html(report));
    page.add("</main>\n<footer><p>Everything here is predicted from PTX; nothing was measured. <code>flipflop diff</code> explains a change as differences of terms, <code>flipflop rules FF501</code> what a failure means.</p></footer>\n</div>\n");
    return page.finish(report.fail ? "flipflop check: failed" : "flipflop check: passed");
}

}  // namespace flipflop
