#include "report/analysis_memory.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

struct AccessRow {
    std::vector<std::string> cells;
    bool bad{};                  ///< twice the sectors or wavefronts that it could do with
};

AccessRow access_row(const AccessDescription& what, const AccessFacts& a, const TextStyle& style) {
    const auto or_unknown = [](const std::optional<double>& number) { return number ? significant(*number) : std::string("?"); };
    const bool runs = a.requests != std::optional(0.0);
    const bool banked = runs && what.space == MemorySpace::shared;
    const bool sectored = runs && (what.space == MemorySpace::global || what.space == MemorySpace::local || what.space == MemorySpace::generic);
    std::string pattern(runs ? to_string(a.pattern) : "never runs");
    if (a.stride_bytes && a.pattern == Pattern::strided) { pattern += fmt::format(" {} B", *a.stride_bytes); }
    AccessRow row;
    row.bad = (a.sectors_per_request && a.ideal_sectors_per_request && *a.sectors_per_request >= 2 * *a.ideal_sectors_per_request) ||
              a.wavefronts_per_request.value_or(1) >= 2;
    row.cells = {place_text(what.source, what.ptx_line), fmt::format("{}.{}", printable(what.op), to_string(what.space)), std::to_string(what.bytes_per_lane),
                 a.requests ? count_text(*a.requests) : a.requests_assumed ? "~" + count_text(*a.requests_assumed) : "?", significant(a.active_lanes),
                 sectored ? or_unknown(a.sectors_per_request) : "", sectored ? or_unknown(a.ideal_sectors_per_request) : "",
                 banked ? or_unknown(a.wavefronts_per_request) : "", pattern,
                 a.basis == CountBasis::exact ? "" : std::string(to_string(a.basis)) + (a.why.empty() || !style.full_detail ? "" : ": " + printable(a.why))};
    return row;
}

}  // namespace

const ConfigResult* headline_config(const KernelResult& result) {
    const ConfigResult* best = nullptr;
    for (const ConfigResult& config : result.configs) {
        if (!config.launchable || !config.predicted) { continue; }
        if (config.is_current) { return &config; }
        if (best == nullptr || (config.recommended && !best->recommended)) { best = &config; }
    }
    return best;
}

std::string headline_sentence(const KernelResult& result, const ConfigResult& config) {
    constexpr double kNewsShare = 0.05;      // of the time: what costs less is no headline
    const TimeEstimate& time = config.predicted->time;
    std::string sentence = fmt::format("Bound by {}.", bound_words(time.bound_by));
    const auto costly = std::max_element(result.findings.begin(), result.findings.end(),
                                         [](const Finding& a, const Finding& b) { return a.cost_us.value_or(0) < b.cost_us.value_or(0); });
    if (costly != result.findings.end() && costly->cost_us.value_or(0) > kNewsShare * time.total.value) {
        sentence += fmt::format(" Costliest: {}, costs {}.", printable(costly->message), time_text(*costly->cost_us));
    }
    return sentence;
}

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
    Table table;
    using Align = Table::Align;
    for (const auto& [title, align] : std::initializer_list<std::pair<const char*, Align>>{
             {"", Align::right}, {"at", Align::left}, {"op", Align::left}, {"bytes/lane", Align::right}, {"requests", Align::right},
             {"lanes", Align::right}, {"sectors", Align::right}, {"ideal", Align::right}, {"wavefronts", Align::right}, {"pattern", Align::left}, {"", Align::left}}) {
        table.column(title, align);
    }
    const std::size_t lines = style.full_detail ? order.size() : kBriefLines;
    std::size_t shown = 0;
    for (std::size_t line = 0; shown < order.size() && line < lines; ++line) {
        const AccessRow row = access_row(facts.accesses[order[shown]], dynamic[order[shown]], style);
        // Copies of an unrolled loop that do the same share a line.
        std::size_t alike = 1;
        while (shown + alike < order.size() && access_row(facts.accesses[order[shown + alike]], dynamic[order[shown + alike]], style).cells == row.cells) { ++alike; }
        shown += alike;
        std::vector<std::string> cells = row.cells;
        cells.insert(cells.begin(), alike > 1 ? fmt::format("{} x", alike) : "");
        table.row(std::move(cells), row.bad ? Mark::warning : Mark::plain);
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

}  // namespace flipflop::report
