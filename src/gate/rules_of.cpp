#include "gate/rules_of.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "advise/select_kernels.hpp"

namespace flipflop::gate {
namespace {

bool gpu_matches(const std::string& glob, const KernelRecord& record) { return glob.empty() || advise::glob_matches(glob, record.gpu); }

template <class Rule>
bool applies(const Rule& rule, const KernelRecord& record) {
    return gpu_matches(rule.gpu, record) && (rule.match == "*" || selects({rule.match}, record));
}

/// CONTRACT.md section 9: time or energy by more than 5 %, any growth of spills.
Threshold default_threshold(Metric metric) {
    constexpr double kGrowth = 0.05;
    Threshold threshold;
    threshold.direction = metric == Metric::occupancy ? Direction::down : Direction::up;
    if (metric == Metric::time_us || metric == Metric::energy_mj) { threshold.relative = kGrowth; }
    if (metric == Metric::spill_bytes) { threshold.absolute = 0; }
    return threshold;
}

Diagnostic warning(const Policy& policy, const Waiver& waiver, std::string message) {
    Diagnostic d;
    d.id = "FF0783";
    d.severity = Severity::warning;
    d.file = policy.file;
    d.at = {waiver.line, 1};
    d.message = std::move(message);
    return d;
}

std::string words_of(const Waiver& waiver) {
    return fmt::format("the waiver of {} for '{}'", waiver.metric ? std::string(to_string(*waiver.metric)) : waiver.rule, waiver.match);
}

}  // namespace

bool selects(const std::vector<std::string>& patterns, const KernelRecord& record) {
    if (patterns.empty()) { return true; }
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        const auto chosen = advise::select_kernels({{record.name, record.demangled, record.kernel != nullptr ? record.kernel->facts.id : std::string()}}, {pattern});
        return chosen && !chosen->empty();
    });
}

PolicyBook::PolicyBook(const Policy& policy, const CheckOptions& options) : policy_(policy), options_(options) {
    for (const Waiver& waiver : policy.waivers) {
        // The day of expiry is the last day that it holds.
        uses_.push_back({&waiver, false, !waiver.expires.empty() && !options.today.empty() && waiver.expires < options.today});
    }
}

Threshold PolicyBook::threshold_of(const KernelRecord& record, Metric metric) const {
    Threshold threshold = default_threshold(metric);
    for (const ThresholdRule& rule : policy_.thresholds) {
        if (std::find(rule.metrics.begin(), rule.metrics.end(), metric) == rule.metrics.end() || !applies(rule, record)) { continue; }
        threshold = default_threshold(metric);
        threshold.relative = rule.off ? std::nullopt : rule.relative;
        threshold.absolute = rule.off ? std::nullopt : rule.absolute;
        threshold.direction = rule.direction.value_or(threshold.direction);
        threshold.uncertain_fails = rule.uncertain_fails;
    }
    return threshold;
}

std::vector<const BudgetRule*> PolicyBook::budgets_of(const KernelRecord& record) const {
    std::vector<const BudgetRule*> found;
    for (const BudgetRule& budget : policy_.budgets) {
        if (applies(budget, record)) { found.push_back(&budget); }
    }
    return found;
}

template <class Covers>
const Waiver* PolicyBook::waive_if(const KernelRecord& record, Covers&& covers) {
    for (WaiverUse& use : uses_) {
        if (!covers(*use.waiver) || !applies(*use.waiver, record)) { continue; }
        use.used = true;
        if (!use.expired) { return use.waiver; }
    }
    return nullptr;
}

const Waiver* PolicyBook::waive(const KernelRecord& record, Metric metric) {
    return waive_if(record, [&](const Waiver& w) { return w.metric == metric; });
}

const Waiver* PolicyBook::waive(const KernelRecord& record, const std::string& rule) {
    return waive_if(record, [&](const Waiver& w) { return w.rule == rule; });
}

std::map<std::string, SeverityCounts> PolicyBook::findings_of(const KernelRecord& record) const {
    std::map<std::string, SeverityCounts> findings;
    for (const auto& [rule, counts] : record.findings) {
        const auto setting = policy_.rules.find(rule);
        if (setting == policy_.rules.end()) {
            findings[rule] = counts;
        } else if (setting->second != RuleSetting::off) {
            findings[rule][static_cast<std::size_t>(setting->second)] = counts[0] + counts[1] + counts[2];
        }
    }
    return findings;
}

bool PolicyBook::fails(Severity severity) const { return options_.fail_on && severity >= *options_.fail_on; }

void PolicyBook::report_waivers(CheckReport& report) const {
    report.waivers = uses_;
    for (const WaiverUse& use : uses_) {
        if (use.expired) {
            const std::string owner = use.waiver->owner.empty() ? "" : fmt::format(" (ask {})", use.waiver->owner);
            report.warnings.push_back(warning(policy_, *use.waiver, fmt::format("{} expired on {}{}{}", words_of(*use.waiver), use.waiver->expires, owner,
                                                                                use.used ? "" : "; nothing needs it")));
        } else if (!use.used) {
            report.warnings.push_back(warning(policy_, *use.waiver, words_of(*use.waiver) + " is not used: nothing needs it any more"));
        }
    }
}

}  // namespace flipflop::gate
