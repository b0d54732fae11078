// The verdicts. A metric is compared where both sides rest on the same things; then its change, with the interval that
// errors common to both leave, is held against the threshold that the policy has for this kernel.
#include "flipflop/gate.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "gate/rules_of.hpp"

namespace flipflop::gate {
namespace {

constexpr double kNinety = 1.6448536269514722;   // 90 % of a log-normal ratio

bool is_prediction(Metric m) {
    return m == Metric::time_us || m == Metric::energy_mj || m == Metric::recommended_time_us || m == Metric::recommended_energy_mj;
}
bool is_energy(Metric m) { return m == Metric::energy_mj || m == Metric::recommended_energy_mj; }

const GpuBasis* basis_of(const Snapshot& snapshot, const std::string& gpu) {
    const auto found = std::find_if(snapshot.gpus.begin(), snapshot.gpus.end(), [&](const GpuBasis& g) { return g.gpu == gpu; });
    return found == snapshot.gpus.end() ? nullptr : &*found;
}

std::string registers_words(const KernelRecord& record, const Snapshot& snapshot) {
    return record.registers_basis == "ptxas" ? "ptxas " + snapshot.ptxas.value_or("of an unknown version") : record.registers_basis;
}

std::vector<std::string> without_selection(std::vector<std::string> options) {
    std::erase_if(options, [](const std::string& o) { return o.starts_with("--kernel="); });
    return options;
}

class Comparer {
public:
    Comparer(const Snapshot* base, const Snapshot& head, PolicyBook& book) : base_(base), head_(head), book_(book) {}

    void compare(const KernelRecord& base, const KernelRecord& head, KernelCheck& out) {
        for (std::size_t m = 0; m < kMetrics; ++m) {
            if (static_cast<Metric>(m) != Metric::findings) { compare(static_cast<Metric>(m), base, head, out); }
        }
        compare_findings(&base, head, out);
    }

    /// What needs no base: budgets, and findings that fail.
    void judge_alone(const KernelRecord& head, KernelCheck& out) {
        for (const BudgetRule* budget : book_.budgets_of(head)) { judge(*budget, head, out); }
    }
    void compare_findings(const KernelRecord* base, const KernelRecord& head, KernelCheck& out);

private:
    [[nodiscard]] std::string obstacle(Metric m, const KernelRecord& base, const KernelRecord& head) const;
    void compare(Metric m, const KernelRecord& base, const KernelRecord& head, KernelCheck& out);
    void fill_change(Change& change, const KernelRecord& head) const;
    void settle(Change& change, Verdict verdict, const KernelRecord& head);
    void judge(const BudgetRule& budget, const KernelRecord& head, KernelCheck& out);

    const Snapshot* base_;
    const Snapshot& head_;
    PolicyBook& book_;
};

/// Why the metric's two values cannot be compared, or empty.
std::string Comparer::obstacle(Metric m, const KernelRecord& base, const KernelRecord& head) const {
    const bool registers = m == Metric::registers || m == Metric::spill_bytes || m == Metric::occupancy || is_prediction(m);
    if (registers && registers_words(base, *base_) != registers_words(head, head_)) {
        return fmt::format("registers are from {} in the base and from {} now", registers_words(base, *base_), registers_words(head, head_));
    }
    if (is_prediction(m)) {
        if (base_->models != head_.models) { return "the base was predicted by other models"; }
        const GpuBasis* const a = basis_of(*base_, base.gpu);
        const GpuBasis* const b = basis_of(head_, head.gpu);
        if (a == nullptr || b == nullptr || a->profile != b->profile) { return "the profile of the GPU is another one"; }
        if (a->coefficients != b->coefficients) { return "the coefficients of the GPU are others"; }
    }
    const bool launch = is_prediction(m) || m == Metric::occupancy || m == Metric::sectors_per_request || m == Metric::shared_bytes;
    if (launch && without_selection(base_->options) != without_selection(head_.options)) { return "the launch was described otherwise"; }
    if (m == Metric::sectors_per_request && (base.sectors_basis == "partial") != (head.sectors_basis == "partial")) {
        return "addresses of other accesses are unknown";
    }
    if (!base.metric(m) || !head.metric(m)) { return base.metric(m) ? "it is not known now" : "the base does not know it"; }
    return {};
}

/// The change in the threshold's terms, with its interval.
void Comparer::fill_change(Change& change, const KernelRecord& head) const {
    const double base = *change.base;
    const double now = *change.head;
    double low = now;
    double high = now;
    if (is_prediction(change.metric) && now != base) {
        const GpuBasis* const gpu = basis_of(head_, head.gpu);
        const double sigma = gpu == nullptr ? 0 : is_energy(change.metric) ? gpu->paired.energy_log_sigma : gpu->paired.time_log_sigma;
        low = now * std::exp(-kNinety * sigma);
        high = now * std::exp(kNinety * sigma);
    }
    change.relative = change.relative && base > 0;
    const auto of = [&](double value) { return change.relative ? value / base - 1 : value - base; };
    change.change = of(now);
    change.low = of(low);
    change.high = of(high);
}

/// A verdict against the kernel may be waived.
void Comparer::settle(Change& change, Verdict verdict, const KernelRecord& head) {
    change.verdict = verdict;
    if (verdict != Verdict::regressed && verdict != Verdict::uncertain) { return; }
    if (const Waiver* const waiver = book_.waive(head, change.metric)) {
        change.verdict = Verdict::waived;
        change.why = waiver->reason;
    }
}

void Comparer::compare(Metric m, const KernelRecord& base, const KernelRecord& head, KernelCheck& out) {
    if (!base.metric(m) && !head.metric(m)) { return; }
    const Threshold threshold = book_.threshold_of(head, m);
    Change change;
    change.metric = m;
    change.base = base.metric(m);
    change.head = head.metric(m);
    change.relative = threshold.relative ? true : threshold.absolute ? false : is_prediction(m);
    change.threshold = change.relative ? threshold.relative : threshold.absolute;
    if (change.relative) { change.threshold_absolute = threshold.absolute; }
    // A launch that was possible and is no more has no time to compare: worse than any growth.
    if (m == Metric::time_us && base.launchable && base.metric(m) && !head.launchable) {
        change.why = "the launch is not possible any more: " + head.why_not;
        settle(change, obstacle(Metric::registers, base, head).empty() ? Verdict::regressed : Verdict::incomparable, head);
        out.changes.push_back(std::move(change));
        return;
    }
    if (std::string why = obstacle(m, base, head); !why.empty()) {
        change.verdict = Verdict::incomparable;
        change.why = std::move(why);
        out.changes.push_back(std::move(change));
        return;
    }
    const bool wanted_relative = change.relative;
    fill_change(change, head);
    if (wanted_relative && !change.relative) { change.threshold = threshold.absolute.value_or(0); }   // from nothing: any growth is beyond a share
    if (*change.base == *change.head) { return; }

    // A change has gone too far when each limit that is set is passed; surely so when the interval's near end passes too.
    const auto beyond = [&](double relative, double absolute) {
        if (!threshold.any()) { return false; }
        if (*change.base <= 0 && threshold.relative) { return absolute > threshold.absolute.value_or(0); }
        return (!threshold.relative || relative > *threshold.relative + 1e-12) && (!threshold.absolute || absolute > *threshold.absolute + 1e-12);
    };
    const double b = *change.base;
    const auto value_at = [&](const std::optional<double>& c) { return change.relative ? b * (1 + *c) : b + *c; };
    const auto passes = [&](double value, double sign) { return beyond(sign * (b > 0 ? value / b - 1 : 0), sign * (value - b)); };
    const bool up = threshold.direction != Direction::down && passes(*change.head, 1);
    const bool down = threshold.direction != Direction::up && passes(*change.head, -1);
    const double worse = m == Metric::occupancy ? -1 : 1;
    Verdict verdict = Verdict::ok;
    if (up || down) {
        const double near_end = value_at(up ? change.low : change.high);
        verdict = passes(near_end, up ? 1 : -1) || threshold.uncertain_fails ? Verdict::regressed : Verdict::uncertain;
    } else if (worse > 0 ? value_at(change.high) < b : value_at(change.low) > b) {
        verdict = Verdict::improved;
    }
    settle(change, verdict, head);
    out.changes.push_back(std::move(change));
}

void Comparer::judge(const BudgetRule& budget, const KernelRecord& head, KernelCheck& out) {
    const std::optional<double>& value = head.metric(budget.metric);
    Change change;
    change.metric = budget.metric;
    change.budget = true;
    change.head = value;
    if (!value) {
        change.threshold = budget.max ? budget.max : budget.min;
        change.verdict = Verdict::incomparable;
        change.why = "it is not known";
        out.changes.push_back(std::move(change));
        return;
    }
    const bool over = budget.max && *value > *budget.max;
    const bool under = budget.min && *value < *budget.min;
    if (!over && !under) { return; }
    change.threshold = over ? budget.max : budget.min;
    settle(change, Verdict::regressed, head);
    out.changes.push_back(std::move(change));
}

void Comparer::compare_findings(const KernelRecord* base, const KernelRecord& head, KernelCheck& out) {
    const auto now = book_.findings_of(head);
    const auto before = base != nullptr ? book_.findings_of(*base) : std::map<std::string, SeverityCounts>{};
    const auto total = [](const std::map<std::string, SeverityCounts>& findings) {
        double sum = 0;
        for (const auto& [rule, counts] : findings) { sum += counts[0] + counts[1] + counts[2]; }
        return sum;
    };
    bool fails = false;
    bool waived = false;
    for (const auto& [rule, counts] : now) {
        const auto found = before.find(rule);
        const SeverityCounts old = found == before.end() ? SeverityCounts{} : found->second;
        for (std::size_t s = counts.size(); s-- > 0;) {
            // At this severity or a worse one: a warning that became an error is new, an error that became a warning is not.
            std::uint32_t worse_now = 0;
            std::uint32_t worse_before = 0;
            for (std::size_t k = s; k < counts.size(); ++k) {
                worse_now += counts[k];
                worse_before += old[k];
            }
            if (counts[s] == 0 || worse_now <= worse_before) { continue; }
            NewFinding finding{rule, static_cast<Severity>(s), std::min(counts[s], worse_now - worse_before), Verdict::ok, {}};
            if (head.result != nullptr) {
                for (const Finding& f : head.result->findings) {
                    if (f.rule == rule) { finding.candidates.push_back(&f); }
                }
            }
            if (book_.fails(finding.severity)) {
                finding.verdict = book_.waive(head, rule) != nullptr ? Verdict::waived : Verdict::regressed;
                fails = fails || finding.verdict == Verdict::regressed;
                waived = waived || finding.verdict == Verdict::waived;
            }
            out.new_findings.push_back(std::move(finding));
        }
    }
    const bool differs = base != nullptr && before != now;
    if (!differs && !fails && !waived) { return; }
    Change change;
    change.metric = Metric::findings;
    change.head = total(now);
    if (base != nullptr) {
        change.base = total(before);
        change.change = change.low = change.high = *change.head - *change.base;
    }
    const Threshold threshold = book_.threshold_of(head, Metric::findings);
    change.threshold = threshold.absolute;
    const bool more = base != nullptr && threshold.absolute && *change.change > *threshold.absolute;
    change.verdict = fails ? Verdict::regressed : waived ? Verdict::waived : Verdict::ok;
    if (more && !fails) { settle(change, Verdict::regressed, head); }
    if (change.verdict == Verdict::ok && base != nullptr && *change.head < *change.base) { change.verdict = Verdict::improved; }
    out.changes.push_back(std::move(change));
}

std::string shown(const KernelRecord& record) { return record.demangled.empty() ? record.name : record.demangled; }

/// Whole-snapshot differences, each said once.
void note_versions(const Snapshot& base, const Snapshot& head, CheckReport& report) {
    if (base.tool_version != head.tool_version) {
        report.notes.push_back({"tool", fmt::format("the base was written by flipflop {}, this is {}", base.tool_version, head.tool_version)});
    }
    if (base.models != head.models) {
        report.notes.push_back({"models", "predictions of the base come from other models: time and energy are not compared; write the baseline again, or use --base INPUT"});
    }
    if (base.ptxas != head.ptxas) {
        report.notes.push_back({"ptxas", fmt::format("ptxas {} in the base, {} now: registers and what depends on them are not compared where they come from it",
                                                     base.ptxas.value_or("was not used"), head.ptxas.value_or("not used"))});
    }
    if (without_selection(base.options) != without_selection(head.options)) {
        const auto words = [](const std::vector<std::string>& options) {
            std::string out;
            for (const std::string& o : options) { out += (out.empty() ? "" : " ") + o; }
            return out.empty() ? std::string("no options") : out;
        };
        report.notes.push_back({"launch", fmt::format("the launch was described otherwise in the base ({}) than now ({}): only what does not depend on it is compared",
                                                      words(without_selection(base.options)), words(without_selection(head.options)))});
    }
    for (const GpuBasis& gpu : head.gpus) {
        const GpuBasis* const old = basis_of(base, gpu.gpu);
        if (old == nullptr) {
            report.notes.push_back({"gpu", fmt::format("the base knows nothing of {}", gpu.gpu)});
        } else if (old->profile != gpu.profile || old->coefficients != gpu.coefficients) {
            report.notes.push_back({"gpu", fmt::format("the {} of {} changed: time and energy are not compared", old->profile != gpu.profile ? "profile" : "coefficients", gpu.gpu)});
        }
    }
    for (const GpuBasis& gpu : base.gpus) {
        if (basis_of(head, gpu.gpu) == nullptr) { report.notes.push_back({"gpu", fmt::format("{} of the base was not looked at", gpu.gpu)}); }
    }
}

Status status_of(const KernelCheck& check) {
    if (!check.renamed_from.empty()) { return Status::renamed; }
    const bool changed = std::any_of(check.changes.begin(), check.changes.end(), [](const Change& c) { return !c.budget && c.base != c.head && c.verdict != Verdict::incomparable; });
    return changed || !check.new_findings.empty() ? Status::changed : Status::same;
}

KernelCheck entry_for(const KernelRecord& record) {
    KernelCheck check;
    check.name = record.name;
    check.demangled = record.demangled;
    check.gpu = record.gpu;
    check.case_name = record.case_name;
    return check;
}

using Records = std::vector<const KernelRecord*>;
using Slice = std::tuple<std::string, std::string>;   // GPU and case

std::map<Slice, Records> slices_of(const Snapshot& snapshot) {
    std::map<Slice, Records> slices;
    for (const KernelRecord& record : snapshot.kernels) { slices[{record.gpu, record.case_name}].push_back(&record); }
    return slices;
}

/// Kernels are matched within a GPU and a case; notes that all of them share are said once.
void compare_slice(const Records& base, const Records& head, Comparer& comparer, const CheckOptions& options, CheckReport& report) {
    Matching matching = match_kernels(base, head);
    for (Note& note : matching.notes) {
        const bool known = std::any_of(report.notes.begin(), report.notes.end(), [&](const Note& n) { return n.message == note.message; });
        if (!known) { report.notes.push_back(std::move(note)); }
    }
    for (const MatchedPair& pair : matching.pairs) {
        const KernelRecord* const before = pair.base ? base[*pair.base] : nullptr;
        const KernelRecord* const now = pair.head ? head[*pair.head] : nullptr;
        if (now == nullptr && !selects(options.kernels, *before)) { continue; }
        KernelCheck check = entry_for(now != nullptr ? *now : *before);
        check.base = before;
        check.head = now;
        if (now == nullptr) {
            check.status = Status::removed;
        } else if (before == nullptr) {
            comparer.judge_alone(*now, check);
            comparer.compare_findings(nullptr, *now, check);
            check.status = Status::added;
        } else {
            if (before->name != now->name) { check.renamed_from = before->name; }
            check.toolchain_changed = before->producer != now->producer;
            comparer.compare(*before, *now, check);
            comparer.judge_alone(*now, check);
            check.status = status_of(check);
        }
        report.kernels.push_back(std::move(check));
    }
}

void note_kernels(CheckReport& report) {
    std::map<std::string, bool> said;
    std::map<std::pair<std::string, std::string>, std::size_t> toolchains;
    const auto say = [&](const char* kind, std::string message) {
        if (!std::exchange(said[message], true)) { report.notes.push_back({kind, std::move(message)}); }
    };
    for (const KernelCheck& check : report.kernels) {
        const std::string name = shown(check.head != nullptr ? *check.head : *check.base);
        if (check.status == Status::added && report.has_base) { say("added", fmt::format("{} is new", name)); }
        if (check.status == Status::removed) { say("removed", fmt::format("{} is gone", name)); }
        if (check.status == Status::renamed) { say("renamed", fmt::format("{} was {}", name, shown(*check.base))); }
        if (check.toolchain_changed) { ++toolchains[{check.base->producer, check.head->producer}]; }
    }
    for (const auto& [versions, count] : toolchains) {
        const auto words = [](const std::string& p) { return p.empty() ? std::string("an unknown compiler") : p; };
        report.notes.push_back({"toolchain", fmt::format("the PTX of {} kernel{} was written by {} and is now by {}: what changed may be the compiler's doing", count, count == 1 ? "" : "s",
                                                         words(versions.first), words(versions.second))});
    }
}

}  // namespace

std::string_view to_string(Verdict verdict) {
    constexpr std::array<std::string_view, 6> kNames{"ok", "improved", "regressed", "waived", "uncertain", "incomparable"};
    return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Status status) {
    constexpr std::array<std::string_view, 5> kNames{"same", "changed", "added", "removed", "renamed"};
    return kNames[static_cast<std::size_t>(status)];
}

bool KernelCheck::fails() const {
    return std::any_of(changes.begin(), changes.end(), [](const Change& c) { return c.verdict == Verdict::regressed; });
}

int KernelCheck::rank() const {
    const auto any = [&](Verdict v) { return std::any_of(changes.begin(), changes.end(), [&](const Change& c) { return c.verdict == v; }); };
    if (fails()) { return 0; }
    if (any(Verdict::uncertain)) { return 1; }
    if (any(Verdict::waived)) { return 2; }
    if (status != Status::same) { return 3; }
    return any(Verdict::incomparable) ? 4 : 5;
}

CheckReport check(const Snapshot* base, const Snapshot& head, const Policy& policy, const CheckOptions& options) {
    CheckReport report;
    PolicyBook book(policy, options);
    Comparer comparer(base, head, book);
    report.has_base = base != nullptr;
    if (base == nullptr) {
        for (const KernelRecord& record : head.kernels) {
            KernelCheck check = entry_for(record);
            check.head = &record;
            comparer.judge_alone(record, check);
            comparer.compare_findings(nullptr, record, check);
            report.kernels.push_back(std::move(check));
        }
    } else {
        report.base_origin = base->origin;
        note_versions(*base, head, report);
        const std::map<Slice, Records> before = slices_of(*base);
        const std::map<Slice, Records> now = slices_of(head);
        for (const auto& [slice, records] : now) {
            const auto found = before.find(slice);
            compare_slice(found == before.end() ? Records{} : found->second, records, comparer, options, report);
        }
    }
    std::stable_sort(report.kernels.begin(), report.kernels.end(), [](const KernelCheck& a, const KernelCheck& b) {
        return std::tie(a.name, a.gpu, a.case_name) < std::tie(b.name, b.gpu, b.case_name);
    });
    note_kernels(report);
    report.fail = std::any_of(report.kernels.begin(), report.kernels.end(), [](const KernelCheck& c) { return c.fails(); });
    book.report_waivers(report);
    return report;
}

}  // namespace flipflop::gate
