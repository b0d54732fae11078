#include "tuning/choose.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "advise/complaints.hpp"
#include "advise/parallel.hpp"
#include "advise/safety.hpp"
#include "tuning/effects.hpp"

namespace flipflop::tuning {

namespace {

using advise::Scored;

std::vector<Scored> scored(const std::vector<TuneRow*>& able, const std::vector<bool>& judged) {
    std::vector<Scored> all;
    for (std::size_t i = 0; i < able.size(); ++i) {
        Scored s;
        s.time_us = *able[i]->time_us;
        s.energy_mj = able[i]->energy_mj;
        s.threads = able[i]->block.count();
        s.barred = able[i]->safe == std::optional(false);
        s.unverified = judged[i] && !able[i]->safe;
        all.push_back(s);
    }
    return all;
}

std::string bound_words(const std::string& bound) { return bound.empty() ? "nothing known" : bound; }

void explain(TuneResult& result, const TuneReport& report, bool energy) {
    const TuneRow& best = result.rows[*result.recommended];
    const auto cost = [&](const TuneRow& r) { return energy ? r.energy_mj : r.time_us; };
    result.reasons = effects_in_words(result.effects, energy, 3);
    std::vector<double> costs;
    for (const TuneRow& r : result.rows)
        if (cost(r) && r.rank) costs.push_back(*cost(r));
    if (costs.size() > 2) {
        std::nth_element(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2), costs.end());
        result.reasons.push_back(fmt::format("{:.3g} times better than the median of the {} that can be launched", costs[costs.size() / 2] / *cost(best), costs.size()));
    }
    if (result.reference && *result.reference != *result.recommended) {
        const TuneRow& reference = result.rows[*result.reference];
        std::vector<std::string> changed;
        for (std::size_t p = 0; p < report.parameters.size(); ++p)
            if (choice_of(report, reference.configuration, p) != choice_of(report, best.configuration, p))
                changed.push_back(fmt::format("{} {} to {}", report.parameters[p].name, value_of(report, reference.configuration, p), value_of(report, best.configuration, p)));
        if (cost(reference)) {
            const double gain = *cost(reference) / *cost(best);
            result.reasons.push_back(fmt::format("{} than the reference ({}): {}", gain >= 1 ? fmt::format("{:.3g} times better", gain) : fmt::format("{:.3g} times worse", 1 / gain),
                                                 reference.bound_by == best.bound_by ? fmt::format("both bound by {}", bound_words(best.bound_by)) : fmt::format("bound by {}, the reference by {}", bound_words(best.bound_by), bound_words(reference.bound_by)),
                                                 advise::list_some(changed, 6)));
        }
    }
}

}  // namespace

void choose(TuneResult& result, const TuneReport& report, Objective objective, const advise::RankError& error, const Judge& judge, unsigned threads) {
    std::vector<TuneRow*> able;
    for (TuneRow& row : result.rows)
        if (row.time_us) able.push_back(&row);
    result.launchable = able.size();
    std::vector<bool> judged(able.size()), kept;
    for (std::size_t i = 0; i < able.size(); ++i) judged[i] = able[i]->reference;
    std::size_t verdicts = 0;
    for (;;) {
        const std::vector<Scored> all = scored(able, judged);
        kept = able.empty() ? std::vector<bool>{} : advise::short_list(all, {}, objective, error);
        std::vector<std::size_t> ask;
        for (std::size_t i = 0; i < able.size() && judge && verdicts + ask.size() < advise::kMostVerdicts; ++i)
            if (kept[i] && !judged[i]) ask.push_back(i);
        if (ask.empty()) break;
        std::vector<SafetyVerdict> answers(ask.size());
        advise::parallel_for(ask.size(), threads, [&](std::size_t k) { answers[k] = judge(*able[ask[k]]); });
        for (std::size_t k = 0; k < ask.size(); ++k) {
            able[ask[k]]->safe = answers[k].safe;
            able[ask[k]]->safe_reason = answers[k].reason;
            judged[ask[k]] = true;
        }
        verdicts += ask.size();
    }
    if (judge) judged.assign(able.size(), true);   // what was not asked is unverified, like what could not be followed
    const std::vector<Scored> all = scored(able, judged);
    const std::vector<std::size_t> order = advise::rank(all, objective);
    const std::vector<bool> front = able.empty() ? std::vector<bool>{} : advise::pareto_front(all);
    for (std::size_t k = 0; k < order.size(); ++k) able[order[k]]->rank = static_cast<std::uint32_t>(k + 1);
    for (std::size_t i = 0; i < able.size(); ++i) {
        able[i]->pareto = front[i];
        able[i]->kept = kept[i] && !all[i].barred;
    }
    if (!order.empty() && !all[order.front()].barred) able[order.front()]->kept = true;
    std::stable_sort(result.rows.begin(), result.rows.end(), [](const TuneRow& a, const TuneRow& b) { return a.rank.value_or(~0U) < b.rank.value_or(~0U); });
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
        result.kept += result.rows[i].kept ? 1 : 0;
        if (result.rows[i].reference) result.reference = i;
    }
    const bool energy = objective == Objective::energy;
    result.effects = effects_of(result, report, energy);
    if (result.rows.empty() || !result.rows.front().rank) {
        result.no_recommendation = "no configuration can be compiled and launched";
    } else if (result.rows.front().safe == std::optional(false)) {
        result.no_recommendation = "every configuration would compute something else than the reference: " + result.rows.front().safe_reason;
    } else {
        result.recommended = 0;
        result.rows.front().recommended = true;
        explain(result, report, energy);
    }
}

}  // namespace flipflop::tuning
