#include "validate/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace flipflop::validate {
namespace {

std::vector<std::size_t> order_of(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    return order;
}

std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n, mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += (a[i] - mean_a) * (b[i] - mean_b);
        aa += (a[i] - mean_a) * (a[i] - mean_a);
        bb += (b[i] - mean_b) * (b[i] - mean_b);
    }
    if (aa <= 0 || bb <= 0) return std::nullopt;
    return ab / std::sqrt(aa * bb);
}

/// Pairs of equal neighbours in a sorted order.
template <typename Equal> double tied_pairs(const std::vector<std::size_t>& order, Equal equal) {
    double pairs = 0;
    for (std::size_t i = 0; i < order.size();) {
        std::size_t j = i;
        while (j < order.size() && equal(order[i], order[j])) ++j;
        pairs += static_cast<double>(j - i) * static_cast<double>(j - i - 1) / 2;
        i = j;
    }
    return pairs;
}

/// Inversions, by merge sort; `values` comes out sorted.
double inversions(std::vector<double>& values, std::vector<double>& spare, std::size_t from, std::size_t to) {
    if (to - from < 2) return 0;
    const std::size_t middle = from + (to - from) / 2;
    double count = inversions(values, spare, from, middle) + inversions(values, spare, middle, to);
    std::size_t left = from, right = middle;
    for (std::size_t k = from; k < to; ++k) {
        if (left < middle && (right >= to || values[left] <= values[right])) {
            spare[k] = values[left++];
        } else {
            count += static_cast<double>(middle - left);
            spare[k] = values[right++];
        }
    }
    std::copy(spare.begin() + static_cast<std::ptrdiff_t>(from), spare.begin() + static_cast<std::ptrdiff_t>(to), values.begin() + static_cast<std::ptrdiff_t>(from));
    return count;
}

/// P(none of `drawn` from `all` is among `marked`), without replacement.
double none_of(std::size_t all, std::size_t marked, std::size_t drawn) {
    double p = 1;
    for (std::size_t i = 0; i < drawn; ++i) {
        if (all - i <= marked) return 0;
        p *= 1 - static_cast<double>(marked) / static_cast<double>(all - i);
    }
    return p;
}

/// E[min(known, the least of `drawn` from `pool`)].
double expected_least(double known, std::vector<double> pool, std::size_t drawn) {
    std::sort(pool.begin(), pool.end());
    double expected = 0, still = 1;       // `still`: none of the smaller ones was drawn
    for (std::size_t i = 0; i < pool.size() && still > 0; ++i) {
        if (pool[i] >= known) break;
        const double hit = static_cast<double>(drawn) / static_cast<double>(pool.size() - i);
        const double p = still * std::min(1.0, hit);
        expected += p * pool[i];
        still -= p;
    }
    return still > 0 ? expected + still * (std::isfinite(known) ? known : pool.back()) : expected;
}

constexpr double kNear = 1.05, kNext = 1.10;

}  // namespace

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::vector<double> average_ranks(const std::vector<double>& values) {
    const std::vector<std::size_t> order = order_of(values);
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t j = i;
        while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
        for (std::size_t k = i; k < j; ++k) ranks[order[k]] = static_cast<double>(i + j - 1) / 2;
        i = j;
    }
    return ranks;
}

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() < 2) return std::nullopt;
    return pearson(average_ranks(a), average_ranks(b));
}

std::optional<double> kendall(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    if (a.size() < 2) return std::nullopt;
    std::vector<std::size_t> order(a.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return a[x] != a[y] ? a[x] < a[y] : b[x] < b[y]; });
    const double ties_a = tied_pairs(order, [&](std::size_t x, std::size_t y) { return a[x] == a[y]; });
    const double ties_both = tied_pairs(order, [&](std::size_t x, std::size_t y) { return a[x] == a[y] && b[x] == b[y]; });
    const double ties_b = tied_pairs(order_of(b), [&](std::size_t x, std::size_t y) { return b[x] == b[y]; });
    std::vector<double> values, spare(a.size());
    for (std::size_t i : order) values.push_back(b[i]);
    const double discordant = inversions(values, spare, 0, values.size());
    const double pairs = n * (n - 1) / 2, left = pairs - ties_a, right = pairs - ties_b;
    if (left <= 0 || right <= 0) return std::nullopt;
    return (pairs - ties_a - ties_b + ties_both - 2 * discordant) / std::sqrt(left * right);
}

double mean_absolute_error(const std::vector<double>& predicted, const std::vector<double>& measured, double scale) {
    double sum = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) sum += std::abs(scale * predicted[i] / measured[i] - 1);
    return measured.empty() ? 0 : sum / static_cast<double>(measured.size());
}

double best_scale(const std::vector<double>& predicted, const std::vector<double>& measured) {
    // sum |s p/m - 1| = sum p/m |s - m/p|: the median of m/p with weights p/m.
    std::vector<std::pair<double, double>> points;
    double total = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        points.emplace_back(measured[i] / predicted[i], predicted[i] / measured[i]);
        total += points.back().second;
    }
    std::sort(points.begin(), points.end());
    double seen = 0;
    for (const auto& [value, weight] : points)
        if ((seen += weight) >= total / 2) return value;
    return 1;
}

Choice choose(const std::vector<bool>& chosen, const std::vector<double>& measured) {
    const double best = *std::min_element(measured.begin(), measured.end());
    double least = INFINITY;
    for (std::size_t i = 0; i < measured.size(); ++i)
        if (chosen[i]) least = std::min(least, measured[i]);
    if (!std::isfinite(least)) return {0, 0, *std::max_element(measured.begin(), measured.end()) / best - 1};
    return {least <= best ? 1.0 : 0.0, least <= kNear * best ? 1.0 : 0.0, least / best - 1};
}

Choice choose(const std::vector<double>& scores, const std::vector<double>& measured, std::size_t count) {
    const std::vector<std::size_t> order = order_of(scores);
    const double best = *std::min_element(measured.begin(), measured.end());
    count = std::clamp<std::size_t>(count, 1, order.size());
    const double edge = scores[order[count - 1]];
    double sure = INFINITY;
    std::vector<double> lot;
    std::size_t certain = 0;
    for (std::size_t i : order) {
        if (scores[i] < edge) {
            sure = std::min(sure, measured[i]);
            ++certain;
        } else if (scores[i] == edge) {
            lot.push_back(measured[i]);
        }
    }
    const std::size_t drawn = count - certain;
    const auto hit = [&](double limit) {
        if (sure <= limit) return 1.0;
        const auto marked = static_cast<std::size_t>(std::count_if(lot.begin(), lot.end(), [&](double t) { return t <= limit; }));
        return 1 - none_of(lot.size(), marked, drawn);
    };
    return {hit(best), hit(kNear * best), expected_least(sure, lot, drawn) / best - 1};
}

Ranking rank(const std::vector<double>& scores, const std::vector<double>& measured, std::size_t kept) {
    Ranking result;
    result.spearman = spearman(scores, measured);
    result.kendall = kendall(scores, measured);
    result.first_regret = choose(scores, measured, 1).regret;
    const Choice choice = choose(scores, measured, kept);
    result.kept_holds_best = choice.holds_best;
    result.kept_within_5pct = choice.within_5pct;
    result.kept_regret = choice.regret;
    return result;
}

ByBlock rank_groups(const std::vector<std::vector<std::size_t>>& groups, const std::vector<double>& scores, const std::vector<double>& measured) {
    ByBlock result;
    for (const auto& group : groups) {
        double best = INFINITY, first = INFINITY;
        for (std::size_t i : group) {
            best = std::min(best, measured[i]);
            first = std::min(first, scores[i]);
        }
        double tied = 0, five = 0, ten = 0, regret = 0;
        for (std::size_t i : group) {
            if (scores[i] != first) continue;
            ++tied;
            five += measured[i] <= kNear * best ? 1 : 0;
            ten += measured[i] <= kNext * best ? 1 : 0;
            regret += measured[i] / best - 1;
        }
        ++result.groups;
        result.rows += group.size();
        result.within_5pct += five / tied;
        result.within_10pct += ten / tied;
        result.regret += regret / tied;
    }
    if (result.groups > 0)
        for (double* figure : {&result.within_5pct, &result.within_10pct, &result.regret}) *figure /= static_cast<double>(result.groups);
    return result;
}

std::optional<Spread> cluster_bootstrap(const std::vector<double>& values, const std::vector<std::size_t>& cluster, std::size_t clusters) {
    if (clusters < 2) return std::nullopt;
    std::vector<double> sum(clusters), count(clusters);
    for (std::size_t i = 0; i < values.size(); ++i) {
        sum[cluster[i]] += values[i];
        ++count[cluster[i]];
    }
    std::uint64_t state = 0x9e3779b97f4a7c15ULL;   // splitmix64: the same draws everywhere
    const auto draw = [&] {
        std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return static_cast<std::size_t>((z ^ (z >> 31)) % clusters);
    };
    constexpr std::size_t kDraws = 2000;
    std::vector<double> means;
    for (std::size_t k = 0; k < kDraws; ++k) {
        double total = 0, n = 0;
        for (std::size_t c = 0; c < clusters; ++c) {
            const std::size_t drawn = draw();
            total += sum[drawn];
            n += count[drawn];
        }
        means.push_back(total / n);
    }
    std::sort(means.begin(), means.end());
    return Spread{means[kDraws / 20], means[kDraws - 1 - kDraws / 20]};
}

}  // namespace flipflop::validate
