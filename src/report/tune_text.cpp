// tune as text: what was looked at, the best configurations, the recommendation and what the parameters are worth.
#include <algorithm>

#include <fmt/format.h>

#include "flipflop/tune_report.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;
using Align = Table::Align;

std::string optional_number(const std::optional<double>& value, double scale) { return value ? significant(*value * scale) : "-"; }

std::string safe_word(const TuneRow& row) { return row.reference ? "reference" : !row.safe ? "-" : *row.safe ? "yes" : "NO"; }

/// Parameters that differ among the rows: the others are said once.
std::vector<std::size_t> varying(const TuneReport& report, const std::vector<TuneRow>& rows) {
    std::vector<std::size_t> out;
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        const bool differs = std::any_of(rows.begin(), rows.end(), [&](const TuneRow& r) { return choice_of(report, r.configuration, p) != choice_of(report, rows.front().configuration, p); });
        if (differs) { out.push_back(p); }
    }
    return out;
}

std::string fixed_words(const TuneReport& report, const std::vector<TuneRow>& rows, const std::vector<std::size_t>& columns) {
    std::string words;
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        if (std::find(columns.begin(), columns.end(), p) != columns.end()) { continue; }
        words += fmt::format("{}{}={}", words.empty() ? "" : ", ", printable(report.parameters[p].name), printable(value_of(report, rows.front().configuration, p)));
    }
    return words;
}

std::string space_words(const TuneReport& report) {
    std::string words;
    if (report.space_size) { words = fmt::format("{} configurations", grouped(*report.space_size)); }
    else if (report.space_product > 0) { words = fmt::format("{:.3g} combinations before conditions", report.space_product); }
    if (report.sampled) { words += fmt::format(", {} of them taken at random (seed {})", grouped(*report.sampled), report.seed); }
    if (words.empty()) { words = fmt::format("{} configurations, as named", grouped(report.considered)); }
    return words;
}

std::string tools_words(const TuneReport& report) {
    std::string words;
    for (const auto& [tool, version] : report.used) {
        if (version) { words += fmt::format("{}{} {}", words.empty() ? "" : ", ", tool, printable(*version)); }
    }
    return words.empty() ? "none" : words;
}

void add_row(Table& table, const TuneReport& report, const TuneRow& row, const std::vector<std::size_t>& columns, const Unit& time, const Unit& energy, const TextStyle& style) {
    std::vector<std::string> cells{row.rank ? std::to_string(*row.rank) : "-", row.kept ? (row.pareto ? "* " : "+ ") : ""};
    for (const std::size_t p : columns) { cells.push_back(elide(printable(value_of(report, row.configuration, p)), 16)); }
    cells.push_back(row.has_block ? dim_text(row.block) : "-");
    cells.push_back(row.has_grid ? dim_text(row.grid) : "-");
    cells.push_back(row.registers ? std::to_string(*row.registers) : "-");
    cells.push_back(row.occupancy ? percent(*row.occupancy) : "-");
    cells.push_back(optional_number(row.time_us, 1 / time.scale));
    cells.push_back(optional_number(row.power_w, 1));
    cells.push_back(optional_number(row.energy_mj, 1 / energy.scale));
    cells.push_back(row.bound_by.empty() ? "-" : bound_cell(row.bound_by));
    cells.push_back(safe_word(row));
    if (!row.error.empty()) { cells.push_back(elide(printable(row.error), style.width > 60 ? style.width - 20 : 40)); }
    table.row(std::move(cells), row.recommended ? Mark::strong : row.safe == std::optional(false) ? Mark::bad : Mark::plain);
}

std::string table_of(const TuneReport& report, const TuneResult& result, const TextStyle& style) {
    const std::vector<std::size_t> columns = varying(report, result.rows);
    double longest = 0, most = 0;
    std::vector<const TuneRow*> shown;
    for (const TuneRow& row : result.rows) {
        const bool wanted = style.all || shown.size() < style.top || row.kept || row.reference;
        if (!wanted || (!row.rank && !style.all && !row.reference)) { continue; }
        shown.push_back(&row);
        longest = std::max(longest, row.time_us.value_or(0));
        most = std::max(most, row.energy_mj.value_or(0));
    }
    if (shown.empty()) { return {}; }
    const Unit time = time_unit_for(longest), energy = energy_unit_for(most);
    Table table;
    table.column("rank", Align::right);
    table.column("");
    for (const std::size_t p : columns) { table.column(printable(report.parameters[p].name), Align::right); }
    for (const char* name : {"block", "grid"}) { table.column(name, Align::right); }
    table.column("regs", Align::right);
    table.column("occ", Align::right);
    table.column(fmt::format("time {}", time.name), Align::right);
    table.column("W", Align::right);
    table.column(std::string(energy.name), Align::right);
    table.column("bound by");
    table.column("safe");
    const bool errors = std::any_of(shown.begin(), shown.end(), [](const TuneRow* r) { return !r->error.empty(); });
    if (errors) { table.column("error"); }
    for (const TuneRow* row : shown) { add_row(table, report, *row, columns, time, energy, style); }
    std::string out;
    if (const std::string fixed = fixed_words(report, result.rows, columns); !fixed.empty()) { out += wrap("  everywhere: " + fixed, style.width, 4) + "\n"; }
    return out + table.text(2, style.color);
}

std::string errors_of(const TuneResult& result, const TextStyle& style) {
    std::map<std::string, std::uint64_t> by_message;
    for (const TuneRow& row : result.rows) {
        if (!row.error.empty()) { ++by_message[row.error_stage + ": " + row.error]; }
    }
    std::vector<std::pair<std::uint64_t, std::string>> sorted;
    for (const auto& [message, count] : by_message) { sorted.emplace_back(count, message); }
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string out;
    for (std::size_t i = 0; i < sorted.size() && i < 4; ++i) {
        out += wrap(fmt::format("  {} without an answer: {}", sorted[i].first, printable(sorted[i].second)), style.width, 4) + "\n";
    }
    if (sorted.size() > 4) { out += fmt::format("  ... and {} more kinds of errors (--all, or --format csv)\n", sorted.size() - 4); }
    return out;
}

std::string recommendation_of(const TuneReport& report, const TuneResult& result, const TextStyle& style) {
    if (!result.recommended) { return wrap("Nothing is recommended: " + printable(result.no_recommendation), style.width, 2) + "\n"; }
    const TuneRow& best = result.rows[*result.recommended];
    std::string values;
    for (const std::size_t p : varying(report, result.rows)) {
        values += fmt::format("{}{}={}", values.empty() ? "" : " ", printable(report.parameters[p].name), printable(value_of(report, best.configuration, p)));
    }
    std::string line = fmt::format("Recommended for {}: {}", report.objective, values.empty() ? "the only configuration" : values);
    line += fmt::format(": {}", time_with_interval(*best.time_us, {*best.time_low_us, *best.time_high_us}));
    if (best.energy_mj) { line += ", " + energy_with_interval(*best.energy_mj, {*best.energy_low_mj, *best.energy_high_mj}); }
    std::string out = paint(wrap(line + fmt::format("  (confidence {})", result.confidence), style.width, 2), Mark::strong, style.color) + "\n";
    for (const std::string& reason : result.reasons) { out += wrap("  - " + printable(reason), style.width, 4) + "\n"; }
    for (const std::string& caveat : result.caveats) { out += wrap("  ! " + printable(caveat), style.width, 4) + "\n"; }
    return out;
}

std::string list_text(const TuneReport& report, const TextStyle& style) {
    std::string out = fmt::format("{}: {}\n", printable(report.spec), space_words(report));
    Table table;
    for (const TuneParameter& p : report.parameters) { table.column(printable(p.name), Align::right); }
    for (const char* name : {"block", "grid"}) { table.column(name, Align::right); }
    std::size_t shown = 0;
    for (const TuneListing& row : report.listed) {
        if (!style.all && shown++ == style.top) { break; }
        std::vector<std::string> cells;
        for (std::size_t p = 0; p < report.parameters.size(); ++p) { cells.push_back(printable(value_of(report, row.configuration, p))); }
        cells.push_back(row.has_block ? dim_text(row.block) : "-");
        cells.push_back(row.has_grid ? dim_text(row.grid) : "-");
        table.row(std::move(cells));
    }
    out += table.text(2, style.color);
    if (!style.all && report.listed.size() > style.top) { out += fmt::format("  ... and {} more (--all, or --format csv)\n", grouped(report.listed.size() - style.top)); }
    return out;
}

}  // namespace

std::string text_report(const TuneReport& report, const TextStyle& style) {
    if (!report.listed.empty()) { return list_text(report, style); }
    std::string out;
    const std::string name = report.kernel_demangled.empty() ? report.kernel : report.kernel_demangled;
    out += wrap(fmt::format("{} of {}: {}; used {}", printable(name.empty() ? "kernel" : name), printable(report.spec), space_words(report), tools_words(report)), style.width, 2) + "\n";
    for (const TuneResult& result : report.results) {
        out += "\n" + paint(fmt::format("{} ({})", printable(result.gpu), result.architecture), Mark::strong, style.color);
        out += fmt::format(": {} compiled, {} do not compile, {} can be launched, {} kept\n", grouped(result.compiled), grouped(result.failed), grouped(result.launchable), grouped(result.kept));
        if (!result.gpu_note.empty()) { out += wrap("  " + printable(result.gpu_note), style.width, 4) + "\n"; }
        out += table_of(report, result, style);
        out += errors_of(result, style);
        out += recommendation_of(report, result, style);
    }
    return out;
}

}  // namespace flipflop
