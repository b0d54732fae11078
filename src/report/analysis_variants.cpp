#include "report/analysis_variants.hpp"

#include <fmt/core.h>

#include "report/json_parts.hpp"
#include "report/markdown_text.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

const KernelAnalysis& kernel_of(const Analysis& analysis, const VariantLine& line) { return analysis.kernels[line.kernel]; }

/// The end of a path: what tells two variants apart stands there.
std::string short_path(const std::string& path, std::size_t width) {
    const std::string text = printable(path);
    return text.size() <= width ? text : "..." + text.substr(text.size() - (width - 3));
}

std::string title(const VariantRanking& ranking, const Analysis& analysis) {
    const std::string name = ranking.name.empty() || ranking.lines.empty() ? std::string("one computation") : kernel_name(kernel_of(analysis, ranking.lines.front()).facts);
    return fmt::format("{} variants of {} on {}{}, best for {} first", ranking.lines.size(), name, ranking.gpu, ranking.case_name.empty() ? "" : ", case " + ranking.case_name, ranking.objective);
}

std::vector<std::string> headers(const VariantRanking& ranking) {
    std::vector<std::string> out{"rank", "variant"};
    for (const std::string& parameter : ranking.parameters) { out.push_back(parameter); }
    for (const char* header : {"block", "grid", "shared", "time", "energy", "over the best", "same result"}) { out.emplace_back(header); }
    return out;
}

std::vector<std::string> cells(const VariantRanking& ranking, const VariantLine& line, const Analysis& analysis) {
    const KernelAnalysis& kernel = kernel_of(analysis, line);
    std::vector<std::string> out{line.rank ? std::to_string(*line.rank) : "-", short_path(kernel.input.empty() ? kernel.facts.name : kernel.input, 48)};
    for (const std::string& parameter : ranking.parameters) {
        const auto found = kernel.metadata.find(parameter);
        out.push_back(found == kernel.metadata.end() ? "?" : printable(found->second));
    }
    if (!line.time_us) {
        out.push_back(printable(line.why_not));
        return out;
    }
    out.push_back(dim_text(line.block));
    out.push_back(dim_text(line.grid));
    out.push_back(bytes_text(static_cast<double>(line.dynamic_shared_bytes)));
    out.push_back(time_text(*line.time_us));
    out.push_back(line.energy_mj ? energy_text(*line.energy_mj) : "unknown");
    out.push_back(line.rank == 1U ? "best" : fmt::format("{} ({}-{})", significant(*line.cost_ratio), significant(*line.cost_ratio_low, 2), significant(*line.cost_ratio_high, 2)));
    out.push_back(!line.safe ? "unverified" : *line.safe ? "safe" : "unsafe");
    return out;
}

}  // namespace

void write_variants(JsonWriter& json, const Analysis& analysis) {
    json.key("variants");
    json.begin_array(true);
    for (const VariantRanking& ranking : analysis.variants) {
        json.begin_object(true);
        json.member_or_null("name", ranking.name);
        json.member("gpu", ranking.gpu);
        json.member_or_null("case", ranking.case_name);
        json.member("objective", ranking.objective);
        json.member_or_null("note", ranking.note);
        json.strings("parameters", ranking.parameters);
        json.key("ranking");
        json.begin_array(true);
        for (const VariantLine& line : ranking.lines) {
            const KernelAnalysis& kernel = kernel_of(analysis, line);
            json.begin_object();
            json.member("rank", line.rank);
            json.member("input", kernel.input);
            json.member("name", kernel.facts.name);
            json.member("kernel", line.kernel);
            json.key("parameters");
            json.begin_object();
            for (const auto& [key, value] : kernel.metadata) { json.member(key, value); }
            json.end_object();
            json.key("block");
            write_dim3_or_null(json, line.time_us ? std::optional(line.block) : std::nullopt);
            json.key("grid");
            write_dim3_or_null(json, line.time_us ? std::optional(line.grid) : std::nullopt);
            json.member("dynamic_shared_bytes", line.time_us ? std::optional(line.dynamic_shared_bytes) : std::nullopt);
            json.member("time_us", line.time_us);
            json.member("energy_mj", line.energy_mj);
            json.member("safe", line.safe);
            json.member("cost_ratio", line.cost_ratio);
            json.member("cost_ratio_low", line.cost_ratio_low);
            json.member("cost_ratio_high", line.cost_ratio_high);
            json.member_or_null("why_not", line.why_not);
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
}

std::string variants_text(const Analysis& analysis, const TextStyle& style) {
    std::string out;
    for (const VariantRanking& ranking : analysis.variants) {
        Table table;
        const std::vector<std::string> names = headers(ranking);
        for (std::size_t i = 0; i < names.size(); ++i) { table.column(printable(names[i]), i == 0 || (i > 1 && i < 2 + ranking.parameters.size()) ? Table::Align::right : Table::Align::left); }
        std::size_t shown = 0;
        for (const VariantLine& line : ranking.lines) {
            if (!style.all && shown++ == 4 * static_cast<std::size_t>(style.top)) { break; }
            table.row(cells(ranking, line, analysis), line.rank == 1U ? Mark::strong : line.time_us ? Mark::plain : Mark::dim);
        }
        out += (out.empty() ? "" : "\n") + wrap(printable(title(ranking, analysis)), style.width, 2) + "\n" + table.text(2, style.color);
        if (!ranking.note.empty()) { out += wrap("  " + printable(ranking.note), style.width, 2) + "\n"; }
        if (shown > 4 * static_cast<std::size_t>(style.top)) { out += fmt::format("  {} variants in all: --all\n", ranking.lines.size()); }
    }
    return out;
}

std::string variants_markdown(const Analysis& analysis) {
    std::string out;
    for (const VariantRanking& ranking : analysis.variants) {
        out += "## " + plain(title(ranking, analysis)) + "\n\n";
        if (!ranking.note.empty()) { out += plain(ranking.note) + "\n\n"; }
        std::string ruler;
        for (const std::string& header : headers(ranking)) {
            out += "| " + plain(header) + " ";
            ruler += "|---";
        }
        out += "|\n" + ruler + "|\n";
        for (const VariantLine& line : ranking.lines) {
            for (const std::string& cell : cells(ranking, line, analysis)) { out += "| " + plain(cell) + " "; }
            out += "|\n";
        }
        out += "\n";
    }
    return out;
}

}  // namespace flipflop::report
