// analyze as GitHub-flavoured Markdown: for step summaries and pull-request comments.
#include <algorithm>

#include <fmt/core.h>

#include "flipflop/report.hpp"
#include "report/analysis_cases.hpp"
#include "report/analysis_variants.hpp"
#include "report/markdown_text.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

std::string row_of(const ConfigResult& config) {
    std::string label = config.rank ? std::to_string(*config.rank) : "";
    if (config.recommended) { label = "**" + label + "**"; }
    if (config.is_current) { label += " today"; }
    if (config.is_heuristic) { label += " heuristic"; }
    std::string out = fmt::format("| {} | {} | {} |", label, dim_text(config.block), dim_text(config.grid));
    if (!config.predicted) {
        return out + fmt::format(" {} | | | | | |\n", plain(config.launchable ? "not predicted" : "cannot launch: " + config.why_not));
    }
    const Prediction& p = *config.predicted;
    out += fmt::format(" {} |", with_interval(p.time.total.value, p.time.interval.low, p.time.interval.high));
    out += p.power ? fmt::format(" {} | {} |", with_interval(p.power->power.value, p.power->power_interval.low, p.power->power_interval.high),
                                 with_interval(p.power->energy.value, p.power->energy_interval.low, p.power->energy_interval.high))
                   : " unknown | unknown |";
    return out + fmt::format(" {} | {} | {} |\n", percent(config.occupancy.fraction), plain(bound_cell(p.time.bound_by)),
                             !config.safe ? "unverified" : *config.safe ? "safe" : "**unsafe**");
}

bool shown(const ConfigResult& config) { return config.kept || config.recommended || config.is_current || config.is_heuristic; }

std::string recommendation(const KernelResult& result) {
    if (!result.recommendation) {
        return result.no_recommendation.empty() ? "" : "Nothing is recommended: " + plain(result.no_recommendation) + "\n\n";
    }
    const Recommendation& r = *result.recommendation;
    std::string out = fmt::format("**Recommended for {}: {}** (grid {}), {}", plain(r.objective), dim_text(r.block), dim_text(r.grid),
                                  !r.safe ? "unverified" : *r.safe ? "safe" : "**unsafe**");
    const auto gain = [&](const std::optional<Gain>& over, std::string_view who) {
        if (!over || over->block == r.block) { return; }
        out += fmt::format("; {} against {} ({})", change_text(over->time_ratio, over->time_ratio_low, over->time_ratio_high, "time"),
                           dim_text(over->block), who);
    };
    gain(r.over_current, "today");
    gain(r.over_heuristic, "the occupancy heuristic");
    out += ".\n\n";
    for (const Reason& reason : r.reasons) {
        out += "- " + plain(reason.what);
        if (reason.delta_us) { out += fmt::format(": {}{}", *reason.delta_us < 0 ? "-" : "+", time_text(std::abs(*reason.delta_us))); }
        out += "\n";
    }
    for (const std::string& caveat : r.caveats) { out += "- Mind: " + plain(caveat) + "\n"; }
    return out + (r.reasons.empty() && r.caveats.empty() ? "" : "\n");
}

std::string result_text(const KernelResult& result, bool details) {
    std::string out = fmt::format("### {}{}\n\n", plain(result.profile.name.empty() ? result.gpu : result.profile.name),
                                  result.case_name.empty() ? "" : ", case " + plain(result.case_name));
    if (!result.code.compatible) { out += "Cannot run there: " + plain(result.code.why_not) + "\n\n"; }
    std::string rows;
    std::size_t hidden = 0;
    const bool any_kept = std::any_of(result.configs.begin(), result.configs.end(), shown);
    for (const ConfigResult& config : result.configs) {
        if (shown(config) || !any_kept) {
            rows += row_of(config);
        } else {
            ++hidden;
        }
    }
    if (!rows.empty()) {
        out += "| rank | block | grid | time \u00b5s | power W | energy mJ | occupancy | bound by | same result |\n"
               "|---|---|---|---|---|---|---|---|---|\n" + rows + "\n";
    }
    if (hidden > 0) { out += fmt::format("{} more configurations were ranked and not kept.\n\n", hidden); }
    out += recommendation(result);
    constexpr std::size_t kBrief = 3;
    const std::size_t told = details ? result.findings.size() : std::min(kBrief, result.findings.size());
    for (std::size_t i = 0; i < told; ++i) {
        const Finding& finding = result.findings[i];
        out += fmt::format("- **{}** {}: {}", plain(finding.rule), code(place_text(finding.source, finding.ptx_line)), plain(finding.message));
        if (finding.cost_us) { out += fmt::format(", costs {}", time_text(*finding.cost_us)); }
        out += "\n";
    }
    if (told < result.findings.size()) { out += fmt::format("- {} more findings\n", result.findings.size() - told); }
    if (!result.findings.empty()) { out += "\n"; }
    if (details && !result.assumptions.empty()) {
        out += fmt::format("<details><summary>{} assumptions</summary>\n\n", result.assumptions.size());
        for (const Assumption& a : result.assumptions) { out += fmt::format("- {} = {} ({})\n", plain(a.name), plain(a.value), plain(a.reason)); }
        out += "\n</details>\n\n";
    }
    return out;
}

std::string kernel_text(const KernelAnalysis& kernel, bool details) {
    const KernelFacts& facts = kernel.facts;
    std::string out = fmt::format("## {}\n\n", code(kernel_name(facts)));
    out += fmt::format("{}, {} instructions, {}\n\n", code(facts.source ? place_text(facts.source, 0) : facts.module), facts.instructions,
                       facts.mix.unknown_share > 0 ? percent(facts.mix.unknown_share) + " unknown" : "all known");
    const std::size_t cases = kernel.across.empty() ? 1 : kernel.results.size() / kernel.across.size();
    for (std::size_t i = 0; i < kernel.results.size(); ++i) {
        const KernelResult& result = kernel.results[i];
        if (!kernel.across.empty() && i % cases == 0) {
            out += fmt::format("### {}, {} cases\n\n", plain(result.profile.name.empty() ? result.gpu : result.profile.name), cases);
            out += cases_markdown(kernel.across[i / cases]);
        }
        out += result_text(result, details);
    }
    return out;
}

/// One line, for a kernel whose section does not fit.
std::string line_text(const KernelAnalysis& kernel) {
    std::string out = "- " + code(elide(kernel_name(kernel.facts), 100));
    for (const KernelResult& result : kernel.results) {
        const std::string board = plain(result.profile.name.empty() ? result.gpu : result.profile.name);
        const auto best = std::find_if(result.configs.begin(), result.configs.end(), [](const ConfigResult& c) { return c.recommended; });
        out += best != result.configs.end() && best->predicted ? fmt::format("; {}: {}, {}", board, dim_text(best->block), time_with_interval(best->predicted->time.total.value, best->predicted->time.interval))
                                                               : fmt::format("; {}: nothing recommended", board);
    }
    return out + "\n";
}

/// The kernels that did not fit as a line each, as long as these do.
std::string lines_text(const Analysis& analysis, std::size_t first, std::size_t room) {
    constexpr std::size_t kReserve = 200;
    std::string out = fmt::format("## {} more kernels\n\nTheir sections did not fit here; `--kernel` chooses, `--format json` has all.\n\n", analysis.kernels.size() - first);
    for (std::size_t i = first; i < analysis.kernels.size(); ++i) {
        const std::string line = line_text(analysis.kernels[i]);
        if (out.size() + line.size() + kReserve > room) { return out + fmt::format("- and {} more\n", analysis.kernels.size() - i); }
        out += line;
    }
    return out;
}

}  // namespace

std::string markdown_report(const Analysis& analysis, std::size_t most) {
    constexpr std::size_t kLine = 160;       // about what a kernel takes in the list of those that do not fit
    // What is said of the whole stands first and last; it is short beside the kernels.
    const std::string head = variants_markdown(analysis), tail = steps_markdown(analysis);
    most -= std::min(most / 2, tail.size());
    for (const bool details : {true, false}) {
        std::string out = head;
        std::size_t written = 0;
        for (const KernelAnalysis& kernel : analysis.kernels) {
            const std::string section = kernel_text(kernel, details);
            const std::size_t left = analysis.kernels.size() - written - 1;
            // Room is kept for the rest as lines, but never more than half of it.
            if (out.size() + section.size() + (left > 0 ? std::min(most / 2, 400 + left * kLine) : 0) > most) { break; }
            out += section;
            ++written;
        }
        if (written == analysis.kernels.size() || !details) {
            if (!details) {
                const std::string note = "Assumptions, and findings beyond three a kernel, are left out so that this fits; `--format json` has all.\n\n";
                if (out.size() + note.size() < most) { out += note; }
            }
            if (written < analysis.kernels.size()) { out += lines_text(analysis, written, most - std::min(most, out.size())); }
            out += tail;
            while (out.ends_with("\n\n")) { out.pop_back(); }
            return out;
        }
    }
    return {};
}

}  // namespace flipflop
