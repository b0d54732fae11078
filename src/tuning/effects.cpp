#include "tuning/effects.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "advise/complaints.hpp"

namespace flipflop::tuning {

namespace {

constexpr double kNothing = 1.02;            ///< a spread below this is no effect

struct Measured { std::size_t group, value; double log_cost; };

/// log cost = what the group has in common + what the value adds, by least squares (one after the other until it stands).
std::vector<double> fit(const std::vector<Measured>& all, std::size_t groups, std::size_t values) {
    std::vector<double> of_group(groups), of_value(values), sum;
    std::vector<std::uint32_t> in_group(groups), with_value(values);
    for (const Measured& m : all) {
        ++in_group[m.group];
        ++with_value[m.value];
    }
    for (int round = 0; round < 200; ++round) {
        sum.assign(groups, 0);
        for (const Measured& m : all) sum[m.group] += m.log_cost - of_value[m.value];
        for (std::size_t g = 0; g < groups; ++g) of_group[g] = in_group[g] ? sum[g] / in_group[g] : 0;
        sum.assign(values, 0);
        for (const Measured& m : all) sum[m.value] += m.log_cost - of_group[m.group];
        double moved = 0;
        for (std::size_t v = 0; v < values; ++v) {
            const double next = with_value[v] ? sum[v] / with_value[v] : 0;
            moved = std::max(moved, std::fabs(next - of_value[v]));
            of_value[v] = next;
        }
        if (moved < 1e-12) break;
    }
    return of_value;
}

/// Values that groups link, directly or through others: only those can be compared. The one with the most rows.
std::vector<bool> largest_linked(const std::vector<Measured>& all, std::size_t groups, std::size_t values) {
    std::vector<std::size_t> parent(groups + values);
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](std::size_t i) {
        while (parent[i] != i) i = parent[i] = parent[parent[i]];
        return i;
    };
    for (const Measured& m : all) parent[root(m.group)] = root(groups + m.value);
    std::map<std::size_t, std::size_t> rows;
    for (const Measured& m : all) ++rows[root(m.group)];
    std::size_t best = 0, most = 0;
    for (const auto& [r, n] : rows)
        if (n > most) std::tie(best, most) = std::pair(r, n);
    std::vector<bool> linked(values);
    for (std::size_t v = 0; v < values; ++v) linked[v] = most > 0 && root(groups + v) == best;
    return linked;
}

void compare(ParameterEffect& effect, std::vector<ParameterEffect::At>& by_value, const std::map<std::vector<std::uint16_t>, std::vector<Measured>>& by_others) {
    std::vector<Measured> all;
    for (const auto& [others, members] : by_others) {
        const bool differ = std::any_of(members.begin(), members.end(), [&](const Measured& m) { return m.value != members.front().value; });
        if (!differ) continue;
        for (Measured m : members) {
            m.group = effect.groups;
            all.push_back(m);
        }
        ++effect.groups;
    }
    if (effect.groups == 0) return;
    const std::vector<double> adds = fit(all, effect.groups, by_value.size());
    const std::vector<bool> linked = largest_linked(all, effect.groups, by_value.size());
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (std::size_t v = 0; v < by_value.size(); ++v)
        if (linked[v]) {
            least = std::min(least, adds[v]);
            most = std::max(most, adds[v]);
        }
    for (std::size_t v = 0; v < by_value.size(); ++v)
        if (linked[v]) by_value[v].relative = std::exp(adds[v] - least);
    effect.spread = std::exp(most - least);
}

const ParameterEffect::At& at_extreme(const ParameterEffect& e, bool worst) {
    const auto cost = [&](const ParameterEffect::At& a) { return a.relative ? (worst ? -*a.relative : *a.relative) : HUGE_VAL; };
    return *std::min_element(e.values.begin(), e.values.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
}

}  // namespace

std::vector<ParameterEffect> effects_of(const TuneResult& result, const TuneReport& report, bool energy) {
    std::vector<ParameterEffect> effects;
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        ParameterEffect effect;
        effect.name = report.parameters[p].name;
        std::vector<ParameterEffect::At> by_value(report.parameters[p].values.size());
        for (std::size_t v = 0; v < by_value.size(); ++v) by_value[v].value = report.parameters[p].values[v];
        std::map<std::vector<std::uint16_t>, std::vector<Measured>> by_others;
        for (const TuneRow& row : result.rows) {
            const std::size_t value = choice_of(report, row.configuration, p);
            ParameterEffect::At& at = by_value[value];
            const auto& cost = energy ? row.energy_mj : row.time_us;
            ++at.rows;
            at.kept += row.kept ? 1 : 0;
            if (!cost || row.safe == std::optional(false)) continue;
            if (!at.best_cost || *cost < *at.best_cost) at.best_cost = *cost;
            const auto first = report.choices.begin() + static_cast<std::ptrdiff_t>(std::size_t{row.configuration} * report.parameters.size());
            std::vector<std::uint16_t> others(first, first + static_cast<std::ptrdiff_t>(report.parameters.size()));
            others[p] = 0;
            by_others[std::move(others)].push_back({0, value, std::log(*cost)});
        }
        const auto with = std::count_if(by_value.begin(), by_value.end(), [](const auto& at) { return at.best_cost.has_value(); });
        if (with < 2) continue;
        compare(effect, by_value, by_others);
        for (ParameterEffect::At& at : by_value)
            if (at.rows > 0) effect.values.push_back(std::move(at));
        effects.push_back(std::move(effect));
    }
    std::stable_sort(effects.begin(), effects.end(), [](const auto& a, const auto& b) { return a.spread.value_or(0) > b.spread.value_or(0); });
    return effects;
}

std::vector<std::string> effects_in_words(const std::vector<ParameterEffect>& effects, bool energy, std::size_t most) {
    std::vector<std::string> words, indifferent, untold;
    for (const ParameterEffect& e : effects) {
        if (!e.spread) untold.push_back(e.name);
        else if (*e.spread < kNothing) indifferent.push_back(e.name);
        else if (words.size() < most)
            words.push_back(fmt::format("{}: all else equal, {} {} {:.3g} times {} {} ({} comparison{})", e.name, at_extreme(e, true).value, energy ? "takes" : "is", *e.spread,
                                        energy ? "the energy of" : "slower than", at_extreme(e, false).value, e.groups, e.groups == 1 ? "" : "s"));
    }
    if (!indifferent.empty()) words.push_back(fmt::format("{} {} less than 2 %, all else equal", advise::list_some(indifferent, 6), indifferent.size() == 1 ? "changes" : "change"));
    if (!untold.empty()) words.push_back(fmt::format("what {} {} worth cannot be told: no two of these configurations differ in {} alone", advise::list_some(untold, 6), untold.size() == 1 ? "is" : "are",
                                                     untold.size() == 1 ? "it" : "one of them"));
    return words;
}

}  // namespace flipflop::tuning
