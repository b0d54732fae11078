#include "report/html/kernel_charts.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "flipflop/charts.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

std::string_view role_of(const ConfigResult& config) {
    if (config.recommended) { return "recommended"; }
    if (config.is_current) { return "current"; }
    if (config.is_heuristic) { return "heuristic"; }
    if (config.safe == std::optional(false)) { return "unsafe"; }
    return config.kept ? "kept" : "other";
}

/// What a series of points is called, back to front.
struct Role { std::string_view role, name; };
constexpr std::array<Role, 6> kRoles{{{"other", "not kept"}, {"unsafe", "unsafe"}, {"kept", "kept"}, {"heuristic", "occupancy heuristic"}, {"current", "today's launch"}, {"recommended", "recommended"}}};

std::string title_of(const ConfigResult& config) {
    std::string title = fmt::format("{} (grid {})", dim_text(config.block), dim_text(config.grid));
    for (const auto& [yes, word] : {std::pair{config.recommended, ", recommended"}, {config.is_current, ", today's launch"}, {config.is_heuristic, ", the occupancy heuristic's"}}) {
        if (yes) { title += word; }
    }
    return title;
}

std::vector<std::string> hover_of(const ConfigResult& config) {
    const Prediction& p = *config.predicted;
    std::vector<std::string> lines{title_of(config), "time " + time_with_interval(p.time.total.value, p.time.interval)};
    if (p.power) {
        lines.push_back("energy " + energy_with_interval(p.power->energy.value, p.power->energy_interval));
        lines.push_back(fmt::format("power {} W at {} MHz", scaled_interval({}, p.power->power.value, p.power->power_interval), significant(p.power->clock_mhz, 4)));
    }
    lines.push_back(fmt::format("occupancy {}, bound by {}", percent(config.occupancy.fraction), bound_words(p.time.bound_by)));
    std::string shares;
    const std::vector<Share> parts = time_shares(config);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, parts.size()); ++i) {
        shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", share_words(parts[i].id), percent(parts[i].value / p.time.total.value));
    }
    if (!shares.empty()) { lines.push_back("time goes to " + shares); }
    lines.emplace_back(!config.safe ? "same result: unverified" : *config.safe ? "same result: safe" : "same result: NO");
    return lines;
}

std::string label_of(const ConfigResult& config) {
    return config.recommended || config.is_current || config.is_heuristic ? dim_text(config.block) : "";
}

bool many_times(double low, double high) { return low > 0 && high / low > 5; }

struct Extent {
    double low{1e300}, high{};
    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

/// One series a role, filled by `point`, which may decline.
template <class F>
std::vector<ChartSeries> series_by_role(const KernelResult& result, F&& point) {
    std::vector<ChartSeries> out;
    for (const Role& role : kRoles) {
        ChartSeries series{std::string(role.name), std::string(role.role), false, {}};
        for (const ConfigResult& config : result.configs) {
            if (config.launchable && config.predicted && role_of(config) == role.role) { point(config, series.points); }
        }
        if (!series.points.empty()) { out.push_back(std::move(series)); }
    }
    return out;
}

void add_pareto(Page& page, const KernelResult& result, const std::string& id) {
    Extent times;
    Extent energies;
    for (const ConfigResult& c : result.configs) {
        if (!c.predicted || !c.predicted->power) { continue; }
        times.take(c.predicted->time.total.value);
        energies.take(c.predicted->power->energy.value);
    }
    if (energies.high <= 0) { return; }
    const Unit time = time_unit_for(times.high);
    const Unit energy = energy_unit_for(energies.high);
    XyChart chart;
    chart.id = id + "-pareto";
    chart.title = "Time against energy";
    chart.x_title = fmt::format("time {}", time.name);
    chart.y_title = fmt::format("energy {}", energy.name);
    chart.x_log = many_times(times.low, times.high);
    chart.y_log = many_times(energies.low, energies.high);
    chart.caption = fmt::format("Each point is a launch; left and below is better. {} of {} launchable configurations are kept; whiskers are 90 % intervals.{}", result.space.kept, result.space.launchable,
                                chart.x_log || chart.y_log ? " Scales are logarithmic." : "");
    chart.series = series_by_role(result, [&](const ConfigResult& c, std::vector<ChartPoint>& points) {
        if (!c.predicted->power) { return; }
        const Prediction& p = *c.predicted;
        points.push_back({p.time.total.value * time.scale, p.power->energy.value * energy.scale, p.time.interval.low * time.scale, p.time.interval.high * time.scale, p.power->energy_interval.low * energy.scale,
                          p.power->energy_interval.high * energy.scale, label_of(c), hover_of(c)});
    });
    ChartSeries front{"Pareto front", "front", true, {}};
    for (const ConfigResult& c : result.configs) {
        if (c.pareto && c.predicted && c.predicted->power) { front.points.push_back({c.predicted->time.total.value * time.scale, c.predicted->power->energy.value * energy.scale, {}, {}, {}, {}, {}, {dim_text(c.block)}}); }
    }
    std::sort(front.points.begin(), front.points.end(), [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    if (front.points.size() > 1) { chart.series.insert(chart.series.begin(), std::move(front)); }
    add_chart(page, chart);
}

void add_by_size(Page& page, const KernelResult& result, const std::string& id) {
    Extent times;
    for (const ConfigResult& c : result.configs) {
        if (c.predicted) { times.take(c.predicted->time.total.value); }
    }
    if (times.high <= 0) { return; }
    const Unit unit = time_unit_for(times.high);
    XyChart chart;
    chart.id = id + "-size";
    chart.title = "Time against block size";
    chart.caption = "Launches of one size differ in shape. The recommended block is marked where it stands among all of its size.";
    chart.x_title = "threads a block";
    chart.y_title = fmt::format("time {}", unit.name);
    chart.x_log = chart.x_powers = true;
    chart.y_log = many_times(times.low, times.high);
    chart.y_from_zero = !chart.y_log;
    chart.series = series_by_role(result, [&](const ConfigResult& c, std::vector<ChartPoint>& points) {
        const TimeEstimate& t = c.predicted->time;
        points.push_back({static_cast<double>(c.block.count()), t.total.value * unit.scale, {}, {}, t.interval.low * unit.scale, t.interval.high * unit.scale, label_of(c),
                          {title_of(c), "time " + time_with_interval(t.total.value, t.interval)}});
    });
    add_chart(page, chart);

    XyChart occupancy;
    occupancy.id = id + "-occupancy";
    occupancy.title = "Occupancy against block size";
    occupancy.caption = "The share of an SM's warp slots that a launch fills. High occupancy hides latency; it is not speed.";
    occupancy.x_title = "threads a block";
    occupancy.y_title = "occupancy %";
    occupancy.x_log = occupancy.x_powers = true;
    occupancy.y_from_zero = true;
    occupancy.series = series_by_role(result, [&](const ConfigResult& c, std::vector<ChartPoint>& points) {
        const ChartPoint point{static_cast<double>(c.block.count()), 100 * c.occupancy.fraction, {}, {}, {}, {}, label_of(c), {title_of(c), "occupancy " + percent(c.occupancy.fraction)}};
        // Shapes of one size have one occupancy as a rule: a point for all of them.
        const bool there = std::any_of(points.begin(), points.end(), [&](const ChartPoint& p) { return p.x == point.x && p.y == point.y; });
        if (!there || !point.label.empty()) { points.push_back(point); }
    });
    add_chart(page, occupancy);
}

/// The launches whose terms are worth comparing: recommended, today's, the heuristic's; else the first ones named.
std::vector<const ConfigResult*> compared(const KernelResult& result) {
    std::vector<const ConfigResult*> rows;
    const auto add = [&](auto wanted, std::size_t most) {
        for (const ConfigResult& c : result.configs) {
            const bool there = std::find(rows.begin(), rows.end(), &c) != rows.end();
            if (!there && rows.size() < most && c.full_detail && c.predicted && wanted(c)) { rows.push_back(&c); }
        }
    };
    add([](const ConfigResult& c) { return c.recommended; }, 1);
    add([](const ConfigResult& c) { return c.is_current; }, 2);
    add([](const ConfigResult& c) { return c.is_heuristic; }, 3);
    add([](const ConfigResult&) { return true; }, 4);
    return rows;
}

std::string row_label(const ConfigResult& config) {
    return dim_text(config.block) + (config.recommended ? " recommended" : config.is_current ? " today" : config.is_heuristic ? " heuristic" : config.kept ? " kept" : "");
}

template <class Shares, class Total>
void add_stack(Page& page, const KernelResult& result, StackChart chart, double scale, Shares&& shares, Total&& total, std::string (*text)(double, int)) {
    for (const ConfigResult* config : compared(result)) {
        const std::vector<Share> parts = shares(*config);
        if (parts.empty()) { continue; }
        double all = 0;
        for (const Share& part : parts) { all += part.value; }
        StackRow row{row_label(*config), total(*config), {}};
        for (const Share& part : parts) {
            const std::string name = share_words(part.id);
            row.parts.push_back({part.id, name, part.value * scale, fmt::format("{}: {} ({})", name, text(part.value, 3), percent(part.value / all))});
        }
        chart.rows.push_back(std::move(row));
    }
    if (!chart.rows.empty()) { add_chart(page, chart); }
}

void add_stacks(Page& page, const KernelResult& result, const std::string& id) {
    Extent times;
    Extent energies;
    for (const ConfigResult* c : compared(result)) {
        times.take(c->predicted->time.total.value);
        if (c->predicted->power) { energies.take(c->predicted->power->energy.value); }
    }
    const Unit time = time_unit_for(times.high);
    const Unit energy = energy_unit_for(energies.high);
    add_stack(page, result, {id + "-time", "What the time is made of", "Shares by the model's own terms: a sum by its parts, a norm by their powers, a maximum by the largest. They add up to the time.", fmt::format("time {}", time.name), {}}, time.scale,
              time_shares, [](const ConfigResult& c) { return time_text(c.predicted->time.total.value); }, time_text);
    add_stack(page, result, {id + "-energy", "What the energy is made of", "Energy of one launch, the idle board's share included.", fmt::format("energy {}", energy.name), {}}, energy.scale, energy_shares,
              [](const ConfigResult& c) { return energy_text(c.predicted->power->energy.value); }, energy_text);
}

void add_roofline(Page& page, const KernelResult& result, const std::string& id) {
    XyChart chart;
    std::optional<Roofline> first;
    Extent intensities;
    for (const Role& role : kRoles) {
        ChartSeries series{std::string(role.name), std::string(role.role), false, {}};
        for (const ConfigResult& c : result.configs) {
            const std::optional<Roofline> roof = role_of(c) == role.role ? roofline_of(c) : std::nullopt;
            if (!roof || (first && (roof->memory != first->memory || roof->compute != first->compute))) { continue; }
            if (!first) { first = roof; }
            intensities.take(roof->intensity);
            std::vector<std::string> hover{title_of(c), fmt::format("{} operations/s, {} operations a byte", count_text(roof->reached_per_us * 1e6), significant(roof->intensity))};
            const double reachable = std::min(roof->operations_per_us, roof->bytes_per_us * roof->intensity);
            hover.push_back(fmt::format("{} of what the roof allows", percent(roof->reached_per_us / reachable)));
            series.points.push_back({roof->intensity, roof->reached_per_us * 1e-3, {}, {}, {}, {}, label_of(c), hover});
        }
        if (!series.points.empty()) { chart.series.push_back(std::move(series)); }
    }
    if (!first) { return; }
    const double ridge = first->operations_per_us / first->bytes_per_us;
    const double low = std::min(intensities.low, ridge) / 4;
    const double high = std::max(intensities.high, ridge) * 4;
    const std::string memory = first->memory == "dram" ? "DRAM" : "L2";
    ChartSeries roof{fmt::format("{} bandwidth and {} peak", memory, first->compute), "roof", true, {}};
    for (const double x : {low, ridge, high}) { roof.points.push_back({x, std::min(first->operations_per_us, first->bytes_per_us * x) * 1e-3, {}, {}, {}, {}, {}, {"roof"}}); }
    chart.series.insert(chart.series.begin(), std::move(roof));
    chart.id = id + "-roofline";
    chart.title = "Roofline";
    chart.caption = fmt::format("Roofs: {}/s through {}, {} {} operations/s. One fused multiply-add counts once; below the roof is latency, conflicts, or another pipe.", bytes_text(first->bytes_per_us * 1e6), memory,
                                count_text(first->operations_per_us * 1e6), first->compute);
    chart.x_title = fmt::format("operations a byte of {}", memory);
    chart.y_title = fmt::format("{} Gop/s", first->compute);
    chart.x_log = chart.y_log = true;
    add_chart(page, chart);
}

}  // namespace

void add_kernel_charts(Page& page, const KernelResult& result, const std::string& id) {
    const auto predicted = std::count_if(result.configs.begin(), result.configs.end(), [](const ConfigResult& c) { return c.predicted.has_value(); });
    if (predicted == 0) { return; }
    page.add("<h3>Charts</h3>\n<div class=\"two\">\n");
    if (predicted > 1) {
        add_pareto(page, result, id);
        add_by_size(page, result, id);
    }
    add_roofline(page, result, id);
    add_stacks(page, result, id);
    page.add("</div>\n");
}

}  // namespace flipflop::report
