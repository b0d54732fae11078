#include "select_kernels.hpp"

#include <algorithm>
#include <functional>
#include <regex>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

namespace {

/// Reads the set that starts at glob[at] == '['. `end` becomes the position after its ']'; without one, '[' is itself.
bool set_matches(std::string_view glob, std::size_t at, char c, std::size_t& end) {
    std::size_t i = at + 1;
    const bool negated = i < glob.size() && (glob[i] == '!' || glob[i] == '^');
    if (negated) ++i;
    const std::size_t first = i;
    bool found = false;
    for (; i < glob.size() && (glob[i] != ']' || i == first); ++i) {
        if (i + 2 < glob.size() && glob[i + 1] == '-' && glob[i + 2] != ']') {
            found = found || (glob[i] <= c && c <= glob[i + 2]);
            i += 2;
        } else {
            found = found || glob[i] == c;
        }
    }
    if (i >= glob.size()) {
        end = at + 1;
        return c == '[';
    }
    end = i + 1;
    return found != negated;
}

using Predicate = std::function<bool(const KernelName&)>;

Result<Predicate> predicate_of(const std::string& pattern) {
    if (pattern.starts_with('=')) {
        const std::string exact = pattern.substr(1);
        return Predicate{[exact](const KernelName& k) { return k.name == exact || k.demangled == exact; }};
    }
    if (pattern.starts_with('#')) {
        const std::string id = pattern.substr(1);
        // inspect numbers the kernels of one id: "#ID" is all of them, "#ID.2" the second.
        return Predicate{[id](const KernelName& k) { return k.id == id || (k.id.size() > id.size() && k.id.starts_with(id) && k.id[id.size()] == '.'); }};
    }
    if (pattern.size() >= 2 && pattern.front() == '/' && pattern.back() == '/') {
        // The backtracking matcher takes exponential time and deep stacks on patterns such as /(a*)*b/; libstdc++ has another
        // one, which walks all ways at once and has no back-references.
#ifdef __GLIBCXX__
        constexpr auto flavour = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
        constexpr auto flavour = std::regex::ECMAScript;
#endif
        constexpr std::size_t kLongestPattern = 1000;   // it is compiled by recursion
        if (pattern.size() > kLongestPattern)
            return tl::unexpected(complain("FF0702", "--kernel", fmt::format("a regular expression of {} characters is too long; {} are the most", pattern.size() - 2, kLongestPattern)));
        try {
            const std::regex regex(pattern.substr(1, pattern.size() - 2), flavour);
            return Predicate{[regex](const KernelName& k) { return std::regex_search(k.name, regex) || std::regex_search(k.demangled, regex); }};
        } catch (const std::regex_error& error) {
            return tl::unexpected(complain("FF0702", "--kernel", fmt::format("'{}' is not a regular expression: {}", pattern, error.what())));
        }
    }
    return Predicate{[pattern](const KernelName& k) {
        return glob_matches(pattern, k.name) || glob_matches(pattern, k.demangled) || glob_matches(pattern, bare_name(k.demangled));
    }};
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) {
    std::size_t g = 0, t = 0, star = std::string_view::npos, star_text = 0;
    while (t < text.size()) {
        std::size_t next = g + 1;
        const bool one = g < glob.size() && glob[g] != '*' &&
                         (glob[g] == '?' || (glob[g] == '[' ? set_matches(glob, g, text[t], next) : glob[g] == text[t]));
        if (one) {
            g = next;
            ++t;
        } else if (g < glob.size() && glob[g] == '*') {
            star = g++;
            star_text = t;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (g < glob.size() && glob[g] == '*') ++g;
    return g == glob.size();
}

std::string bare_name(std::string_view demangled) {
    // Outside of <> and (): the last blank ends the return type, the first '(' ends the name. "(anonymous namespace)" and
    // "operator<" are rare in kernels; their names then simply stay longer.
    std::size_t depth = 0, begin = 0;
    std::string kept;
    for (std::size_t i = 0; i < demangled.size(); ++i) {
        const char c = demangled[i];
        if (demangled.compare(i, 21, "(anonymous namespace)") == 0) {
            if (depth == 0) kept += "(anonymous namespace)";
            i += 20;
            continue;
        }
        if (c == '(' && depth == 0) break;
        if (c == '<') ++depth;
        if (depth == 0) {
            kept += c;
            if (c == ' ') begin = kept.size();
        }
        if (c == '>' && depth > 0) --depth;
    }
    return kept.substr(begin);
}

Result<std::vector<std::size_t>> select_kernels(const std::vector<KernelName>& kernels, const std::vector<std::string>& patterns) {
    std::vector<bool> chosen(kernels.size(), patterns.empty());
    for (const std::string& pattern : patterns) {
        const auto matches = predicate_of(pattern);
        if (!matches) return tl::unexpected(matches.error());
        bool any = false;
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (!(*matches)(kernels[i])) continue;
            chosen[i] = true;
            any = true;
        }
        if (any) continue;
        std::vector<std::string> names;
        for (const KernelName& k : kernels) {
            const std::string name = pattern.starts_with('#') ? "#" + k.id : k.demangled.empty() ? k.name : bare_name(k.demangled);
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
        std::string help = did_you_mean(pattern, names);
        if (help.empty()) help = "kernels here: " + list_some(names);
        return tl::unexpected(complain("FF0701", "--kernel", fmt::format("no kernel matches '{}'", pattern), help));
    }
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < kernels.size(); ++i)
        if (chosen[i]) indices.push_back(i);
    return indices;
}

}  // namespace flipflop::advise
