// Owns: what a policy says of one kernel: its thresholds over the defaults, its budgets, its waivers (and which of them
// were used), its findings under the severities that the policy gives them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flipflop/gate.hpp"

namespace flipflop::gate {

struct Threshold {
    std::optional<double> relative, absolute;
    Direction direction{Direction::up};
    bool uncertain_fails{};
    [[nodiscard]] bool any() const { return relative.has_value() || absolute.has_value(); }
};

/// Does one of `patterns` (all, when there is none) select the kernel? Patterns as --kernel's; a bad one selects nothing.
[[nodiscard]] bool selects(const std::vector<std::string>& patterns, const KernelRecord& record);

class PolicyBook {
public:
    PolicyBook(const Policy& policy, const CheckOptions& options);

    [[nodiscard]] Threshold threshold_of(const KernelRecord& record, Metric metric) const;
    [[nodiscard]] std::vector<const BudgetRule*> budgets_of(const KernelRecord& record) const;
    /// The first waiver in force; remembers that it was used, as it does of an expired one that would have applied.
    [[nodiscard]] const Waiver* waive(const KernelRecord& record, Metric metric);
    [[nodiscard]] const Waiver* waive(const KernelRecord& record, const std::string& rule);
    /// Without rules that are off, and by the policy's severities.
    [[nodiscard]] std::map<std::string, SeverityCounts> findings_of(const KernelRecord& record) const;
    [[nodiscard]] bool fails(Severity severity) const;
    /// Fills `waivers`, and warns of those that are unused or expired.
    void report_waivers(CheckReport& report) const;

private:
    template <class Covers>
    const Waiver* waive_if(const KernelRecord& record, Covers&& covers);

    const Policy& policy_;
    const CheckOptions& options_;
    std::vector<WaiverUse> uses_;
};

}  // namespace flipflop::gate
