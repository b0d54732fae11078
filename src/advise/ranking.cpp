#include "ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace flipflop::advise {

namespace {

constexpr double kMaterial = 0.05;           // a smaller chance of being within 5 % of the best keeps nobody
constexpr double kTie = 0.5;                 // of the best chance: whoever has it cannot be told from the first pick
constexpr std::size_t kFewest = 4;           // places for ties where the share alone has fewer than two
constexpr double kAffordableSlowdown = 1.0 / 0.95;

double log_survival(double z) {              // log P(Z > z) of a standard normal, without underflow
    if (z > 25) return -0.5 * z * z - std::log(z * 2.5066282746310002);
    return std::log(0.5 * std::erfc(z * 0.70710678118654752));
}

double sigma_of(Objective objective, const RankError& error) {
    switch (objective) {
        case Objective::time: return error.time_log_sigma;
        case Objective::energy:
        case Objective::energy_at_95: return error.energy_log_sigma;
        case Objective::edp: return std::hypot(error.energy_log_sigma, error.time_log_sigma);
    }
    return error.time_log_sigma;
}

/// Who may be kept: not the barred, and the doubtful only where all are.
std::vector<bool> eligible(const std::vector<Scored>& all) {
    const bool sound = std::any_of(all.begin(), all.end(), [](const Scored& s) { return !s.barred && !s.doubtful; });
    std::vector<bool> may;
    for (const Scored& s : all) may.push_back(!s.barred && !(sound && s.doubtful));
    return may;
}

double energy_of(const Scored& s) { return s.energy_mj.value_or(std::numeric_limits<double>::infinity()); }

}  // namespace

std::vector<double> objective_values(const std::vector<Scored>& all, Objective objective) {
    double fastest = std::numeric_limits<double>::infinity(), costliest = 0;
    for (const Scored& s : all)
        if (!s.barred && !s.doubtful) fastest = std::min(fastest, s.time_us);
    for (const Scored& s : all)
        if (s.energy_mj) costliest = std::max(costliest, *s.energy_mj);
    std::vector<double> values;
    for (const Scored& s : all) {
        switch (objective) {
            case Objective::time: values.push_back(s.time_us); break;
            case Objective::energy: values.push_back(energy_of(s)); break;
            case Objective::edp: values.push_back(energy_of(s) * s.time_us); break;
            case Objective::energy_at_95:
                // What is too slow comes after all that is not, the fastest of it first.
                values.push_back(s.time_us <= fastest * kAffordableSlowdown ? energy_of(s) : costliest * s.time_us / fastest * 2);
        }
    }
    return values;
}

std::vector<std::size_t> rank(const std::vector<Scored>& all, Objective objective) {
    const std::vector<double> values = objective_values(all, objective);
    // Values are compared after rounding to 9 digits, so that "equal" is transitive and the order a total one.
    const auto rounded = [](double v) { return v > 0 && std::isfinite(v) ? std::round(std::log(v) * 1e9) : v; };
    const auto group = [&](std::size_t i) { return all[i].barred ? 2 : all[i].unverified ? 1 : 0; };
    const auto distance = [&](std::size_t i) { return std::abs(std::log2(static_cast<double>(std::max<std::uint64_t>(1, all[i].threads)) / 256.0)); };
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (group(a) != group(b)) return group(a) < group(b);
        if (const double x = rounded(values[a]), y = rounded(values[b]); x != y) return x < y;
        if (const double x = rounded(energy_of(all[a])), y = rounded(energy_of(all[b])); x != y) return x < y;
        return distance(a) < distance(b);
    });
    return order;
}

std::vector<bool> pareto_front(const std::vector<Scored>& all, double resolution) {
    std::vector<bool> front(all.size(), false);
    const std::vector<std::size_t> by_time = rank(all, Objective::time);
    double least_energy = std::numeric_limits<double>::infinity();
    bool any = false;
    // `rank` sets the unverified behind the safe; the front mixes both, so it is ordered anew by time alone.
    std::vector<std::size_t> order;
    const std::vector<bool> may = eligible(all);
    for (std::size_t i : by_time)
        if (may[i]) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return all[a].time_us < all[b].time_us * (1 - 1e-9); });
    for (std::size_t i : order) {
        const double energy = energy_of(all[i]);
        if (any && !(energy < least_energy * (1 - resolution))) continue;
        front[i] = true;
        any = true;
        least_energy = std::min(least_energy, energy);
    }
    return front;
}

std::vector<double> probability_within(const std::vector<double>& values, double log_sigma, double margin) {
    std::vector<double> result(values.size(), 0.0);
    if (values.empty()) return result;
    const double best = *std::min_element(values.begin(), values.end());
    const double slack = std::log1p(margin);
    std::vector<double> m(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) m[i] = std::log(values[i] / best);
    if (!(log_sigma > 0)) {
        for (std::size_t i = 0; i < values.size(); ++i) result[i] = m[i] <= slack ? 1 : 0;
        return result;
    }
    const double s = log_sigma / std::sqrt(2.0);
    constexpr int kSteps = 160;
    const double low = -5 * s, step = (10 * s + slack) / kSteps;   // where the best can lie, and what is within the margin of it
    for (int k = 0; k < kSteps; ++k) {
        const double x = low + (k + 0.5) * step, needed = x - slack;   // my value is x: all others must exceed x - slack
        double others = 0;
        for (double mean : m)
            if (const double z = (needed - mean) / s; z > -8) others += log_survival(z);
        for (std::size_t i = 0; i < m.size(); ++i) {
            const double z = (x - m[i]) / s;
            if (z < -6 || z > 6) continue;
            const double own = (needed - m[i]) / s;
            const double rest = others - (own > -8 ? log_survival(own) : 0);
            result[i] += std::exp(-0.5 * z * z + rest) * step / (s * 2.5066282746310002);
        }
    }
    for (double& p : result) p = std::min(1.0, p);
    return result;
}

std::vector<bool> short_list(const std::vector<Scored>& all, const std::vector<std::vector<Scored>>& alternatives,
                             Objective objective, const RankError& error, double share) {
    std::vector<bool> kept(all.size(), false);
    std::size_t count = 0;
    const std::vector<bool> may = eligible(all);
    const auto keep = [&](std::size_t i) {
        if (kept[i] || !may[i]) return;
        kept[i] = true;
        ++count;
    };
    const auto usable = static_cast<double>(std::count(may.begin(), may.end(), true));
    const auto places = static_cast<std::size_t>(std::max(1.0, std::floor(share * usable)));
    if (all.empty()) return kept;
    keep(rank(all, objective).front());
    const std::vector<bool> front = pareto_front(all);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (front[i]) keep(i);
    if (!alternatives.empty()) {
        const std::size_t each = std::max<std::size_t>(1, places / alternatives.size());
        for (const std::vector<Scored>& other : alternatives) {
            const std::vector<std::size_t> order = rank(other, objective);
            for (std::size_t k = 0; k < std::min(each, order.size()); ++k) keep(order[k]);
        }
        return kept;
    }
    std::vector<double> chance = probability_within(objective_values(all, objective), sigma_of(objective, error));
    std::vector<std::size_t> order = rank(all, objective);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return chance[a] > chance[b] * (1 + 1e-9); });
    // Ties survive: beyond the share, those that the paired uncertainty cannot tell from the first, up to as many again.
    const double best = *std::max_element(chance.begin(), chance.end());
    const std::size_t most = std::max(kFewest, 2 * places);
    for (std::size_t i : order) {
        const double needed = count < places ? std::min(kMaterial, kTie * best) : std::max(kMaterial, kTie * best);
        if (count < most && chance[i] >= needed) keep(i);
    }
    return kept;
}

}  // namespace flipflop::advise
