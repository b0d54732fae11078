#include "variants.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "complaints.hpp"
#include "program_extent.hpp"
#include "ranking.hpp"
#include "toml_reader.hpp"

namespace flipflop::advise {

namespace {

/// Cells of one line of CSV (RFC 4180, without line breaks inside quotes).
std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') cells.back() += line[++i];
        else if (c == '"') quoted = !quoted;
        else if (c == ',' && !quoted) cells.emplace_back();
        else if (c != '\r') cells.back() += c;
    }
    for (std::string& cell : cells) {
        const std::size_t first = cell.find_first_not_of(" \t"), last = cell.find_last_not_of(" \t");
        cell = first == std::string::npos ? std::string() : cell.substr(first, last - first + 1);
    }
    return cells;
}

Diagnostic at_line(const VariantTable& table, std::uint32_t line, std::string text, std::string message, std::string help = {}) {
    Diagnostic d = complain("FF0766", table.path, std::move(message), std::move(help));
    d.at = {line, line > 0 ? 1u : 0u};
    d.source_line = std::move(text);
    return d;
}

/// What is wrong with a line's quotes, or empty: one that never ends, or text around a quoted cell.
std::string quote_trouble(std::string_view line) {
    bool quoted = false, closed = false, blank = true;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') ++i;
        else if (c == '"' && !quoted && (!blank || closed)) return "a quote stands inside a cell";
        else if (c == '"') {
            closed = quoted;
            quoted = !quoted;
        } else if (!quoted && c == ',') closed = false, blank = true;
        else if (!quoted && c != ' ' && c != '\t' && c != '\r') {
            if (closed) return "text follows a quoted cell";
            blank = false;
        }
    }
    return quoted ? "a quote is never closed" : "";
}

/// What is wrong with a header's names, or empty.
std::string header_trouble(const std::vector<std::string>& columns) {
    if (columns.size() < 2) return "the header needs a column that names the variant, and its parameters";
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].empty()) return fmt::format("column {} has no name", i + 1);
        if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) != columns.begin() + static_cast<std::ptrdiff_t>(i)) return fmt::format("there are two columns '{}'", columns[i]);
    }
    return {};
}

Scored scored_of(const VariantLine& line) {
    Scored s;
    s.time_us = line.time_us.value_or(0);
    s.energy_mj = line.energy_mj;
    s.threads = line.block.count();
    s.unverified = !line.safe.has_value();
    s.barred = line.safe == std::optional(false);
    return s;
}

VariantLine line_of(const KernelResult& result, std::size_t kernel) {
    VariantLine line;
    line.kernel = kernel;
    const auto recommended = std::find_if(result.configs.begin(), result.configs.end(), [](const ConfigResult& c) { return c.recommended && c.predicted; });
    if (recommended == result.configs.end()) {
        line.why_not = result.no_recommendation.empty() ? "nothing is recommended" : result.no_recommendation;
        return line;
    }
    line.block = recommended->block;
    line.grid = recommended->grid;
    line.dynamic_shared_bytes = recommended->dynamic_shared_bytes;
    line.time_us = recommended->predicted->time.total.value;
    if (recommended->predicted->power) line.energy_mj = recommended->predicted->power->energy.value;
    line.safe = recommended->safe;
    return line;
}

void order(VariantRanking& ranking, Objective objective, const PairedError& paired) {
    std::vector<VariantLine> able, unable;
    for (VariantLine& line : ranking.lines) (line.time_us ? able : unable).push_back(std::move(line));
    std::vector<Scored> scores;
    for (const VariantLine& line : able) scores.push_back(scored_of(line));
    const std::vector<double> values = objective_values(scores, objective);
    const std::vector<std::size_t> by_rank = rank(scores, objective);
    const double spread = std::exp(1.6448536269514722 * (objective == Objective::time ? paired.time_log_sigma : paired.energy_log_sigma));
    ranking.lines.clear();
    for (std::size_t i = 0; i < by_rank.size(); ++i) {
        VariantLine& line = able[by_rank[i]];
        line.rank = static_cast<std::uint32_t>(i + 1);
        line.cost_ratio = values[by_rank[i]] / values[by_rank[0]];
        line.cost_ratio_low = *line.cost_ratio / (i == 0 ? 1 : spread);
        line.cost_ratio_high = *line.cost_ratio * (i == 0 ? 1 : spread);
        ranking.lines.push_back(std::move(line));
    }
    for (VariantLine& line : unable) ranking.lines.push_back(std::move(line));
}

/// The metadata in which the variants differ.
std::vector<std::string> differing(const std::vector<KernelAnalysis>& kernels, const std::vector<std::size_t>& members) {
    std::map<std::string, std::vector<std::string>> values;
    for (const std::size_t k : members)
        for (const auto& [key, value] : kernels[k].metadata) values[key].push_back(value);
    std::vector<std::string> keys;
    for (const auto& [key, all] : values) {
        const bool same = all.size() == members.size() && std::all_of(all.begin(), all.end(), [&](const std::string& v) { return v == all.front(); });
        if (!same && key != "hash" && key != "cache_key") keys.push_back(key);
    }
    return keys;
}

}  // namespace

Result<VariantTable> read_variant_table(const std::string& path) {
    VariantTable table;
    table.path = path;
    const auto text = toml_reader::read_whole(path);
    if (!text) return tl::unexpected(at_line(table, 0, "", "the variant table cannot be read"));
    std::uint32_t number = 0;
    for (std::size_t begin = 0; begin < text->size();) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        const std::string line = text->substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        if (line.find('\0') != std::string::npos) return tl::unexpected(at_line(table, number, {}, "this is not text"));
        if (const std::string trouble = quote_trouble(line); !trouble.empty()) return tl::unexpected(at_line(table, number, line, trouble, "one line a variant; a quote inside a quoted cell is written twice"));
        std::vector<std::string> cells = cells_of(line);
        if (table.columns.empty()) {
            if (cells.front().starts_with("\xEF\xBB\xBF")) cells.front().erase(0, 3);
            if (const std::string trouble = header_trouble(cells); !trouble.empty()) return tl::unexpected(at_line(table, number, line, trouble, "such as variant,BLOCK_M,BLOCK_N"));
            table.columns = std::move(cells);
            continue;
        }
        if (cells.size() != table.columns.size())
            return tl::unexpected(at_line(table, number, line, fmt::format("{} cells under {} columns", cells.size(), table.columns.size())));
        if (cells.front().empty()) return tl::unexpected(at_line(table, number, line, "the row names no variant"));
        for (const auto& row : table.rows)
            if (row.front() == cells.front()) return tl::unexpected(at_line(table, number, line, fmt::format("there are two rows for '{}'", cells.front())));
        table.rows.push_back(std::move(cells));
    }
    if (table.rows.empty()) return tl::unexpected(at_line(table, 0, "", "the variant table has no rows"));
    return table;
}

const std::vector<std::string>* row_for(const VariantTable& table, const Input& input, const std::string& kernel) {
    const std::filesystem::path path(input.path);
    for (const auto& row : table.rows) {
        const std::string& key = row.front();
        const auto named = input.metadata.find("hash");   // Triton's own
        const bool hash = key.size() >= 8 && (input.sha256.starts_with(key) || (named != input.metadata.end() && named->second.starts_with(key)));
        if (key == input.path || key == path.filename() || key == path.stem() || key == path.parent_path().filename() || hash || key == kernel) return &row;
    }
    return nullptr;
}

Metadata metadata_of(const Input& input, const VariantTable* table, const std::string& kernel) {
    Metadata all = input.metadata;
    if (table == nullptr) return all;
    if (const auto* row = row_for(*table, input, kernel))
        for (std::size_t i = 1; i < table->columns.size(); ++i)
            if (!(*row)[i].empty()) all[table->columns[i]] = (*row)[i];
    return all;
}

Names names_of(const Metadata& metadata) {
    Names names;
    for (const auto& [key, text] : metadata) {
        double real{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
        if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(real)) continue;
        const bool whole = real == std::floor(real) && std::abs(real) < 9e15;
        names.emplace(key, whole ? Number{static_cast<std::int64_t>(real)} : Number{real});
    }
    return names;
}

void apply_metadata(const Metadata& metadata, KernelFacts& kernel) {
    const Names names = names_of(metadata);
    const auto whole = [&](const char* key) -> std::uint32_t {
        const auto found = names.find(key);
        return found != names.end() && std::holds_alternative<std::int64_t>(found->second) ? static_cast<std::uint32_t>(std::get<std::int64_t>(found->second)) : 0;
    };
    const std::uint32_t threads = 32 * whole("num_warps");
    // Warp specialisation adds warps; then the PTX's own bound is the larger.
    if (threads > 0 && !kernel.bounds.required_block && kernel.bounds.max_threads.value_or(threads) == threads) kernel.bounds.required_block = Dim3{threads, 1, 1};
    if (const std::uint32_t blocks = whole("num_ctas"); blocks > 1 && !kernel.bounds.cluster) kernel.bounds.cluster = Dim3{blocks, 1, 1};
}

std::vector<VariantRanking> rank_variants(const std::vector<KernelAnalysis>& kernels, Objective objective, const std::vector<PairedError>& paired) {
    std::map<std::string, std::vector<std::size_t>> by_name;
    std::vector<std::string> names;              // in the order of the inputs
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        auto& members = by_name[kernels[k].facts.name];
        if (members.empty()) names.push_back(kernels[k].facts.name);
        members.push_back(k);
    }
    std::vector<std::vector<std::size_t>> groups;
    for (const std::string& name : names)
        if (by_name[name].size() > 1) groups.push_back(by_name[name]);
    if (groups.empty()) {
        groups.emplace_back();
        for (std::size_t k = 0; k < kernels.size(); ++k) groups.back().push_back(k);
    }
    std::vector<VariantRanking> rankings;
    for (const auto& members : groups) {
        const KernelAnalysis& first = kernels[members.front()];
        const bool one_name = std::all_of(members.begin(), members.end(), [&](std::size_t k) { return kernels[k].facts.name == first.facts.name; });
        std::size_t results = first.results.size();
        for (const std::size_t k : members) results = std::min(results, kernels[k].results.size());
        std::size_t gpu = 0;
        for (std::size_t r = 0; r < results; ++r) {
            if (r > 0 && first.results[r].gpu != first.results[r - 1].gpu) ++gpu;
            VariantRanking ranking;
            ranking.name = one_name ? first.facts.name : std::string();
            ranking.gpu = first.results[r].gpu;
            ranking.case_name = first.results[r].case_name;
            ranking.objective = to_string(objective);
            ranking.parameters = differing(kernels, members);
            for (const std::size_t k : members) ranking.lines.push_back(line_of(kernels[k].results[r], k));
            const auto guesses = [&](std::size_t k) {
                const auto& all = kernels[k].results[r].assumptions;
                return std::any_of(all.begin(), all.end(), [](const Assumption& a) { return a.name == kProgramsAssumption; });
            };
            if (std::any_of(members.begin(), members.end(), guesses))
                ranking.note = "No grid was given, and the code does not show how many elements a program covers: every variant is given one program for as many elements as it has threads, "
                               "whatever its tile. Give --grid-x EXPR (and --variant-table FILE.csv for what was compiled in), or trust this order little.";
            order(ranking, objective, paired[std::min(gpu, paired.size() - 1)]);
            rankings.push_back(std::move(ranking));
        }
    }
    return rankings;
}

}  // namespace flipflop::advise
