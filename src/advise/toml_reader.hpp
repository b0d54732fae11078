// Owns: reading our TOML files strictly: every key known or an error with its place, types checked, did-you-mean.
// Invariant: what is wrong is thrown as Wrong and turned into one Diagnostic by whoever began the reading.
// Includes toml++ (slow to compile): for the few .cpp that read such files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "flipflop/diagnostic.hpp"

namespace flipflop::toml_reader {

/// The first thing that is wrong ends the reading.
struct Wrong { toml::source_position at; std::string message, help; };

[[nodiscard]] inline toml::source_position place(const toml::node& node) { return node.source().begin; }

[[noreturn]] void unknown_word(toml::source_position at, const std::string& message, const std::string& word, const std::vector<std::string>& known);
/// `where` ends the sentence "there is no key 'x' ...": "in [[kernel]]".
void only_known_keys(const toml::table& table, const std::string& where, const std::vector<std::string>& known);

[[nodiscard]] std::string text_of(const toml::node& node, std::string_view key);
/// A finite number of at least 0.
[[nodiscard]] double number_of(const toml::node& node, std::string_view key);
[[nodiscard]] bool truth_of(const toml::node& node, std::string_view key);
/// A text, or a list of them.
[[nodiscard]] std::vector<std::string> texts_of(const toml::node& node, std::string_view key);
/// A kernel pattern (`match`): not empty, and a regular expression that is one.
[[nodiscard]] std::string pattern_of(const toml::node& node);

/// Calls `read` for each table of [[name]]; a plain [name] counts as one.
template <class F>
void each_table(const toml::table& root, const std::string& name, F&& read) {
    const toml::node* const node = root.get(name);
    if (node == nullptr) { return; }
    if (const toml::table* const table = node->as_table()) {
        read(*table);
        return;
    }
    const toml::array* const list = node->as_array();
    if (list == nullptr) { throw Wrong{place(*node), fmt::format("'{}' is a list of tables", name), fmt::format("write [[{}]]", name)}; }
    for (const toml::node& item : *list) {
        const toml::table* const table = item.as_table();
        if (table == nullptr) { throw Wrong{place(item), fmt::format("'{}' is a list of tables", name), fmt::format("write [[{}]]", name)}; }
        read(*table);
    }
}

/// Line `line` (from 1) of `text`, without its end; empty where there is none or it is not worth showing.
[[nodiscard]] std::string line_of(std::string_view text, std::uint32_t line);
/// An error diagnostic at a place of file `name` whose content is `text`.
[[nodiscard]] Diagnostic complaint_at(std::string id, const std::string& name, std::string_view text, toml::source_position at, std::string message, std::string help);

/// Throws toml::parse_error, or Wrong where a key is nested too deep for the library.
[[nodiscard]] toml::table parsed(std::string_view text, const std::string& name);

/// The whole of a file of at most 16 MiB; nothing when it cannot be read or is larger.
[[nodiscard]] std::optional<std::string> read_whole(const std::string& path);

}  // namespace flipflop::toml_reader
