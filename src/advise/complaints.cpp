#include "complaints.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>

namespace flipflop::advise {

Diagnostic complain(std::string id, std::string file, std::string message, std::string help) {
    Diagnostic d;
    d.id = std::move(id);
    d.file = std::move(file);
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

Diagnostic complain_at(std::string id, std::string file, std::string text, std::uint32_t column, std::string message, std::string help) {
    Diagnostic d = complain(std::move(id), std::move(file), std::move(message), std::move(help));
    d.at = {1, column};
    d.source_line = std::move(text);
    return d;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row[b.size()];
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& known) {
    struct Near { std::size_t distance; std::string_view name; };
    std::vector<Near> near;
    for (const std::string& name : known) {
        // A long mangled name is near a short wanted one when it holds it; else by edits, at most a third of the word.
        const bool holds = wanted.size() >= 3 && name.find(wanted) != std::string::npos;
        const std::size_t distance = holds ? 0 : name.size() > 200 ? name.size() : edit_distance(wanted, name);
        if (distance <= std::max<std::size_t>(2, wanted.size() / 3)) near.push_back({distance, name});
    }
    std::stable_sort(near.begin(), near.end(), [](const Near& a, const Near& b) { return a.distance < b.distance; });
    std::vector<std::string> names;
    for (const Near& n : near)
        if (names.size() < 3 && std::find(names.begin(), names.end(), n.name) == names.end()) names.emplace_back(n.name);
    if (names.empty()) return {};
    std::string text = "did you mean ";
    for (std::size_t i = 0; i < names.size(); ++i)
        text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
    return text + "?";
}

std::string list_some(const std::vector<std::string>& names, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i ? ", " : "") + names[i];
    if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
    return text;
}

}  // namespace flipflop::advise
