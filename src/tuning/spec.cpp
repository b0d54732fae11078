// What T1 files and options have in common: launch rules of one configuration, tables of configurations, --define.
#include "tuning/spec.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "inputs/file.hpp"

namespace flipflop::tuning {

namespace {

constexpr std::uint64_t kMostTableBytes = 256ULL << 20;

Diagnostic wrong(const char* id, std::string file, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = id;
    d.file = std::move(file);
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

/// A whole number from an expression of parameters; reals count when they are whole.
Result<std::int64_t> whole_of(const Space& space, const Expression& e, const std::uint16_t* configuration) {
    std::vector<const Value*> values;
    space.values_for(e, configuration, values);
    const auto value = e.evaluate(values);
    if (!value) return tl::unexpected(value.error());
    if (value->whole()) return value->integer;
    if (value->kind == Value::Kind::real && value->real == std::floor(value->real) && std::abs(value->real) < 9e15) return static_cast<std::int64_t>(value->real);
    return tl::unexpected(e.complain(1, fmt::format("{} is not a whole number", value->literal())));
}

std::string trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    return first == std::string_view::npos ? std::string{} : std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

}  // namespace

Value value_of_text(const std::string& text) {
    const char* const first = text.data();
    const char* const last = first + text.size();
    std::int64_t whole = 0;
    double real = 0;
    if (!text.empty() && std::from_chars(first, last, whole).ptr == last) return Value::of(whole);
    if (const auto [end, error] = std::from_chars(first, last, real); !text.empty() && error == std::errc{} && end == last) return Value::of(real);
    if (text == "True" || text == "true") return Value::of(true);
    if (text == "False" || text == "false") return Value::of(false);
    return Value::of(text);
}

Result<Geometry> geometry_of(const Spec& spec, const std::uint16_t* configuration) {
    constexpr std::int64_t kMost = 0x7fffffff;
    Geometry geometry;
    std::int64_t block[3]{1, 1, 1};
    std::int64_t grid[3]{1, 1, 1};
    const auto refuse = [&](std::string why) {
        if (geometry.obstacle.empty()) geometry.obstacle = std::move(why);
    };
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!spec.block[axis]) continue;
        const auto threads = whole_of(spec.space, *spec.block[axis], configuration);
        if (!threads) return tl::unexpected(threads.error());
        block[axis] = *threads;
        if (block[axis] < 1 || block[axis] > kMost) refuse(fmt::format("a block of {} threads on axis {}", block[axis], "xyz"[axis]));
    }
    const bool problem = spec.problem_size.has_value(), global = spec.global_size[0] || spec.global_size[1] || spec.global_size[2];
    for (std::size_t axis = 0; axis < 3 && (problem || global); ++axis) {
        std::int64_t size = 1;
        const Expression* const e = problem ? (axis < spec.problem_size->size() ? &(*spec.problem_size)[axis] : nullptr)
                                            : (spec.global_size[axis] ? &*spec.global_size[axis] : nullptr);
        if (e) {
            const auto value = whole_of(spec.space, *e, configuration);
            if (!value) return tl::unexpected(value.error());
            size = *value;
        }
        std::int64_t divisor = problem || spec.global_size_is_threads ? std::max<std::int64_t>(1, block[axis]) : 1;
        if (problem && spec.divisors[axis]) {
            divisor = 1;
            for (const Expression& d : *spec.divisors[axis]) {
                const auto value = whole_of(spec.space, d, configuration);
                if (!value) return tl::unexpected(value.error());
                if (*value < 1 || __builtin_mul_overflow(divisor, *value, &divisor)) return tl::unexpected(d.complain(1, fmt::format("the grid cannot be divided by {}", *value)));
            }
        }
        grid[axis] = size / divisor + (size % divisor > 0 ? 1 : 0);
        if (grid[axis] < 1 || grid[axis] > kMost) refuse(fmt::format("a grid of {} blocks on axis {}", grid[axis], "xyz"[axis]));
    }
    if (spec.shared_memory) {
        const auto bytes = whole_of(spec.space, *spec.shared_memory, configuration);
        if (!bytes) return tl::unexpected(bytes.error());
        if (*bytes < 0) refuse(fmt::format("{} bytes of shared memory", *bytes));
        else geometry.shared_bytes = static_cast<std::uint64_t>(*bytes);
    }
    if (!geometry.obstacle.empty()) return geometry;
    const auto dim = [](const std::int64_t (&v)[3]) { return Dim3{static_cast<std::uint32_t>(v[0]), static_cast<std::uint32_t>(v[1]), static_cast<std::uint32_t>(v[2])}; };
    geometry.block = dim(block);
    if (problem || global) geometry.grid = dim(grid);
    return geometry;
}

Result<std::uint64_t> elements_of(const Spec& spec, const Argument& argument) {
    if (!argument.elements) return std::uint64_t{1};
    // As the files have it, "max(filter_width)" is the largest of the parameter's values, and ProblemSize the list itself.
    std::vector<Value> lists;
    for (const std::string& name : argument.elements->names()) {
        if (name == "ProblemSize") {
            std::vector<Value> sizes;
            for (const Expression& e : spec.problem_size.value_or(std::vector<Expression>{})) {
                const auto size = e.evaluate();
                if (!size) return tl::unexpected(size.error());
                sizes.push_back(*size);
            }
            lists.push_back(Value::of(std::move(sizes)));
        } else {
            lists.push_back(Value::of(spec.space.parameters()[*spec.space.find(name)].values));
        }
    }
    std::vector<const Value*> values;
    for (const Value& list : lists) values.push_back(&list);
    const auto size = argument.elements->evaluate(values);
    if (!size) return tl::unexpected(size.error());
    const double elements = size->number() ? size->as_real() : -1;
    if (!(elements >= 0) || elements > 1e15) return tl::unexpected(argument.elements->complain(1, fmt::format("{} is not a number of elements", size->literal())));
    return static_cast<std::uint64_t>(elements);
}

std::string words_of(const Space& space, const std::uint16_t* configuration) {
    std::string words;
    for (std::size_t p = 0; p < space.parameters().size(); ++p)
        words += fmt::format("{}{}={}", p == 0 ? "" : ", ", space.parameters()[p].name, space.parameters()[p].values[configuration[p]].words());
    return words;
}

Result<std::vector<std::vector<std::string>>> read_table(const std::string& file) {
    InputLimits limits;
    limits.max_file_bytes = limits.max_stream_bytes = kMostTableBytes;
    const auto bytes = FileBytes::open(file, limits);
    if (!bytes) return tl::unexpected(wrong("FF0787", "--configs", fmt::format("'{}': {}", file, bytes.error().message)));
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    std::string cell;
    bool quoted = false, any = false;
    std::uint32_t line = 1, first_line = 1;
    std::optional<Diagnostic> ragged;
    const auto bad_line = [&](std::uint32_t at, std::string message) {
        Diagnostic d = wrong("FF0787", file, std::move(message), "a table of configurations has a row of names and as many cells in every row");
        d.at.line = at;
        return d;
    };
    const auto end_row = [&] {
        row.push_back(trimmed(cell));
        cell.clear();
        if (row.size() > 1 || !row.front().empty()) {
            if (!rows.empty() && row.size() != rows.front().size() && !ragged) ragged = bad_line(first_line, fmt::format("{} cells below {} names", row.size(), rows.front().size()));
            rows.push_back(std::move(row));
        }
        row.clear();
        any = false;
        first_line = line;
    };
    const std::string_view text = bytes->view();
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        any = true;
        line += c == '\n' ? 1 : 0;
        if (c == '"') {
            if (quoted && i + 1 < text.size() && text[i + 1] == '"') cell += text[++i];
            else quoted = !quoted;
        } else if (c == ',' && !quoted) {
            row.push_back(trimmed(cell));
            cell.clear();
        } else if (c == '\n' && !quoted) {
            end_row();
        } else {
            cell += c;
        }
    }
    if (quoted) return tl::unexpected(bad_line(first_line, "a quote is opened and not closed"));
    if (any) end_row();
    if (ragged) return tl::unexpected(*ragged);
    if (rows.size() < 2) return tl::unexpected(wrong("FF0787", "--configs", fmt::format("'{}' has no row below a row of names", file)));
    if (rows[0][0].starts_with("\xef\xbb\xbf")) rows[0][0].erase(0, 3);
    for (std::size_t i = 0; i < rows[0].size(); ++i)
        if (std::find(rows[0].begin(), rows[0].begin() + static_cast<std::ptrdiff_t>(i), rows[0][i]) != rows[0].begin() + static_cast<std::ptrdiff_t>(i))
            return tl::unexpected(bad_line(1, fmt::format("two columns are called '{}'", rows[0][i])));
    return rows;
}

void take_values(const std::vector<std::vector<std::string>>& table, std::vector<Parameter>& parameters) {
    if (table.empty()) return;
    for (Parameter& p : parameters) {
        const auto column = std::find(table[0].begin(), table[0].end(), p.name);
        if (column == table[0].end()) continue;
        const auto at = static_cast<std::size_t>(column - table[0].begin());
        std::vector<Value> used;
        for (std::size_t r = 1; r < table.size(); ++r) {
            const Value v = value_of_text(at < table[r].size() ? table[r][at] : std::string());
            if (std::none_of(used.begin(), used.end(), [&](const Value& o) { return equal(o, v); })) used.push_back(v);
        }
        p.values = std::move(used);
    }
}

Result<Configurations> configurations_of(const Space& space, const std::vector<std::vector<std::string>>& table, const std::string& file) {
    Configurations out;
    out.width = space.parameters().size();
    std::vector<std::size_t> columns;
    for (const Parameter& p : space.parameters()) {
        const auto found = std::find(table[0].begin(), table[0].end(), p.name);
        if (found == table[0].end() && p.values.size() > 1)
            return tl::unexpected(wrong("FF0787", "--configs", fmt::format("'{}' has no column '{}'", file, p.name), "the columns are named as the parameters"));
        columns.push_back(static_cast<std::size_t>(found - table[0].begin()));
    }
    std::vector<std::uint16_t> c(out.width);
    for (std::size_t r = 1; r < table.size(); ++r) {
        for (std::size_t p = 0; p < out.width; ++p) {
            c[p] = 0;
            if (columns[p] == table[0].size()) continue;
            const auto& values = space.parameters()[p].values;
            const Value wanted = value_of_text(columns[p] < table[r].size() ? table[r][columns[p]] : std::string());
            const auto found = std::find_if(values.begin(), values.end(), [&](const Value& v) { return equal(v, wanted); });
            if (columns[p] >= table[r].size()) return tl::unexpected(wrong("FF0787", "--configs", fmt::format("'{}': row {} has too few columns", file, r + 1)));
            c[p] = static_cast<std::uint16_t>(found - values.begin());
        }
        out.add(c.data());
    }
    return out;
}

Result<Expression> condition_of(const std::string& text) { return Expression::parse(text, {"FF0786", "--restrict", ""}); }

Result<Parameter> parameter_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    Parameter p;
    p.name = trimmed(text.substr(0, equals));
    const std::string values = equals == std::string::npos ? "" : trimmed(text.substr(equals + 1));
    const bool macro = !p.name.empty() && p.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos && (p.name[0] < '0' || p.name[0] > '9');
    if (!macro) return tl::unexpected(wrong("FF0785", "--define", fmt::format("'{}' is not NAME=VALUES with a macro's name", text), "such as --define TILE=8,16,32"));
    if (values.empty()) return tl::unexpected(wrong("FF0785", "--define", fmt::format("'{}' has no values", text), "such as --define TILE=8,16,32"));
    if (values.front() == '[' || values.find('(') != std::string::npos) {
        const auto e = Expression::parse(values, {"FF0785", "--define", fmt::format("values of '{}'", p.name)});
        if (!e) return tl::unexpected(e.error());
        const auto list = e->evaluate();
        if (!list) return tl::unexpected(list.error());
        if (list->kind == Value::Kind::list) p.values = *list->list;
        else p.values.push_back(*list);
        return p;
    }
    for (std::size_t at = 0; at <= values.size();) {
        const std::size_t comma = std::min(values.find(',', at), values.size());
        p.values.push_back(value_of_text(trimmed(values.substr(at, comma - at))));
        at = comma + 1;
    }
    return p;
}

namespace {

/// "TILE, BY" at the commas that stand in no brackets.
std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text) {
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        if (c == ',' && depth == 0) parts.emplace_back();
        else parts.back() += c;
    }
    return parts;
}

}  // namespace

Result<std::array<std::optional<Expression>, 3>> block_of_option(const std::string& text, const Space& space) {
    std::array<std::optional<Expression>, 3> block;
    const std::vector<std::string> parts = parts_of(text);
    if (parts.size() > 3) return tl::unexpected(wrong("FF0786", "--block", fmt::format("'{}' has more than three axes", text)));
    for (std::size_t axis = 0; axis < 3; ++axis) {
        auto e = Expression::parse(axis < parts.size() ? trimmed(parts[axis]) : "1", {"FF0786", "--block", ""});
        if (!e) return tl::unexpected(e.error());
        for (const std::string& name : e->names())
            if (!space.find(name)) return tl::unexpected(wrong("FF0786", "--block", fmt::format("'{}' is no tuning parameter", name)));
        block[axis] = std::move(*e);
    }
    return block;
}

Result<Spec> spec_of_options(const TuneOptions& options, const std::vector<std::vector<std::string>>& table) {
    Spec spec;
    spec.file = options.spec;
    spec.source = options.spec;
    std::vector<Parameter> parameters;
    for (const std::string& define : options.defines) {
        auto p = parameter_of(define);
        if (!p) return tl::unexpected(p.error());
        parameters.push_back(std::move(*p));
    }
    if (parameters.empty() && !table.empty())
        for (const std::string& name : table[0]) parameters.push_back({name, {Value::of(std::int64_t{0})}});
    if (parameters.empty())
        return tl::unexpected(wrong("FF0785", "--define", fmt::format("'{}' is no T1 file, and no tuning parameter is defined", options.spec), "such as --define TILE=8,16,32, once a parameter"));
    take_values(table, parameters);
    std::vector<Expression> conditions;
    for (const std::string& text : options.restricts) {
        auto e = condition_of(text);
        if (!e) return tl::unexpected(e.error());
        conditions.push_back(std::move(*e));
    }
    auto space = Space::make(std::move(parameters), std::move(conditions), "");
    if (!space) {
        Diagnostic d = space.error();
        d.id = d.id == "FF0842" ? "FF0786" : "FF0785";
        d.file = d.id == "FF0786" ? "--restrict" : "--define";
        return tl::unexpected(std::move(d));
    }
    spec.space = std::move(*space);
    spec.defaults.resize(spec.space.parameters().size());
    static constexpr const char* kNames[]{"block_size_x", "block_size_y", "block_size_z"};
    for (std::size_t axis = 0; axis < 3 && options.block.empty(); ++axis)
        if (spec.space.find(kNames[axis]))
            for (std::size_t a = 0; a < 3; ++a)
                if (!spec.block[a]) spec.block[a] = *Expression::parse(spec.space.find(kNames[a]) ? kNames[a] : "1", {"FF0786", "--block", ""});
    return spec;
}

}  // namespace flipflop::tuning
