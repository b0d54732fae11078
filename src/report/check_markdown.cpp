// check as Markdown: what failed is open, the rest folded; at most what a comment holds, and what is left out is said.
#include <algorithm>

#include <fmt/core.h>

#include "flipflop/gate_report.hpp"
#include "report/check_parts.hpp"
#include "report/markdown_text.hpp"

namespace flipflop {
namespace {

using namespace report;

constexpr std::size_t kMost = 64'000;          // bytes; a comment takes 65,536 characters
constexpr std::size_t kReserve = 2'000;        // for the sentence on what is left out and the end
constexpr std::size_t kLongestName = 200;

std::string name_of(const gate::KernelCheck& kernel, bool gpus) { return code(elide(where_text(kernel, gpus), kLongestName)); }

std::string rows_of(const gate::KernelCheck& kernel, bool gpus) {
    std::string out;
    for (const gate::Change& change : kernel.changes) {
        if (change.verdict == gate::Verdict::incomparable && change.base == change.head) { continue; }
        const std::string_view verdict = to_string(change.verdict);
        const std::string strong = change.verdict == gate::Verdict::regressed ? fmt::format("**{}**", change.budget ? "over budget" : verdict) : std::string(verdict);
        const std::string limit = change.why.empty() ? limit_text(change) : elide(change.why, kLongestName);
        out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name_of(kernel, gpus), metric_words(change.metric), change.budget ? "" : metric_text(change.metric, change.base),
                           metric_text(change.metric, change.head), change_words(change), strong, plain(limit));
    }
    return out;
}

constexpr std::string_view kHeader = "| kernel | metric | base | now | change (90 %) | verdict | limit |\n|---|---|---|---|---|---|---|\n";

/// Adds rows of `kernels` as long as there is room; how many kernels found none.
std::size_t add_rows(std::string& out, const std::vector<const gate::KernelCheck*>& kernels, bool gpus) {
    std::size_t left_out = 0;
    for (const gate::KernelCheck* kernel : kernels) {
        std::string rows = rows_of(*kernel, gpus);
        if (left_out == 0 && out.size() + rows.size() + kReserve <= kMost) {
            out += rows;
        } else {
            ++left_out;
        }
    }
    return left_out;
}

std::string left_out_text(std::size_t count) { return count == 0 ? "" : fmt::format("\n{} more kernels did not fit here, the least severe ones; `flipflop check --format json` has all.\n", count); }

std::string marker(const gate::CheckReport& report) {
    // One comment a GPU, found by this line and updated in place.
    std::string id;
    for (const char c : report.kernels.front().gpu) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) { id += c; }
    }
    return fmt::format("<!-- flipflop:{} -->\n", several_gpus(report) ? "all" : id.substr(0, 60));
}

}  // namespace

std::string markdown_report(const gate::CheckReport& report) {
    if (report.kernels.empty()) { return {}; }
    std::string out = marker(report) + fmt::format("### flipflop: {}\n\n{}.\n", report.fail ? "**failed**" : !report.incomplete.empty() ? "**no pass**" : "passed",
                                                  nothing_changed(report) ? "Nothing changed" : counts_text(report));
    if (!report.incomplete.empty()) { out += "\n" + plain(report.incomplete) + ": see the messages of the run.\n"; }
    if (nothing_changed(report)) { return out; }
    const bool gpus = several_gpus(report);
    std::vector<const gate::KernelCheck*> open;
    std::vector<const gate::KernelCheck*> folded;
    for (const gate::KernelCheck* kernel : worst_first(report)) {
        const bool any = !rows_of(*kernel, gpus).empty();
        if (any) { (kernel->rank() <= 1 ? open : folded).push_back(kernel); }
    }
    if (!open.empty()) {
        out += "\n" + std::string(kHeader);
        out += left_out_text(add_rows(out, open, gpus));
    }
    if (!folded.empty() && out.size() + kReserve <= kMost) {
        out += fmt::format("\n<details><summary>{} other changes</summary>\n\n", folded.size()) + std::string(kHeader);
        const std::size_t left_out = add_rows(out, folded, gpus);
        out += left_out_text(left_out) + "\n</details>\n";
    }
    if (report.yearly) {
        std::string yearly = "\n" + plain(yearly_sentence(*report.yearly)) + " Assumed: ";
        for (std::size_t i = 0; i < report.yearly->assumptions.size(); ++i) { yearly += (i == 0 ? "" : "; ") + plain(report.yearly->assumptions[i]); }
        if (out.size() + yearly.size() + kReserve <= kMost) { out += yearly + ".\n"; }
    }
    std::size_t notes = 0;
    std::string text;
    for (const gate::Note& note : report.notes) {
        std::string line = "- " + plain(elide(note.message, 400)) + "\n";
        if (out.size() + text.size() + line.size() + kReserve / 2 > kMost) { break; }
        text += line;
        ++notes;
    }
    if (!report.notes.empty()) {
        out += "\n" + text;
        if (notes < report.notes.size()) { out += fmt::format("- {} more notes\n", report.notes.size() - notes); }
    }
    return out;
}

}  // namespace flipflop
