// compile_commands.json (JSON Compilation Database, clang's documentation): which definitions and folders a source file is
// built with; and the digest of what a source file includes.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flipflop/inputs.hpp"
#include "inputs/file.hpp"
#include "inputs/source_compile.hpp"

namespace flipflop {

namespace {

namespace fs = std::filesystem;

Diagnostic complaint(std::string message) {
    Diagnostic d;
    d.id = "FF0786";
    d.file = "--compile-commands";
    d.message = std::move(message);
    return d;
}

/// As a shell splits a command, without expanding anything.
std::vector<std::string> words_of(const std::string& command) {
    std::vector<std::string> words;
    std::string word;
    bool any = false;
    char quote = 0;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
            word += command[++i];
            any = true;
        } else if (quote != 0) {
            if (c == quote) quote = 0;
            else word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            any = true;
        } else if (c == ' ' || c == '\t' || c == '\n') {
            if (any) words.push_back(std::move(word));
            word.clear();
            any = false;
        } else {
            word += c;
            any = true;
        }
    }
    if (any) words.push_back(std::move(word));
    return words;
}

/// What matters to device code: definitions, folders, the language's version and what changes arithmetic.
std::vector<std::string> kept_of(const std::vector<std::string>& words, const fs::path& folder) {
    static constexpr std::string_view kWithPath[]{"-I", "-isystem", "-include", "--include-path", "--pre-include"};
    static constexpr std::string_view kWithWord[]{"-D", "-U", "-std", "--std", "--define-macro", "--undefine-macro", "-maxrregcount", "--maxrregcount"};
    static constexpr std::string_view kAlone[]{"--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "--expt-extended-lambda", "--extended-lambda", "-extended-lambda",
                                               "--use_fast_math", "-use_fast_math", "-ffast-math", "-default-device"};
    static constexpr std::string_view kBegins[]{"-std=", "--std=", "-maxrregcount=", "--maxrregcount=", "--fmad=", "-fmad=", "--ftz=", "-ftz=", "--prec-div=", "-prec-div=", "--prec-sqrt=", "-prec-sqrt="};
    const auto absolute = [&](const std::string& path) { return (fs::path(path).is_absolute() ? fs::path(path) : folder / path).lexically_normal().string(); };
    std::vector<std::string> kept;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& w = words[i];
        const auto is = [&](std::string_view flag) { return w == flag; };
        const bool last = i + 1 == words.size();
        if (!last && std::any_of(std::begin(kWithPath), std::end(kWithPath), is)) {
            kept.push_back(w);
            kept.push_back(absolute(words[++i]));
        } else if (!last && std::any_of(std::begin(kWithWord), std::end(kWithWord), is)) {
            kept.push_back(w);
            kept.push_back(words[++i]);
        } else if (w.size() > 2 && w.starts_with("-I")) {
            kept.push_back("-I" + absolute(w.substr(2)));
        } else if (w.size() > 2 && (w.starts_with("-D") || w.starts_with("-U"))) {
            kept.push_back(w);
        } else if (std::any_of(std::begin(kAlone), std::end(kAlone), is) || std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view b) { return w.starts_with(b); })) {
            kept.push_back(w);
        }
    }
    return kept;
}

bool read_small(const std::string& path, std::string& text) {
    InputLimits limits;
    limits.max_file_bytes = 64ULL << 20;
    const auto file = FileBytes::open(path, limits);
    if (file) text = file->view();
    return file.has_value();
}

/// Names behind #include, with their quotes; nothing when one is a macro.
std::optional<std::vector<std::string>> includes_in(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        const auto skip = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size())); };
        skip();
        if (!line.starts_with('#')) continue;
        line.remove_prefix(1);
        skip();
        if (!line.starts_with("include")) continue;
        line.remove_prefix(line.starts_with("include_next") ? 12 : 7);
        skip();
        const char close = line.starts_with('"') ? '"' : line.starts_with('<') ? '>' : '\0';
        if (close == '\0') return std::nullopt;
        const std::size_t stop = line.find(close, 1);
        if (stop == std::string_view::npos) return std::nullopt;
        names.emplace_back(line.substr(0, stop));   // the opening mark stays, and says where it is looked for
    }
    return names;
}

}  // namespace

Result<std::vector<std::string>> compile_command_flags(const std::string& commands, const std::string& source) {
    std::error_code ignored;
    const fs::path file = fs::is_directory(commands, ignored) ? fs::path(commands) / "compile_commands.json" : fs::path(commands);
    std::string text;
    if (!read_small(file.string(), text)) return tl::unexpected(complaint(fmt::format("'{}' cannot be read", file.string())));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_array()) return tl::unexpected(complaint(fmt::format("'{}' is not a list of compile commands", file.string())));
    const fs::path wanted = fs::weakly_canonical(fs::absolute(source, ignored), ignored);
    for (const auto& entry : json) {
        if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string()) continue;
        const fs::path folder = entry.contains("directory") && entry["directory"].is_string() ? fs::path(entry["directory"].get<std::string>()) : file.parent_path();
        const fs::path named = entry["file"].get<std::string>();
        if (fs::weakly_canonical(named.is_absolute() ? named : folder / named, ignored) != wanted) continue;
        std::vector<std::string> words;
        if (entry.contains("arguments") && entry["arguments"].is_array()) {
            for (const auto& a : entry["arguments"])
                if (a.is_string()) words.push_back(a.get<std::string>());
        } else if (entry.contains("command") && entry["command"].is_string()) {
            words = words_of(entry["command"].get<std::string>());
        }
        return kept_of(words, folder);
    }
    return tl::unexpected(complaint(fmt::format("'{}' has no command for '{}'", file.string(), source)));
}

std::optional<std::string> digest_with_includes(const SourceText& source, const std::vector<std::string>& folders) {
    constexpr std::size_t kMostFiles = 2000;
    std::string digests = sha256(source.bytes);
    std::set<std::string> seen;
    struct Open { std::string text; fs::path folder; };
    std::vector<Open> open{{std::string(source.bytes), source.path.empty() ? fs::path() : fs::path(source.path).parent_path()}};
    while (!open.empty()) {
        const Open at = std::move(open.back());
        open.pop_back();
        const auto names = includes_in(at.text);
        if (!names) return std::nullopt;
        for (const std::string& name : *names) {
            std::vector<fs::path> places;
            if (name.front() == '"') places.push_back(at.folder);
            places.insert(places.end(), folders.begin(), folders.end());
            for (const fs::path& place : places) {
                const std::string path = (place / name.substr(1)).lexically_normal().string();
                std::error_code ignored;
                if (!fs::is_regular_file(path, ignored)) continue;
                if (!seen.insert(path).second) break;
                std::string text;
                if (seen.size() > kMostFiles || !read_small(path, text)) return std::nullopt;
                digests += name + sha256(text);
                open.push_back({std::move(text), fs::path(path).parent_path()});
                break;
            }
        }
    }
    return sha256(digests);
}

}  // namespace flipflop
