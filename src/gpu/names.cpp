#include "gpu/names.hpp"

#include <algorithm>

namespace flipflop::profile {

std::string name_key(std::string_view name) {
    std::string key;
    key.reserve(name.size());
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') {
            key += static_cast<char>(c - 'A' + 'a');
        } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            key += c;
        }
    }
    constexpr std::string_view vendor = "nvidia";
    if (key.size() > vendor.size() && key.compare(0, vendor.size(), vendor) == 0) {
        key.erase(0, vendor.size());
    }
    return key;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        previous[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                current[j] = std::min(current[j], before[j - 2] + 1);
            }
        }
        before.swap(previous);
        previous.swap(current);
    }
    return previous[b.size()];
}

std::vector<std::string> did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates, std::size_t most) {
    const std::string key = name_key(wrong).substr(0, 64);   // longer ones are no misspelling
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const auto& candidate : candidates) {
        const auto other = name_key(candidate);
        const auto distance = edit_distance(key, other);
        // A part of the name is as good as a small slip: "v100 sxm" for "Tesla V100-SXM2-16GB".
        const bool part = key.size() >= 3 && other.find(key) != std::string::npos;
        if (part || distance <= std::max<std::size_t>(1, std::min(key.size(), other.size()) / 3)) {
            near.emplace_back(part ? 1 : distance, candidate);
        }
    }
    std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto& [distance, name] : near) {
        const auto same = [&](const std::string& other) { return name_key(other) == name_key(name); };
        if (names.size() < most && std::none_of(names.begin(), names.end(), same)) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

std::string did_you_mean_text(std::string_view wrong, const std::vector<std::string>& candidates) {
    const auto near = did_you_mean(wrong, candidates);
    if (near.empty()) {
        return {};
    }
    std::string text = "did you mean " + near.front();
    for (std::size_t i = 1; i < near.size(); ++i) {
        text += (i + 1 == near.size() ? " or " : ", ") + near[i];
    }
    return text + "?";
}

}  // namespace flipflop::profile
