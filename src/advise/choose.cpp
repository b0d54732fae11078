// Ranking and the short list over the candidates of one kernel on one GPU, with verdicts on those that are kept.
#include <algorithm>

#include "gpu_result.hpp"
#include "safety.hpp"

namespace flipflop::advise {

namespace {

struct Lists { std::vector<Scored> base, taken, not_taken; };

Lists lists_of(const std::vector<Candidate*>& able) {
    Lists lists;
    bool both = false;
    for (const Candidate* c : able) {
        lists.base.push_back(scored(*c, c->predicted));
        lists.taken.push_back(scored(*c, c->taken ? c->taken : c->predicted));
        lists.not_taken.push_back(scored(*c, c->not_taken ? c->not_taken : c->predicted));
        both = both || c->taken.has_value();
    }
    if (!both) {
        lists.taken.clear();
        lists.not_taken.clear();
    }
    return lists;
}

/// What the facts show without a verdict: against a given reference other bytes are proof, else a reason for doubt.
void compare_facts(const Stage& stage, const Trial& reference, std::vector<Candidate>& candidates) {
    if (!reference.facts) return;
    for (Candidate& c : candidates) {
        if (!c.trial->facts || (c.trial->block == reference.block && c.trial->grid == reference.grid)) continue;
        const Contradiction found = contradiction(*reference.facts, *c.trial->facts);
        if (found.reason.empty()) continue;
        const bool proof = found.proof && stage.facts->subject().reference_given;
        c.safety = {proof ? std::optional(false) : std::nullopt, found.reason + (stage.facts->subject().reference_given ? "" : " (which is assumed)")};
        c.suspect = !proof;
        c.judged = proof;
    }
}

void judge(const Stage& stage, const Trial& reference, Candidate& candidate, std::vector<Candidate>& all, VerdictWork& work) {
    if (candidate.judged) return;
    const SafetyVerdict verdict = verdict_on(stage, reference, *candidate.trial, work);
    for (Candidate& other : all) {    // the same launch at other operating points too
        if (other.trial != candidate.trial) continue;
        // A verdict that cannot be made leaves standing what the facts have shown.
        if (verdict.safe || !other.suspect) other.safety = verdict;
        if (verdict.safe) other.suspect = false;
        other.judged = true;
    }
}

}  // namespace

Scored scored(const Candidate& candidate, const std::optional<Prediction>& prediction) {
    Scored s;
    s.threads = candidate.trial->block.count();
    if (prediction) {
        s.time_us = prediction->time.total.value;
        if (prediction->power) s.energy_mj = prediction->power->energy.value;
    }
    const bool safe = candidate.safety.safe.value_or(false);
    s.barred = candidate.safety.safe.has_value() && !safe;
    s.unverified = (kSafetyIsFollowed && candidate.judged && !candidate.safety.safe.has_value()) || candidate.suspect;
    s.doubtful = candidate.suspect;
    return s;
}

void choose(const Stage& stage, const Trial& reference, const ResultOptions& options, bool named, std::vector<Candidate>& candidates) {
    compare_facts(stage, reference, candidates);
    std::vector<Candidate*> able;
    VerdictWork work = verdict_work(stage);
    for (Candidate& c : candidates) {
        // The heuristic's block is a baseline, not advice: it has a verdict only where it is kept.
        const bool always = named || c.trial->is_current || (c.trial->block == reference.block && c.trial->grid == reference.grid);
        if (c.trial->grid.count() > 0 && c.trial->facts && always) judge(stage, reference, c, candidates, work);
        if (c.predicted) able.push_back(&c);
    }
    const RankError error{stage.paired.time_log_sigma, stage.paired.energy_log_sigma};
    std::vector<bool> kept;
    Lists lists;
    for (std::size_t verdicts = 0;;) {
        lists = lists_of(able);
        std::vector<std::vector<Scored>> alternatives;
        if (!lists.taken.empty()) alternatives = {lists.taken, lists.not_taken};
        // What has no verdict yet competes on its merits; only those that win are asked.
        kept = short_list(lists.base, alternatives, options.objective, error);
        bool asked = false;
        for (std::size_t i = 0; i < able.size(); ++i)
            if (kept[i] && !able[i]->judged && verdicts < kMostVerdicts) {
                judge(stage, reference, *able[i], candidates, work);
                ++verdicts;
                asked = true;
            }
        if (!asked) break;
    }
    // The final order: what was not asked is unverified like what could not be followed.
    if (kSafetyIsFollowed)
        for (Candidate* c : able) c->judged = true;
    lists = lists_of(able);
    const std::vector<std::size_t> order = rank(lists.base, options.objective);
    const std::vector<bool> front = pareto_front(lists.base);
    const std::vector<double> values = objective_values(lists.base, options.objective);
    const double sigma = options.objective == Objective::time ? error.time_log_sigma : error.energy_log_sigma;
    const std::vector<double> chance = probability_within(values, sigma);
    for (std::size_t k = 0; k < order.size(); ++k) able[order[k]]->rank = static_cast<std::uint32_t>(k + 1);
    for (std::size_t i = 0; i < able.size(); ++i) {
        able[i]->pareto = front[i];
        able[i]->kept = kept[i] && !lists.base[i].barred;
        able[i]->p_within = chance[i];
    }
    // The first of the ranking is what will be recommended: it is kept whatever the loop above ended with.
    if (!order.empty() && !lists.base[order.front()].barred) able[order.front()]->kept = true;
}

}  // namespace flipflop::advise
