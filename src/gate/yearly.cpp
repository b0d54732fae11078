// What a change of a launch's energy comes to in a year. Only what the policy states is used; nothing is assumed silently.
#include <algorithm>

#include <fmt/format.h>

#include "flipflop/gate.hpp"
#include "gate/rules_of.hpp"

namespace flipflop::gate {
namespace {

constexpr double kDays = 365;
constexpr double kMillijoulesPerKwh = 3.6e9;

std::string number_text(double value) {
    std::string text = fmt::format("{:.10g}", value);
    const std::size_t point = std::min(text.find_first_of(".e"), text.size());
    for (std::size_t at = point; at > 3 && text.find('e') == std::string::npos; at -= 3) { text.insert(at - 3, ","); }
    return text;
}

YearlyAmount scaled(const EnergyPolicy& policy, double kwh) {
    YearlyAmount out;
    out.kwh = kwh;
    if (policy.price_per_kwh) { out.cost = kwh * *policy.price_per_kwh; }
    if (policy.grams_co2e_per_kwh) { out.co2e_kg = kwh * *policy.grams_co2e_per_kwh / 1e3; }
    return out;
}

/// The last that matches holds, as with thresholds.
double calls_of(const EnergyPolicy& policy, const KernelRecord& record) {
    double calls = 1;
    for (const EnergyPolicy::Calls& entry : policy.calls) {
        if (selects({entry.match}, record)) { calls = entry.calls; }
    }
    return calls;
}

std::vector<std::string> assumptions_of(const EnergyPolicy& policy, bool several_gpus) {
    std::vector<std::string> out{fmt::format("{} launches a day of each kernel times its calls, {} days a year (the policy's launches_per_day)", number_text(policy.launches_per_day), kDays),
                                 "energy of the board alone under steady repetition, idle share included; no host, cooling or power supply"};
    if (policy.grams_co2e_per_kwh) { out.push_back(fmt::format("{} g CO2e a kWh (the policy's grams_co2e_per_kwh)", number_text(*policy.grams_co2e_per_kwh))); }
    if (policy.price_per_kwh) { out.push_back(fmt::format("{} {} a kWh (the policy's price_per_kwh)", number_text(*policy.price_per_kwh), policy.currency)); }
    out.emplace_back("the launch, the data and the clock of the check stay as they are all year");
    if (several_gpus) { out.emplace_back("GPUs and cases are alternatives: their lines are not added up"); }
    return out;
}

/// The energy of the team's own launch, where both sides can be compared.
const Change* energy_change(const KernelCheck& kernel) {
    for (const Change& change : kernel.changes) {
        if (change.metric == Metric::energy_mj && !change.budget && change.base && change.head && change.verdict != Verdict::incomparable) { return &change; }
    }
    return nullptr;
}

}  // namespace

std::optional<Yearly> yearly_of(const CheckReport& report, const Policy& policy) {
    if (!policy.energy || !report.has_base) { return std::nullopt; }
    Yearly out;
    std::vector<std::pair<std::string, std::string>> slices;
    for (const KernelCheck& kernel : report.kernels) {
        const std::pair slice{kernel.gpu, kernel.case_name};
        if (std::find(slices.begin(), slices.end(), slice) == slices.end()) { slices.push_back(slice); }
        const Change* const change = energy_change(kernel);
        if (change == nullptr || kernel.head == nullptr) { continue; }
        YearlyChange entry;
        entry.kernel = &kernel;
        entry.calls = calls_of(*policy.energy, *kernel.head);
        const double per_year = policy.energy->launches_per_day * entry.calls * kDays / kMillijoulesPerKwh;
        const auto at = [&](const std::optional<double>& c) { return scaled(*policy.energy, per_year * (change->relative ? *change->base * c.value_or(0) : c.value_or(0))); };
        entry.change = at(change->change);
        entry.low = at(change->low);
        entry.high = at(change->high);
        out.kernels.push_back(entry);
    }
    out.currency = policy.energy->currency;
    out.assumptions = assumptions_of(*policy.energy, slices.size() > 1);
    if (slices.size() <= 1) {
        double kwh = 0;
        for (const YearlyChange& entry : out.kernels) { kwh += entry.change.kwh; }
        out.total = scaled(*policy.energy, kwh);
    }
    return out;
}

}  // namespace flipflop::gate
