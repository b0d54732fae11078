#include "report/analysis_overview.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

/// What one line speaks of: the recommended configuration, else today's, else the best that runs.
const ConfigResult* chosen(const KernelResult& result) {
    const ConfigResult* best = nullptr;
    for (const ConfigResult& config : result.configs) {
        if (!config.launchable || !config.predicted) { continue; }
        if (config.recommended) { return &config; }
        if (best == nullptr || config.is_current) { best = &config; }
    }
    return best;
}

struct Line {
    const KernelAnalysis* kernel{};
    const KernelResult* result{};
    const ConfigResult* config{};
    [[nodiscard]] double time_us() const { return config ? config->predicted->time.total.value : -1; }
};

std::string safe_text(const Line& line) {
    return !line.config->safe ? "unverified" : *line.config->safe ? "safe" : "unsafe";
}

void add_columns(Table& table) {
    using Align = Table::Align;
    table.column("block");
    table.column("time");
    table.column("energy");
    table.column("occupancy", Align::right);
    table.column("bound by");
    table.column("same result");
}

/// Of a line with a configuration.
std::vector<std::string> cells_of(const Line& line) {
    const Prediction& p = *line.config->predicted;
    return {dim_text(line.config->block),
            time_with_interval(p.time.total.value, p.time.interval),
            p.power ? energy_with_interval(p.power->energy.value, p.power->energy_interval) : "unknown",
            percent(line.config->occupancy.fraction), bound_cell(p.time.bound_by), safe_text(line)};
}

std::string board_of(const Line& line) { return printable(line.result->profile.name.empty() ? line.result->gpu : line.result->profile.name); }

/// "17 cannot: the PTX is newer than the GPU: A, B, ...": one paragraph a reason, with the names of what cannot.
std::string unable_text(const std::vector<Line>& lines, const TextStyle& style, std::string (*name)(const Line&)) {
    struct Group { std::string reason, names; std::size_t count{}; };
    std::vector<Group> groups;
    for (const Line& line : lines) {
        if (line.config != nullptr) { continue; }
        std::string reason = printable(line.result->no_recommendation.empty() ? "nothing can launch" : line.result->no_recommendation);
        reason.resize(std::min(reason.size(), reason.find(';')));  // what follows differs from board to board
        auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.reason == reason; });
        if (found == groups.end()) { found = groups.insert(groups.end(), Group{reason, {}, 0}); }
        found->names += (found->count++ ? ", " : "") + name(line);
    }
    std::string out;
    for (const Group& group : groups) {
        out += paint(wrap(fmt::format("  {} cannot: {}: {}", group.count, group.reason, group.names), style.width, 4), Mark::dim, style.color) + "\n";
    }
    return out;
}

}  // namespace

std::string overview_text(const Analysis& analysis, const TextStyle& style) {
    std::vector<Line> lines;
    for (const KernelAnalysis& kernel : analysis.kernels) {
        for (const KernelResult& result : kernel.results) { lines.push_back({&kernel, &result, chosen(result)}); }
    }
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.time_us() > b.time_us(); });

    double total_us = 0;
    double total_mj = 0;
    std::size_t predicted = 0;
    std::size_t with_energy = 0;
    for (const Line& line : lines) {
        if (line.config == nullptr) { continue; }
        ++predicted;
        total_us += line.time_us();
        if (line.config->predicted->power) {
            ++with_energy;
            total_mj += line.config->predicted->power->energy.value;
        }
    }
    const bool one_board = std::all_of(lines.begin(), lines.end(), [&](const Line& l) { return l.result->gpu == lines.front().result->gpu; });
    Table table;
    table.column("kernel");
    table.column("id");
    table.column(one_board ? "" : "gpu");
    table.column("case");
    add_columns(table);
    const std::size_t room = style.width > 120 ? style.width - 84 : 36;
    for (const Line& line : lines) {
        if (line.config == nullptr) { continue; }
        std::vector<std::string> cells{fitting_name(line.kernel->facts, room), "#" + printable(line.kernel->facts.id),
                                       one_board ? "" : printable(line.result->gpu), printable(line.result->case_name)};
        for (std::string& cell : cells_of(line)) { cells.push_back(std::move(cell)); }
        table.row(std::move(cells));
    }
    std::string out = fmt::format("{} kernels{}, each at its recommended launch, longest first (one of them in full: --kernel '#ID')\n",
                                  analysis.kernels.size(), one_board && !lines.empty() ? " on " + printable(lines.front().result->gpu) : "");
    if (predicted > 0) { out += table.text(2, style.color); }
    out += unable_text(lines, style, [](const Line& line) { return fitting_name(line.kernel->facts, 60); });
    out += fmt::format("  total of one launch each: {}", time_text(total_us));
    if (with_energy > 0) { out += fmt::format(", {}{}", energy_text(total_mj), with_energy < predicted ? fmt::format(" ({} of {} known)", with_energy, predicted) : ""); }
    if (predicted < lines.size()) { out += fmt::format("; {} of {} not predicted", lines.size() - predicted, lines.size()); }
    out += "\n";
    if (analysis.overview) {
        out += wrap("  The figures are an overview's: a launch that takes long to follow is sampled with a tenth of the effort that a kernel gets alone, and what other assumptions would change is not tried.",
                    style.width, 2) + "\n";
    }
    return out;
}

std::string boards_text(const KernelAnalysis& kernel, const TextStyle& style) {
    std::vector<Line> lines;
    for (const KernelResult& result : kernel.results) {
        lines.push_back({&kernel, &result, chosen(result)});
    }
    // Fastest first; boards that cannot run it last.
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return (a.config != nullptr) != (b.config != nullptr) ? a.config != nullptr : a.time_us() < b.time_us();
    });
    Table table;
    table.column("gpu");
    table.column("case");
    add_columns(table);
    for (const Line& line : lines) {
        if (line.config == nullptr) { continue; }
        std::vector<std::string> cells{board_of(line), printable(line.result->case_name)};
        for (std::string& cell : cells_of(line)) { cells.push_back(std::move(cell)); }
        table.row(std::move(cells));
    }
    return paint(kernel_name(kernel.facts), Mark::strong, style.color) +
           fmt::format("\n{} results, each at its recommended launch, fastest first (each in full: --detail full)\n", lines.size()) +
           table.text(2, style.color) + unable_text(lines, style, board_of);
}

}  // namespace flipflop::report
