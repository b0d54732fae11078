#include "report/html/code_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "flipflop/charts.hpp"
#include "report/html/html_text.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

constexpr std::size_t kMostLines = 1500;     ///< of one table
constexpr std::uint32_t kAround = 6;         ///< source lines shown around the ones that cost
constexpr double kHot = 0.1;                 ///< of the warp instructions: worth a colour
constexpr std::size_t kWidest = 240;         ///< characters of a line

struct Row {
    std::uint32_t number{};
    std::string text;
    const LineCost* cost{};
    std::vector<const Finding*> findings;
};

std::string bar(double share) {
    return fmt::format("<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"bg\" width=\"100\" height=\"10\"/><rect width=\"{:.1f}\" height=\"10\"/></svg>", 100 * share);
}

struct Columns { double largest{}; bool passes{}; };

std::string cost_cells(const LineCost* cost, const Columns& columns) {
    if (cost == nullptr) { return columns.passes ? "<td></td><td></td><td></td><td></td>" : "<td></td><td></td><td></td>"; }
    std::string sectors;
    if (cost->sectors) {
        sectors = count_text(*cost->sectors);
        if (cost->sectors_ideal && *cost->sectors > 1.05 * *cost->sectors_ideal && *cost->sectors_ideal > 0) { sectors += fmt::format(" ({}x)", significant(*cost->sectors / *cost->sectors_ideal, 2)); }
    }
    std::string out = fmt::format("<td>{} {}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>", bar(columns.largest > 0 ? cost->executed_share / columns.largest : 0), percent(cost->executed_share), count_text(cost->executed), esc(sectors));
    if (columns.passes) { out += fmt::format("<td class=\"n\">{}</td>", cost->wavefronts ? count_text(*cost->wavefronts) : ""); }
    return out;
}

std::string table(const std::string& title, const std::vector<Row>& rows, std::size_t left_out, bool open) {
    Columns columns;
    for (const Row& row : rows) {
        if (row.cost == nullptr) { continue; }
        columns.largest = std::max(columns.largest, row.cost->executed_share);
        columns.passes = columns.passes || row.cost->wavefronts.has_value();
    }
    std::string out = fmt::format("<details{}><summary>{}</summary>\n<div class=\"codebox\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"code\"><thead><tr><th class=\"n\">line</th><th>instructions</th>"
                                  "<th class=\"n\">executed</th><th class=\"n\">sectors</th>{}<th>code</th></tr></thead><tbody>\n",
                                  open ? " open" : " class=\"big\"", esc(title), esc(title), columns.passes ? "<th class=\"n\">passes</th>" : "");
    for (const Row& row : rows) {
        const bool hot = row.cost != nullptr && row.cost->executed_share >= kHot;
        out += fmt::format("<tr{}><td class=\"l\">{}</td>{}<td>{}</td></tr>\n", !row.findings.empty() ? " class=\"said\"" : hot ? " class=\"hot\"" : "", row.number, cost_cells(row.cost, columns), esc(elide(row.text, kWidest)));
        for (const Finding* finding : row.findings) {
            out += fmt::format("<tr class=\"said\"><td colspan=\"{}\"></td><td class=\"say\">{} {}{}</td></tr>\n", columns.passes ? 5 : 4, esc(finding->rule), esc(finding->message), finding->cost_us ? ", costs " + esc(time_text(*finding->cost_us)) : "");
        }
    }
    out += "</tbody></table></div>\n";
    if (left_out > 0) { out += fmt::format("<p class=\"sub\">{} more lines are left out.</p>\n", left_out); }
    return out + "</details>\n";
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) { line.remove_suffix(1); }
        lines.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string untabbed(std::string_view line) {
    std::string out;
    for (const char c : line) {
        if (c == '\t') {
            out += "    ";
        } else {
            out += c;
        }
    }
    return out;
}

std::string last_part(const std::string& path) { return path.substr(path.find_last_of("/\\") + 1); }

std::string source_html(const Listing& listing, const KernelResult& result, const std::vector<LineCost>& costs, const std::map<std::string, std::string>& sources) {
    std::string out;
    for (std::uint32_t file = 1; file <= listing.files.size(); ++file) {
        const std::string& name = listing.files[file - 1];
        const auto found = sources.find(name);
        const std::vector<std::string_view> text = found != sources.end() ? split(found->second) : std::vector<std::string_view>{};
        std::set<std::uint32_t> numbers;
        std::map<std::uint32_t, const LineCost*> cost;
        for (const LineCost& line : costs) {
            if (line.file != file) { continue; }
            cost[line.line] = &line;
            const std::uint32_t around = text.empty() ? 0 : kAround;
            for (std::uint32_t n = line.line > around ? line.line - around : 1; n <= line.line + around; ++n) {
                if (n == line.line || n <= text.size()) { numbers.insert(n); }
            }
        }
        std::vector<Row> rows;
        for (const std::uint32_t number : numbers) {
            if (rows.size() >= kMostLines) { break; }
            const auto at = cost.find(number);
            Row row{number, number <= text.size() ? untabbed(text[number - 1]) : "", at != cost.end() ? at->second : nullptr, {}};
            for (const Finding& finding : result.findings) {
                if (finding.source && finding.source->line == number && finding.source->file == name) { row.findings.push_back(&finding); }
            }
            rows.push_back(std::move(row));
        }
        if (rows.empty()) { continue; }
        const std::string title = last_part(name) + (text.empty() ? " by line (the file is not in this repository)" : " with the cost of each line");
        out += table(title, rows, numbers.size() - rows.size(), true);
    }
    return out;
}

std::string ptx_html(const Listing& listing, const KernelResult& result, const std::vector<LineCost>& costs, bool open) {
    std::map<std::uint32_t, const LineCost*> cost;
    for (const LineCost& line : costs) { cost[line.line] = &line; }
    std::vector<Row> rows;
    for (std::size_t i = 0; i < std::min(listing.lines.size(), kMostLines); ++i) {
        const auto number = listing.first_line + static_cast<std::uint32_t>(i);
        const auto at = cost.find(number);
        Row row{number, untabbed(listing.lines[i]), at != cost.end() ? at->second : nullptr, {}};
        for (const Finding& finding : result.findings) {
            if (finding.ptx_line == number) { row.findings.push_back(&finding); }
        }
        rows.push_back(std::move(row));
    }
    return rows.empty() ? "" : table("PTX with the cost of each line", rows, listing.lines.size() - rows.size(), open);
}

}  // namespace

std::string code_html(const Listing& listing, const KernelResult& result, const ConfigResult& config, const std::map<std::string, std::string>& sources) {
    const std::vector<LineCost> by_ptx = cost_of_ptx_lines(listing, config);
    if (by_ptx.empty()) { return {}; }
    std::string out = fmt::format("<h3>Code at {}</h3>\n<p class=\"sub\">How often each line runs, as warp instructions of the whole grid; the 32-byte sectors that its accesses move, and how many times the least that is; and passes of shared memory. A line's share of the instructions is not its share of the time.</p>\n",
                                  dim_text(config.block));
    const std::string of_source = source_html(listing, result, cost_of_source_lines(listing, config), sources);
    return out + of_source + ptx_html(listing, result, by_ptx, of_source.empty());
}

}  // namespace flipflop::report
