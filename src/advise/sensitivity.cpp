// What other values of the assumptions would do to the answer: each is set to a quarter and to four times, and the blocks
// that matter are estimated again. Not the whole space: a block far behind does not win by one assumption alone.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "recommend.hpp"

namespace flipflop::advise {

namespace {

constexpr std::size_t kMostAssumptions = 6;
constexpr std::size_t kMostTried = 4;

/// One end of one assumption: the requests with that value in place.
struct Variant {
    std::string value;
    std::vector<ArgumentRequest> extra;
    std::optional<Dim3> work;
    std::optional<BranchPolicy::Trips> trips;
};

struct Outcome { Dim3 best; double time_us{}; };

std::uint32_t scaled_axis(std::uint32_t extent, double factor) {
    if (extent <= 1) return extent;
    return static_cast<std::uint32_t>(std::clamp(std::round(extent * factor), 1.0, 4.0e9));
}

/// Four times the work in all: spread over the axes that have any.
Dim3 scaled_work(Dim3 work, double factor) {
    const int axes = (work.x > 1) + (work.y > 1) + (work.z > 1);
    const double each = std::pow(factor, 1.0 / std::max(1, axes));
    return {scaled_axis(work.x, each), scaled_axis(work.y, each), scaled_axis(work.z, each)};
}

std::optional<Outcome> outcome_of(const Stage& stage, const ResultOptions& options, std::size_t point, const std::vector<Dim3>& blocks,
                                  const Requests& requests, const Evaluator& evaluator, const Variant& variant) {
    const KernelCode& code = stage.facts->code();
    Subject subject = make_subject(code, requests, stage.facts->subject().chosen, variant.extra, variant.work);
    if (variant.trips) subject.policy.assumed_trips = variant.trips;
    FactsBook book(code, evaluator, subject, stage.budget.value_or(kSearchBudget));
    Stage there = stage;
    there.facts = &book;
    std::vector<Trial> trials;
    for (const Dim3& block : blocks) trials.push_back(try_block(there, block, std::nullopt, false));
    std::vector<Scored> scores;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        if (!trials[i].launchable || !trials[i].facts || trials[i].broken) continue;
        const Prediction p = predict(there, trials[i], *trials[i].facts, options.points[point]);
        Scored s;
        s.time_us = p.time.total.value;
        if (p.power) s.energy_mj = p.power->energy.value;
        s.threads = trials[i].block.count();
        scores.push_back(s);
        who.push_back(i);
    }
    if (scores.empty()) return std::nullopt;
    const std::size_t first = rank(scores, options.objective).front();
    return Outcome{trials[who[first]].block, scores[first].time_us};
}

/// The two ends of an assumption, or nothing when it has none that can be tried.
std::optional<std::pair<Variant, Variant>> ends_of(const Assumption& assumption, const Subject& subject, const KernelFacts& kernel) {
    if (assumption.name == "work") {
        if (!subject.rule.work) return std::nullopt;
        const Dim3 low = scaled_work(*subject.rule.work, 0.25), high = scaled_work(*subject.rule.work, 4);
        return std::pair(Variant{words_of(low), {}, low, {}}, Variant{words_of(high), {}, high, {}});
    }
    const std::size_t plus = assumption.name.find('+');
    const bool named = std::any_of(subject.fields.begin(), subject.fields.end(), [&](const FieldName& f) { return f.name == assumption.name; });
    const auto index = named ? std::nullopt : find_parameter(kernel, assumption.name.substr(0, plus));
    if ((!index && !named) || (index && plus == std::string::npos && kernel.parameters[*index].guard_axis >= 0)) return std::nullopt;   // guards go with the work
    long long value{};
    const auto [end, error] = std::from_chars(assumption.value.data(), assumption.value.data() + assumption.value.size(), value);
    if (error != std::errc{} || end != assumption.value.data() + assumption.value.size() || value < 4) return std::nullopt;
    const auto variant = [&](long long v) -> std::optional<Variant> {
        auto request = parse_argument(named ? fmt::format("{}={}", assumption.name, v) : fmt::format("{}{}={}", *index, plus == std::string::npos ? "" : assumption.name.substr(plus), v));
        if (!request) return std::nullopt;
        request->level = ArgumentLevel::variation;
        return Variant{fmt::format("{}", v), {*request}, {}, {}};
    };
    const auto low = variant(value / 4), high = variant(value * 4);
    if (!low || !high) return std::nullopt;
    return std::pair(*low, *high);
}

std::string effect_words(const Sensitivity& s, Dim3 now) {
    const auto times = s.time_us_low && s.time_us_high ? fmt::format(" ({:.3g} to {:.3g} µs)", *s.time_us_low, *s.time_us_high) : std::string();
    if (!s.changes_answer) return fmt::format("{} stays best{}", words_of(now), times);
    std::string text;
    if (s.best_low && !(*s.best_low == now)) text = fmt::format("{} is best at {}", words_of(*s.best_low), s.low);
    if (s.best_high && !(*s.best_high == now)) text += fmt::format("{}{} is best at {}", text.empty() ? "" : ", ", words_of(*s.best_high), s.high);
    return text + times;
}

}  // namespace

std::vector<Sensitivity> sensitivities(const Stage& stage, const ResultOptions& options, const Candidate& recommended,
                                       const std::vector<Dim3>& shortlist, const Requests& requests, const Evaluator& evaluator) {
    const Subject& subject = stage.facts->subject();
    const KernelFacts& kernel = stage.facts->code().facts;
    std::vector<Dim3> blocks{recommended.trial->block};
    for (const Dim3& block : shortlist)
        if (blocks.size() < kMostTried && std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
    struct Open { std::string name; Variant low, high; };
    std::vector<Open> open;
    for (const Assumption& a : subject.assumptions)
        if (a.could_change)
            if (auto ends = ends_of(a, subject, kernel)) open.push_back({a.name, std::move(ends->first), std::move(ends->second)});
    for (std::size_t i = 0; i < recommended.trial->facts->loops.size(); ++i) {
        const LoopFacts& loop = recommended.trial->facts->loops[i];
        if (loop.basis != CountBasis::assumed || !loop.trip_mean || i >= kernel.loops.size()) continue;
        const auto trips = [&](double factor) {
            const BranchPolicy::Trips t{std::max(1.0, *loop.trip_mean * factor), {}};
            return Variant{fmt::format("{:.3g}", t.mean), {}, {}, t};
        };
        open.push_back({"trips of loops that depend on data", trips(0.25), trips(4)});
        break;
    }
    if (open.size() > kMostAssumptions) open.resize(kMostAssumptions);
    std::vector<Sensitivity> found;
    for (const Open& o : open) {
        Sensitivity s;
        s.name = o.name;
        s.low = o.low.value;
        s.high = o.high.value;
        const auto low = outcome_of(stage, options, recommended.point, blocks, requests, evaluator, o.low);
        const auto high = outcome_of(stage, options, recommended.point, blocks, requests, evaluator, o.high);
        if (low) s.best_low = low->best, s.time_us_low = low->time_us;
        if (high) s.best_high = high->best, s.time_us_high = high->time_us;
        const Dim3 now = recommended.trial->block;
        s.changes_answer = (low && !(low->best == now)) || (high && !(high->best == now));
        s.effect = effect_words(s, now);
        found.push_back(std::move(s));
    }
    const auto leverage = [](const Sensitivity& s) {
        return s.time_us_low && s.time_us_high && *s.time_us_low > 0 ? std::abs(std::log(*s.time_us_high / *s.time_us_low)) : 0.0;
    };
    std::stable_sort(found.begin(), found.end(), [&](const Sensitivity& a, const Sensitivity& b) {
        if (a.changes_answer != b.changes_answer) return a.changes_answer;
        return leverage(a) > leverage(b) + 1e-9;
    });
    return found;
}

}  // namespace flipflop::advise
