// The text of `analyze`: one screen a kernel, worst news first (docs/text.md says what each line is).
#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "report/analysis_overview.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

constexpr std::size_t kBriefLines = 6;      ///< assumptions, accesses and findings shown without --detail full

/// The configuration that the headline speaks of: today's launch, else the recommended one, else the first that runs.
const ConfigResult* headline_config(const KernelResult& result) {
    const ConfigResult* best = nullptr;
    for (const ConfigResult& config : result.configs) {
        if (!config.launchable || !config.predicted) { continue; }
        if (config.is_current) { return &config; }
        if (best == nullptr || (config.recommended && !best->recommended)) { best = &config; }
    }
    return best;
}

std::string board_text(const KernelResult& result) {
    const GpuProfile& gpu = result.profile;
    std::string text = printable(gpu.name.empty() ? result.gpu : gpu.name);
    if (const auto sms = gpu.value("sm_count")) { text += fmt::format(" · {} SMs", gpu.sm_override ? *gpu.sm_override : static_cast<std::uint32_t>(*sms)); }
    if (const auto clock = gpu.value("boost_clock_mhz")) { text += fmt::format(" · {} MHz", significant(*clock, 4)); }
    if (const auto limit = gpu.value("tdp_w")) { text += fmt::format(" · {} W", significant(*limit, 4)); }
    return text;
}

std::string header(const KernelFacts& facts, const KernelResult& result, const Analysis& analysis, const TextStyle& style) {
    const std::string board = board_text(result);
    const std::size_t board_width = display_width(board);
    const std::size_t room = style.width > board_width + 22 ? style.width - board_width - 2 : 20;
    const std::string name = elide(kernel_name(facts), room);
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
    if (!result.case_name.empty()) { add("case " + printable(result.case_name)); }
    out += wrap(line, style.width, 2) + "\n";
    if (!result.gpu_note.empty()) { out += wrap(printable(result.gpu_note), style.width, 2) + "\n"; }
    if (!result.code.compatible) { out += paint("Cannot run there: " + printable(result.code.why_not), Mark::bad, style.color) + "\n"; }
    return out;
}

std::string headline(const KernelResult& result, const TextStyle& style) {
    const ConfigResult* const config = headline_config(result);
    if (config == nullptr) { return {}; }
    const TimeEstimate& time = config->predicted->time;
    std::string sentence = fmt::format("Bound by {}", bound_words(time.bound_by));
    const auto costly = std::find_if(result.findings.begin(), result.findings.end(), [](const Finding& f) { return f.cost_us.value_or(0) > 0; });
    sentence += costly != result.findings.end() ? ": " + printable(costly->message) : "";
    if (!sentence.ends_with('.')) { sentence += '.'; }
    std::string out = paint(wrap(sentence, style.width, 0), Mark::strong, style.color) + "\n";
    std::string prediction = fmt::format("Predicted {} \u00b5s at {}{}; this launch cannot take less than {}",
        with_interval(time.total.value, time.interval.low, time.interval.high), dim_text(config->block),
        config->is_current ? " (today's launch)" : config->recommended ? " (recommended)" : "", time_text(time.floor.value));
    if (time.traffic.dram_bytes) { prediction += fmt::format(" ({} through DRAM)", bytes_text(*time.traffic.dram_bytes)); }
    prediction += time.calibrated ? "." : ". The model is not calibrated for this board.";
    return out + wrap(prediction, style.width, 0) + "\n";
}

std::string safe_word(const ConfigResult& config) { return !config.safe ? "unverified" : *config.safe ? "safe" : "unsafe"; }

/// Which columns a table of configurations needs.
struct Columns {
    TimeUnit unit;
    bool power{}, point{}, safe{}, dynamic_shared{};
};

Columns columns_for(const std::vector<const ConfigResult*>& rows) {
    Columns columns;
    double largest = 0;
    std::set<std::string> safe_words;
    for (const ConfigResult* config : rows) {
        if (config->predicted) {
            largest = std::max(largest, config->predicted->time.total.value);
            columns.power = columns.power || config->predicted->power.has_value();
        }
        columns.point = columns.point || config->clock_mhz || config->power_limit_w;
        columns.dynamic_shared = columns.dynamic_shared || config->dynamic_shared_bytes > 0;
        if (config->launchable) { safe_words.insert(safe_word(*config)); }
    }
    columns.unit = time_unit_for(largest);
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
    table.column(fmt::format("time {}", columns.unit.name));
    table.column(columns.power ? "power W" : "");
    table.column(columns.power ? "energy mJ" : "");
    table.column("occupancy", Align::right);
    table.column(columns.dynamic_shared ? "dynamic" : "", Align::right);
    table.column(columns.safe ? "same result" : "");
    table.column("bound by");
    return table;
}

void add_config(Table& table, const Columns& columns, const ConfigResult& config, const std::string& label) {
    std::vector<std::string> cells{label, config.recommended ? "*" : "", dim_text(config.block), dim_text(config.grid)};
    std::string point;
    if (config.clock_mhz) { point = fmt::format("{} MHz", significant(*config.clock_mhz, 4)); }
    if (config.power_limit_w) { point += fmt::format("{}{} W", point.empty() ? "" : ", ", significant(*config.power_limit_w, 4)); }
    cells.push_back(point);
    if (!config.predicted) {
        cells.push_back(printable(config.launchable ? "not predicted" : "cannot launch: " + config.why_not));
        table.row(std::move(cells), Mark::dim);
        return;
    }
    const TimeEstimate& time = config.predicted->time;
    const double scale = columns.unit.per_us;
    cells.push_back(with_interval(time.total.value * scale, time.interval.low * scale, time.interval.high * scale));
    const auto& power = config.predicted->power;
    cells.push_back(!columns.power ? "" : power ? with_interval(power->power.value, power->power_interval.low, power->power_interval.high) : "unknown");
    cells.push_back(!columns.power ? "" : power ? with_interval(power->energy.value, power->energy_interval.low, power->energy_interval.high) : "unknown");
    cells.push_back(percent(config.occupancy.fraction));
    cells.push_back(columns.dynamic_shared ? bytes_text(static_cast<double>(config.dynamic_shared_bytes)) : "");
    cells.push_back(columns.safe ? safe_word(config) : "");
    cells.push_back(printable(time.bound_by));
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
    const Columns columns = columns_for(rows);
    Table table = config_table(columns);
    for (const ConfigResult* config : rows) { add_config(table, columns, *config, label_of(*config)); }
    return "The blocks asked for, in that order\n" + table.text(2, style.color);
}

std::string rejected_text(const SearchSpace& space) {
    std::string text;
    for (const auto& [reason, count] : space.rejected_by) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, printable(reason));
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
    const Columns columns = columns_for(all);
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
    if (space.candidates > space.launchable && (style.all || space.launchable == 0)) {
        out += wrap(fmt::format("Cannot launch: {} of {} candidates ({})", space.candidates - space.launchable, space.candidates, rejected_text(space)), style.width, 2) + "\n";
    }
    return out;
}

std::string gain_text(const Gain& gain, std::string_view who, const Dim3& recommended) {
    if (gain.block == recommended) { return fmt::format("the same block as {}", who); }
    std::string text = change_text(gain.time_ratio, gain.time_ratio_low, gain.time_ratio_high, "less time", "more time");
    if (gain.time_ratio_low < 1 && gain.time_ratio_high > 1) { text += " in time"; }
    if (gain.energy_ratio && gain.energy_ratio_low && gain.energy_ratio_high) {
        text += " and " + change_text(*gain.energy_ratio, *gain.energy_ratio_low, *gain.energy_ratio_high, "less energy", "more energy");
        if (*gain.energy_ratio_low < 1 && *gain.energy_ratio_high > 1) { text += " in energy"; }
    }
    return fmt::format("{} than {} ({})", text, dim_text(gain.block), who);
}

std::string delta_text(const Reason& reason) {
    const auto signed_text = [](double value, std::string_view unit) {
        return fmt::format("{} {} {}", value < 0 ? "-" : "+", significant(std::abs(value), 2), unit);
    };
    std::string text = reason.delta_us ? signed_text(*reason.delta_us, "\u00b5s") : "";
    if (reason.delta_mj) { text += (text.empty() ? "" : ", ") + signed_text(*reason.delta_mj, "mJ"); }
    return text;
}

/// "  because    text", wrapped under the text.
std::string labelled(std::string_view label, const std::string& text, const TextStyle& style) {
    return wrap(fmt::format("  {:<10} {}", label, printable(text)), style.width, 13) + "\n";
}

std::string recommendation_text(const KernelResult& result, const TextStyle& style) {
    if (!result.recommendation) {
        return result.no_recommendation.empty() ? "" : wrap("Nothing is recommended: " + printable(result.no_recommendation), style.width, 2) + "\n";
    }
    const Recommendation& r = *result.recommendation;
    std::string sentence = fmt::format("Recommended for {}: {} (grid {})", r.objective, dim_text(r.block), dim_text(r.grid));
    if (r.clock_mhz) { sentence += fmt::format(" at {} MHz", significant(*r.clock_mhz, 4)); }
    if (r.power_limit_w) { sentence += fmt::format(" under {} W", significant(*r.power_limit_w, 4)); }
    if (r.safe != std::optional(true)) { sentence += r.safe ? ", UNSAFE" : ", unverified"; }
    if (r.over_current) { sentence += " - " + gain_text(*r.over_current, "today's launch", r.block); }
    if (r.over_heuristic) { sentence += (r.over_current ? "; " : " - ") + gain_text(*r.over_heuristic, "the occupancy heuristic", r.block); }
    std::string out = paint(wrap(sentence + ".", style.width, 2), r.safe == std::optional(true) ? Mark::good : Mark::warning, style.color) + "\n";

    if (!result.reblocking.verdict.empty()) { out += labelled(result.reblocking.verdict, result.reblocking.reason, style); }
    std::size_t widest = 0;
    for (const Reason& reason : r.reasons) { widest = std::max(widest, display_width(printable(reason.what))); }
    std::string_view label = "because";
    for (const Reason& reason : r.reasons) {
        const std::string what = printable(reason.what);
        const std::string number = delta_text(reason);
        const std::string gap(number.empty() ? 0 : std::min<std::size_t>(widest, 60) + 2 - std::min(display_width(what), std::min<std::size_t>(widest, 60)), ' ');
        out += labelled(label, what + gap + number, style);
        label = "";
    }
    label = "changes if";
    for (const Sensitivity& s : r.sensitivity) {
        const std::string range = s.low.empty() && s.high.empty() ? "" : fmt::format(" ({} to {})", s.low, s.high);
        out += labelled(label, s.name + range + ": " + s.effect, style);
        label = "";
    }
    label = "mind";
    for (const std::string& caveat : r.caveats) {
        out += labelled(label, caveat, style);
        label = "";
    }
    if (!r.confidence.empty()) {
        out += labelled("confidence", r.confidence + (r.confidence_reason.empty() ? "" : ": " + r.confidence_reason), style);
    }
    return out;
}

/// What each memory instruction does in the configuration that the headline speaks of, costliest first.
std::string accesses_text(const KernelFacts& facts, const KernelResult& result, const TextStyle& style) {
    const ConfigResult* const config = headline_config(result);
    if (config == nullptr || !config->facts || facts.accesses.empty()) { return {}; }
    const std::vector<AccessFacts>& dynamic = config->facts->accesses;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < std::min(dynamic.size(), facts.accesses.size()); ++i) { order.push_back(i); }
    const auto weight = [&](std::size_t i) {
        const AccessFacts& a = dynamic[i];
        return a.requests.value_or(a.requests_assumed.value_or(0)) *
               std::max({a.sectors_per_request.value_or(0), a.wavefronts_per_request.value_or(0), 1.0});
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
    const std::size_t shown = style.full_detail ? order.size() : std::min(order.size(), kBriefLines);
    Table table;
    using Align = Table::Align;
    for (const auto& [title, align] : std::initializer_list<std::pair<const char*, Align>>{
             {"memory at", Align::left}, {"op", Align::left}, {"bytes/lane", Align::right}, {"requests", Align::right}, {"lanes", Align::right},
             {"sectors", Align::right}, {"ideal", Align::right}, {"wavefronts", Align::right}, {"pattern", Align::left}, {"", Align::left}}) {
        table.column(title, align);
    }
    const auto or_unknown = [](const std::optional<double>& number) { return number ? significant(*number) : std::string("?"); };
    for (std::size_t k = 0; k < shown; ++k) {
        const AccessDescription& what = facts.accesses[order[k]];
        const AccessFacts& a = dynamic[order[k]];
        const bool banked = what.space == MemorySpace::shared;
        const bool sectored = what.space == MemorySpace::global || what.space == MemorySpace::local || what.space == MemorySpace::generic;
        std::string pattern(to_string(a.pattern));
        if (a.stride_bytes && a.pattern == Pattern::strided) { pattern += fmt::format(" {} B", *a.stride_bytes); }
        const bool bad = (a.sectors_per_request && a.ideal_sectors_per_request && *a.sectors_per_request >= 2 * *a.ideal_sectors_per_request) ||
                         a.wavefronts_per_request.value_or(1) >= 2;
        table.row({place_text(what.source, what.ptx_line), fmt::format("{}.{}", printable(what.op), to_string(what.space)),
                   std::to_string(what.bytes_per_lane),
                   a.requests ? count_text(*a.requests) : a.requests_assumed ? "~" + count_text(*a.requests_assumed) : "?",
                   significant(a.active_lanes), sectored ? or_unknown(a.sectors_per_request) : "",
                   sectored ? or_unknown(a.ideal_sectors_per_request) : "", banked ? or_unknown(a.wavefronts_per_request) : "", pattern,
                   a.basis == CountBasis::exact ? "" : std::string(to_string(a.basis)) + (a.why.empty() || !style.full_detail ? "" : ": " + printable(a.why))},
                  bad ? Mark::warning : Mark::plain);
    }
    std::string out = fmt::format("Memory at {}, costliest first{}\n", dim_text(config->block),
                                  shown < order.size() ? fmt::format(" ({} of {}: --detail full)", shown, order.size()) : "");
    return out + table.text(2, style.color);
}

std::string loops_text(const KernelFacts& facts, const KernelResult& result, const TextStyle& style) {
    const ConfigResult* const config = headline_config(result);
    if (config == nullptr || !config->facts || facts.loops.empty() || !style.full_detail) { return {}; }
    Table table;
    table.column("loop at");
    table.column("id");
    table.column("depth", Table::Align::right);
    table.column("trips", Table::Align::right);
    table.column("range");
    table.column("basis");
    const std::vector<LoopFacts>& dynamic = config->facts->loops;
    for (std::size_t i = 0; i < std::min(dynamic.size(), facts.loops.size()); ++i) {
        const LoopDescription& what = facts.loops[i];
        const LoopFacts& loop = dynamic[i];
        table.row({place_text(what.source, what.ptx_line), printable(what.id), std::to_string(what.depth),
                   loop.trip_mean ? significant(*loop.trip_mean) : "?",
                   loop.trip_min && loop.trip_max ? fmt::format("{}-{}", significant(*loop.trip_min), significant(*loop.trip_max)) : "",
                   std::string(to_string(loop.basis)) + (loop.why.empty() ? "" : ": " + printable(loop.why))});
    }
    return fmt::format("Loops at {}\n", dim_text(config->block)) + table.text(2, style.color);
}

std::string assumptions_text(const KernelResult& result, const TextStyle& style) {
    if (result.assumptions.empty()) { return {}; }
    std::string first;
    std::string assumed;
    std::size_t shown = 0;
    for (const Assumption& assumption : result.assumptions) {
        if (assumption.could_change) {
            first += fmt::format("{}{} ({})", first.empty() ? "" : "; ", assumption.name, *assumption.could_change);
        }
        if (!style.full_detail && shown >= kBriefLines) { continue; }
        ++shown;
        assumed += fmt::format("{}{} = {} ({})", assumed.empty() ? "" : "; ", assumption.name, assumption.value, assumption.reason);
    }
    if (shown < result.assumptions.size()) { assumed += fmt::format("; {} more: --detail full", result.assumptions.size() - shown); }
    std::string out = wrap("Assumed: " + printable(assumed) + ".", style.width, 2) + "\n";
    if (!first.empty()) { out += wrap("Give these first: " + printable(first) + ".", style.width, 2) + "\n"; }
    return out;
}

std::string findings_text(const KernelResult& result, const TextStyle& style) {
    std::string out;
    std::size_t shown = 0;
    const std::size_t limit = style.findings || style.full_detail ? result.findings.size() : 3;
    for (const Finding& finding : result.findings) {
        if (shown == limit) { break; }
        ++shown;
        std::string line = fmt::format("{} {}: {}", finding.rule, place_text(finding.source, finding.ptx_line), printable(finding.message));
        if (finding.cost_us) { line += fmt::format(", costs {}", time_text(*finding.cost_us)); }
        if (finding.cost_mj) { line += fmt::format(", {} mJ", significant(*finding.cost_mj, 2)); }
        if (!finding.help.empty()) { line += ". " + printable(finding.help); }
        const Mark mark = finding.severity == Severity::error ? Mark::bad : finding.severity == Severity::warning ? Mark::warning : Mark::dim;
        out += paint(wrap("  " + line, style.width, 8), mark, style.color) + "\n";
    }
    if (out.empty()) { return {}; }
    const std::size_t more = result.findings.size() - shown;
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
    paragraph(recommendation_text(result, style));
    paragraph(accesses_text(kernel.facts, result, style));
    paragraph(loops_text(kernel.facts, result, style));
    std::string notes = assumptions_text(result, style);
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

}  // namespace

std::string text_report(const Analysis& analysis, const TextStyle& style) {
    if (analysis.kernels.size() > kOverviewAbove) { return report::overview_text(analysis, style); }
    std::string out;
    for (const KernelAnalysis& kernel : analysis.kernels) {
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

}  // namespace flipflop
