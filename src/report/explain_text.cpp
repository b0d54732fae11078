// The text of `explain`: the tree of terms, the path that decides it marked, beside other configurations where asked.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "flipflop/explain.hpp"
#include "report/explain_prose.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

std::string fold_text(const Term& term) {
    switch (term.fold) {
        case Fold::leaf: return "";
        case Fold::norm: return fmt::format("norm, p={}", significant(term.p));
        default: return std::string(to_string(term.fold));
    }
}

const Term* part_named(const Term* term, const Term& like, std::size_t position) {
    if (term == nullptr) { return nullptr; }
    // The same place first: ids may repeat among siblings.
    if (position < term->parts.size() && term->parts[position].id == like.id) { return &term->parts[position]; }
    const auto found = std::find_if(term->parts.begin(), term->parts.end(), [&](const Term& t) { return t.id == like.id; });
    return found != term->parts.end() ? &*found : nullptr;
}

struct Tree {
    Table table;
    bool compares{};
    std::size_t source_width{40};
};

/// `on_path`: the term lies on the path that decides the root's value. Depth is bounded by the models' trees (about ten).
void add_term(Tree& tree, const Term& term, const Term* other, std::size_t depth, bool on_path) {
    std::vector<std::string> cells{on_path ? ">" : "", std::string(2 * depth, ' ') + printable(term.id), significant(term.value, 4)};
    if (tree.compares) {
        cells.push_back(other ? significant(other->value, 4) : "-");
        std::string change;
        if (other && other->value != 0 && term.value != other->value) {
            const double ratio = term.value / other->value;
            change = ratio > 10 || ratio < 0.1 ? fmt::format("x {}", significant(ratio, 2)) : fmt::format("{:+.1f} %", (ratio - 1) * 100);
        }
        cells.push_back(change);
    }
    cells.push_back(printable(term.unit));
    cells.push_back(fold_text(term));
    cells.emplace_back(to_string(term.basis));
    cells.push_back(elide(printable(term.source), tree.source_width));
    tree.table.row(std::move(cells), on_path ? Mark::strong : Mark::plain);
    const auto dominant = dominant_part(term);
    for (std::size_t i = 0; i < term.parts.size(); ++i) {
        add_term(tree, term.parts[i], part_named(other, term.parts[i], i), depth + 1, on_path && (term.fold == Fold::product && depth == 0 ? !term.parts[i].parts.empty() : dominant == i));
    }
}

std::string config_name(const ExplainedConfig& explained) {
    return fmt::format("{} (grid {})", dim_text(explained.config.block), dim_text(explained.config.grid));
}

std::string tree_text(const ExplainedConfig& first, const ExplainedConfig* second, const TextStyle& style) {
    const std::optional<Term> root = whole_term(first.config);
    if (!root) { return {}; }
    const std::optional<Term> other = second ? whole_term(second->config) : std::nullopt;
    Tree tree;
    tree.compares = second != nullptr;
    tree.source_width = style.full_detail ? 400 : style.width > 140 ? style.width - 100 : 40;
    using Align = Table::Align;
    tree.table.column("");
    tree.table.column("term");
    tree.table.column(dim_text(first.config.block), Align::right);
    if (second) {
        tree.table.column(dim_text(second->config.block), Align::right);
        tree.table.column("change", Align::right);
    }
    for (const char* header : {"unit", "fold", "basis", "source"}) { tree.table.column(header); }
    add_term(tree, *root, other ? &*other : nullptr, 0, true);
    return tree.table.text(0, style.color);
}

std::string summary_text(const ExplainedConfig& explained, const TextStyle& style) {
    const ConfigResult& config = explained.config;
    std::string out = fmt::format("{}: {}", explained.role == "why_not" ? "why not" : explained.role, config_name(explained));
    if (!config.launchable) { return wrap(out + " cannot launch: " + printable(config.why_not), style.width, 2) + "\n"; }
    if (!config.predicted) { return out + " is not predicted\n"; }
    const Prediction& p = *config.predicted;
    out += ": " + time_with_interval(p.time.total.value, p.time.interval);
    if (p.power) {
        out += fmt::format(", {} W, {}", scaled_interval({}, p.power->power.value, p.power->power_interval),
                           energy_with_interval(p.power->energy.value, p.power->energy_interval));
    } else if (!p.power_unknown.empty()) {
        out += ", power unknown: " + printable(p.power_unknown);
    }
    out += fmt::format("; bound by {}; occupancy {} ({} warps an SM, limited by", bound_words(p.time.bound_by), percent(config.occupancy.fraction),
                       config.occupancy.active_warps_per_sm);
    for (std::size_t i = 0; i < config.occupancy.limiters.size(); ++i) { out += (i ? ", " : " ") + printable(config.occupancy.limiters[i]); }
    out += fmt::format("); {} waves", significant(p.time.waves));
    out += !config.safe ? "; unverified" : *config.safe ? "; safe" : "; UNSAFE";
    if (config.safe != std::optional(true) && !config.safe_reason.empty()) { out += ": " + printable(config.safe_reason); }
    return wrap(out, style.width, 2) + "\n";
}

std::string comparison_text(const ExplainedKernel& kernel, const Comparison& comparison, const TextStyle& style) {
    constexpr std::size_t kChanges = 8;
    std::string out = wrap(printable(comparison.verdict), style.width, 2) + "\n";
    if (comparison.time_ratio && comparison.time_ratio_low && comparison.time_ratio_high) {
        out += fmt::format("  {}", change_text(*comparison.time_ratio, *comparison.time_ratio_low, *comparison.time_ratio_high, "time"));
        out += fmt::format(" against {}\n", dim_text(kernel.configs[comparison.second].config.block));
    }
    if (comparison.energy_ratio && comparison.energy_ratio_low && comparison.energy_ratio_high) {
        out += fmt::format("  {}\n", change_text(*comparison.energy_ratio, *comparison.energy_ratio_low, *comparison.energy_ratio_high, "energy"));
    }
    Table because;
    because.column("");
    because.column("");
    for (const Reason& reason : comparison.reasons) { because.row({printable(reason.what), delta_text(reason)}); }
    if (!because.empty()) { out += "  because\n" + because.text(4, style.color); }
    Table table;
    table.column("");
    table.column("", Table::Align::right);
    table.column("");
    table.column("", Table::Align::right);
    table.column("");
    for (std::size_t i = 0; i < std::min(comparison.changes.size(), style.full_detail ? comparison.changes.size() : kChanges); ++i) {
        const TermChange& c = comparison.changes[i];
        const std::string delta = c.value && c.other ? fmt::format("{}{}", *c.value < *c.other ? "-" : "+", significant(std::abs(*c.value - *c.other), 3)) : "";
        table.row({printable(c.path), c.value ? significant(*c.value) : "-", c.other ? "for " + significant(*c.other) : "-", delta, printable(c.unit)});
    }
    return out + (table.empty() ? "" : "  terms that differ\n" + table.text(4, style.color));
}

std::string ncu_value(const NcuMetric& metric) {
    if (!metric.predicted) { return "unknown"; }
    if (metric.low && metric.high) { return with_interval(*metric.predicted, *metric.low, *metric.high); }
    return *metric.predicted >= 1000 && *metric.predicted < 1e15 ? grouped(static_cast<std::uint64_t>(std::llround(*metric.predicted))) : significant(*metric.predicted, 4);
}

std::string ncu_text(const NcuPlan& plan, const TextStyle& style) {
    if (plan.metrics.empty()) { return wrap("Nsight Compute: " + printable(plan.unsupported) + ".", style.width, 2) + "\n"; }
    Table table;
    table.column("metric");
    table.column("predicted", Table::Align::right);
    table.column("unit");
    table.column("what it confirms");
    for (const NcuMetric& metric : plan.metrics) {
        table.row({printable(metric.metric), ncu_value(metric), printable(metric.unit), printable(metric.note.empty() ? metric.fact : metric.fact + " (" + metric.note + ")")});
    }
    std::string out = "Measured by Nsight Compute\n" + table.text(2, style.color);
    for (const std::string& missing : plan.not_covered) { out += wrap("  not measured: " + printable(missing) + ".", style.width, 4) + "\n"; }
    return out + "  one command for all of them, from the launch that is meant:\n    " + printable(plan.command) + "\n";
}

std::string kernel_text(const ExplainedKernel& kernel, const TextStyle& style) {
    std::string out = paint(kernel_name(kernel.facts), Mark::strong, style.color) + " on " + printable(kernel.gpu_name.empty() ? kernel.gpu : kernel.gpu_name) + "\n";
    for (const ExplainedConfig& explained : kernel.configs) { out += summary_text(explained, style); }
    if (const std::string prose = explain_prose(kernel, style); !prose.empty()) { out += "\n" + prose; }
    if (!kernel.why_not.empty()) {
        out += "\nWhy not\n";
        for (const std::string& reason : kernel.why_not) { out += wrap("  - " + printable(reason), style.width, 4) + "\n"; }
    }
    for (const Comparison& comparison : kernel.comparisons) { out += "\n" + comparison_text(kernel, comparison, style); }
    if (!kernel.configs.empty()) {
        const ExplainedConfig* const second = kernel.configs.size() > 1 ? &kernel.configs[1] : nullptr;
        const std::string tree = tree_text(kernel.configs.front(), second, style);
        if (!tree.empty()) { out += "\nTerms (> marks the path that decides the value)\n" + tree; }
    }
    if (kernel.ncu) { out += "\n" + ncu_text(*kernel.ncu, style); }
    if (!kernel.assumptions.empty()) {
        std::string assumed;
        for (const Assumption& a : kernel.assumptions) { assumed += fmt::format("{}{} = {} ({})", assumed.empty() ? "" : "; ", a.name, a.value, a.reason); }
        out += "\n" + wrap("Assumed: " + with_short_parameters(assumed, kernel.facts) + ".", style.width, 2) + "\n";
    }
    return out;
}

}  // namespace

std::string text_report(const Explanation& explanation, const TextStyle& style) {
    std::string out;
    for (const ExplainedKernel& kernel : explanation.kernels) { out += (out.empty() ? "" : "\n") + kernel_text(kernel, style); }
    return out;
}

}  // namespace flipflop
