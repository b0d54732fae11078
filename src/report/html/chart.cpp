#include "report/html/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "report/html/html_text.hpp"
#include "report/html/scale.hpp"
#include "report/json_writer.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

constexpr double kWidth = 640, kHeight = 360, kLeft = 66, kRight = 18, kTop = 16, kBottom = 48;

struct Box { double x0, y0, x1, y1; };

bool overlap(const Box& a, const Box& b) { return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1; }

struct Range { double low{1e300}, high{-1e300}; };

void widen(Range& range, const std::optional<double>& value, bool log) {
    if (!value || !std::isfinite(*value) || (log && *value <= 0)) { return; }
    range.low = std::min(range.low, *value);
    range.high = std::max(range.high, *value);
}

bool drawable(const XyChart& chart, const ChartPoint& p) {
    return std::isfinite(p.x) && std::isfinite(p.y) && (!chart.x_log || p.x > 0) && (!chart.y_log || p.y > 0);
}

std::string marker(std::string_view role, double x, double y, const std::string& title) {
    std::string shape;
    if (role == "current") {
        shape = fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>", x - 6, y - 6);
    } else if (role == "heuristic") {
        shape = fmt::format("<path d=\"M{:.1f} {:.1f}l8 8l-8 8l-8 -8z\"/>", x, y - 8);
    } else if (role == "unsafe") {
        shape = fmt::format("<path d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\"/>", x - 4, y - 4);
    } else {
        shape = fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, role == "recommended" ? "8" : role == "kept" ? "5" : "3.5");
    }
    return fmt::format("<g class=\"m {}\"><title>{}</title>{}</g>", role, title, shape);
}

/// A title element keeps its lines. The many points without a label say what they are, and their first number.
std::string hover_title(const ChartPoint& point) {
    const std::size_t most = point.label.empty() ? std::min<std::size_t>(2, point.hover.size()) : point.hover.size();
    std::string out;
    for (std::size_t i = 0; i < most; ++i) { out += (out.empty() ? "" : "&#10;") + esc(point.hover[i]); }
    return out.empty() ? esc(point.label) : out;
}

class Plot {
public:
    explicit Plot(const XyChart& chart) : chart_(chart), x_(scale(true)), y_(scale(false)) {}

    std::string svg() {
        std::string out = fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth, kHeight, esc(chart_.title + ": " + chart_.caption));
        out += axes();
        std::string marks;
        std::string labels;
        for (const ChartSeries& series : chart_.series) {
            if (series.line) {
                out += line(series);
            } else {
                for (const ChartPoint& point : series.points) { marks += mark(series, point); }
            }
        }
        for (const ChartSeries& series : chart_.series) {
            for (const ChartPoint& point : series.points) { labels += label(series, point); }
        }
        return out + marks + labels + "</svg>\n";
    }

private:
    [[nodiscard]] Scale scale(bool x) const {
        Range range;
        const bool log = x ? chart_.x_log : chart_.y_log;
        for (const ChartSeries& series : chart_.series) {
            for (const ChartPoint& p : series.points) {
                if (!drawable(chart_, p)) { continue; }
                widen(range, x ? p.x : p.y, log);
                if (p.label.empty()) { continue; }   // whiskers are drawn for these only
                widen(range, x ? p.x_low : p.y_low, log);
                widen(range, x ? p.x_high : p.y_high, log);
            }
        }
        if (!x && chart_.y_from_zero) { range.low = std::min(range.low, 0.0); }
        if (range.high < range.low) { range = {1, 10}; }
        return x ? Scale(range.low, range.high, log, kLeft, kWidth - kRight) : Scale(range.low, range.high, log, kHeight - kBottom, kTop);
    }

    [[nodiscard]] std::string axes() const {
        std::string out = "<g class=\"axes\">";
        for (const double tick : chart_.x_powers ? x_.powers_of_two() : x_.ticks(7)) {
            const double at = x_.at(tick);
            out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {}V{}\"/><text class=\"tx\" x=\"{:.1f}\" y=\"{}\">{}</text>", at, kTop, kHeight - kBottom, at, kHeight - kBottom + 18, tick_text(tick));
        }
        for (const double tick : y_.ticks(5)) {
            const double at = y_.at(tick);
            out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text class=\"ty\" x=\"{}\" y=\"{:.1f}\">{}</text>", kLeft, at, kWidth - kRight, kLeft - 8, at + 4, tick_text(tick));
        }
        out += fmt::format("<path class=\"frame\" d=\"M{} {}V{}H{}\"/>", kLeft, kTop, kHeight - kBottom, kWidth - kRight);
        out += fmt::format("<text class=\"title tx\" x=\"{}\" y=\"{}\">{}</text>", (kLeft + kWidth - kRight) / 2, kHeight - 8, esc(chart_.x_title));
        return out + fmt::format("<text class=\"title tx\" transform=\"translate(14 {}) rotate(-90)\">{}</text></g>\n", (kTop + kHeight - kBottom) / 2, esc(chart_.y_title));
    }

    [[nodiscard]] std::string line(const ChartSeries& series) const {
        std::string path;
        for (const ChartPoint& p : series.points) {
            if (drawable(chart_, p)) { path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_.at(p.x), y_.at(p.y)); }
        }
        return fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", series.role, path);
    }

    std::string mark(const ChartSeries& series, const ChartPoint& p) {
        if (!drawable(chart_, p)) { return {}; }
        const double x = x_.at(p.x);
        const double y = y_.at(p.y);
        taken_.push_back({x - 7, y - 7, x + 7, y + 7});
        std::string out;
        if (!p.label.empty()) {
            if (p.x_low && p.x_high) { out += fmt::format("<path class=\"whisker {}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", series.role, x_.at(*p.x_low), y, x_.at(*p.x_high)); }
            if (p.y_low && p.y_high) { out += fmt::format("<path class=\"whisker {}\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", series.role, x, y_.at(*p.y_low), y_.at(*p.y_high)); }
        }
        return out + marker(series.role, x, y, hover_title(p)) + "\n";
    }

    /// Beside its point where there is room, else above, below or on the other side.
    std::string label(const ChartSeries& series, const ChartPoint& p) {
        if (p.label.empty() || !drawable(chart_, p)) { return {}; }
        const double x = x_.at(p.x);
        const double y = y_.at(p.y);
        const double width = 7.0 * static_cast<double>(display_width(p.label));
        struct Place { double dx, dy; };
        const std::array<Place, 6> places{{{12, 4}, {-12 - width, 4}, {-width / 2, -13}, {-width / 2, 22}, {12, -10}, {12, 18}}};
        const Place* best = nullptr;
        for (const Place& place : places) {
            const Box box{x + place.dx, y + place.dy - 12, x + place.dx + width, y + place.dy + 3};
            const bool inside = box.x0 >= kLeft + 2 && box.x1 <= kWidth - 2 && box.y0 >= 0 && box.y1 <= kHeight - kBottom;
            if (!inside) { continue; }
            if (std::none_of(taken_.begin(), taken_.end(), [&](const Box& b) { return overlap(b, box); })) {
                best = &place;
                break;
            }
        }
        if (best == nullptr) { best = x + 12 + width < kWidth ? &places[0] : &places[1]; }
        taken_.push_back({x + best->dx, y + best->dy - 12, x + best->dx + width, y + best->dy + 3});
        return fmt::format("<text class=\"label {}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", series.role, x + best->dx, y + best->dy, esc(p.label));
    }

    const XyChart& chart_;
    Scale x_, y_;
    std::vector<Box> taken_;
};

std::string legend(const std::vector<ChartSeries>& series) {
    std::string out = "<ul class=\"legend\">";
    for (const ChartSeries& s : series) {
        if (s.points.empty() || s.name.empty()) { continue; }
        const std::string key = s.line ? fmt::format("<path class=\"line {}\" d=\"M0 10H20\"/>", s.role) : marker(s.role, 10, 10, esc(s.name));
        out += fmt::format("<li><svg class=\"key\" viewBox=\"0 0 20 20\" aria-hidden=\"true\">{}</svg>{}</li>", key, esc(s.name));
    }
    return out + "</ul>\n";
}

std::string table_of(const XyChart& chart) {
    std::string out = fmt::format("<details class=\"data\"><summary>The numbers of this chart</summary><div class=\"scroll\"><table><thead><tr><th>series</th><th>point</th><th class=\"n\">{}</th><th class=\"n\">{}</th></tr></thead><tbody>\n",
                                  esc(chart.x_title), esc(chart.y_title));
    const auto cell = [](double value, const std::optional<double>& low, const std::optional<double>& high) {
        return low && high ? with_interval(value, *low, *high) : significant(value, 4);
    };
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& p : series.points) {
            const std::string& name = p.label.empty() && !p.hover.empty() ? p.hover.front() : p.label;
            out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", esc(series.name), esc(name), cell(p.x, p.x_low, p.x_high), cell(p.y, p.y_low, p.y_high));
        }
    }
    return out + "</tbody></table></div></details>\n";
}

void write_axis(JsonWriter& json, std::string_view key, const std::string& title, bool log, bool from_zero, bool powers) {
    json.key(key);
    json.begin_object();
    json.member("title", title);
    json.member("log", log);
    json.member("zero", from_zero);
    json.member("powers", powers);
    json.end_object();
}

std::string json_of(const XyChart& chart) {
    std::string text;
    const TextSink sink = [&](std::string_view piece) { text += piece; };
    JsonWriter json(sink);
    json.begin_object();
    json.member("kind", "xy");
    write_axis(json, "x", chart.x_title, chart.x_log, false, chart.x_powers);
    write_axis(json, "y", chart.y_title, chart.y_log, chart.y_from_zero, false);
    json.key("series");
    json.begin_array();
    for (const ChartSeries& series : chart.series) {
        json.begin_object();
        json.member("name", series.name);
        json.member("role", series.role);
        json.member("line", series.line);
        json.key("points");
        json.begin_array();
        for (const ChartPoint& p : series.points) {
            if (!drawable(chart, p)) { continue; }
            json.begin_object();
            json.member("x", p.x);
            json.member("y", p.y);
            if (p.x_low && p.x_high) {
                json.member("xl", *p.x_low);
                json.member("xh", *p.x_high);
            }
            if (p.y_low && p.y_high) {
                json.member("yl", *p.y_low);
                json.member("yh", *p.y_high);
            }
            if (!p.label.empty()) { json.member("label", p.label); }
            if (!p.hover.empty()) { json.strings("hover", p.hover); }
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    json.end_object();
    json.finish();
    return text;
}

// ---- stacks -------------------------------------------------------------------------------------------------------
constexpr std::size_t kColors = 8;

/// One id has one colour on all rows: those that are largest over all rows first.
std::vector<std::string> ids_of(const StackChart& chart) {
    std::map<std::string, double> sums;
    for (const StackRow& row : chart.rows) {
        for (const StackPart& part : row.parts) { sums[part.id] += part.value; }
    }
    std::vector<std::string> ids;
    for (const auto& [id, sum] : sums) { ids.push_back(id); }
    std::stable_sort(ids.begin(), ids.end(), [&](const std::string& x, const std::string& y) { return sums[x] > sums[y]; });
    return ids;
}

std::size_t color_of(const std::vector<std::string>& ids, const std::string& id) {
    const auto at = static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
    return std::min(at, kColors - 1);
}

/// More parts than colours: the smallest become one.
StackChart with_few_parts(const StackChart& chart) {
    const std::vector<std::string> ids = ids_of(chart);
    if (ids.size() <= kColors) { return chart; }
    StackChart out = chart;
    for (StackRow& row : out.rows) {
        StackPart rest{"rest", "everything else", 0, ""};
        std::vector<StackPart> parts;
        for (const StackPart& part : row.parts) {
            if (color_of(ids, part.id) < kColors - 1) {
                parts.push_back(part);
                continue;
            }
            rest.value += part.value;
            rest.text += (rest.text.empty() ? "" : ", ") + part.text;
        }
        if (rest.value > 0) { parts.push_back(rest); }
        row.parts = std::move(parts);
    }
    return out;
}

/// Parts lie in the order of their colours.
std::vector<StackPart> in_order(const StackRow& row, const std::vector<std::string>& ids) {
    std::vector<StackPart> parts = row.parts;
    std::stable_sort(parts.begin(), parts.end(), [&](const StackPart& x, const StackPart& y) { return std::find(ids.begin(), ids.end(), x.id) < std::find(ids.begin(), ids.end(), y.id); });
    return parts;
}

std::string svg_of(const StackChart& chart) {
    constexpr double kBar = 24, kGap = 34, kLabels = 150;
    const std::vector<std::string> ids = ids_of(chart);
    double longest = 0;
    for (const StackRow& row : chart.rows) {
        double sum = 0;
        for (const StackPart& part : row.parts) { sum += part.value; }
        longest = std::max(longest, sum);
    }
    const double room = kWidth - kLabels - 110;
    const double height = 8 + static_cast<double>(chart.rows.size()) * (kBar + kGap - 14);
    std::string out = fmt::format("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth, height, esc(chart.title + ": " + chart.caption));
    double y = 6;
    for (const StackRow& row : chart.rows) {
        out += fmt::format("<text class=\"ty strong\" x=\"{}\" y=\"{:.1f}\">{}</text>", kLabels - 10, y + 16, esc(elide(row.label, 20)));
        double x = kLabels;
        for (const StackPart& part : in_order(row, ids)) {
            const double width = longest > 0 ? part.value / longest * room : 0;
            if (width >= 0.3) {
                out += fmt::format("<rect class=\"c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"><title>{}</title></rect>", color_of(ids, part.id), x, y, std::max(width - 1.5, 0.5), kBar, esc(part.text));
            }
            x += width;
        }
        out += fmt::format("<text class=\"total\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 6, y + 16, esc(row.total));
        y += kBar + kGap - 14;
    }
    return out + "</svg>\n";
}

std::string legend_of(const StackChart& chart) {
    const std::vector<std::string> ids = ids_of(chart);
    std::string out = "<ul class=\"legend\">";
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::string name;
        for (const StackRow& row : chart.rows) {
            for (const StackPart& part : row.parts) {
                if (part.id == ids[i]) { name = part.name; }
            }
        }
        out += fmt::format("<li><svg class=\"key\" viewBox=\"0 0 20 20\" aria-hidden=\"true\"><rect class=\"c{}\" x=\"3\" y=\"3\" width=\"14\" height=\"14\"/></svg>{}</li>", std::min(i, kColors - 1), esc(name));
    }
    return out + "</ul>\n";
}

std::string table_of(const StackChart& chart) {
    std::string out = fmt::format("<details class=\"data\"><summary>The numbers of this chart</summary><div class=\"scroll\"><table><thead><tr><th>launch</th><th>term</th><th class=\"n\">{}</th></tr></thead><tbody>\n", esc(chart.unit));
    for (const StackRow& row : chart.rows) {
        for (const StackPart& part : row.parts) {
            out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n", esc(row.label), esc(part.name), significant(part.value));
        }
    }
    return out + "</tbody></table></div></details>\n";
}

std::string json_of(const StackChart& chart) {
    const std::vector<std::string> ids = ids_of(chart);
    std::string text;
    const TextSink sink = [&](std::string_view piece) { text += piece; };
    JsonWriter json(sink);
    json.begin_object();
    json.member("kind", "stack");
    json.member("unit", chart.unit);
    json.key("rows");
    json.begin_array();
    for (const StackRow& row : chart.rows) { json.value(row.label); }
    json.end_array();
    json.key("parts");
    json.begin_array();
    for (const std::string& id : ids) {
        std::string name;
        json.begin_object();
        json.member("color", color_of(ids, id));
        json.key("values");
        json.begin_array();
        std::vector<std::string> texts;
        for (const StackRow& row : chart.rows) {
            const auto part = std::find_if(row.parts.begin(), row.parts.end(), [&](const StackPart& p) { return p.id == id; });
            json.value(part != row.parts.end() ? std::optional(part->value) : std::nullopt);
            texts.push_back(part != row.parts.end() ? part->text : "");
            if (part != row.parts.end()) { name = part->name; }
        }
        json.end_array();
        json.strings("texts", texts);
        json.member("name", name);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    json.finish();
    return text;
}

template <class Chart>
void add_figure(Page& page, const Chart& chart, const std::string& drawing, const std::string& key) {
    const std::string id = esc(chart.id);
    page.add(fmt::format("<figure class=\"chart\" data-chart=\"{}\">\n<h4>{}</h4>\n<div class=\"drawing\">{}</div>\n{}<figcaption>\n<p>{}</p>\n{}</figcaption>\n</figure>\n",
                         id, esc(chart.title), drawing, key, esc(chart.caption), table_of(chart)));
    page.add_data(chart.id, json_of(chart));
}

}  // namespace

void add_chart(Page& page, const XyChart& chart) { add_figure(page, chart, Plot(chart).svg(), legend(chart.series)); }

void add_chart(Page& page, const StackChart& chart) {
    const StackChart few = with_few_parts(chart);
    add_figure(page, few, svg_of(few), legend_of(few));
}

}  // namespace flipflop::report
