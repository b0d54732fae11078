#include "toml_reader.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "gpu/names.hpp"
#include "select_kernels.hpp"

namespace flipflop::toml_reader {

void unknown_word(toml::source_position at, const std::string& message, const std::string& word, const std::vector<std::string>& known) {
    const std::string near = profile::did_you_mean_text(word, known);
    throw Wrong{at, message, near.empty() ? fmt::format("known are {}", fmt::join(known, ", ")) : near};
}

void only_known_keys(const toml::table& table, const std::string& where, const std::vector<std::string>& known) {
    for (const auto& [key, value] : table) {
        const std::string name(key.str());
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            unknown_word(key.source().begin, fmt::format("there is no key '{}' {}", name, where), name, known);
        }
    }
}

std::string text_of(const toml::node& node, std::string_view key) {
    const auto text = node.value_exact<std::string>();
    if (!text) { throw Wrong{place(node), fmt::format("'{}' is a text in quotes", key), {}}; }
    return *text;
}

double number_of(const toml::node& node, std::string_view key) {
    const auto number = node.is_number() ? node.value<double>() : std::nullopt;
    if (!number || !std::isfinite(*number) || *number < 0) { throw Wrong{place(node), fmt::format("'{}' is a number of at least 0", key), {}}; }
    return *number;
}

bool truth_of(const toml::node& node, std::string_view key) {
    const auto truth = node.value_exact<bool>();
    if (!truth) { throw Wrong{place(node), fmt::format("'{}' is true or false", key), {}}; }
    return *truth;
}

std::vector<std::string> texts_of(const toml::node& node, std::string_view key) {
    std::vector<std::string> out;
    if (const toml::array* const list = node.as_array()) {
        for (const toml::node& item : *list) { out.push_back(text_of(item, key)); }
    } else {
        out.push_back(text_of(node, key));
    }
    return out;
}

std::string pattern_of(const toml::node& node) {
    std::string pattern = text_of(node, "match");
    if (pattern.empty()) { throw Wrong{place(node), "'match' is empty", "\"*\" matches every kernel"}; }
    if (const auto tried = advise::select_kernels({}, {pattern}); !tried && tried.error().id == "FF0702") { throw Wrong{place(node), tried.error().message, {}}; }
    return pattern;
}

std::string line_of(std::string_view text, std::uint32_t line) {
    constexpr std::size_t kLongest = 200;
    std::size_t begin = 0;
    for (std::uint32_t at = 1; at < line && begin != std::string_view::npos; ++at) {
        begin = text.find('\n', begin);
        begin += begin != std::string_view::npos;
    }
    if (line == 0 || begin >= text.size()) { return {}; }
    std::string found(text.substr(begin, std::min(text.find('\n', begin) - begin, kLongest)));
    if (found.ends_with('\r')) { found.pop_back(); }
    return found;
}

Diagnostic complaint_at(std::string id, const std::string& name, std::string_view text, toml::source_position at, std::string message, std::string help) {
    Diagnostic d;
    d.id = std::move(id);
    d.file = name;
    d.at = {at.line, at.column};
    d.message = std::move(message);
    d.help = std::move(help);
    d.source_line = line_of(text, at.line);
    if (d.source_line.size() < at.column) { d.source_line.clear(); }
    return d;
}

namespace {

/// toml++ makes and destroys tables by recursion: where a key has more than a hundred parts.
std::optional<toml::source_position> too_deep(std::string_view text) {
    constexpr std::size_t kMostDots = 100;
    toml::source_position at{1, 0};
    std::size_t dots = 0;
    char quote = 0;
    bool comment = false;
    for (const char c : text) {
        ++at.column;
        if (c == '\n') { at = {at.line + 1, 0}; }
        if (comment) { comment = c != '\n'; dots = 0; continue; }
        if (quote != 0) { if (c == quote) { quote = 0; } continue; }
        if (c == '"' || c == '\'') { quote = c; continue; }
        if (c == '#') { comment = true; }
        if (c == '\n' || c == '=' || c == ',' || c == '{') { dots = 0; }
        if (c == '.' && ++dots > kMostDots) { return at; }
    }
    return std::nullopt;
}

}  // namespace

toml::table parsed(std::string_view text, const std::string& name) {
    if (const auto at = too_deep(text)) { throw Wrong{*at, "a key has more than a hundred parts", {}}; }
    return toml::parse(text, name);
}

std::optional<std::string> read_whole(const std::string& path) {
    constexpr std::size_t kMost = std::size_t{16} << 20;
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) { return std::nullopt; }
    std::ifstream file(path, std::ios::binary);
    std::string text(kMost + 1, '\0');   // one more than wanted: no device is read without an end
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || (!file.is_open()) || static_cast<std::size_t>(file.gcount()) > kMost) { return std::nullopt; }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

}  // namespace flipflop::toml_reader
