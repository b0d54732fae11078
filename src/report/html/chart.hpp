// Owns: a chart once as data, drawn twice: as inline SVG for every reader, and as JSON for the script that makes it
// answer to the pointer. Invariant: both show the same points; a table of them stands behind each chart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/html/page.hpp"

namespace flipflop::report {

struct ChartPoint {
    double x{}, y{};
    std::optional<double> x_low, x_high, y_low, y_high;
    std::string label;                       ///< beside the point; empty: none
    std::vector<std::string> hover;          ///< lines; the first is the title
};

/// `role` decides colour and shape: other, kept, recommended, current, heuristic, unsafe, roof, line.
struct ChartSeries {
    std::string name, role;
    bool line{};                             ///< points are joined, and not marked
    std::vector<ChartPoint> points;
};

struct XyChart {
    std::string id, title, caption, x_title, y_title;
    bool x_log{}, y_log{}, y_from_zero{};
    bool x_powers{};                         ///< of two: ticks at 32, 64, ... (with x_log)
    std::vector<ChartSeries> series;
};

struct StackPart { std::string id, name; double value{}; std::string text; };
struct StackRow { std::string label, total; std::vector<StackPart> parts; };
/// Bars that lie, a row each; parts of one id have one colour.
struct StackChart {
    std::string id, title, caption, unit;
    std::vector<StackRow> rows;
};

/// <figure> with drawing, legend, caption and table; its data go to the page.
void add_chart(Page& page, const XyChart& chart);
void add_chart(Page& page, const StackChart& chart);

}  // namespace flipflop::report
