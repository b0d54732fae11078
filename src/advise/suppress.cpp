#include "suppress.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace flipflop::advise {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

bool is_comment(std::string_view line) {
    line = trimmed(line);
    return line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
}

/// "FF101" at the front of `text`, taken off; empty: there is none.
std::string take_rule(std::string_view& text) {
    if (!text.starts_with("FF")) return {};
    std::size_t end = 2;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == 2) return {};
    std::string rule(text.substr(0, end));
    text.remove_prefix(end);
    return rule;
}

/// The lines of the files that findings point to, each read once.
class Sources {
public:
    explicit Sources(const SourceText& source_text) : source_text_(source_text) {}

    /// Line `number` counted from 1; empty where there is none.
    std::string_view line(const std::string& file, const std::string& module, std::uint32_t number) {
        const std::vector<std::string>& lines = lines_of(file, module);
        return number >= 1 && number <= lines.size() ? std::string_view(lines[number - 1]) : std::string_view();
    }

private:
    const std::vector<std::string>& lines_of(const std::string& file, const std::string& module) {
        const auto [found, added] = files_.try_emplace({file, module});
        if (!added) return found->second;
        const std::optional<std::string> text = source_text_(file, module);
        for (std::size_t begin = 0; text && begin < text->size();) {
            const std::size_t end = std::min(text->find('\n', begin), text->size());
            found->second.emplace_back(text->substr(begin, end - begin));
            begin = end + 1;
        }
        return found->second;
    }

    const SourceText& source_text_;
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> files_;
};

Diagnostic without_reason(const std::string& file, std::uint32_t line, std::string_view text) {
    Diagnostic d;
    d.id = "FF0785";
    d.severity = Severity::warning;
    d.file = file;
    d.at = {line, 1};
    d.message = "'flipflop: ignore' gives no reason, and so ignores nothing";
    d.source_line = trimmed(text).size() < 200 ? std::string(text) : "";
    d.help = "// flipflop: ignore FF101 why this is accepted";
    return d;
}

}  // namespace

std::optional<Suppression> suppression_of(std::string_view line) {
    constexpr std::string_view kWord = "flipflop:";
    const std::size_t comment = std::min(line.find("//"), line.find("/*"));
    if (comment == std::string_view::npos) return std::nullopt;
    const std::size_t at = line.find(kWord, comment);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = trimmed(line.substr(at + kWord.size()));
    if (!rest.starts_with("ignore")) return std::nullopt;
    rest = trimmed(rest.substr(6));
    if (rest.ends_with("*/")) rest = trimmed(rest.substr(0, rest.size() - 2));
    Suppression out;
    for (std::string rule = take_rule(rest); !rule.empty(); rule = take_rule(rest)) {
        out.rules.push_back(std::move(rule));
        rest = trimmed(rest);
        if (rest.starts_with(",")) rest = trimmed(rest.substr(1));
    }
    if (out.rules.empty()) return std::nullopt;
    while (!rest.empty() && (rest.front() == ':' || rest.front() == '-' || rest.front() == ' ')) rest.remove_prefix(1);
    out.reason = std::string(trimmed(rest));
    return out;
}

void suppress(Analysis& analysis, const SourceText& source_text) {
    Sources sources(source_text);
    std::set<std::pair<std::string, std::uint32_t>> complained;
    // The reason that answers a finding, or empty.
    const auto answer = [&](const Finding& finding, const std::string& module) -> std::string {
        if (!finding.source) return {};
        const std::string& file = finding.source->file;
        for (std::uint32_t number = finding.source->line; number >= 1; --number) {
            const std::string_view line = sources.line(file, module, number);
            if (number != finding.source->line && !is_comment(line)) return {};
            const std::optional<Suppression> found = suppression_of(line);
            if (!found || std::find(found->rules.begin(), found->rules.end(), finding.rule) == found->rules.end()) continue;
            if (!found->reason.empty()) return found->reason;
            if (complained.emplace(file, number).second) analysis.notes.push_back(without_reason(file, number, line));
        }
        return {};
    };
    for (KernelAnalysis& kernel : analysis.kernels)
        for (KernelResult& result : kernel.results) {
            std::vector<Finding> open;
            for (Finding& finding : result.findings) {
                std::string reason = answer(finding, kernel.facts.module);
                if (reason.empty()) open.push_back(std::move(finding));
                else result.suppressed.push_back({std::move(finding), std::move(reason)});
            }
            result.findings = std::move(open);
        }
}

}  // namespace flipflop::advise
