#include "report/html/kernel_section.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "flipflop/explain.hpp"
#include "report/analysis_memory.hpp"
#include "report/html/code_table.hpp"
#include "report/html/html_text.hpp"
#include "report/html/kernel_charts.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

constexpr std::size_t kRowsInFull = 12;      ///< of the kept table; the rest is folded away
constexpr std::size_t kMostRows = 400;

std::string tile(std::string_view key, const std::string& value, const std::string& detail) {
    return fmt::format("<div class=\"tile\"><span class=\"k\">{}</span><b>{}</b><span class=\"d\">{}</span></div>\n", esc(key), value, esc(detail));
}

/// "212 <small>µs</small>" from "212 µs".
std::string with_small_unit(const std::string& text) {
    const std::size_t space = text.rfind(' ');
    return space == std::string::npos ? esc(text) : fmt::format("{} <small>{}</small>", esc(text.substr(0, space)), esc(text.substr(space + 1)));
}

std::string interval_words(const Interval& interval, std::string (*text)(double, int)) { return fmt::format("90 %: {} to {}", text(interval.low, 3), text(interval.high, 3)); }

std::string tiles_html(const ConfigResult& config) {
    const Prediction& p = *config.predicted;
    std::string out = "<div class=\"tiles\">\n";
    out += tile(fmt::format("time at {}", dim_text(config.block)), with_small_unit(time_text(p.time.total.value)), interval_words(p.time.interval, time_text));
    if (p.power) {
        out += tile("energy of a launch", with_small_unit(energy_text(p.power->energy.value)), interval_words(p.power->energy_interval, energy_text));
        out += tile("power", with_small_unit(significant(p.power->power.value) + " W"), fmt::format("90 %: {} to {} W", significant(p.power->power_interval.low), significant(p.power->power_interval.high)));
    } else {
        out += tile("energy and power", "unknown", p.power_unknown);
    }
    std::string limiters;
    for (const std::string& limiter : config.occupancy.limiters) { limiters += (limiters.empty() ? "limited by " : ", ") + limiter; }
    out += tile("occupancy", with_small_unit(percent(config.occupancy.fraction)), fmt::format("{} warps an SM, {}", config.occupancy.active_warps_per_sm, limiters));
    out += tile("speed of light", with_small_unit(time_text(p.time.floor.value)), fmt::format("the launch takes {} times as long", significant(p.time.total.value / std::max(p.time.floor.value, 1e-9), 2)));
    return out + "</div>\n";
}

std::string safe_badge(const std::optional<bool>& safe) {
    return !safe ? "<span class=\"badge warn\">unverified</span>" : *safe ? "<span class=\"badge good\">safe</span>" : "<span class=\"badge bad\">unsafe</span>";
}

std::string gain_row(const Gain& gain, std::string_view who, const Dim3& block) {
    if (gain.block == block) { return fmt::format("<p>The same block as {} ({}).</p>\n", esc(who), dim_text(gain.block)); }
    std::string text = change_text(gain.time_ratio, gain.time_ratio_low, gain.time_ratio_high, "time");
    if (gain.energy_ratio && gain.energy_ratio_low && gain.energy_ratio_high) { text += ", " + change_text(*gain.energy_ratio, *gain.energy_ratio_low, *gain.energy_ratio_high, "energy"); }
    return fmt::format("<p>Against {} ({}): {}.</p>\n", esc(who), dim_text(gain.block), esc(text));
}

std::string reasons_html(const KernelFacts& facts, const Recommendation& r) {
    if (r.reasons.empty()) { return {}; }
    std::string out = "<h3>Because</h3>\n<ul class=\"plain\">\n";
    for (const Reason& reason : r.reasons) {
        const std::string delta = delta_text(reason);
        const bool saves = reason.delta_us.value_or(0) < 0;
        out += fmt::format("<li>{}{}</li>\n", esc(with_short_parameters(reason.what, facts)), delta.empty() ? "" : fmt::format(" <span class=\"num {}\">{}</span>", saves ? "good" : "bad", esc(delta)));
    }
    return out + "</ul>\n";
}

std::string doubts_html(const KernelFacts& facts, const Recommendation& r) {
    std::string out;
    for (const Sensitivity& s : r.sensitivity) {
        const std::string range = s.low.empty() && s.high.empty() ? "" : fmt::format(" {} to {}", s.low, s.high);
        out += fmt::format("<li><span class=\"badge {}\">{}</span> {}</li>\n", s.changes_answer ? "warn" : "dim", s.changes_answer ? "changes if" : "holds for", esc(with_short_parameters(s.name + range + ": " + s.effect, facts)));
    }
    for (const std::string& caveat : r.caveats) { out += fmt::format("<li><span class=\"badge warn\">mind</span> {}</li>\n", esc(with_short_parameters(caveat, facts))); }
    return out.empty() ? "" : "<h3>What could change the answer</h3>\n<ul class=\"plain\">\n" + out + "</ul>\n";
}

std::string advice_html(const KernelFacts& facts, const KernelResult& result) {
    if (!result.recommendation) {
        return result.no_recommendation.empty() ? "" : fmt::format("<div class=\"advice doubt\"><p>Nothing is recommended: {}.</p></div>\n", esc(result.no_recommendation));
    }
    const Recommendation& r = *result.recommendation;
    std::string out = fmt::format("<div class=\"advice{}\">\n<p class=\"pick\">Recommended for {}: {} <small>(grid {})</small> {}</p>\n", r.safe == std::optional(true) ? "" : r.safe ? " bad" : " doubt", esc(r.objective), dim_text(r.block),
                                  dim_text(r.grid), safe_badge(r.safe));
    if (r.over_current) { out += gain_row(*r.over_current, "today's launch", r.block); }
    if (r.over_heuristic) { out += gain_row(*r.over_heuristic, "the occupancy heuristic", r.block); }
    if (!result.reblocking.reason.empty()) { out += fmt::format("<p>{}: {}</p>\n", esc(result.reblocking.verdict == "safe" ? "Safe" : result.reblocking.verdict == "unsafe" ? "Unsafe" : "Unverified"), esc(result.reblocking.reason)); }
    if (!r.confidence.empty()) { out += fmt::format("<p>Confidence {}{}</p>\n", esc(r.confidence), r.confidence_reason.empty() ? "" : ": " + esc(r.confidence_reason)); }
    return out + "</div>\n" + reasons_html(facts, r) + doubts_html(facts, r);
}

std::string config_row(const ConfigResult& config, const Unit& time, const Unit& energy) {
    std::string marks;
    if (config.recommended) { marks += " <span class=\"badge good\">recommended</span>"; }
    if (config.is_current) { marks += " <span class=\"badge warn\">today</span>"; }
    if (config.is_heuristic) { marks += " <span class=\"badge\">heuristic</span>"; }
    const std::string row_class = config.recommended ? " class=\"recommended\"" : config.safe == std::optional(false) ? " class=\"unsafe\"" : "";
    std::string out = fmt::format("<tr{}><td class=\"n\">{}</td><td>{}{}</td><td>{}</td>", row_class, config.rank ? std::to_string(*config.rank) : "", dim_text(config.block), marks, dim_text(config.grid));
    if (!config.predicted) { return out + fmt::format("<td colspan=\"6\">{}</td></tr>\n", esc(config.launchable ? "not predicted" : "cannot launch: " + config.why_not)); }
    const Prediction& p = *config.predicted;
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", p.time.total.value, scaled_interval(time, p.time.total.value, p.time.interval));
    out += p.power ? fmt::format("<td class=\"n\">{}</td><td class=\"n\" data-v=\"{}\">{}</td>", with_interval(p.power->power.value, p.power->power_interval.low, p.power->power_interval.high), p.power->energy.value,
                                 scaled_interval(energy, p.power->energy.value, p.power->energy_interval))
                   : std::string("<td class=\"n\">unknown</td><td class=\"n\">unknown</td>");
    return out + fmt::format("<td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n", percent(config.occupancy.fraction), esc(bound_cell(p.time.bound_by)), safe_badge(config.safe));
}

std::string config_table(const std::vector<const ConfigResult*>& rows) {
    double longest = 0;
    double most = 0;
    for (const ConfigResult* c : rows) {
        if (!c->predicted) { continue; }
        longest = std::max(longest, c->predicted->time.total.value);
        if (c->predicted->power) { most = std::max(most, c->predicted->power->energy.value); }
    }
    const Unit time = time_unit_for(longest);
    const Unit energy = energy_unit_for(most);
    std::string out = fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"configurations\"><table class=\"sortable\"><thead><tr><th class=\"n\">rank</th><th>block</th><th>grid</th><th class=\"n\">time {}</th><th class=\"n\">power W</th><th class=\"n\">energy {}</th>"
                                  "<th class=\"n\">occupancy</th><th>bound by</th><th>same result</th></tr></thead><tbody>\n",
                                  time.name, energy.name);
    for (const ConfigResult* c : rows) { out += config_row(*c, time, energy); }
    return out + "</tbody></table></div>\n";
}

std::string configs_html(const KernelResult& result) {
    std::vector<const ConfigResult*> first;
    std::vector<const ConfigResult*> rest;
    for (const ConfigResult& c : result.configs) {
        const bool wanted = c.kept || c.recommended || c.is_current || c.is_heuristic;
        const bool baseline = c.recommended || c.is_current || c.is_heuristic;
        (wanted && (first.size() < kRowsInFull || baseline) ? first : rest).push_back(&c);
    }
    const bool named = first.empty();
    if (named) { first.swap(rest); }
    const SearchSpace& space = result.space;
    std::string out = named ? "<h3>Configurations</h3>\n" : fmt::format("<h3>Kept {} of {} launchable configurations</h3>\n", space.kept, space.launchable);
    out += config_table(first);
    if (rest.empty()) { return out; }
    const std::size_t all = rest.size();
    if (rest.size() > kMostRows) { rest.resize(kMostRows); }
    out += fmt::format("<details class=\"big\"><summary>{} more that were tried</summary>\n{}", all, config_table(rest));
    if (all > rest.size()) { out += fmt::format("<p class=\"sub\">{} more are left out; the JSON report has them.</p>\n", all - rest.size()); }
    return out + "</details>\n";
}

std::string findings_html(const KernelResult& result) {
    std::string answered;
    for (const SuppressedFinding& s : result.suppressed) {
        answered += fmt::format("<li><span class=\"badge dim\">{}</span> <code>{}</code> {}<br><span class=\"sub\">ignored in the source: {}</span></li>\n", esc(s.finding.rule), esc(place_text(s.finding.source, s.finding.ptx_line)), esc(s.finding.message), esc(s.reason));
    }
    if (!answered.empty()) { answered = fmt::format("<details class=\"big\"><summary>{} ignored in the source</summary><ul class=\"plain\">{}</ul></details>\n", result.suppressed.size(), answered); }
    if (result.findings.empty()) { return "<h3>Findings</h3>\n<p class=\"sub\">None.</p>\n" + answered; }
    std::string out = "<h3>Findings</h3>\n<ul class=\"plain\">\n";
    for (const Finding& f : result.findings) {
        const std::string_view badge = f.severity == Severity::error ? "bad" : f.severity == Severity::warning ? "warn" : "dim";
        std::string cost;
        if (f.cost_us) { cost = "costs " + time_text(*f.cost_us) + (f.cost_mj ? ", " + energy_text(*f.cost_mj) : ""); }
        out += fmt::format("<li><span class=\"badge {}\">{}</span> <code>{}</code> {}{}{}</li>\n", badge, esc(f.rule), esc(place_text(f.source, f.ptx_line)), esc(f.message), cost.empty() ? "" : fmt::format(" <span class=\"num\">{}</span>", esc(cost)),
                           f.help.empty() ? "" : "<br><span class=\"sub\">" + esc(f.help) + "</span>");
    }
    return out + "</ul>\n<p class=\"sub\"><code>flipflop rules ID</code> explains one.</p>\n" + answered;
}

std::string accesses_html(const KernelFacts& facts, const ConfigResult& config) {
    if (!config.facts || config.facts->accesses.empty()) { return {}; }
    std::string out = "<details class=\"big\"><summary>Memory instructions</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"memory instructions\"><table class=\"sortable\"><thead><tr><th>place</th><th>access</th><th class=\"n\">requests</th><th class=\"n\">sectors a request</th><th class=\"n\">at best</th>"
                      "<th class=\"n\">passes a request</th><th>pattern</th><th>basis</th></tr></thead><tbody>\n";
    const auto number = [](const std::optional<double>& value) { return value ? significant(*value) : std::string("\u2013"); };
    for (std::size_t i = 0; i < std::min(config.facts->accesses.size(), facts.accesses.size()); ++i) {
        const AccessFacts& a = config.facts->accesses[i];
        const AccessDescription& d = facts.accesses[i];
        const std::optional<double> requests = a.requests ? a.requests : a.requests_assumed;
        out += fmt::format("<tr><td>{}</td><td><code>{}.{}</code></td><td class=\"n\" data-v=\"{}\">{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n", esc(place_text(d.source, d.ptx_line)), esc(d.op),
                           to_string(d.space), requests.value_or(0), requests ? count_text(*requests) : "\u2013", a.requests ? "" : " assumed", number(a.sectors_per_request), number(a.ideal_sectors_per_request), number(a.wavefronts_per_request),
                           to_string(a.pattern), esc(a.why.empty() ? std::string(to_string(a.basis)) : std::string(to_string(a.basis)) + ": " + a.why));
    }
    return out + "</tbody></table></div></details>\n";
}

std::string assumptions_html(const KernelFacts& facts, const KernelResult& result) {
    if (result.assumptions.empty()) { return {}; }
    std::string out = fmt::format("<details class=\"big\"><summary>{} assumptions</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"assumptions\"><table><thead><tr><th>what</th><th>value</th><th>why</th><th>could change</th></tr></thead><tbody>\n", result.assumptions.size());
    for (const Assumption& a : result.assumptions) {
        out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", esc(with_short_parameters(a.name, facts)), esc(a.value), esc(with_short_parameters(a.reason, facts)), esc(a.could_change.value_or("")));
    }
    return out + "</tbody></table></div></details>\n";
}

void add_term(std::string& out, const Term& term, bool on_path) {
    out += fmt::format("<li{}><span class=\"t\">{}</span> {} {} <span class=\"src\">{}{}{}</span>", on_path ? " class=\"path\"" : "", esc(term.id), significant(term.value, 4), esc(term.unit),
                       term.fold == Fold::leaf ? "" : term.fold == Fold::norm ? fmt::format("{}-norm, ", significant(term.p)) : std::string(to_string(term.fold)) + ", ", to_string(term.basis), term.source.empty() ? "" : ": " + esc(term.source));
    if (!term.parts.empty()) {
        out += "<ul>";
        const auto dominant = dominant_part(term);
        for (std::size_t i = 0; i < term.parts.size(); ++i) { add_term(out, term.parts[i], on_path && dominant == i); }
        out += "</ul>";
    }
    out += "</li>\n";
}

std::string terms_html(const ConfigResult& config) {
    const std::optional<Term> root = config.full_detail ? whole_term(config) : std::nullopt;
    if (!root || root->parts.empty()) { return {}; }
    std::string out = fmt::format("<details class=\"big\"><summary>Every term behind {}</summary><div class=\"tree\"><ul>\n", dim_text(config.block));
    add_term(out, *root, true);
    return out + "</ul></div></details>\n";
}

std::string lead_html(const KernelResult& result, const ConfigResult& config) {
    const TimeEstimate& time = config.predicted->time;
    std::string out = headline_sentence(result, config);
    if (!time.calibrated || (config.predicted->power && !config.predicted->power->calibrated)) { out += " Not calibrated for this board."; }
    return fmt::format("<p class=\"lead\">{}</p>\n", esc(out));
}

std::string sub_html(const Analysis& analysis, const KernelFacts& facts, const KernelResult& result) {
    std::vector<std::string> pieces{result.profile.name.empty() ? result.gpu : result.profile.name};
    if (!result.case_name.empty()) { pieces.push_back("case " + result.case_name); }
    pieces.push_back(facts.source ? place_text(facts.source, 0) : facts.module);
    pieces.push_back(facts.target);
    pieces.push_back(registers_text(result.resources, analysis.used));
    const double shared = static_cast<double>(result.resources.static_shared_bytes);
    pieces.push_back(shared > 0 ? bytes_text(shared) + " shared" : result.resources.uses_dynamic_shared ? "dynamic shared memory" : "no shared memory");
    pieces.push_back(fmt::format("{} instructions, {}", facts.instructions, facts.mix.unknown_share > 0 ? percent(facts.mix.unknown_share) + " unknown" : "all known"));
    std::string out = "<p class=\"sub\">";
    for (const std::string& piece : pieces) {
        if (!piece.empty()) { out += "<span>" + esc(piece) + "</span>"; }
    }
    return out + "</p>\n";
}

}  // namespace

void add_kernel_section(Page& page, const Analysis& analysis, const KernelAnalysis& kernel, const KernelResult& result, const std::string& id, const HtmlOptions& options, Extent extent) {
    const ConfigResult* const config = headline_config(result);
    page.add(fmt::format("<section class=\"kernel\" id=\"{}\">\n<h2><code>{}</code></h2>\n", esc(id), esc(kernel_name(kernel.facts))));
    page.add(sub_html(analysis, kernel.facts, result));
    if (!result.gpu_note.empty()) { page.add("<p class=\"sub\">" + esc(result.gpu_note) + "</p>\n"); }
    if (!result.code.compatible) { page.add("<div class=\"advice bad\"><p>Cannot run there: " + esc(result.code.why_not) + ".</p></div>\n"); }
    if (config != nullptr) { page.add(lead_html(result, *config) + tiles_html(*config)); }
    page.add(advice_html(kernel.facts, result));
    add_kernel_charts(page, result, id);
    page.add(configs_html(result) + findings_html(result));
    if (config != nullptr && extent == Extent::whole) { page.add(code_html(kernel.listing, result, *config, options.sources)); }
    if (config != nullptr) { page.add("<h3>Behind it</h3>\n" + accesses_html(kernel.facts, *config) + terms_html(*config)); }
    page.add(assumptions_html(kernel.facts, result) + "</section>\n");
}

}  // namespace flipflop::report
