// diff as text and as "flipflop.diff/1": the changes of check, and what is behind them.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "flipflop/gate_report.hpp"
#include "report/check_parts.hpp"

namespace flipflop {
namespace {

using namespace report;
using gate::AccessSide;
using gate::KernelDiff;

void write_side(JsonWriter& json, std::string_view name, const std::optional<AccessSide>& side) {
    json.key(name);
    if (!side) {
        json.value(nullptr);
        return;
    }
    json.begin_object();
    json.member("ptx_line", side->ptx_line);
    write_source(json, side->source);
    json.member("requests", side->requests);
    json.member("sectors_per_request", side->sectors_per_request);
    json.member("wavefronts_per_request", side->wavefronts_per_request);
    json.end_object();
}

void write_terms(JsonWriter& json, std::string_view name, const std::vector<gate::TermDelta>& terms) {
    json.objects(name, terms, [&](const gate::TermDelta& term) {
        json.member("path", term.path);
        json.member("unit", term.unit);
        json.member("base", term.base);
        json.member("head", term.head);
        json.member("delta", term.delta);
    });
}

void write_finding_list(JsonWriter& json, std::string_view name, const std::vector<const Finding*>& findings) {
    json.objects(name, findings, [&](const Finding* finding) {
        write_finding(json, *finding);
    });
}

void write_kernel(JsonWriter& json, const KernelDiff& diff) {
    json.begin_object(true);
    write_kernel_head(json, *diff.check);
    json.member_or_null("summary", diff.summary);
    json.member("explained", diff.explained);
    write_terms(json, "time_terms", diff.time_terms);
    write_terms(json, "energy_terms", diff.energy_terms);
    json.objects("accesses", diff.accesses, [&](const gate::AccessDelta& access) {
        json.member("op", access.op);
        json.member("space", access.space);
        write_side(json, "base", access.base);
        write_side(json, "head", access.head);
    });
    json.objects("instructions", diff.instructions, [&](const gate::ClassDelta& change) {
        json.member("class", change.name);
        json.member("base", change.base);
        json.member("head", change.head);
    });
    write_finding_list(json, "findings_new", diff.fresh);
    write_finding_list(json, "findings_gone", diff.gone);
    json.end_object();
}

std::string signed_text(double value, std::string (*words)(double, int)) { return (value < 0 ? "- " : "+ ") + words(std::abs(value), 3); }

std::string terms_text(const std::vector<gate::TermDelta>& terms, std::string (*words)(double, int), bool color) {
    Table table;
    for (const Table::Align align : {Table::Align::left, Table::Align::right, Table::Align::right, Table::Align::left, Table::Align::right, Table::Align::left}) { table.column("", align); }
    for (const gate::TermDelta& term : terms) {
        table.row({printable(term.path), signed_text(term.delta, words), significant(term.base), "->", significant(term.head), printable(term.unit)}, term.delta > 0 ? Mark::bad : Mark::good);
    }
    return table.text(8, color);
}

std::string side_text(const std::optional<AccessSide>& side) {
    if (!side) { return "-"; }
    std::string out = place_text(side->source, side->ptx_line);
    if (side->sectors_per_request) { out += fmt::format(", {} sectors", significant(*side->sectors_per_request)); }
    if (side->wavefronts_per_request) { out += fmt::format(", {} wavefronts", significant(*side->wavefronts_per_request)); }
    if (side->requests) { out += fmt::format(", {} requests", count_text(*side->requests)); }
    return printable(out);
}

std::string details_text(const KernelDiff& diff, const TextStyle& style) {
    constexpr std::size_t kMost = 6;
    std::string out;
    if (!diff.time_terms.empty()) { out += "      time, by what changed\n" + terms_text(diff.time_terms, time_text, style.color); }
    if (!diff.energy_terms.empty()) { out += "      energy, by what changed\n" + terms_text(diff.energy_terms, energy_text, style.color); }
    Table accesses;
    for (int i = 0; i < 4; ++i) { accesses.column(""); }
    const std::size_t shown = style.full_detail ? diff.accesses.size() : std::min(kMost, diff.accesses.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const gate::AccessDelta& access = diff.accesses[i];
        accesses.row({printable(access.op + "." + access.space), side_text(access.base), "->", side_text(access.head)});
    }
    if (shown > 0) { out += "      memory instructions\n" + accesses.text(8, style.color); }
    if (shown < diff.accesses.size()) { out += fmt::format("        {} more: --detail full\n", diff.accesses.size() - shown); }
    std::string mix;
    for (std::size_t i = 0; i < std::min(kMost, diff.instructions.size()); ++i) {
        const gate::ClassDelta& change = diff.instructions[i];
        mix += fmt::format("{}{} {} -> {}", mix.empty() ? "" : ", ", change.name, count_text(change.base), count_text(change.head));
    }
    if (!mix.empty()) { out += wrap("      executed: " + mix, style.width, 8) + "\n"; }
    for (const Finding* finding : diff.gone) { out += wrap(fmt::format("      gone: {} {}", finding->rule, printable(finding->message)), style.width, 8) + "\n"; }
    for (const Finding* finding : diff.fresh) { out += wrap(fmt::format("      new: {} {}", finding->rule, printable(finding->message)), style.width, 8) + "\n"; }
    return out;
}

}  // namespace

void write_diff(const gate::CheckReport& report, const std::vector<KernelDiff>& diffs, const gate::Snapshot& head, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.diff/1");
    write_tool(json);
    write_used(json, {{"ptxas", head.ptxas}});
    json.member("base", report.base_origin);
    json.member("head", head.origin);
    json.member("verdict", report.fail ? "fail" : "pass");
    json.key("kernels");
    json.begin_array(true);
    for (const KernelDiff& diff : diffs) { write_kernel(json, diff); }
    json.end_array();
    write_notes(json, report.notes);
    write_yearly(json, report.yearly);
    json.end_object();
    json.finish();
}

std::string text_report(const gate::CheckReport& report, const std::vector<KernelDiff>& diffs, const TextStyle& style) {
    if (nothing_changed(report)) { return "nothing changed\n"; }
    std::string out;
    const bool gpus = several_gpus(report);
    for (const gate::KernelCheck* kernel : worst_first(report)) {
        if (kernel->rank() > 3 || kernel->base == nullptr || kernel->head == nullptr) { continue; }
        const auto found = std::find_if(diffs.begin(), diffs.end(), [&](const KernelDiff& d) { return d.check == kernel; });
        out += kernel_changes_text(*kernel, gpus, style);
        if (found != diffs.end()) {
            if (!found->summary.empty()) { out += wrap("      " + printable(found->summary), style.width, 6) + "\n"; }
            out += details_text(*found, style);
        }
        out += "\n";
    }
    for (const gate::Note& note : report.notes) { out += wrap("note: " + printable(note.message), style.width, 6) + "\n"; }
    return out + (report.notes.empty() ? "" : "\n") + yearly_text(report, style) + counts_text(report) + "\n";
}

}  // namespace flipflop
