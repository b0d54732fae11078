#include "across_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "complaints.hpp"
#include "recommend.hpp"
#include "safety.hpp"

namespace flipflop::advise {

namespace {

constexpr std::size_t kMostAsked = 8;              // launches whose verdict in every case is asked for
constexpr std::size_t kPairCandidates = 96;        // pairs are tried among so many of the cheapest

double objective_cost(Objective objective, double time_us, const std::optional<double>& energy_mj) {
    const double energy = energy_mj.value_or(std::numeric_limits<double>::infinity());
    switch (objective) {
        case Objective::time: return time_us;
        case Objective::edp: return energy * time_us;
        case Objective::energy:
        case Objective::energy_at_95: return energy;
    }
    return time_us;
}

std::string unit_of(Objective objective) {
    return objective == Objective::time ? "us" : objective == Objective::edp ? "mJ*us" : "mJ";
}

Scored scored_of(const ConfigResult& config) {
    Scored s;
    s.time_us = config.predicted->time.total.value;
    if (config.predicted->power) s.energy_mj = config.predicted->power->energy.value;
    s.threads = config.block.count();
    s.barred = config.safe == std::optional(false);
    return s;
}

using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, double, double>;
Key key_of(const ConfigResult& c) { return {c.block.z, c.block.y, c.block.x, c.clock_mhz.value_or(-1), c.power_limit_w.value_or(-1)}; }

/// Everything about one GPU's cases while launches for several of them are sought.
class Search {
public:
    Search(std::span<const Stage> stages, std::span<const KernelResult> results, const ResultOptions& options, const Requests& requests, const Evaluator& evaluator)
        : stages_(stages), results_(results), options_(options), requests_(requests), evaluator_(evaluator) {
        for (std::size_t i = 0; i < results.size(); ++i)
            if (results[i].recommendation) cases_.push_back(i);
        for (const Stage& stage : stages) work_.push_back(verdict_work(stage));
        fill();
    }

    AcrossCases run() {
        AcrossCases out;
        out.objective = to_string(options_.objective);
        out.unit = unit_of(options_.objective);
        out.swept = requests_.cases.swept;
        for (std::size_t c = 0; c < cases_.size(); ++c) out.cases.push_back(line_of(c));
        if (cases_.empty()) {
            out.none_because = "no case has a recommendation";
            return out;
        }
        out.least_worst_regret = common([&](std::size_t l) { return table_.worst_regret(l); });
        out.least_weighted_cost = common([&](std::size_t l) { return table_.weighted_cost(l); });
        if (!out.least_weighted_cost) out.none_because = "no block can be launched safely in every case";
        if (cases_.size() > 1) second(out);
        return out;
    }

private:
    void fill() {
        std::map<Key, std::size_t> rows;
        const std::size_t n = cases_.size();
        for (std::size_t c = 0; c < n; ++c) {
            const KernelResult& result = results_[cases_[c]];
            std::vector<const ConfigResult*> able;
            std::vector<Scored> scores;
            for (const ConfigResult& config : result.configs)
                if (config.predicted) {
                    able.push_back(&config);
                    scores.push_back(scored_of(config));
                }
            const std::vector<double> values = objective_values(scores, options_.objective);
            double best = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < able.size(); ++i) {
                const auto [row, added] = rows.emplace(key_of(*able[i]), table_.launches.size());
                if (added) {
                    // One operating point needs no name: it is everybody's.
                    const bool named = options_.points.size() > 1;
                    table_.launches.push_back({able[i]->block, named ? able[i]->clock_mhz : std::nullopt, named ? able[i]->power_limit_w : std::nullopt});
                    table_.cost.emplace_back(n);
                    safe_.emplace_back(n);
                    asked_.emplace_back(n, false);
                }
                if (able[i]->recommended) best = values[i];
                if (able[i]->safe == std::optional(false)) continue;
                table_.cost[row->second][c] = values[i];
                safe_[row->second][c] = able[i]->safe;
                asked_[row->second][c] = able[i]->safe.has_value() || able[i]->recommended;
            }
            table_.best.push_back(best);
            table_.weight.push_back(requests_.cases.list[cases_[c]].weight);
        }
    }

    CaseLine line_of(std::size_t c) const {
        const KernelResult& result = results_[cases_[c]];
        const Case& said = requests_.cases.list[cases_[c]];
        return {said.name, said.weight, said.swept, result.recommendation->block, result.recommendation->grid, table_.best[c], result.recommendation->safe};
    }

    /// Asks for the verdict of a launch in one case. False: it is struck from the table.
    void ask(std::size_t launch, std::size_t c) {
        if (asked_[launch][c]) return;
        asked_[launch][c] = true;
        const Stage& stage = stages_[cases_[c]];
        const Subject& subject = stage.facts->subject();
        const Trial reference = try_block(stage, subject.reference, subject.reference_given ? stage.options.current_grid : std::nullopt, true);
        const Trial trial = try_block(stage, table_.launches[launch].block, std::nullopt, true);
        const SafetyVerdict verdict = verdict_on(stage, reference, trial, work_[cases_[c]]);
        safe_[launch][c] = verdict.safe;
        if (verdict.safe == std::optional(false)) table_.cost[launch][c].reset();
    }

    /// true: safe in all cases; empty: in doubt in some. Unsafe ones have lost their cost.
    std::optional<bool> verdict_in(std::size_t launch, const std::vector<std::size_t>& cases) {
        std::optional<bool> all = true;
        for (const std::size_t c : cases) {
            ask(launch, c);
            if (!safe_[launch][c]) all.reset();
            if (safe_[launch][c] == std::optional(false)) return false;
        }
        return all;
    }

    std::vector<std::size_t> all_cases() const {
        std::vector<std::size_t> all(cases_.size());
        for (std::size_t c = 0; c < all.size(); ++c) all[c] = c;
        return all;
    }

    /// The launch for every case with the least of what `worth` says; safe before unverified.
    template <class Worth>
    std::optional<CommonLaunch> common(Worth&& worth) {
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t l = 0; l < table_.launches.size(); ++l)
            if (table_.everywhere(l)) order.emplace_back(worth(l), l);
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        const bool some_safe = std::any_of(cases_.begin(), cases_.end(), [&](std::size_t c) { return results_[c].recommendation->safe == std::optional(true); });
        std::optional<std::size_t> doubtful;
        std::size_t asked = 0;
        for (const auto& [value, launch] : order) {
            if (asked++ == kMostAsked || (doubtful && !some_safe)) break;   // where nothing is safe alone, nothing is for all
            const std::optional<bool> safe = verdict_in(launch, all_cases());
            if (safe == std::optional(true)) return common_of(launch, true);
            if (!safe && !doubtful) doubtful = launch;
        }
        return doubtful ? std::optional(common_of(*doubtful, std::nullopt)) : std::nullopt;
    }

    CommonLaunch common_of(std::size_t launch, std::optional<bool> safe) const {
        CommonLaunch out;
        out.block = table_.launches[launch].block;
        out.clock_mhz = table_.launches[launch].clock_mhz;
        out.power_limit_w = table_.launches[launch].power_limit_w;
        out.safe = safe;
        out.weighted_cost = table_.weighted_cost(launch);
        out.worst_regret = table_.worst_regret(launch);
        for (std::size_t c = 0; c < cases_.size(); ++c) out.regrets.push_back(*table_.cost[launch][c] / table_.best[c] - 1);
        const auto worst = std::max_element(out.regrets.begin(), out.regrets.end());
        out.worst_case = results_[cases_[static_cast<std::size_t>(worst - out.regrets.begin())]].case_name;
        return out;
    }

    /// The best set of launches whose members are not unsafe where they are used.
    std::vector<std::size_t> sound_set(std::size_t count) {
        for (std::size_t round = 0; round < kMostAsked; ++round) {
            const std::vector<std::size_t> set = best_set(table_, count);
            bool struck = false;
            for (std::size_t c = 0; c < cases_.size() && !set.empty(); ++c) {
                const auto launch = table_.taken_by(set, c);
                if (!launch) continue;
                ask(*launch, c);
                struck = struck || !table_.cost[*launch][c];
            }
            if (!struck) return set;
        }
        return {};
    }

    void second(AcrossCases& out) {
        const std::vector<std::size_t> one = sound_set(1), two = sound_set(2);
        if (two.size() < 2) return;
        const auto cost_two = table_.cost_of_set(two);
        // Where no launch serves all cases, a second one is not a gain but a need.
        const auto cost_one = one.empty() ? std::nullopt : table_.cost_of_set(one);
        if (!cost_two) return;
        AcrossCases::Second s;
        s.first = table_.launches[two[0]].block;
        s.second = table_.launches[two[1]].block;
        const double sigma = options_.objective == Objective::time ? stages_.front().paired.time_log_sigma : stages_.front().paired.energy_log_sigma;
        s.cost_ratio = cost_one ? *cost_two / *cost_one : 0;
        s.pays = !cost_one || s.cost_ratio <= 1 - kSecondPays;
        const double spread = std::exp(1.6448536269514722 * sigma);
        s.cost_ratio_low = s.cost_ratio / spread;
        s.cost_ratio_high = s.cost_ratio * spread;
        if (cost_one) out.second_launch = s;
        if (!s.pays) return;
        std::vector<std::size_t> set = two;
        double cost = *cost_two;
        while (set.size() < kMostLaunches) {
            const std::vector<std::size_t> more = sound_set(set.size() + 1);
            const auto cost_more = more.size() > set.size() ? table_.cost_of_set(more) : std::nullopt;
            if (!cost_more || *cost_more > cost * (1 - kSecondPays)) break;
            set = more;
            cost = *cost_more;
        }
        out.dispatch = dispatch_of(set);
    }

    std::vector<DispatchRow> dispatch_of(const std::vector<std::size_t>& set) {
        std::vector<std::size_t> order = all_cases();
        const auto swept = [&](std::size_t c) { return requests_.cases.list[cases_[c]].swept; };
        const bool ordered = std::all_of(order.begin(), order.end(), [&](std::size_t c) { return swept(c).has_value(); });
        if (ordered) std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return *swept(a) < *swept(b); });
        std::vector<DispatchRow> rows;
        std::vector<std::size_t> who;
        for (const std::size_t c : order) {
            const auto launch = table_.taken_by(set, c);
            if (!launch) continue;
            std::size_t row = rows.size();
            if (ordered && !who.empty() && who.back() == *launch) row = rows.size() - 1;
            if (!ordered) row = static_cast<std::size_t>(std::find(who.begin(), who.end(), *launch) - who.begin());
            if (row == rows.size()) {
                const CostTable::Launch& l = table_.launches[*launch];
                rows.push_back({l.block, l.clock_mhz, l.power_limit_w, true, {}, {}, {}, {}});
                who.push_back(*launch);
                if (ordered && row > 0) rows[row - 1].crossing = crossing(who[row - 1], *launch, *rows[row - 1].to, *swept(c));
                rows[row].from = ordered ? swept(c) : std::nullopt;
            }
            rows[row].cases.push_back(results_[cases_[c]].case_name);
            rows[row].to = ordered ? swept(c) : std::nullopt;
            if (!safe_[*launch][c]) rows[row].safe.reset();
        }
        return rows;
    }

    /// The models answer between the points of the sweep, as they do at them.
    std::optional<double> crossing(std::size_t first, std::size_t second, double low, double high) const {
        const bool whole = low == std::floor(low) && high == std::floor(high);
        return crossing_between(low, high, whole, [&](double value) -> std::optional<double> {
            const auto a = cost_at(first, value), b = cost_at(second, value);
            return a && b ? std::optional(*a - *b) : std::nullopt;
        });
    }

    std::optional<double> cost_at(std::size_t launch, double value) const {
        const Case point = at_sweep_point(requests_.cases, value);
        const KernelCode& code = stages_.front().facts->code();
        const Subject subject = make_subject(code, requests_, &point);
        if (subject.broken) return std::nullopt;
        FactsBook book(code, evaluator_, subject, kSearchBudget, stages_.front().facts->brief());
        Stage there = stages_.front();
        there.facts = &book;
        const Trial trial = try_block(there, table_.launches[launch].block, std::nullopt, false);
        if (!trial.launchable || !trial.facts || trial.broken) return std::nullopt;
        OperatingPoint at = options_.points.front();
        if (const auto clock = table_.launches[launch].clock_mhz) at.clock_mhz = clock;
        if (const auto limit = table_.launches[launch].power_limit_w) at.power_limit_w = limit;
        const Prediction p = predict(there, trial, *trial.facts, at);
        return objective_cost(options_.objective, p.time.total.value, p.power ? std::optional(p.power->energy.value) : std::nullopt);
    }

    std::span<const Stage> stages_;
    std::span<const KernelResult> results_;
    const ResultOptions& options_;
    const Requests& requests_;
    const Evaluator& evaluator_;
    std::vector<std::size_t> cases_;             // indices of results with a recommendation: the table's columns
    CostTable table_;
    std::vector<std::vector<std::optional<bool>>> safe_;
    std::vector<std::vector<bool>> asked_;
    std::vector<VerdictWork> work_;          ///< by case
};

}  // namespace

bool CostTable::everywhere(std::size_t launch) const {
    return std::all_of(cost[launch].begin(), cost[launch].end(), [](const auto& c) { return c.has_value(); });
}

double CostTable::weighted_cost(std::size_t launch) const { return cost_of_set({launch}).value_or(std::numeric_limits<double>::infinity()); }

double CostTable::worst_regret(std::size_t launch) const {
    double worst = 0;
    for (std::size_t c = 0; c < best.size(); ++c) worst = std::max(worst, cost[launch][c] ? *cost[launch][c] / best[c] - 1 : std::numeric_limits<double>::infinity());
    return worst;
}

std::optional<std::size_t> CostTable::taken_by(const std::vector<std::size_t>& set, std::size_t one_case) const {
    std::optional<std::size_t> taken;
    for (const std::size_t launch : set)
        if (cost[launch][one_case] && (!taken || *cost[launch][one_case] < *cost[*taken][one_case])) taken = launch;
    return taken;
}

std::optional<double> CostTable::cost_of_set(const std::vector<std::size_t>& set) const {
    double sum = 0, weights = 0;
    for (std::size_t c = 0; c < best.size(); ++c) {
        const auto launch = taken_by(set, c);
        if (!launch) return std::nullopt;
        sum += weight[c] * *cost[*launch][c];
        weights += weight[c];
    }
    return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

std::vector<std::size_t> best_set(const CostTable& table, std::size_t count) {
    const std::size_t n = table.launches.size();
    std::vector<std::size_t> best;
    std::optional<double> least;
    const auto consider = [&](std::vector<std::size_t> set) {
        const auto cost = table.cost_of_set(set);
        if (!cost || (least && *cost >= *least)) return;
        least = cost;
        best = std::move(set);
    };
    if (count == 1) {
        for (std::size_t a = 0; a < n; ++a) consider({a});
        return best;
    }
    if (count > 2) {
        const std::vector<std::size_t> fewer = best_set(table, count - 1);
        if (fewer.size() + 1 < count) return {};
        for (std::size_t a = 0; a < n; ++a) {
            if (std::find(fewer.begin(), fewer.end(), a) != fewer.end()) continue;
            std::vector<std::size_t> more = fewer;
            more.push_back(a);
            consider(std::move(more));
        }
        return best;
    }
    // Pairs among the cheapest by the sum of their regrets where they can launch, and each case's best.
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t l = 0; l < n; ++l) {
        double nearest = std::numeric_limits<double>::infinity();
        for (std::size_t c = 0; c < table.best.size(); ++c)
            if (table.cost[l][c]) nearest = std::min(nearest, *table.cost[l][c] / table.best[c]);
        order.emplace_back(nearest, l);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (order.size() > kPairCandidates) order.resize(kPairCandidates);
    if (const std::vector<std::size_t> one = best_set(table, 1); !one.empty() && std::none_of(order.begin(), order.end(), [&](const auto& o) { return o.second == one[0]; }))
        order.emplace_back(0, one[0]);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) consider({order[j].second, order[i].second});
    return best;
}

std::optional<double> crossing_between(double low, double high, bool whole, const std::function<std::optional<double>(double)>& difference) {
    for (int step = 0; step < 8; ++step) {
        double middle = low > 0 && high > 0 ? std::sqrt(low * high) : (low + high) / 2;
        if (whole) middle = std::round(middle);
        if (middle <= low || middle >= high || high - low <= 0.01 * std::abs(high)) break;
        const auto d = difference(middle);
        if (!d) return std::nullopt;
        (*d <= 0 ? low : high) = middle;
    }
    return high;
}

AcrossCases across_cases(std::span<const Stage> stages, std::span<const KernelResult> results, const ResultOptions& options, const Requests& requests,
                         const Evaluator& evaluator) {
    return Search(stages, results, options, requests, evaluator).run();
}

}  // namespace flipflop::advise
