// Findings and failures as alerts: one place and one sentence each, worst first, told apart by what survives an edit.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "flipflop/gate.hpp"
#include "flipflop/inputs.hpp"
#include "gate/rules_of.hpp"

namespace flipflop::gate {
namespace {

std::string shown(const KernelRecord& record) { return record.demangled.empty() ? record.name : record.demangled; }

std::string fingerprint_of(const std::string& rule, const KernelRecord& record, std::size_t ordinal) {
    return sha256(fmt::format("{}\n{}\n{}\n{}", rule, normalised_name(record.name), record.gpu, ordinal)).substr(0, 32);
}

std::optional<Severity> severity_of(const Finding& finding, const Policy& policy) {
    const auto setting = policy.rules.find(finding.rule);
    if (setting == policy.rules.end()) { return finding.severity; }
    if (setting->second == RuleSetting::off) { return {}; }
    return static_cast<Severity>(setting->second);
}

/// Findings at one place of many instances of one template are one alert.
class Collector {
public:
    Collector(const Policy& policy, const Repository& repository) : policy_(policy), repository_(repository) {}

    void add_findings(const KernelRecord& record, const KernelCheck* check) {
        if (record.result == nullptr) { return; }
        std::vector<const Finding*> findings;
        std::map<const Finding*, std::string> answered;   // by a comment in the source
        for (const Finding& finding : record.result->findings) { findings.push_back(&finding); }
        for (const SuppressedFinding& suppressed : record.result->suppressed) {
            findings.push_back(&suppressed.finding);
            answered[&suppressed.finding] = suppressed.reason;
        }
        // The ordinal counts along the code, so that costs may change order without a new fingerprint.
        std::vector<const Finding*> along = findings;
        std::stable_sort(along.begin(), along.end(), [](const Finding* a, const Finding* b) { return std::tie(a->rule, a->ptx_line) < std::tie(b->rule, b->ptx_line); });
        std::map<const Finding*, std::size_t> ordinal;
        std::map<std::string, std::size_t> counts;
        for (const Finding* finding : along) { ordinal[finding] = counts[finding->rule]++; }
        std::map<std::string, std::uint32_t> fresh;
        std::map<std::string, bool> waived;
        if (check != nullptr) {
            for (const NewFinding& finding : check->new_findings) {
                fresh[finding.rule] += finding.count;
                if (finding.verdict == Verdict::waived) { waived[finding.rule] = true; }
            }
        }
        for (const Finding* finding : findings) {
            const std::optional<Severity> severity = severity_of(*finding, policy_);
            if (!severity) { continue; }
            Alert alert;
            alert.rule = finding->rule;
            alert.severity = *severity;
            alert.message = finding->message;
            alert.cost_us = finding->cost_us;
            alert.cost_mj = finding->cost_mj;
            alert.fingerprint = fingerprint_of(finding->rule, record, ordinal[finding]);
            const auto answer = answered.find(finding);
            alert.in_source = answer != answered.end();
            if (check != nullptr && !alert.in_source) {
                std::uint32_t& left = fresh[finding->rule];   // which of them is new is not known: the costliest are taken
                alert.state = left > 0 ? "new" : "unchanged";
                left -= left > 0;
            }
            if (alert.in_source) {
                alert.suppressed = answer->second;
                alert.state = check != nullptr ? "unchanged" : "";
            } else if (waived[finding->rule]) {
                alert.suppressed = waiver_reason(record, finding->rule);
            }
            place(alert, record, finding->source, finding->ptx_line);
            add(std::move(alert));
        }
    }

    void add_failures(const KernelCheck& check) {
        if (check.head == nullptr) { return; }
        std::size_t ordinal = 0;
        for (const Change& change : check.changes) {
            const bool tells = change.verdict == Verdict::regressed || change.verdict == Verdict::uncertain || change.verdict == Verdict::waived;
            if (!tells || (change.metric == Metric::findings && !change.budget && !change.threshold)) { continue; }   // findings have alerts of their own
            Alert alert;
            alert.rule = rule_for(change);
            alert.severity = change.verdict == Verdict::regressed ? Severity::error : Severity::warning;
            alert.message = sentence(change);
            alert.state = change.base ? "new" : "";
            alert.suppressed = change.verdict == Verdict::waived ? change.why : "";
            alert.fingerprint = fingerprint_of(fmt::format("{} {}", alert.rule, to_string(change.metric)), *check.head, ordinal++);
            place(alert, *check.head, check.head->source, check.head->ptx_line);
            add(std::move(alert));
        }
    }

    std::vector<Alert> finish() {
        std::vector<Alert> alerts;
        for (auto& [key, alert] : by_place_) { alerts.push_back(std::move(alert)); }
        std::stable_sort(alerts.begin(), alerts.end(), [](const Alert& a, const Alert& b) {
            const auto rank = [](const Alert& x) {
                // The gate's own first, then by severity, what is new before what was there, and by cost.
                return std::tuple(!x.suppressed.empty(), -static_cast<int>(x.severity), !x.rule.starts_with("FF5"), x.state == "unchanged", -x.cost_us.value_or(0));
            };
            return rank(a) < rank(b);
        });
        return alerts;
    }

private:
    [[nodiscard]] std::string waiver_reason(const KernelRecord& record, const std::string& rule) const {
        for (const Waiver& waiver : policy_.waivers) {
            if (waiver.rule == rule && selects({waiver.match}, record)) { return waiver.reason; }
        }
        return {};
    }

    static std::string rule_for(const Change& change) {
        if (change.budget) { return "FF504"; }
        switch (change.metric) {
            case Metric::time_us: return change.head ? "FF501" : "FF505";
            case Metric::energy_mj:
            case Metric::recommended_time_us:
            case Metric::recommended_energy_mj: return "FF501";
            case Metric::sectors_per_request: return "FF503";
            default: return "FF502";
        }
    }

    static std::string sentence(const Change& change) {
        const std::string_view metric = to_string(change.metric);
        if (!change.head) { return change.why; }
        if (change.budget) { return fmt::format("{} is {:.6g}, over its budget of {:.6g}", metric, *change.head, change.threshold.value_or(0)); }
        std::string out = fmt::format("{} went from {:.6g} to {:.6g}", metric, change.base.value_or(0), *change.head);
        if (change.relative && change.change) {
            out += fmt::format(" ({:+.1f} %", 100 * *change.change);
            if (change.low && change.high && *change.low != *change.high) { out += fmt::format(", 90 % interval {:+.1f} to {:+.1f}", 100 * *change.low, 100 * *change.high); }
            out += ")";
        }
        if (change.verdict == Verdict::uncertain) { out += "; beyond the threshold, but not surely"; }
        return out;
    }

    void place(Alert& alert, const KernelRecord& record, const std::optional<SourceLine>& source, std::uint32_t ptx_line) const {
        alert.kernel = shown(record);
        alert.gpu = record.gpu;
        const RepositoryPlace place = locate(repository_, source, record.module_path, ptx_line);
        alert.file = place.file;
        alert.line = place.line;
    }

    void add(Alert alert) {
        // Failures are a kernel's own; findings of one line are the line's.
        const bool own = alert.rule.starts_with("FF5");
        std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", own ? 0 : 1, alert.rule, alert.gpu, alert.file, alert.line, alert.suppressed.empty(), own ? alert.fingerprint : alert.state);
        const auto found = by_place_.find(key);
        if (found == by_place_.end()) {
            kernels_[key] = {alert.kernel};
            by_place_.emplace(std::move(key), std::move(alert));
            return;
        }
        Alert& kept = found->second;
        kernels_[key].insert(alert.kernel);
        const bool worse = std::pair(static_cast<int>(alert.severity), alert.cost_us.value_or(0)) > std::pair(static_cast<int>(kept.severity), kept.cost_us.value_or(0));
        const std::string fingerprint = std::min(kept.fingerprint, alert.fingerprint);   // the same whichever is the worst today
        if (worse) { kept = std::move(alert); }
        kept.fingerprint = fingerprint;
        kept.more_kernels = kernels_[key].size() - 1;
    }

    const Policy& policy_;
    const Repository& repository_;
    std::map<std::string, Alert> by_place_;
    std::map<std::string, std::set<std::string>> kernels_;
};

}  // namespace

std::vector<Alert> alerts_of(const Snapshot& head, const Policy& policy, const Repository& repository) {
    Collector collector(policy, repository);
    for (const KernelRecord& record : head.kernels) { collector.add_findings(record, nullptr); }
    return collector.finish();
}

std::vector<Alert> alerts_of(const CheckReport& report, const Policy& policy, const Repository& repository) {
    Collector collector(policy, repository);
    for (const KernelCheck& check : report.kernels) {
        collector.add_failures(check);
        if (check.head != nullptr) { collector.add_findings(*check.head, report.has_base ? &check : nullptr); }
    }
    return collector.finish();
}

}  // namespace flipflop::gate
