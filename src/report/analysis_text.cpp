// The text of `analyze`: one screen a kernel, worst news first (the elements and their order: see the golden test).
#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "report/analysis_cases.hpp"
#include "report/analysis_memory.hpp"
#include "report/analysis_overview.hpp"
#include "report/analysis_variants.hpp"
#include "report/machine_code.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

constexpr double kLeastCostUs = 0.01;       ///< costs below these are not printed
constexpr double kLeastCostMj = 0.001;
constexpr double kNewsBytes = 10e3;         ///< DRAM traffic below that is none

/// The one operating point of all configurations, where there is but one.
struct Point {
    std::optional<double> clock_mhz, power_limit_w;
    bool several{};
};

Point point_of(const KernelResult& result) {
    Point out;
    bool first = true;
    for (const ConfigResult& config : result.configs) {
        out.several = out.several || (!first && (config.clock_mhz != out.clock_mhz || config.power_limit_w != out.power_limit_w));
        if (first) { out = {config.clock_mhz, config.power_limit_w, false}; }
        first = false;
    }
    return out.several ? Point{{}, {}, true} : out;
}

std::string board_text(const KernelResult& result) {
    const GpuProfile& gpu = result.profile;
    const Point point = point_of(result);
    std::string text = printable(gpu.name.empty() ? result.gpu : gpu.name);
    if (const auto sms = gpu.value("sm_count")) { text += fmt::format(" · {} SMs", gpu.sm_override ? *gpu.sm_override : static_cast<std::uint32_t>(*sms)); }
    if (const auto clock = point.clock_mhz ? point.clock_mhz : gpu.value("boost_clock_mhz")) { text += fmt::format(" · {} MHz", significant(*clock, 4)); }
    if (const auto limit = point.power_limit_w ? point.power_limit_w : gpu.value("tdp_w")) { text += fmt::format(" · {} W", significant(*limit, 4)); }
    return text;
}

std::string header(const KernelFacts& facts, const KernelResult& result, const Analysis& analysis, const TextStyle& style, bool name_case = true) {
    const std::string board = board_text(result);
    const std::size_t board_width = display_width(board);
    const std::size_t room = style.width > board_width + 22 ? style.width - board_width - 2 : 20;
    const std::string name = fitting_name(facts, room);
    const std::size_t gap = std::max<std::size_t>(2, style.width > board_width + display_width(name) ? style.width - board_width - display_width(name) : 2);
    std::string out = paint(name, Mark::strong, style.color) + std::string(gap, ' ') + board + "\n";

    std::string line;
    const auto add = [&](const std::string& piece) { line += (line.empty() ? "" : " · ") + piece; };
    add(facts.source ? place_text(facts.source, 0) : elide(printable(facts.module), 50));
    if (!facts.target.empty()) { add(printable(facts.target)); }
    add(registers_text(result.resources, analysis.used));
    const Resources& r = result.resources;
    std::string shared = r.static_shared_bytes ? bytes_text(static_cast<double>(r.static_shared_bytes)) + " shared" : "no shared memory";
    if (r.uses_dynamic_shared) { shared = r.static_shared_bytes ? shared + " + dynamic" : "dynamic shared memory"; }
    add(shared);
    if (r.local_bytes.value_or(0) > 0) { add(bytes_text(static_cast<double>(*r.local_bytes)) + " local a thread"); }
    add(facts.mix.unknown_share > 0 ? fmt::format("{} instructions, {} unknown", facts.instructions, percent(facts.mix.unknown_share))
                                    : fmt::format("{} instructions, all known", facts.instructions));
    if (name_case && !result.case_name.empty()) { add("case " + printable(result.case_name)); }
    out += wrap(line, style.width, 2) + "\n";
    if (!result.gpu_note.empty()) { out += wrap(printable(result.gpu_note), style.width, 2) + "\n"; }
    if (!result.code.compatible) { out += paint("Cannot run there: " + printable(result.code.why_not), Mark::bad, style.color) + "\n"; }
    return out;
}

std::string headline(const KernelResult& result, const TextStyle& style) {
    const ConfigResult* const config = headline_config(result);
    if (config == nullptr) { return {}; }
    const TimeEstimate& time = config->predicted->time;
    std::string out = paint(wrap(headline_sentence(result, *config), style.width, 0), Mark::strong, style.color) + "\n";
    std::string prediction = fmt::format("Predicted {} at {}{}; this launch cannot take less than {}",
        time_with_interval(time.total.value, time.interval), dim_text(config->block),
        config->is_current ? " (today's launch)" : !config->recommended ? "" : config->safe ? " (recommended)" : " (recommended, unverified)", time_text(time.floor.value));
    if (time.traffic.dram_bytes.value_or(0) >= kNewsBytes) { prediction += fmt::format(" ({} through DRAM)", bytes_text(*time.traffic.dram_bytes)); }
    prediction += '.';
    const std::optional<double> boost = result.profile.value("boost_clock_mhz");
    const std::optional<PowerEstimate>& power = config->predicted->power;
    if (power && boost && power->clock_mhz < 0.99 * *boost && !style.operating_points) {
        prediction += fmt::format(" The power limit holds the clock at {} MHz.", significant(power->clock_mhz, 4));
    }
    const bool power_fitted = !power || power->calibrated;
    if (!time.calibrated || !power_fitted) {
        prediction += fmt::format(" Not calibrated for this board: {}.", time.calibrated ? "power" : power_fitted ? "time" : "time and power");
    }
    return out + wrap(prediction, style.width, 0) + "\n";
}

/// Without a verdict and without a reason nobody has asked: what is far from being kept is not judged.
std::string safe_word(const ConfigResult& config) {
    return !config.safe ? config.safe_reason.empty() ? "not checked" : "unverified" : *config.safe ? "safe" : "unsafe";
}

/// Which columns a table of configurations needs.
struct Columns {
    Unit time, energy;
    bool power{}, point{}, safe{}, dynamic_shared{};
};

Columns columns_for(const std::vector<const ConfigResult*>& rows, const TextStyle& style) {
    Columns columns;
    columns.point = style.operating_points;
    double longest = 0;
    double most = 0;
    std::set<std::string> safe_words;
    for (const ConfigResult* config : rows) {
        if (config->predicted) {
            longest = std::max(longest, config->predicted->time.total.value);
            if (config->predicted->power) { most = std::max(most, config->predicted->power->energy.value); }
            columns.power = columns.power || config->predicted->power.has_value();
        }
        columns.dynamic_shared = columns.dynamic_shared || config->dynamic_shared_bytes > 0;
        if (config->launchable) { safe_words.insert(safe_word(*config)); }
    }
    columns.time = time_unit_for(longest);
    columns.energy = energy_unit_for(most);
    columns.safe = safe_words.size() > 1;
    return columns;
}

Table config_table(const Columns& columns) {
    using Align = Table::Align;
    Table table;
    table.column("", Align::right);
    table.column("");
    table.column("block");
    table.column("grid");
    table.column(columns.point ? "point" : "");
    table.column(fmt::format("time {}", columns.time.name));
    table.column(columns.power ? "power W" : "");
    table.column(columns.power ? fmt::format("energy {}", columns.energy.name) : "");
    table.column("occupancy", Align::right);
    table.column(columns.dynamic_shared ? "dynamic" : "", Align::right);
    table.column(columns.safe ? "same result" : "");
    table.column("bound by");
    return table;
}

void add_config(Table& table, const Columns& columns, const ConfigResult& config, const std::string& label) {
    std::vector<std::string> cells{label, config.recommended ? "*" : "", dim_text(config.block), dim_text(config.grid)};
    std::string point;
    if (columns.point && config.clock_mhz) { point = fmt::format("{} MHz", significant(*config.clock_mhz, 4)); }
    if (columns.point && config.power_limit_w) { point += fmt::format("{}{} W", point.empty() ? "" : ", ", significant(*config.power_limit_w, 4)); }
    cells.push_back(point);
    if (!config.predicted) {
        cells.push_back(printable(config.launchable ? "not predicted" : "cannot launch: " + config.why_not));
        table.row(std::move(cells), Mark::dim);
        return;
    }
    const TimeEstimate& time = config.predicted->time;
    cells.push_back(scaled_interval(columns.time, time.total.value, time.interval));
    const auto& power = config.predicted->power;
    cells.push_back(!columns.power ? "" : power ? with_interval(power->power.value, power->power_interval.low, power->power_interval.high) : "unknown");
    cells.push_back(!columns.power ? "" : power ? scaled_interval(columns.energy, power->energy.value, power->energy_interval) : "unknown");
    cells.push_back(percent(config.occupancy.fraction));
    cells.push_back(columns.dynamic_shared ? bytes_text(static_cast<double>(config.dynamic_shared_bytes)) : "");
    cells.push_back(columns.safe ? safe_word(config) : "");
    cells.push_back(bound_cell(time.bound_by));
    table.row(std::move(cells), config.recommended ? Mark::strong : config.safe == std::optional(false) ? Mark::bad : Mark::plain);
}

std::string label_of(const ConfigResult& config) {
    if (config.is_current) { return "current"; }
    if (config.is_heuristic) { return "heuristic"; }
    return config.rank ? std::to_string(*config.rank) : "";
}

std::string named_table(const KernelResult& result, const TextStyle& style) {
    std::vector<const ConfigResult*> rows;
    for (const ConfigResult& config : result.configs) { rows.push_back(&config); }
    const Columns columns = columns_for(rows, style);
    Table table = config_table(columns);
    for (const ConfigResult* config : rows) { add_config(table, columns, *config, label_of(*config)); }
    return "The blocks asked for, in that order\n" + table.text(2, style.color);
}

std::string_view rejection_words(std::string_view reason) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords{{{"required_block", "not the block that the code is fixed to"}, {"max_threads", "above its launch bound"},
        {"registers", "too many registers"}, {"shared", "too much shared memory"}, {"barriers", "too many barriers"}, {"grid", "without a grid"}, {"cooperative", "not resident all at once"},
        {"cluster", "against the cluster"}, {"architecture", "code that this GPU does not run"}, {"block_size", "beyond every GPU's block"}}};
    const auto found = std::find_if(kWords.begin(), kWords.end(), [&](const auto& w) { return w.first == reason; });
    return found == kWords.end() ? reason : found->second;
}

std::string rejected_text(const SearchSpace& space) {
    std::string text;
    for (const auto& [reason, count] : space.rejected_by) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, printable(std::string(rejection_words(reason))));
    }
    return text;
}

std::string searched_table(const KernelResult& result, const TextStyle& style) {
    std::vector<const ConfigResult*> rows;
    std::vector<const ConfigResult*> baselines;
    std::size_t hidden = 0;
    for (const ConfigResult& config : result.configs) {
        const bool wanted = style.all ? config.launchable : config.kept;
        if (wanted && (style.all || rows.size() < style.top)) {
            rows.push_back(&config);
        } else if (config.is_current || config.is_heuristic) {
            baselines.push_back(&config);
        } else if (wanted) {
            ++hidden;
        }
    }
    std::vector<const ConfigResult*> all = rows;
    all.insert(all.end(), baselines.begin(), baselines.end());
    const Columns columns = columns_for(all, style);
    Table table = config_table(columns);
    for (const ConfigResult* config : rows) {
        std::string label = config->rank ? std::to_string(*config->rank) : "";
        if (config->is_current || config->is_heuristic) { label = (config->is_current ? "current " : "heuristic ") + label; }
        add_config(table, columns, *config, label);
    }
    for (const ConfigResult* config : baselines) { add_config(table, columns, *config, label_of(*config)); }

    const SearchSpace& space = result.space;
    std::string title = fmt::format("Kept {} of {} launchable configuration{}", space.kept, space.launchable, space.launchable == 1 ? "" : "s");
    if (space.launchable > 0) { title += fmt::format(" ({})", percent(static_cast<double>(space.kept) / static_cast<double>(space.launchable))); }
    title += ", best first";
    std::string tail = hidden ? fmt::format("{} more kept: --top {}", hidden, rows.size() + hidden) : "";
    if (!style.all && space.launchable > space.kept) { tail += fmt::format("{}all {}: --all", tail.empty() ? "" : ", ", space.launchable); }
    if (!tail.empty()) {
        const std::size_t used = display_width(title) + display_width(tail);
        title += std::string(style.width > used + 2 ? style.width - used : 2, ' ') + tail;
    }
    std::string out = title + "\n" + table.text(2, style.color);
    if (space.candidates > space.launchable) {
        out += wrap(fmt::format("Cannot launch: {} of {} candidates ({})", space.candidates - space.launchable, space.candidates, rejected_text(space)), style.width, 2) + "\n";
    }
    return out;
}

std::string gain_text(const Gain& gain, std::string_view who, const Dim3& recommended, const KernelResult& result) {
    if (gain.block == recommended) { return fmt::format("{} ({}): the same block", dim_text(gain.block), who); }
    for (const ConfigResult& config : result.configs) {
        if (config.block == gain.block && config.safe == std::optional(false)) { return fmt::format("{} ({}): no comparison, it does not compute the same", dim_text(gain.block), who); }
    }
    std::string text = change_text(gain.time_ratio, gain.time_ratio_low, gain.time_ratio_high, "time");
    if (gain.energy_ratio && gain.energy_ratio_low && gain.energy_ratio_high) {
        text += ", " + change_text(*gain.energy_ratio, *gain.energy_ratio_low, *gain.energy_ratio_high, "energy");
    }
    return fmt::format("{} ({}): {}", dim_text(gain.block), who, text);
}

/// "  because    text", wrapped under the text.
std::string labelled(std::string_view label, const std::string& text, const TextStyle& style) {
    return wrap(fmt::format("  {:<10} {}", label, printable(text)), style.width, 13) + "\n";
}

std::string recommendation_text(const KernelFacts& facts, const KernelResult& result, const TextStyle& style) {
    if (!result.recommendation) {
        return result.no_recommendation.empty() ? "" : wrap("Nothing is recommended: " + printable(result.no_recommendation), style.width, 2) + "\n";
    }
    const Recommendation& r = *result.recommendation;
    std::string sentence = fmt::format("Recommended for {}: {} (grid {})", r.objective, dim_text(r.block), dim_text(r.grid));
    if (style.operating_points) {
        if (r.clock_mhz) { sentence += fmt::format(" at {} MHz", significant(*r.clock_mhz, 4)); }
        if (r.power_limit_w) { sentence += fmt::format(" under {} W", significant(*r.power_limit_w, 4)); }
    }
    sentence += !r.safe ? ", unverified" : *r.safe ? ", safe" : ", UNSAFE";
    if (r.keep_current && r.over_current) {
        const bool same = r.over_current->block == r.block;
        sentence = same ? fmt::format("Keep today's launch, {}: nothing is better for {}", dim_text(r.block), r.objective)
                        : fmt::format("Keep today's launch, {}: no block is clearly better for {}. First by its figures: {} (grid {}){}", dim_text(r.over_current->block), r.objective,
                                      dim_text(r.block), dim_text(r.grid), !r.safe ? ", unverified" : ", safe");
    }
    std::string out = paint(wrap(sentence + ".", style.width, 2), r.safe == std::optional(true) ? Mark::good : Mark::warning, style.color) + "\n";
    std::string_view label = "against";
    const auto row = [&](const std::string& text) {
        out += labelled(label, with_short_parameters(text, facts), style);
        label = "";
    };
    if (r.over_current) { row(gain_text(*r.over_current, "today's launch", r.block, result)); }
    if (r.over_heuristic) { row(gain_text(*r.over_heuristic, "the occupancy heuristic", r.block, result)); }
    if (!result.reblocking.reason.empty()) {
        label = result.reblocking.verdict;
        row(result.reblocking.reason);
    }
    std::size_t widest = 0;
    for (const Reason& reason : r.reasons) { widest = std::max(widest, display_width(printable(reason.what))); }
    label = "because";
    for (const Reason& reason : r.reasons) {
        const std::string what = printable(reason.what);
        const std::string number = delta_text(reason);
        const std::string gap(number.empty() ? 0 : std::min<std::size_t>(widest, 60) + 2 - std::min(display_width(what), std::min<std::size_t>(widest, 60)), ' ');
        row(what + gap + number);
    }
    for (const bool changes : {true, false}) {
        label = changes ? "changes if" : "holds for";
        for (const Sensitivity& s : r.sensitivity) {
            if (s.changes_answer != changes) { continue; }
            const std::string range = s.low.empty() && s.high.empty() ? "" : fmt::format(" {} to {}", s.low, s.high);
            row(s.name + range + ": " + s.effect);
        }
    }
    label = "mind";
    for (const std::string& caveat : r.caveats) {
        // What the verdict's own line says already is not said again.
        if (!result.reblocking.reason.empty() && caveat.ends_with(result.reblocking.reason)) { continue; }
        if (caveat.ends_with("is not calibrated for this board")) { continue; }  // the headline's last words
        row(caveat);
    }
    if (!r.confidence.empty()) {
        label = "confidence";
        row(r.confidence + (r.confidence_reason.empty() ? "" : ": " + r.confidence_reason));
    }
    return out;
}

/// What could change the answer stands first, a line each with its reason; the rest in one breath.
std::string assumptions_text(const KernelFacts& facts, const KernelResult& result, const TextStyle& style) {
    constexpr std::size_t kWidest = 40;
    struct Line { std::string what, reason; };
    std::vector<Line> first;
    std::string rest;
    std::size_t widest = 0;
    for (const Assumption& a : result.assumptions) {
        std::string what = with_short_parameters(fmt::format("{} = {}", a.name, a.value), facts);
        std::string reason = with_short_parameters(a.reason, facts);
        if (a.could_change) {
            if (style.full_detail) { reason += "; could change: " + with_short_parameters(*a.could_change, facts); }
            widest = std::min(kWidest, std::max(widest, display_width(what)));
            first.push_back({std::move(what), std::move(reason)});
        } else {
            rest += fmt::format("{}{}{}", rest.empty() ? "" : "; ", what, style.full_detail ? " (" + reason + ")" : "");
        }
    }
    std::string out;
    if (!first.empty()) { out += "Give these first: they are assumed, and could change the answer (--arg NAME=VALUE, --work, ...)\n"; }
    const std::size_t shown = style.full_detail ? first.size() : std::min(first.size(), kBriefLines);
    for (std::size_t i = 0; i < shown; ++i) {
        const std::string gap(widest + 2 - std::min(widest, display_width(first[i].what)), ' ');
        out += wrap("  " + first[i].what + gap + first[i].reason, style.width, widest + 4) + "\n";
    }
    if (shown < first.size()) { out += fmt::format("  {} more: --detail full\n", first.size() - shown); }
    if (!rest.empty()) { out += wrap(fmt::format("Assumed{}: {}.", first.empty() ? "" : " too", rest), style.width, 2) + "\n"; }
    return out;
}

std::string findings_text(const KernelResult& result, const TextStyle& style) {
    std::string out;
    std::size_t shown = 0;
    const std::size_t limit = style.findings || style.full_detail ? result.findings.size() : 3;
    std::size_t spoken = 0;
    std::set<std::string> helped;    // the same advice is given once
    for (std::size_t i = 0; i < result.findings.size() && shown < limit; ++i, ++shown) {
        const Finding& finding = result.findings[i];
        // An unrolled loop says the same of each copy: once is enough.
        std::size_t alike = 1;
        const auto same = [&](const Finding& f) { return f.rule == finding.rule && f.message == finding.message && f.cost_us == finding.cost_us; };
        while (i + 1 < result.findings.size() && same(result.findings[i + 1])) {
            ++alike;
            ++i;
        }
        spoken += alike;
        const std::string place = place_text(finding.source, finding.ptx_line);
        const std::string message = printable(finding.message);
        const bool placed = message.find(place) != std::string::npos || (!finding.source && finding.ptx_line == 0);
        std::string line = fmt::format("{} {}{}", finding.rule, placed ? "" : place + ": ", message);
        if (alike > 1) { line += fmt::format(" ({} times, each", alike); }
        const bool time = finding.cost_us.value_or(0) >= kLeastCostUs;
        if (time) { line += fmt::format("{} {}", alike > 1 ? "" : ", costs", time_text(*finding.cost_us, 2)); }
        if (finding.cost_mj.value_or(0) >= kLeastCostMj) { line += fmt::format("{} {}", time ? "," : alike > 1 ? "" : ", costs", energy_text(*finding.cost_mj, 2)); }
        if (alike > 1) { line += ")"; }
        const Mark mark = finding.severity == Severity::error ? Mark::bad : finding.severity == Severity::warning ? Mark::warning : Mark::dim;
        out += paint(wrap("  " + line, style.width, 8), mark, style.color) + "\n";
        if (!finding.help.empty() && helped.insert(finding.help).second) { out += wrap("        " + printable(finding.help), style.width, 8) + "\n"; }
    }
    if (!result.suppressed.empty()) { out += fmt::format("  {} ignored by comments in the source; the JSON report has {}\n", result.suppressed.size(), result.suppressed.size() == 1 ? "it" : "them"); }
    if (out.empty()) { return {}; }
    const std::size_t more = result.findings.size() - spoken;
    return fmt::format("Findings{}\n", more ? fmt::format(" ({} more: --findings)", more) : "") + out;
}

std::string result_text(const KernelAnalysis& kernel, const KernelResult& result, const Analysis& analysis, const TextStyle& style) {
    std::string out;
    // Paragraphs, apart by one empty line; what has nothing to say leaves none.
    const auto paragraph = [&](const std::string& text) {
        if (!text.empty()) { out += (out.empty() ? "" : "\n") + text; }
    };
    paragraph(header(kernel.facts, result, analysis, style));
    paragraph(headline(result, style));
    if (!result.configs.empty()) { paragraph(style.named_blocks ? named_table(result, style) : searched_table(result, style)); }
    paragraph(recommendation_text(kernel.facts, result, style));
    paragraph(accesses_text(kernel.facts, result, style));
    paragraph(loops_text(kernel.facts, result, style));
    std::string notes = assumptions_text(kernel.facts, result, style);
    for (const ConfigResult& config : result.configs) {
        if (config.predicted && !config.predicted->power && !config.predicted->power_unknown.empty()) {
            notes += wrap("Power and energy are unknown: " + printable(config.predicted->power_unknown) + ".", style.width, 2) + "\n";
            break;
        }
    }
    paragraph(notes);
    paragraph(findings_text(result, style));
    return out;
}

/// Several cases: what they say together stands for each of them; their own pages come with --detail full.
std::string all_cases_text(const KernelAnalysis& kernel, const Analysis& analysis, const TextStyle& style) {
    std::string out;
    const std::size_t cases = kernel.results.size() / kernel.across.size();
    for (std::size_t g = 0; g < kernel.across.size(); ++g) {
        const KernelResult& first = kernel.results[g * cases];
        out += (out.empty() ? "" : "\n") + header(kernel.facts, first, analysis, style, /*name_case=*/false) + "\n" + cases_text(kernel.across[g], style);
        for (std::size_t c = 0; c < cases; ++c) {
            const KernelResult& result = kernel.results[g * cases + c];
            if (!result.recommendation) { out += wrap(fmt::format("  {}: nothing is recommended: {}", printable(result.case_name), printable(result.no_recommendation)), style.width, 4) + "\n"; }
        }
        if (const std::string notes = assumptions_text(kernel.facts, first, style); !notes.empty()) { out += "\n" + notes; }
        if (!style.full_detail) { out += wrap("Each case in full: --detail full", style.width, 0) + "\n"; }
    }
    return out;
}

std::string kernels_text(const Analysis& analysis, const TextStyle& style) {
    if (analysis.kernels.size() > kOverviewAbove) { return report::overview_text(analysis, style); }
    std::string out;
    for (const KernelAnalysis& kernel : analysis.kernels) {
        if (!kernel.across.empty()) {
            out += (out.empty() ? "" : "\n") + all_cases_text(kernel, analysis, style);
            if (!style.full_detail) { continue; }
        }
        // Many boards: one line each, on one screen; a few: each with its reasons.
        if (kernel.results.size() > report::kBoardsInFull && !style.full_detail) {
            out += (out.empty() ? "" : "\n") + report::boards_text(kernel, style);
            continue;
        }
        for (const KernelResult& result : kernel.results) {
            const std::string text = result_text(kernel, result, analysis, style);
            out += (out.empty() ? "" : "\n" + std::string(style.width, '-') + "\n\n") + text;
        }
    }
    return out;
}

}  // namespace

std::string text_report(const Analysis& analysis, const TextStyle& style) {
    // Variants are one computation: their order is the answer, and their own pages come one by one.
    const std::string variants = report::variants_text(analysis, style);
    if (!variants.empty() && !style.full_detail) { return variants + "One of them in full: analyze it alone, or --detail full\n"; }
    const std::string kernels = variants + kernels_text(analysis, style);
    const std::string steps = report::steps_text(analysis, style);
    const std::string machine_code = report::machine_kernels_text(analysis.machine_kernels, style);
    return kernels + (kernels.empty() || steps.empty() ? "" : "\n") + steps + ((kernels + steps).empty() || machine_code.empty() ? "" : "\n") + machine_code;
}

}  // namespace flipflop
