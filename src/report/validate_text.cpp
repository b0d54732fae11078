// validate as text and as CSV.
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "flipflop/validate_report.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using report::Table;

std::string ratio(const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; }
std::string share(double value) { return fmt::format("{:.1f} %", value * 100); }

void add_row(Table& table, const std::string& name, const validate::Scores& scores) {
    if (!scores.all) return;
    const auto& all = *scores.all;
    std::vector<std::string> cells{name, ratio(all.spearman), ratio(all.kendall), share(all.first_regret), share(all.kept_holds_best), share(all.kept_within_5pct), share(all.kept_regret)};
    if (scores.by_block) {
        cells.push_back(share(scores.by_block->within_5pct));
        cells.push_back(share(scores.by_block->within_10pct));
    } else {
        cells.insert(cells.end(), {"-", "-"});
    }
    table.row(std::move(cells), name == "model" ? report::Mark::strong : report::Mark::plain);
}

std::string set_text(const validate::Set& set, const TextStyle& style) {
    std::string name;
    for (const std::string& part : {set.kernel, set.gpu, set.problem})
        if (!part.empty()) name += (name.empty() ? "" : ", ") + report::printable(part);
    std::string out = fmt::format("{}: {}, {} rows, median {:.2f} times the best\n", name.empty() ? "all rows" : name, set.quantity, set.n, set.median_over_best);
    Table table;
    table.column("");
    for (const char* header : {"rank corr", "tau", "first pick", "kept has best", "within 5 %", "kept best", "block: 5 %", "10 %"}) table.column(header, Table::Align::right);
    add_row(table, "model", set.model);
    for (const validate::Scores& baseline : set.baselines) add_row(table, baseline.name, baseline);
    out += table.text(2, style.color);
    out += fmt::format("  kept {} of {} ({}); mean error {} absolute, {} with one scale of {}\n", set.kept, set.n,
                       set.kept_basis == "predictions" ? "as the predictions say" : "the predicted best", share(set.mape), share(set.mape_one_scale), report::significant(set.scale));
    if (set.model.by_block) out += fmt::format("  {} groups that differ in block shape only, {} rows\n", set.model.by_block->groups, set.model.by_block->rows);
    if (set.interval) out += fmt::format("  90 % intervals hold {} of {} rows ({} below, {} above)\n", share(set.interval->share), set.interval->n, share(set.interval->below), share(set.interval->above));
    for (const validate::Scores& baseline : set.baselines)
        if (!baseline.all) out += fmt::format("  no {}: {}\n", baseline.name, baseline.why_not);
    return out;
}

std::string number(const std::optional<double>& value) {
    if (!value) return {};
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value);
    return {digits.data(), end.ptr};
}

std::string csv_cell(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

}  // namespace

std::string text_report(const validate::Report& report, const TextStyle& style) {
    std::vector<std::string> columns;
    for (const std::string& name : report.joined_on) columns.push_back(report::printable(name));
    std::string out = fmt::format("{} of {} predictions have a measurement; joined on {}\n", report.joined, report.prediction_rows, fmt::join(columns, ", "));
    if (report.unmatched_measurements > 0 || report.invalid_measurements > 0)
        out += fmt::format("{} measurements without a prediction, {} not valid\n", report.unmatched_measurements, report.invalid_measurements);
    for (const std::string& note : report.notes) out += report::printable(note) + "\n";
    for (const validate::Set& set : report.sets) out += "\n" + set_text(set, style);
    if (report.sets.size() > 1) {
        out += "\nmeans over sets (90 % intervals from drawing whole kernels)\n";
        Table table;
        table.column("");
        table.column("");
        for (const char* header : {"mean", "low", "high", "sets", "kernels"}) table.column(header, Table::Align::right);
        for (const validate::Overall& row : report.overall)
            table.row({row.quantity, row.figure, ratio(row.mean), ratio(row.low), ratio(row.high), std::to_string(row.sets), std::to_string(row.kernels)});
        out += table.text(2, style.color);
    }
    return out;
}

std::string csv_report(const validate::Report& report) {
    std::string out = "gpu,kernel,problem,quantity,n,median_over_best,ranking,spearman,kendall,first_regret,kept,kept_holds_best,kept_within_5pct,kept_regret,"
                      "block_groups,block_within_5pct,block_within_10pct,block_regret,mape,mape_one_scale,scale,interval_coverage\n";
    for (const validate::Set& set : report.sets) {
        const auto row = [&](const validate::Scores& scores) {
            if (!scores.all) return;
            const bool model = &scores == &set.model;
            using Maybe = std::optional<double>;
            const auto by = [&](double validate::ByBlock::*figure) { return scores.by_block ? Maybe((*scores.by_block).*figure) : Maybe(); };
            out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(set.gpu), csv_cell(set.kernel), csv_cell(set.problem), set.quantity, set.n,
                               number(set.median_over_best), scores.name, number(scores.all->spearman), number(scores.all->kendall), number(scores.all->first_regret), set.kept,
                               number(scores.all->kept_holds_best), number(scores.all->kept_within_5pct), number(scores.all->kept_regret),
                               scores.by_block ? std::to_string(scores.by_block->groups) : "", number(by(&validate::ByBlock::within_5pct)),
                               number(by(&validate::ByBlock::within_10pct)), number(by(&validate::ByBlock::regret)), model ? number(set.mape) : "",
                               model ? number(set.mape_one_scale) : "", model ? number(set.scale) : "", model && set.interval ? number(set.interval->share) : "");
        };
        row(set.model);
        for (const validate::Scores& baseline : set.baselines) row(baseline);
    }
    return out;
}

}  // namespace flipflop
