#include "cases.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

namespace {

constexpr std::size_t kMostCases = 256;
constexpr double kMostWhole = 9.0e15;      // whole numbers below are exact in a double

std::optional<double> read_number(std::string_view text) {
    double value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string words_of_number(double value) {
    if (value == std::floor(value) && std::abs(value) < kMostWhole) return fmt::format("{}", static_cast<std::int64_t>(value));
    return fmt::format("{}", value);
}

/// "4096", "4096x4096": commas part the members of a case.
std::optional<Dim3> read_shape(std::string_view text, int& axes) {
    std::uint32_t extents[3]{1, 1, 1};
    for (axes = 0; axes < 3; ++axes) {
        const std::size_t stop = std::min(text.find('x'), text.size());
        std::uint32_t& extent = extents[axes];
        const auto [end, error] = std::from_chars(text.data(), text.data() + stop, extent);
        if (error != std::errc{} || end != text.data() + stop || extent == 0) return std::nullopt;
        if (stop == text.size()) {
            ++axes;
            return Dim3{extents[0], extents[1], extents[2]};
        }
        text.remove_prefix(stop + 1);
    }
    return std::nullopt;
}

Result<Case> parse_case(const std::string& text) {
    const auto wrong = [&](std::size_t column, std::string message) {
        return tl::unexpected(complain_at("FF0761", "--case", text, static_cast<std::uint32_t>(column + 1), std::move(message),
                                          "the form is NAME:PARAM=VALUE,...,weight=W, such as --case small:n=4096,weight=10"));
    };
    Case out;
    out.said = {"--case", text, {}, {}, {}};
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || text.find('=') < colon) return wrong(0, "the case has no name");
    if (colon == 0) return wrong(0, "the case's name is missing");
    out.name = text.substr(0, colon);
    for (std::size_t begin = colon + 1; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string member = text.substr(begin, end - begin);
        const std::size_t equals = member.find('=');
        if (equals == std::string::npos) return wrong(begin, member.empty() ? "PARAM=VALUE is missing" : "there is no '='");
        const std::string key = member.substr(0, equals), value = member.substr(equals + 1);
        if (key == "weight") {
            const auto weight = read_number(value);
            if (!weight || *weight <= 0) return wrong(begin + equals + 1, fmt::format("'{}' is no weight above 0", value));
            out.weight = *weight;
        } else if (key == "work" || key == "grid") {
            const bool work = key == "work";
            auto shape = read_shape(value, work ? out.work_axes : out.grid_axes);
            if (!shape) return wrong(begin + equals + 1, fmt::format("'{}' is no shape, such as 4096x4096", value));
            (work ? out.work : out.grid) = *shape;
        } else {
            auto request = parse_argument(member, "--case");
            if (!request) return wrong(begin + std::max(1u, request.error().at.column) - 1, request.error().message);
            request->level = ArgumentLevel::one_case;
            out.arguments.push_back(std::move(*request));
        }
        begin = end + 1;
    }
    if (out.work && out.grid) return wrong(0, "work and grid both rule the grid of the case");
    return out;
}

Result<Case> case_of(const CaseOptions& options) {
    Case out;
    out.name = options.name;
    out.work = options.work;
    out.grid = options.grid;
    out.work_axes = options.work_axes;
    out.grid_axes = options.grid_axes;
    out.weight = options.weight;
    out.swept = options.swept;
    out.said = options.origin.value_or(TextOrigin{"--case", options.name, {}, {}, {}});
    for (const std::string& text : options.args) {
        auto request = parse_argument(text);
        if (!request) return tl::unexpected(request.error());
        request->level = ArgumentLevel::one_case;
        out.arguments.push_back(std::move(*request));
    }
    return out;
}

Case swept_case(const std::string& parameter, double value) {
    Case out;
    const std::string word = words_of_number(value);
    out.name = parameter + "=" + word;
    out.swept = value;
    if (parameter == "work") {
        out.work = Dim3{static_cast<std::uint32_t>(std::clamp(value, 1.0, 4294967295.0)), 1, 1};
        out.work_axes = 1;
        return out;
    }
    auto request = parse_argument(out.name, "--sweep");
    if (!request) return out;   // checked by read_sweep
    request->level = ArgumentLevel::one_case;
    out.arguments.push_back(std::move(*request));
    return out;
}

/// PARAM=FROM:TO:xSTEP or PARAM=FROM:TO:+STEP.
Result<std::vector<Case>> parse_sweep(const std::string& text, std::string& parameter) {
    const auto wrong = [&](std::size_t column, std::string message) {
        return tl::unexpected(complain_at("FF0762", "--sweep", text, static_cast<std::uint32_t>(column + 1), std::move(message),
                                          "the form is PARAM=FROM:TO:xFACTOR or PARAM=FROM:TO:+STEP, such as --sweep n=1024:1048576:x2"));
    };
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return wrong(0, "there is no PARAM=");
    parameter = text.substr(0, equals);
    if (const auto request = parse_argument(parameter + "=1", "--sweep"); !request) return wrong(0, request.error().message);
    const std::size_t first = text.find(':', equals), second = first == std::string::npos ? first : text.find(':', first + 1);
    if (first == std::string::npos) return wrong(text.size(), "TO is missing");
    const auto from = read_number(std::string_view(text).substr(equals + 1, first - equals - 1));
    if (!from) return wrong(equals + 1, "FROM is not a number");
    const std::size_t to_end = std::min(second, text.size());
    const auto to = read_number(std::string_view(text).substr(first + 1, to_end - first - 1));
    if (!to) return wrong(first + 1, "TO is not a number");
    if (*to < *from) return wrong(first + 1, "TO is less than FROM");
    bool factor = true;
    double step = 2;
    if (second != std::string::npos) {
        const char kind = second + 1 < text.size() ? text[second + 1] : '\0';
        if (kind != 'x' && kind != '+') return wrong(second + 1, "the step is neither xFACTOR nor +STEP");
        factor = kind == 'x';
        const auto number = read_number(std::string_view(text).substr(second + 2));
        if (!number || *number <= (factor ? 1 : 0)) return wrong(second + 2, factor ? "the factor is not a number above 1" : "the step is not a number above 0");
        step = *number;
    }
    if (factor && *from <= 0) return wrong(equals + 1, "a factor never leads away from FROM, which is not above 0");
    const bool whole = *from == std::floor(*from) && *to == std::floor(*to);
    std::vector<Case> cases;
    double last = *from - 1;
    std::size_t tried = 0;                       // a step may be too small to reach another whole number
    for (double value = *from; value <= *to * (1 + 1e-12); value = factor ? value * step : value + step) {
        if (++tried > 100'000) return wrong(second + 2, "the step is too small");
        const double point = whole ? std::round(value) : value;
        if (cases.size() == kMostCases) return wrong(0, fmt::format("more than {} points", kMostCases));
        if (point != last) cases.push_back(swept_case(parameter, point));
        if (value + step == value) break;
        last = point;
    }
    for (Case& one : cases) one.said = {"--sweep", text, {}, {}, {}};
    return cases;
}

}  // namespace

Result<Cases> read_cases(const LaunchOptions& options) {
    Cases cases;
    for (const CaseOptions& given : options.cases) {
        auto one = case_of(given);
        if (!one) return tl::unexpected(one.error());
        cases.list.push_back(std::move(*one));
    }
    for (const std::string& text : options.case_texts) {
        auto one = parse_case(text);
        if (!one) return tl::unexpected(one.error());
        cases.list.push_back(std::move(*one));
    }
    if (options.sweep) {
        auto swept = parse_sweep(*options.sweep, cases.swept);
        if (!swept) return tl::unexpected(swept.error());
        cases.list.insert(cases.list.end(), swept->begin(), swept->end());
    }
    std::set<std::string> names;
    for (const Case& one : cases.list) {
        if (!names.insert(one.name).second) return tl::unexpected(complain("FF0761", one.said.option, fmt::format("there are two cases '{}'", one.name)));
        if (auto repeated = refuse_repeated(one.arguments, one.said.option.c_str()); !repeated) return tl::unexpected(repeated.error());
    }
    if (cases.list.size() > kMostCases) return tl::unexpected(complain("FF0761", "--case", fmt::format("{} cases are more than {}", cases.list.size(), kMostCases)));
    return cases;
}

Case at_sweep_point(const Cases& cases, double value) { return swept_case(cases.swept, value); }

void apply_grid(const Case& chosen, GridRule& rule) {
    const std::optional<Dim3>& shape = chosen.work ? chosen.work : chosen.grid;
    if (!shape) return;
    rule.assumed = false;
    bool keeps = false;
    if (chosen.work) {
        rule.work = shape;
        for (const AxisRule& axis : rule.axis) keeps = keeps || axis.kind == AxisRule::Kind::expression;
    }
    if (keeps) return;
    const std::uint32_t extents[3]{shape->x, shape->y, shape->z};
    for (std::size_t i = 0; i < 3; ++i) rule.axis[i] = {chosen.work ? AxisRule::Kind::work : AxisRule::Kind::fixed, extents[i], 0, std::nullopt};
}

std::optional<Diagnostic> missing_argument(const KernelFacts& kernel, const std::vector<ArgumentRequest>& common, const Cases& cases) {
    using Key = std::pair<std::size_t, std::uint32_t>;   // parameter and offset
    const auto keys_of = [&](const std::vector<ArgumentRequest>& requests, std::map<Key, std::string>& keys) {
        for (const ArgumentRequest& r : requests)
            if (const auto index = find_parameter(kernel, r.parameter)) keys.emplace(Key{*index, r.offset.value_or(0)}, r.text.substr(0, r.text.find('=')));
    };
    std::map<Key, std::string> always;
    keys_of(common, always);
    std::map<Key, std::pair<std::string, const Case*>> wanted;
    std::vector<std::map<Key, std::string>> given(cases.list.size());
    for (std::size_t i = 0; i < cases.list.size(); ++i) {
        keys_of(cases.list[i].arguments, given[i]);
        for (const auto& [key, word] : given[i]) wanted.emplace(key, std::pair(word, &cases.list[i]));
    }
    for (std::size_t i = 0; i < cases.list.size(); ++i)
        for (const auto& [key, who] : wanted)
            if (!given[i].contains(key) && !always.contains(key)) {
                const Case& one = cases.list[i];
                Diagnostic d = complain("FF0763", one.said.option, fmt::format("case '{}' gives no value for {}, which case '{}' does", one.name, who.first, who.second->name),
                                        fmt::format("give it in every case, or for all of them with --arg {}=VALUE", who.first));
                d.source_line = one.said.file.empty() ? one.said.text : std::string();
                if (!d.source_line.empty()) d.at = {1, 1};
                if (!one.said.file.empty()) {
                    d.file = one.said.file;
                    d.at = one.said.at;
                    d.source_line = one.said.source_line;
                }
                return d;
            }
    return std::nullopt;
}

}  // namespace flipflop::advise
