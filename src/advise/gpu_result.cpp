#include "gpu_result.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "complaints.hpp"
#include "parallel.hpp"
#include "recommend.hpp"
#include "rules/rule.hpp"
#include "safety.hpp"

namespace flipflop::advise {

namespace {

/// Everything that is tried: what is listed (named or searched), then the baselines and the reference where they are not.
struct Wanted { Dim3 block; std::optional<Dim3> grid; bool current{}, heuristic{}, reference{}; };

struct Tried {
    std::vector<Wanted> wanted;
    std::vector<Trial> trials;               ///< of each wanted; the first `listed` are configurations of the result
    std::size_t listed{};
    std::size_t heuristic{}, reference{};
    std::optional<std::size_t> current;
    bool named{};
};

/// The blocks to try. A search holds the baselines too; named blocks are a list that nothing is added to.
std::vector<Wanted> wanted_blocks(const Stage& stage, std::size_t& listed) {
    const LaunchOptions& options = stage.options;
    std::vector<Wanted> wanted;
    const auto add = [&](const Wanted& more) {
        for (Wanted& w : wanted)
            if (w.block == more.block && w.grid == more.grid) {
                w.current = w.current || more.current;
                w.heuristic = w.heuristic || more.heuristic;
                w.reference = w.reference || more.reference;
                return;
            }
        wanted.push_back(more);
    };
    const Wanted current{options.current.value_or(Dim3{}), options.current_grid, true, false, false};
    const Wanted heuristic{heuristic_block(stage), std::nullopt, false, true, false};
    if (options.blocks.empty()) {
        for (const Dim3& block : search_space(stage.facts->code().facts.block_dimensions)) add({block, std::nullopt});
        if (const auto& required = stage.facts->code().facts.bounds.required_block) add({*required, std::nullopt});
        if (options.current) add(current);
        add(heuristic);
        listed = wanted.size();
    } else {
        for (const Dim3& block : options.blocks) wanted.push_back({block, std::nullopt});   // twice when named twice
        listed = wanted.size();
        if (options.current) add(current);
        add(heuristic);
    }
    add({stage.facts->subject().reference, options.current ? options.current_grid : std::optional<Dim3>{}, false, false, true});
    return wanted;
}

Trial try_wanted(const Stage& stage, const Tried& tried, std::size_t i) {
    const Wanted& w = tried.wanted[i];
    const bool facts_anyway = w.current || w.heuristic || (tried.named && i < tried.listed) || i >= tried.listed;
    Trial trial = try_block(stage, w.block, w.grid, facts_anyway);
    trial.is_current = w.current;
    trial.is_heuristic = w.heuristic;
    trial.is_reference = w.reference;
    return trial;
}

Tried try_all(const Stage& stage, const ResultOptions& options) {
    Tried tried;
    tried.named = !stage.options.blocks.empty();
    tried.wanted = wanted_blocks(stage, tried.listed);
    const std::vector<Wanted>& wanted = tried.wanted;
    tried.trials.resize(wanted.size());
    parallel_for(wanted.size(), options.threads, [&](std::size_t i) { tried.trials[i] = try_wanted(stage, tried, i); });
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].heuristic) tried.heuristic = i;
        if (wanted[i].current) tried.current = i;
        if (wanted[i].reference) tried.reference = i;
    }
    return tried;
}

OperatingPoint with_terms(OperatingPoint point) {
    point.terms = true;
    return point;
}

void estimate(const Stage& stage, const ResultOptions& options, Candidate& c) {
    c.predicted.reset();
    c.taken.reset();
    c.not_taken.reset();
    if (!c.trial->launchable || !c.trial->facts) return;
    const OperatingPoint& point = options.points[c.point];   // without terms: most candidates end as a line of numbers
    c.predicted = predict(stage, *c.trial, *c.trial->facts, point);
    if (!c.trial->taken) return;
    c.taken = predict(stage, *c.trial, *c.trial->taken, point);
    c.not_taken = predict(stage, *c.trial, *c.trial->not_taken, point);
}

std::vector<Candidate> estimate_all(const Stage& stage, const Tried& tried, const ResultOptions& options) {
    std::vector<Candidate> candidates(tried.listed * options.points.size());
    parallel_for(candidates.size(), options.threads, [&](std::size_t k) {
        candidates[k].point = k / tried.listed;
        candidates[k].trial = &tried.trials[k % tried.listed];
        estimate(stage, options, candidates[k]);
    });
    return candidates;
}

bool is_cut(const Trial& trial) {
    const auto cut = [](const std::shared_ptr<const LaunchFacts>& facts) { return facts && facts->cut; };
    return cut(trial.facts) || cut(trial.taken) || cut(trial.not_taken);
}

std::uint64_t steps_of(const Trial& trial) {
    std::uint64_t steps = 0;
    for (const auto& facts : {trial.facts, trial.taken, trial.not_taken})
        if (facts) steps += facts->evaluated_steps;
    return steps;
}

/// Trials among the cheapest (in time, in energy) and the baselines that were cut.
std::vector<std::size_t> cut_leaders(const Tried& tried, const std::vector<Candidate>& candidates) {
    constexpr std::size_t kLeaders = 8;
    std::vector<bool> leads(tried.trials.size());
    for (const std::size_t baseline : {tried.heuristic, tried.reference, tried.current.value_or(tried.reference)}) leads[baseline] = true;
    for (const bool by_energy : {false, true}) {
        std::vector<std::pair<double, std::size_t>> costs;
        for (const Candidate& c : candidates)
            if (c.predicted && (!by_energy || c.predicted->power))
                costs.push_back({by_energy ? c.predicted->power->energy.value : c.predicted->time.total.value, static_cast<std::size_t>(c.trial - tried.trials.data())});
        std::sort(costs.begin(), costs.end());
        std::size_t found = 0;
        for (std::size_t k = 0; k < costs.size() && found < kLeaders; ++k) {
            found += k == 0 || costs[k].second != costs[k - 1].second;
            leads[costs[k].second] = true;
        }
    }
    std::vector<std::size_t> cut;
    for (std::size_t i = 0; i < leads.size(); ++i)
        if (leads[i] && is_cut(tried.trials[i])) cut.push_back(i);
    return cut;
}

/// A launch that was cut at its limit did less than it will, and looks better than it is. So the leaders among those are
/// followed further, until no leader is cut or a search's work is spent once more (an overview's: a quarter of it); what loses its lead need not be known better.
void follow_leaders(const Stage& stage, const ResultOptions& options, Tried& tried, std::vector<Candidate>& candidates) {
    const std::optional<std::uint64_t> budget = stage.facts->budget();
    if (!budget || tried.named) return;
    constexpr std::uint64_t kFurther = 4, kFurthest = 5, kOfBudget = 4;   // a launch takes up to four times its budget
    std::uint64_t left = *budget * kSearchOfBudget / (options.brief ? 4 : 1);
    std::vector<std::uint64_t> reach(tried.trials.size(), stage.budget.value_or(*budget));
    for (std::vector<std::size_t> cut = cut_leaders(tried, candidates); !cut.empty(); cut = cut_leaders(tried, candidates)) {
        // As many as the work that is left pays for.
        std::vector<std::size_t> paid;
        std::uint64_t planned = 0;
        for (const std::size_t i : cut) {
            const std::uint64_t next = std::min(reach[i] * kFurther, *budget * kFurthest);
            if (next == reach[i] || planned + kOfBudget * next > left) continue;
            planned += kOfBudget * next;
            reach[i] = next;
            paid.push_back(i);
        }
        if (paid.empty()) return;
        parallel_for(paid.size(), options.threads, [&](std::size_t k) {
            Stage further = stage;
            further.budget = reach[paid[k]];
            tried.trials[paid[k]] = try_wanted(further, tried, paid[k]);
        });
        for (const std::size_t i : paid) left -= std::min(left, steps_of(tried.trials[i]));
        parallel_for(candidates.size(), options.threads, [&](std::size_t k) {
            const auto trial = static_cast<std::size_t>(candidates[k].trial - tried.trials.data());
            if (std::find(paid.begin(), paid.end(), trial) != paid.end()) estimate(stage, options, candidates[k]);
        });
    }
}

/// Only what a summary's keys need stays: dynamic and traffic, not the lists. (Summaries were never given trees.)
void drop_detail(ConfigResult& config) {
    if (config.facts) {
        config.facts->loops.clear();
        config.facts->accesses.clear();
        config.facts->phases.clear();
        config.facts->executions.clear();
    }
}

ConfigResult config_of(const Stage& stage, const Candidate& candidate, const ResultOptions& options, bool named) {
    const Trial& trial = *candidate.trial;
    const OperatingPoint& point = options.points[candidate.point];
    ConfigResult config;
    config.block = trial.block;
    config.grid = trial.grid;
    config.dynamic_shared_bytes = trial.dynamic_shared_bytes;
    config.launchable = trial.launchable;
    config.why_not = trial.obstacle.words;
    config.safe = candidate.safety.safe;
    config.safe_reason = candidate.safety.reason;
    if (!config.safe && config.safe_reason.empty()) { config.safe_reason = trial.launchable ? "not asked: it is neither kept nor named nor in use" : "it cannot be launched"; }
    config.occupancy = trial.occupancy;
    if (trial.facts) config.facts = *trial.facts;
    config.predicted = candidate.predicted;
    if (config.predicted) config.predicted->p_within_5pct = candidate.p_within;
    config.clock_mhz = point.clock_mhz ? point.clock_mhz : stage.gpu->value("boost_clock_mhz");
    if (candidate.predicted) config.clock_mhz = candidate.predicted->power ? candidate.predicted->power->clock_mhz : candidate.predicted->time.clock_mhz;
    config.power_limit_w = point.power_limit_w ? point.power_limit_w : stage.gpu->value("power_limit_default_w");
    config.pareto = candidate.pareto;
    config.kept = candidate.kept;
    config.rank = candidate.rank;
    config.is_current = trial.is_current;
    config.is_heuristic = trial.is_heuristic;
    config.is_reference = trial.is_reference;
    config.full_detail = named || config.kept || config.is_current || config.is_heuristic || options.full_detail || (options.own_launch && config.is_reference);
    if (!config.full_detail) drop_detail(config);
    else if (config.predicted) {
        const std::optional<double> chance = config.predicted->p_within_5pct;
        config.predicted = predict(stage, trial, *trial.facts, with_terms(point));
        config.predicted->p_within_5pct = chance;
    }
    return config;
}

SearchSpace space_of(const std::vector<Candidate>& candidates) {
    SearchSpace space;
    space.candidates = candidates.size();
    for (const Candidate& c : candidates) {
        if (c.trial->launchable) ++space.launchable;
        else ++space.rejected_by[c.trial->obstacle.reason];
        if (c.kept) ++space.kept;
    }
    if (space.launchable > 0) space.reduction = 1 - static_cast<double>(space.kept) / static_cast<double>(space.launchable);
    return space;
}

/// What is assumed beyond the arguments: caches, clock, shared memory, loops, registers.
std::vector<Assumption> all_assumptions(const Stage& stage, const ResultOptions& options, const Trial* shown) {
    std::vector<Assumption> all = stage.facts->subject().assumptions;
    const KernelFacts& kernel = stage.facts->code().facts;
    all.push_back({"cache state", stage.warm_cache ? "warm" : "cold", stage.warm_cache ? "launched again and again, as loops and benchmarks do" : "--cache-state cold", std::nullopt});
    if (!options.points.front().clock_mhz) all.push_back({"clock", "boost", "no --clock was given; the power limit may lower it", std::nullopt});
    const double board = stage.gpu->value("sm_count").value_or(0);
    if (stage.gpu->sm_override && *stage.gpu->sm_override < board)
        all.push_back({"part of the board", fmt::format("{} of {:.0f} SMs", *stage.gpu->sm_override, board),
                       "L2, DRAM, idle power and the power limit are those of the whole board", "time, power and energy"});
    if (stage.resources.registers_basis == RegistersBasis::estimate && stage.resources.registers_low != stage.resources.registers_high)
        all.push_back({"registers", fmt::format("{} ({} to {})", stage.resources.registers_per_thread, stage.resources.registers_low, stage.resources.registers_high),
                       "estimated from the code; ptxas was not used", "occupancy"});
    if (!shown || !shown->facts) return all;
    if (stage.resources.uses_dynamic_shared && !stage.facts->subject().dynamic_smem)
        all.push_back({"dynamic shared memory", fmt::format("{} bytes", shown->dynamic_shared_bytes), "the highest address that the block touches, rounded up to 16", "occupancy"});
    for (std::size_t i = 0; i < shown->facts->loops.size() && i < kernel.loops.size(); ++i) {
        const LoopFacts& loop = shown->facts->loops[i];
        if (loop.basis != CountBasis::assumed && loop.basis != CountBasis::unknown) continue;
        all.push_back({fmt::format("trips of loop {}", kernel.loops[i].id), loop.trip_mean ? fmt::format("{:.3g}", *loop.trip_mean) : "unknown",
                       loop.why.empty() ? "its exit depends on data" : loop.why, "time and energy of the loop"});
    }
    const auto at_unknown = std::count_if(shown->facts->accesses.begin(), shown->facts->accesses.end(), [](const AccessFacts& a) {
        return (a.pattern == Pattern::gather || a.pattern == Pattern::scatter) && !a.sectors_per_request && !a.wavefronts_per_request;
    });
    if (at_unknown > 0)
        all.push_back({"addresses from data", fmt::format("{} {}", at_unknown, at_unknown == 1 ? "access" : "accesses"),
                       "counted as if coalesced and free of conflicts; --data NAME=FILE gives what they index with", "traffic, time and energy"});
    if (shown->facts->unknown_branches > 0 && !stage.facts->subject().policy.taken_probability)
        all.push_back({"branches on data", fmt::format("{}, both ways followed", shown->facts->unknown_branches), "their conditions come from memory", "what is executed"});
    return all;
}

/// The team's own launch where one was named, else the recommended one.
const Candidate* launch_in_question(const std::vector<Candidate>& candidates, bool named, bool own_launch, const Candidate* best) {
    if (named) return candidates.front().predicted ? &candidates.front() : best;
    for (const Candidate& c : candidates)
        if ((c.trial->is_current || (own_launch && c.trial->is_reference)) && c.predicted) return &c;
    return best;
}

Reblocking reblocking_of(const Stage& stage, const Trial& reference, const Candidate* best) {
    Reblocking r;
    r.reference_block = reference.block;
    r.reference_grid = reference.grid;
    r.reference_basis = stage.facts->subject().reference_basis;
    const std::optional<bool> safe = best ? best->safety.safe : std::nullopt;
    r.verdict = safe ? (*safe ? "safe" : "unsafe") : "unverified";
    r.reason = best ? best->safety.reason : "nothing is recommended";
    return r;
}

Baseline baseline_of(const Stage& stage, const Trial& trial, const OperatingPoint& point) {
    Baseline baseline;
    baseline.trial = &trial;
    if (trial.launchable && trial.facts) baseline.predicted = predict(stage, trial, *trial.facts, with_terms(point));
    return baseline;
}

/// Roles hard-wired to warps, a tile the size of the block: nothing in the code says so, but no other block does the same work.
bool only_block(const std::vector<Candidate>& candidates, const Candidate& best) {
    bool others = false;
    for (const Candidate& c : candidates) {
        if (!c.predicted || c.trial->block == best.trial->block) continue;
        if (c.safety.safe != std::optional(false) && !c.suspect) return false;
        others = true;
    }
    return others;
}

const Candidate* first_ranked(const std::vector<Candidate>& candidates) {
    for (const Candidate& c : candidates)
        if (c.rank == 1u) return &c;
    return nullptr;
}

/// What a changed assumption could make the best: the kept ones and the baselines.
std::vector<Dim3> shortlist_of(const std::vector<Candidate>& candidates, const Tried& tried) {
    std::vector<Dim3> blocks;
    const bool safe = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.rank == 1u && c.safety.safe == std::optional(true); });
    for (const Candidate& c : candidates)
        if (c.kept && (!safe || c.safety.safe)) blocks.push_back(c.trial->block);   // what has no verdict is not the answer now, whatever is assumed
    if (tried.current) blocks.push_back(tried.trials[*tried.current].block);
    const auto& reference = tried.trials[tried.reference].facts;
    const auto& heuristic = tried.trials[tried.heuristic].facts;
    const bool alike = !reference || !heuristic || contradiction(*reference, *heuristic).reason.empty();
    if (alike) blocks.push_back(tried.trials[tried.heuristic].block);   // what does something else cannot be the answer
    return blocks;
}

/// A block of the short list that has a clear lead over the recommended one, and no verdict: the reader decides.
std::string faster_unverified(const std::vector<Candidate>& candidates, const Candidate& best, const PairedError& error) {
    constexpr double kNinety = 1.6448536269514722;
    const Candidate* first = nullptr;
    for (const Candidate& c : candidates) {
        if (!c.kept || !c.predicted || c.safety.safe || c.suspect || c.point != best.point) continue;
        if (!first || c.predicted->time.total.value < first->predicted->time.total.value) first = &c;
    }
    if (!first || !best.safety.safe) return {};
    const double ratio = first->predicted->time.total.value / best.predicted->time.total.value;
    if (ratio * std::exp(kNinety * error.time_log_sigma) >= 1) return {};
    return fmt::format("{} would take {:.0f} % less time, but nothing proves that it computes the same: {}", words_of(first->trial->block), 100 * (1 - ratio), first->safety.reason);
}

void fill_configs(const Stage& stage, const ResultOptions& options, const Tried& tried, const std::vector<Candidate>& candidates,
                  const Candidate* recommended, KernelResult& result) {
    std::vector<const Candidate*> order;
    for (const Candidate& c : candidates) order.push_back(&c);
    if (!tried.named)
        std::stable_sort(order.begin(), order.end(), [](const Candidate* a, const Candidate* b) {
            return a->rank.value_or(0xffffffffu) < b->rank.value_or(0xffffffffu);
        });
    for (const Candidate* c : order) {
        result.configs.push_back(config_of(stage, *c, options, tried.named));
        result.configs.back().recommended = c == recommended;
    }
}

}  // namespace

std::optional<std::uint64_t> share_of_search(const Stage& stage) {
    const std::optional<std::uint64_t> budget = stage.facts->budget();
    if (!budget) return std::nullopt;
    std::size_t listed = 0;
    const std::vector<Wanted> wanted = wanted_blocks(stage, listed);
    const auto reference = std::find_if(wanted.begin(), wanted.end(), [](const Wanted& w) { return w.reference; });
    // Other blocks may take twice as much; beyond that it need not be known how much more.
    const std::uint64_t all = *budget * kSearchOfBudget, affordable = all / (2 * wanted.size());
    Stage there = stage;
    there.budget = std::min(affordable, *budget);
    const Trial probe = try_block(there, reference->block, reference->grid, true);
    if (!probe.facts) return std::nullopt;
    std::uint64_t cost = probe.facts->evaluated_steps;
    for (const auto& outcome : {probe.taken, probe.not_taken})
        if (outcome) cost += outcome->evaluated_steps;
    if (cost <= affordable) return std::nullopt;
    // A launch takes up to four times its budget: boxes, samples, the interior block, its neighbours.
    return std::max(*budget / kLeastOfBudget, all / (wanted.size() * (probe.taken ? 12 : 4)));
}

Result<KernelResult> result_on_gpu(const Stage& stage, const ResultOptions& options, const Requests& requests, const Evaluator& evaluator) {
    Tried tried = try_all(stage, options);
    for (const Trial& trial : tried.trials)
        if (trial.broken) return tl::unexpected(*trial.broken);
    // A rule that gives no block a grid is not about blocks: its argument is.
    if (std::all_of(tried.trials.begin(), tried.trials.end(), [](const Trial& t) { return t.no_grid || (!t.launchable && t.obstacle.reason != "grid"); }))
        for (const Trial& trial : tried.trials)
            if (trial.no_grid) return tl::unexpected(*trial.no_grid);
    std::vector<Candidate> candidates = estimate_all(stage, tried, options);
    follow_leaders(stage, options, tried, candidates);
    const bool needs_power = options.objective != Objective::time;
    for (const Candidate& c : candidates)
        if (needs_power && c.predicted && !c.predicted->power)
            return tl::unexpected(complain("FF0752", "--objective", fmt::format("the power of {} is not known: {}", stage.gpu->name, c.predicted->power_unknown),
                                           "use --objective time, or a profile with the board's idle power (--gpu FILE)"));
    const Trial& reference = tried.trials[tried.reference];
    choose(stage, reference, options, tried.named, candidates);
    const Candidate* best = first_ranked(candidates);

    KernelResult result;
    result.gpu = stage.gpu->name;
    result.gpu_note = stage.gpu->alias_note;
    result.profile = *stage.gpu;
    result.code = stage.code;
    result.resources = stage.resources;
    result.space = space_of(candidates);
    result.reblocking = reblocking_of(stage, reference, best);
    const Candidate* question = launch_in_question(candidates, tried.named, options.own_launch, best);
    result.assumptions = all_assumptions(stage, options, question ? question->trial : nullptr);
    const OperatingPoint& point = options.points[best ? best->point : 0];
    const Baseline heuristic = baseline_of(stage, tried.trials[tried.heuristic], point);
    const Baseline current = tried.current ? baseline_of(stage, tried.trials[*tried.current], point) : Baseline{};
    const auto compared = static_cast<std::size_t>(std::count_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.predicted.has_value(); }));
    Advice advice = recommend(stage, options, best, compared, heuristic, current, result.assumptions);
    result.recommendation = std::move(advice.recommendation);
    if (result.recommendation && !tried.named && best->trial->is_reference && only_block(candidates, *best))
        result.recommendation->caveats.push_back(fmt::format("no other block of the search does the same work: {}", levers_of(stage)));
    if (result.recommendation && !tried.named)
        if (std::string faster = faster_unverified(candidates, *best, stage.paired); !faster.empty()) result.recommendation->caveats.push_back(std::move(faster));
    if (result.recommendation && !options.brief) result.recommendation->sensitivity = sensitivities(stage, options, *best, shortlist_of(candidates, tried), requests, evaluator);
    result.no_recommendation = std::move(advice.none_because);
    if (question && question->predicted)
        result.findings = find_all({stage, *question->trial, *question->predicted, options.points[question->point]});
    fill_configs(stage, options, tried, candidates, result.recommendation ? best : nullptr, result);
    return result;
}

}  // namespace flipflop::advise
