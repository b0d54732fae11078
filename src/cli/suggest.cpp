#include "cli/suggest.hpp"

#include <algorithm>
#include <numeric>

namespace flipflop::cli {
namespace {

/// Damerau-Levenshtein distance (adjacent letters swapped count once: "anaylze").
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) { d[i][0] = i; }
    std::iota(d[0].begin(), d[0].end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) { d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1); }
        }
    }
    return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known) {
    constexpr std::size_t kLongest = 64;  // no word of ours is longer, and the table is quadratic
    if (wanted.size() > kLongest) { return {}; }
    const std::string* best = nullptr;
    std::size_t nearest = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const std::string& word : known) {
        const std::size_t apart = distance(wanted, word);
        if (apart < nearest) {
            nearest = apart;
            best = &word;
        }
    }
    return best ? "did you mean '" + *best + "'?" : std::string();
}

}  // namespace flipflop::cli
