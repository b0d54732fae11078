// check as text: worst first, one line where nothing changed.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>

#include "flipflop/gate_report.hpp"
#include "report/check_parts.hpp"

namespace flipflop {

namespace report {

using gate::Change;
using gate::Metric;
using gate::Verdict;

std::string_view metric_words(Metric metric) {
    constexpr std::array<std::string_view, gate::kMetrics> kWords{"time", "energy", "best time", "best energy", "registers", "spilled bytes", "shared bytes", "occupancy", "sectors a request", "findings"};
    return kWords[static_cast<std::size_t>(metric)];
}

std::string metric_text(Metric metric, const std::optional<double>& value) {
    if (!value) { return "unknown"; }
    switch (metric) {
        case Metric::time_us:
        case Metric::recommended_time_us: return time_text(*value, 4);
        case Metric::energy_mj:
        case Metric::recommended_energy_mj: return energy_text(*value, 4);
        case Metric::occupancy: return percent(*value);
        default: return significant(*value, 6);
    }
}

namespace {

std::string signed_number(double value, int digits) { return (value < 0 ? "-" : "+") + significant(std::abs(value), digits); }

}  // namespace

std::string change_words(const Change& change) {
    if (!change.change) { return {}; }
    if (change.relative) {
        std::string out = signed_number(*change.change * 100, 3) + " %";
        if (change.low && change.high && *change.low != *change.high) {
            out += fmt::format(" ({} to {})", signed_number(*change.low * 100, 2), signed_number(*change.high * 100, 2));
        }
        return out;
    }
    if (change.metric == Metric::occupancy) { return signed_number(*change.change * 100, 3) + " points"; }
    return signed_number(*change.change, 4);
}

std::string limit_text(const Change& change) {
    if (!change.threshold) { return {}; }
    if (change.budget) {
        return fmt::format("{} {}", change.head && *change.head < *change.threshold ? "at least" : "at most", metric_text(change.metric, change.threshold));
    }
    std::string out = change.relative ? significant(*change.threshold * 100, 3) + " %" : metric_text(change.metric, change.threshold);
    if (change.threshold_absolute) { out += " and " + metric_text(change.metric, change.threshold_absolute); }
    return out;
}

std::string safe_name(const gate::KernelCheck& kernel) { return printable(kernel.demangled.empty() ? kernel.name : kernel.demangled); }

std::vector<const gate::KernelCheck*> worst_first(const gate::CheckReport& report) {
    std::vector<const gate::KernelCheck*> order;
    for (const gate::KernelCheck& kernel : report.kernels) { order.push_back(&kernel); }
    const auto growth = [](const gate::KernelCheck& k) {
        double most = 0;
        for (const Change& c : k.changes) {
            if (c.relative && c.change && !c.budget) { most = std::max(most, std::abs(*c.change)); }
        }
        return most;
    };
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
        const int ra = a->rank();
        const int rb = b->rank();
        return ra != rb ? ra < rb : growth(*a) > growth(*b);
    });
    return order;
}

bool several_gpus(const gate::CheckReport& report) {
    return std::any_of(report.kernels.begin(), report.kernels.end(), [&](const auto& k) { return k.gpu != report.kernels.front().gpu; });
}

std::string where_text(const gate::KernelCheck& kernel, bool gpus) {
    std::string out = safe_name(kernel);
    if (gpus) { out += " on " + printable(kernel.gpu); }
    if (!kernel.case_name.empty()) { out += ", case " + printable(kernel.case_name); }
    return out;
}

bool nothing_changed(const gate::CheckReport& report) {
    return report.notes.empty() && std::all_of(report.kernels.begin(), report.kernels.end(), [](const gate::KernelCheck& k) {
        return k.status == gate::Status::same && k.changes.empty() && k.new_findings.empty();
    });
}

namespace {

Mark mark_of(gate::Verdict verdict) {
    switch (verdict) {
        case gate::Verdict::regressed: return Mark::bad;
        case gate::Verdict::uncertain: return Mark::warning;
        case gate::Verdict::improved: return Mark::good;
        case gate::Verdict::incomparable:
        case gate::Verdict::waived: return Mark::dim;
        case gate::Verdict::ok: break;
    }
    return Mark::plain;
}

}  // namespace

std::string kernel_changes_text(const gate::KernelCheck& kernel, bool gpus, const TextStyle& style) {
    const bool fails = kernel.fails();
    std::string out = paint(fails ? "FAIL" : std::string(to_string(kernel.status)), fails ? Mark::bad : Mark::plain, style.color) + "  " +
                      paint(where_text(kernel, gpus), Mark::strong, style.color);
    if (!kernel.renamed_from.empty()) { out += " (was " + printable(kernel.renamed_from) + ")"; }
    out += "\n";
    Table table;
    using Align = Table::Align;
    for (const Align align : {Align::left, Align::right, Align::left, Align::right, Align::left, Align::left, Align::left}) { table.column("", align); }
    std::set<std::string> said;
    for (const gate::Change& change : kernel.changes) {
        // The same reason for every metric is a note of its own already.
        if (change.verdict == gate::Verdict::incomparable && change.base == change.head) { continue; }
        const std::string limit = limit_text(change);
        table.row({std::string(metric_words(change.metric)), change.budget ? "" : metric_text(change.metric, change.base), change.budget ? "" : "->", metric_text(change.metric, change.head),
                   change_words(change), std::string(change.budget && change.verdict == gate::Verdict::regressed ? "over budget" : to_string(change.verdict)),
                   change.why.empty() || !said.insert(change.why).second ? (limit.empty() ? "" : (change.budget ? limit : "limit " + limit)) : printable(change.why)},
                  mark_of(change.verdict));
    }
    out += table.text(6, style.color);
    for (const gate::NewFinding& finding : kernel.new_findings) {
        // A new kernel's findings are all new; only those that the gate looks at are news.
        if (kernel.base == nullptr && finding.verdict == gate::Verdict::ok) { continue; }
        std::string line = fmt::format("      {} new {} {}{}", finding.count, printable(finding.rule), to_string(finding.severity), finding.count == 1 ? "" : "s");
        if (finding.verdict == gate::Verdict::waived) { line += " (waived)"; }
        if (finding.candidates.size() == 1) { line += ": " + printable(finding.candidates.front()->message); }
        out += wrap(line, style.width, 8) + "\n";
    }
    return out;
}

std::string counts_text(const gate::CheckReport& report) {
    constexpr std::array<std::string_view, 8> kWords{"failed", "uncertain", "waived", "changed within bounds", "new (compared with nothing)", "gone", "not comparable in part", "as before"};
    const auto place_of = [](const gate::KernelCheck& kernel) -> std::size_t {
        const auto rank = static_cast<std::size_t>(kernel.rank());
        if (rank > 3) { return rank + 2; }
        if (rank < 3) { return rank; }
        if (kernel.status == gate::Status::added) { return 4; }
        if (kernel.status == gate::Status::removed) { return 5; }
        const bool in_part = std::any_of(kernel.changes.begin(), kernel.changes.end(), [](const gate::Change& c) { return c.verdict == gate::Verdict::incomparable; });
        return in_part ? 6 : 3;
    };
    std::array<std::size_t, kWords.size()> counts{};
    for (const gate::KernelCheck& kernel : report.kernels) { ++counts[place_of(kernel)]; }
    std::string out;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) { continue; }
        const std::string_view words = !report.has_base && i + 1 == counts.size() ? "without complaint" : kWords[i];
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[i], words);
    }
    return out;
}

}  // namespace report

namespace {

using namespace report;

std::string boards_text(const gate::CheckReport& report) {
    std::set<std::string> names;
    std::set<std::string> boards;
    for (const gate::KernelCheck& kernel : report.kernels) {
        names.insert(kernel.name);
        boards.insert(kernel.gpu);
    }
    std::string out = fmt::format("{} kernel{}", names.size(), names.size() == 1 ? "" : "s");
    if (boards.size() == 1) { return out + " on " + printable(*boards.begin()); }
    return out + fmt::format(" on {} GPUs", boards.size());
}

}  // namespace

std::string text_report(const gate::CheckReport& report, const TextStyle& style) {
    const bool bad = report.fail || !report.incomplete.empty();
    const std::string verdict = paint(report.fail ? "FAIL" : bad ? "NO PASS" : "pass", bad ? Mark::bad : Mark::good, style.color);
    const std::string rest = report.incomplete.empty() ? "" : "; " + report.incomplete + " (see the messages)";
    if (nothing_changed(report)) { return fmt::format("{}: {}, {}{}\n", verdict, boards_text(report), report.has_base ? "nothing changed" : "nothing to complain of", rest); }
    std::string out;
    const bool gpus = several_gpus(report);
    for (const gate::KernelCheck* kernel : worst_first(report)) {
        const bool quiet = kernel->status == gate::Status::added || kernel->status == gate::Status::removed;   // their notes say it
        const bool shown = kernel->rank() <= 2 || (kernel->rank() == 3 && !quiet);
        if (shown) { out += kernel_changes_text(*kernel, gpus, style) + "\n"; }
    }
    for (const gate::Note& note : report.notes) { out += wrap("note: " + printable(note.message), style.width, 6) + "\n"; }
    if (!report.notes.empty()) { out += "\n"; }
    out += yearly_text(report, style);
    return out + fmt::format("{}: {}: {}{}\n", verdict, boards_text(report), counts_text(report), rest);
}

}  // namespace flipflop
