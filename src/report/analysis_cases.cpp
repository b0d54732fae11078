#include "report/analysis_cases.hpp"

#include <fmt/core.h>

#include "report/markdown_text.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

using Align = Table::Align;

std::string cost_text(const AcrossCases& across, double cost) {
    if (across.unit == "us") { return time_text(cost); }
    if (across.unit == "mJ") { return energy_text(cost); }
    return significant(cost) + " " + across.unit;
}

template <class Launch>
std::string launch_text(const Launch& launch) {
    std::string text = dim_text(launch.block);
    if (launch.clock_mhz) { text += fmt::format(" at {} MHz", significant(*launch.clock_mhz, 4)); }
    if (launch.power_limit_w) { text += fmt::format(" under {} W", significant(*launch.power_limit_w, 4)); }
    return text;
}

std::string_view safe_word(const std::optional<bool>& safe) { return !safe ? "unverified" : *safe ? "safe" : "unsafe"; }

std::string regret_text(double regret) { return regret < 0.0005 ? "best" : fmt::format("+{}", percent(regret)); }

/// Both criteria name the same launch more often than not.
bool one_answer(const AcrossCases& across) {
    return across.least_worst_regret && across.least_weighted_cost && across.least_worst_regret->block == across.least_weighted_cost->block &&
           across.least_worst_regret->clock_mhz == across.least_weighted_cost->clock_mhz && across.least_worst_regret->power_limit_w == across.least_weighted_cost->power_limit_w;
}

std::string answer_text(const CommonLaunch& launch, const AcrossCases& across) {
    return fmt::format("{}, {}: {} on average, at worst {} over the best ({})", launch_text(launch), safe_word(launch.safe), cost_text(across, launch.weighted_cost),
                       percent(launch.worst_regret), launch.worst_case);
}

std::vector<std::string> answers(const AcrossCases& across) {
    std::vector<std::string> lines;
    if (!across.none_because.empty()) { lines.push_back("No launch for all cases: " + across.none_because); }
    if (one_answer(across)) {
        lines.push_back("One launch for all (least worst regret, least cost): " + answer_text(*across.least_worst_regret, across));
    } else {
        if (across.least_worst_regret) { lines.push_back("One launch for all, least worst regret: " + answer_text(*across.least_worst_regret, across)); }
        if (across.least_weighted_cost) { lines.push_back("One launch for all, least cost: " + answer_text(*across.least_weighted_cost, across)); }
    }
    if (across.second_launch) {
        const AcrossCases::Second& s = *across.second_launch;
        lines.push_back(s.pays ? fmt::format("A second launch saves {} of the cost ({} and {})", percent(1 - s.cost_ratio), dim_text(s.first), dim_text(s.second))
                               : fmt::format("A second launch would save {} of the cost ({} and {}): not worth a branch", percent(1 - s.cost_ratio), dim_text(s.first), dim_text(s.second)));
    }
    return lines;
}

/// "n up to 4096 (crossing at 5793)", or the cases' names.
std::string range_text(const DispatchRow& row, const AcrossCases& across, bool first, bool last, std::optional<double> begin) {
    if (!row.from || !row.to) {
        std::string names;
        for (const std::string& name : row.cases) { names += (names.empty() ? "" : ", ") + name; }
        return names;
    }
    const std::string low = significant(begin.value_or(*row.from), 6), high = significant(row.crossing.value_or(*row.to), 6);
    if (first && last) { return across.swept + " any"; }
    if (first) { return fmt::format("{} < {}", across.swept, high); }
    if (last) { return fmt::format("{} >= {}", across.swept, low); }
    return fmt::format("{} <= {} < {}", low, across.swept, high);
}

struct Rule { std::string when, launch, safe; };

std::vector<Rule> dispatch_rules(const AcrossCases& across) {
    std::vector<Rule> rules;
    std::optional<double> begin;
    for (std::size_t i = 0; i < across.dispatch.size(); ++i) {
        const DispatchRow& row = across.dispatch[i];
        rules.push_back({range_text(row, across, i == 0, i + 1 == across.dispatch.size(), begin), launch_text(row), std::string(safe_word(row.safe))});
        begin = row.crossing;
    }
    return rules;
}

bool weighted(const AcrossCases& across) {
    for (const CaseLine& line : across.cases) {
        if (line.weight != across.cases.front().weight) { return true; }
    }
    return false;
}

std::vector<std::string> case_cells(const AcrossCases& across, std::size_t i) {
    const CaseLine& line = across.cases[i];
    std::vector<std::string> cells{line.name, weighted(across) ? significant(line.weight) : "", dim_text(line.best_block), dim_text(line.best_grid), cost_text(across, line.best_cost),
                                   std::string(safe_word(line.safe))};
    cells.push_back(across.least_worst_regret ? regret_text(across.least_worst_regret->regrets[i]) : "");
    cells.push_back(!one_answer(across) && across.least_weighted_cost ? regret_text(across.least_weighted_cost->regrets[i]) : "");
    return cells;
}

std::vector<std::string> case_headers(const AcrossCases& across) {
    return {"case", weighted(across) ? "weight" : "", "block", "grid", across.objective == "time" ? "time" : across.objective == "edp" ? "energy x time" : "energy", "same result",
            across.least_worst_regret ? "with " + launch_text(*across.least_worst_regret) : "",
            !one_answer(across) && across.least_weighted_cost ? "with " + launch_text(*across.least_weighted_cost) : ""};
}

std::string kernel_label(const Analysis& analysis, std::size_t kernel, std::size_t width) { return brief_name(analysis.kernels[kernel].facts, width); }

std::string step_title(const StepSummary& step, const Analysis& analysis) {
    std::string out = fmt::format("A step on {}: {} kernel{}, {}", printable(step.gpu), step.lines.size(), step.lines.size() == 1 ? "" : "s", time_text(step.time_us));
    if (step.energy_mj) { out += ", " + energy_text(*step.energy_mj); }
    if (!step.lines.empty()) {
        const StepLine& first = step.lines.front();
        out += fmt::format("; {} dominates with {} of the time", kernel_label(analysis, first.kernel, 48), percent(first.time_share));
        if (first.energy_share) { out += fmt::format(" and {} of the energy", percent(*first.energy_share)); }
    }
    return out + ".";
}

std::string step_gain(const StepSummary& step) {
    if (!step.recommended_time_us || *step.recommended_time_us >= 0.999 * step.time_us) { return {}; }
    std::string out = fmt::format("With the recommended launches: {} ({} less)", time_text(*step.recommended_time_us), percent(1 - *step.recommended_time_us / step.time_us));
    if (step.recommended_energy_mj) { out += ", " + energy_text(*step.recommended_energy_mj); }
    return out + ".";
}

std::string left_out(const StepSummary& step, const Analysis& analysis) {
    std::string out;
    const auto list = [&](const std::vector<std::size_t>& kernels, std::string_view why) {
        if (kernels.empty()) { return; }
        std::string names;
        for (std::size_t i = 0; i < kernels.size() && i < 4; ++i) { names += (i ? ", " : "") + kernel_label(analysis, kernels[i], 32); }
        if (kernels.size() > 4) { names += fmt::format(" and {} more", kernels.size() - 4); }
        out += fmt::format("{}{}: {}.", out.empty() ? "" : " ", why, names);
    };
    list(step.uncounted, "Without calls, so not in the step");
    list(step.unpredicted, "Not predicted, so not in the step");
    return out;
}

std::vector<std::string> step_cells(const StepLine& line, const Analysis& analysis, std::size_t width) {
    return {kernel_label(analysis, line.kernel, width), "#" + printable(analysis.kernels[line.kernel].facts.id), significant(line.calls, 6), dim_text(line.block), line.launch,
            time_text(line.time_us), percent(line.time_share), line.energy_mj ? energy_text(*line.energy_mj) : "unknown", line.energy_share ? percent(*line.energy_share) : "",
            line.recommended_time_us ? time_text(*line.recommended_time_us) : "-"};
}

constexpr std::string_view kStepHeaders[]{"kernel", "id", "calls", "block", "launch", "time", "share", "energy", "share", "recommended"};

}  // namespace

std::string cases_text(const AcrossCases& across, const TextStyle& style) {
    Table table;
    const std::vector<std::string> headers = case_headers(across);
    for (std::size_t i = 0; i < headers.size(); ++i) { table.column(headers[i], i == 1 || i >= 6 ? Align::right : Align::left); }
    for (std::size_t i = 0; i < across.cases.size(); ++i) {
        std::vector<std::string> cells = case_cells(across, i);
        cells[0] = elide(printable(cells[0]), 32);
        table.row(std::move(cells));
    }
    std::string out = fmt::format("{} cases, each with its own best launch\n", across.cases.size()) + table.text(2, style.color);
    for (const std::string& line : answers(across)) { out += paint(wrap(printable(line) + ".", style.width, 2), Mark::strong, style.color) + "\n"; }
    if (across.dispatch.empty()) { return out; }
    Table dispatch;
    for (const char* header : {"when", "block", "same result"}) { dispatch.column(header); }
    for (const Rule& rule : dispatch_rules(across)) { dispatch.row({elide(printable(rule.when), 60), rule.launch, rule.safe}); }
    return out + "Dispatch\n" + dispatch.text(2, style.color);
}

std::string cases_markdown(const AcrossCases& across) {
    std::string out, ruler;
    const std::vector<std::string> headers = case_headers(across);
    for (const std::string& header : headers) {
        if (header.empty()) { continue; }
        out += "| " + plain(header) + " ";
        ruler += "|---";
    }
    out += "|\n" + ruler + "|\n";
    for (std::size_t i = 0; i < across.cases.size(); ++i) {
        const std::vector<std::string> cells = case_cells(across, i);
        for (std::size_t c = 0; c < cells.size(); ++c) {
            if (!headers[c].empty()) { out += "| " + plain(cells[c]) + " "; }
        }
        out += "|\n";
    }
    out += "\n";
    for (const std::string& line : answers(across)) { out += "- " + plain(line) + "\n"; }
    if (!across.dispatch.empty()) {
        out += "\n| when | block | same result |\n|---|---|---|\n";
        for (const Rule& rule : dispatch_rules(across)) { out += fmt::format("| {} | {} | {} |\n", plain(rule.when), plain(rule.launch), plain(rule.safe)); }
    }
    return out + "\n";
}

std::string steps_text(const Analysis& analysis, const TextStyle& style) {
    std::string out;
    for (const StepSummary& step : analysis.steps) {
        Table table;
        for (std::size_t i = 0; i < std::size(kStepHeaders); ++i) { table.column(std::string(kStepHeaders[i]), i == 2 || i >= 5 ? Align::right : Align::left); }
        for (const StepLine& line : step.lines) { table.row(step_cells(line, analysis, 36)); }
        out += (out.empty() ? "" : "\n") + paint(wrap(step_title(step, analysis), style.width, 0), Mark::strong, style.color) + "\n" + table.text(2, style.color);
        for (const std::string& line : {step_gain(step), left_out(step, analysis)}) {
            if (!line.empty()) { out += wrap("  " + line, style.width, 2) + "\n"; }
        }
    }
    return out;
}

std::string steps_markdown(const Analysis& analysis) {
    std::string out;
    for (const StepSummary& step : analysis.steps) {
        out += "## " + plain("A step on " + step.gpu) + "\n\n" + plain(step_title(step, analysis)) + "\n\n";
        std::string ruler;
        for (const std::string_view header : kStepHeaders) {
            out += fmt::format("| {} ", header);
            ruler += "|---";
        }
        out += "|\n" + ruler + "|\n";
        for (const StepLine& line : step.lines) {
            for (const std::string& cell : step_cells(line, analysis, 60)) { out += "| " + plain(cell) + " "; }
            out += "|\n";
        }
        for (const std::string& line : {step_gain(step), left_out(step, analysis)}) {
            if (!line.empty()) { out += "\n" + plain(line) + "\n"; }
        }
        out += "\n";
    }
    return out;
}

}  // namespace flipflop::report
