// launches.toml: what --arg, --work, --grid and the like say, per kernel, in a file beside the code. Every text that is
// looked at later (expressions, arguments, data) keeps its place, so that a complaint about it names line and column.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "complaints.hpp"
#include "expression.hpp"
#include "flipflop/advise.hpp"
#include "launches_file.hpp"
#include "toml_reader.hpp"

namespace flipflop {
namespace {

using namespace toml_reader;

constexpr std::int64_t kMostExtent = 0xffffffff;
constexpr std::size_t kMostEntries = 10'000;

/// The file that is being read.
struct Source {
    std::string_view text;
    std::string path, folder;

    [[nodiscard]] TextOrigin origin(std::string option, std::string what, toml::source_position at) const {
        return {std::move(option), std::move(what), path, {at.line, at.column}, line_of(text, at.line)};
    }
    /// A path in the file is relative to the file's folder.
    [[nodiscard]] std::string beside(const std::string& name) const {
        const std::filesystem::path given(name);
        return given.is_absolute() || folder.empty() ? name : (std::filesystem::path(folder) / given).string();
    }
};

/// Of a text in quotes: where its first character stands.
toml::source_position inside(const toml::node& node) {
    toml::source_position at = place(node);
    ++at.column;
    return at;
}

std::uint32_t extent_of(const toml::node& node, std::string_view key) {
    const auto number = node.value_exact<std::int64_t>();
    if (!number) { throw Wrong{place(node), fmt::format("'{}' takes whole numbers", key), fmt::format("{} = 256, or {} = [16, 16]", key, key)}; }
    if (*number < 1 || *number > kMostExtent) { throw Wrong{place(node), fmt::format("{} is no extent of an axis", *number), "1 to 4294967295"}; }
    return static_cast<std::uint32_t>(*number);
}

/// The axes of a shape: one value, or a list of one to three.
std::vector<const toml::node*> axes_of(const toml::node& node, std::string_view key) {
    const toml::array* const list = node.as_array();
    if (list == nullptr) { return {&node}; }
    if (list->empty() || list->size() > 3) { throw Wrong{place(node), fmt::format("'{}' has {} axes", key, list->size()), "one to three, such as [16, 16]"}; }
    std::vector<const toml::node*> axes;
    for (const toml::node& item : *list) { axes.push_back(&item); }
    return axes;
}

Dim3 shape_of(const toml::node& node, std::string_view key, int* axes = nullptr) {
    std::uint32_t extents[3]{1, 1, 1};
    const auto given = axes_of(node, key);
    for (std::size_t i = 0; i < given.size(); ++i) { extents[i] = extent_of(*given[i], key); }
    if (axes != nullptr) { *axes = static_cast<int>(given.size()); }
    return {extents[0], extents[1], extents[2]};
}

/// 256, [16, 16], or several blocks: [[16, 16], [32, 8]].
std::vector<Dim3> blocks_of(const toml::node& node) {
    const toml::array* const list = node.as_array();
    const bool several = list != nullptr && !list->empty() && list->get(0)->is_array();
    if (!several) { return {shape_of(node, "block")}; }
    std::vector<Dim3> blocks;
    for (const toml::node& item : *list) { blocks.push_back(shape_of(item, "block")); }
    return blocks;
}

/// A whole number or an expression in quotes, as the text of an expression; its syntax is checked at once.
std::string expression_of(const toml::node& node, std::string_view key, const std::string& option, const Source& source, LaunchOptions& launch) {
    if (const auto number = node.value_exact<std::int64_t>()) {
        if (*number < 0) { throw Wrong{place(node), fmt::format("'{}' is less than 0", key), {}}; }
        const std::string text = fmt::format("{}", *number);
        launch.origins.push_back(source.origin(option, text, place(node)));
        return text;
    }
    const auto text = node.value_exact<std::string>();
    if (!text) { throw Wrong{place(node), fmt::format("'{}' is a whole number or an expression in quotes", key), fmt::format("{} = \"ceil(n / block.x)\"", key)}; }
    if (const auto parsed = advise::Expression::parse(*text, option); !parsed) {
        toml::source_position at = inside(node);
        at.column += std::max(1u, parsed.error().at.column) - 1;
        throw Wrong{at, parsed.error().message, parsed.error().help};
    }
    launch.origins.push_back(source.origin(option, *text, inside(node)));
    return *text;
}

/// `work` and `grid`: whole numbers, or with a text on any axis expressions.
void shape_or_expressions(const toml::node& node, const std::string& key, const Source& source, std::optional<Dim3>& shape, int& axes,
                          std::optional<std::string> (&expressions)[3], LaunchOptions& launch) {
    const auto given = axes_of(node, key);
    if (std::none_of(given.begin(), given.end(), [](const toml::node* n) { return n->is_string(); })) {
        shape = shape_of(node, key, &axes);
        launch.origins.push_back(source.origin("--" + key, "", place(node)));
        return;
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
        expressions[i] = expression_of(*given[i], key, key == "work" ? "--work" : fmt::format("--grid-{}", "xyz"[i]), source, launch);
    }
}

bool is_number(const std::string& text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) { return text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos; }
    double real{};
    const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), real);
    return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// An argument's value as --arg takes it. A text that is no number, no `ptr` and no @OTHER names a file.
std::string value_of(const toml::node& node, const Source& source) {
    if (const auto whole = node.value_exact<std::int64_t>()) { return fmt::format("{}", *whole); }
    if (const auto real = node.value_exact<double>()) { return fmt::format("{}", *real); }
    if (const auto truth = node.value_exact<bool>()) { return *truth ? "1" : "0"; }
    const auto text = node.value_exact<std::string>();
    if (!text || text->empty()) { throw Wrong{place(node), "an argument is a number, \"ptr\", \"@OTHER\" or the name of a file", {}}; }
    if (*text == "ptr" || text->starts_with('@') || is_number(*text)) { return *text; }
    return source.beside(*text);
}

const toml::table& table_of(const toml::node& node, std::string_view key, const std::string& help) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) { throw Wrong{place(node), fmt::format("'{}' is a table", key), help}; }
    return *table;
}

/// "KEY=VALUE" of each member, in the order of the file. What overlaps (a blob and its fields) is then set as written.
template <class F>
std::vector<std::string> pairs_of(const toml::node& node, std::string_view key, const std::string& option, const std::string& help, const Source& source,
                                  std::vector<TextOrigin>& origins, F&& value) {
    std::vector<TextOrigin> members;
    for (const auto& [name, member] : table_of(node, key, help)) {
        members.push_back(source.origin(option, fmt::format("{}={}", name.str(), value(member)), name.source().begin));
    }
    std::stable_sort(members.begin(), members.end(), [](const TextOrigin& a, const TextOrigin& b) {
        return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
    });
    std::vector<std::string> texts;
    for (TextOrigin& member : members) {
        texts.push_back(member.text);
        origins.push_back(std::move(member));
    }
    return texts;
}

std::vector<std::string> arguments_of(const toml::node& node, const Source& source, std::vector<TextOrigin>& origins) {
    return pairs_of(node, "args", "--arg", "args = {n = 4096, alpha = 2.0}", source, origins, [&](const toml::node& n) { return value_of(n, source); });
}

std::string data_of(const toml::node& node, const Source& source) {
    return source.beside(text_of(node, "data"));
}

/// Trips: 12, or "mean:12,max:400"; probabilities: 0.25.
std::string amount_of(const toml::node& node, std::string_view key) {
    if (const auto text = node.value_exact<std::string>()) { return *text; }
    return fmt::format("{}", number_of(node, key));
}

CaseOptions case_of(const toml::table& table, const Source& source, std::vector<TextOrigin>& origins) {
    only_known_keys(table, "in a case", {"name", "args", "work", "grid", "weight"});
    CaseOptions out;
    const toml::node* const name = table.get("name");
    if (name == nullptr) { throw Wrong{place(table), "a case has no name", "name = \"small\""}; }
    out.name = text_of(*name, "name");
    if (out.name.empty()) { throw Wrong{place(*name), "a case has an empty name", {}}; }
    out.origin = source.origin("--case", out.name, place(table));
    if (const auto* node = table.get("args")) { out.args = arguments_of(*node, source, origins); }
    if (const auto* node = table.get("work")) { out.work = shape_of(*node, "work", &out.work_axes); }
    if (const auto* node = table.get("grid")) { out.grid = shape_of(*node, "grid", &out.grid_axes); }
    if (out.work && out.grid) { throw Wrong{place(*table.get("grid")), "'work' and 'grid' both rule the grid of the case", "give one of the two"}; }
    if (const auto* node = table.get("weight")) {
        out.weight = number_of(*node, "weight");
        if (out.weight <= 0) { throw Wrong{place(*node), "'weight' is not above 0", "how often the case is launched, against the others"}; }
    }
    return out;
}

void read_grid(const toml::table& table, const Source& source, LaunchOptions& launch) {
    if (const auto* node = table.get("work")) { shape_or_expressions(*node, "work", source, launch.work, launch.work_axes, launch.work_expression, launch); }
    if (const auto* node = table.get("grid")) {
        if (table.contains("work")) { throw Wrong{place(*node), "'work' and 'grid' both rule the grid", "give one of the two"}; }
        shape_or_expressions(*node, "grid", source, launch.grid, launch.grid_axes, launch.grid_expression, launch);
    }
    const char* const keys[]{"grid_x", "grid_y", "grid_z"};
    for (std::size_t i = 0; i < 3; ++i) {
        const toml::node* const node = table.get(keys[i]);
        if (node == nullptr) { continue; }
        if (launch.grid_expression[i] || (launch.grid && static_cast<int>(i) < launch.grid_axes)) {
            throw Wrong{place(*node), fmt::format("'grid' and '{}' both rule the grid in {}", keys[i], "xyz"[i]), "give one of the two"};
        }
        launch.grid_expression[i] = expression_of(*node, keys[i], fmt::format("--grid-{}", "xyz"[i]), source, launch);
    }
}

void read_policy_keys(const toml::table& table, const Source& source, LaunchOptions& launch) {
    const auto pairs = [&](const char* key, const char* option, std::vector<std::string>& out) {
        const toml::node* const node = table.get(key);
        if (node == nullptr) { return; }
        out = pairs_of(*node, key, option, fmt::format("{} = {{L0 = 12}}", key), source, launch.origins, [&](const toml::node& n) { return amount_of(n, key); });
    };
    pairs("trips", "--trips", launch.trips);
    pairs("taken", "--taken", launch.taken);
    if (const auto* node = table.get("assume_trips")) {
        launch.assume_trips = amount_of(*node, "assume_trips");
        launch.origins.push_back(source.origin("--assume-trips", *launch.assume_trips, place(*node)));
    }
    if (const auto* node = table.get("assume_taken")) {
        launch.assume_taken = number_of(*node, "assume_taken");
        if (*launch.assume_taken > 1) { throw Wrong{place(*node), "'assume_taken' is a probability", "0 to 1"}; }
    }
}

void read_cases(const toml::table& table, const Source& source, LaunchOptions& launch) {
    if (const auto* node = table.get("sweep")) {
        launch.sweep = text_of(*node, "sweep");
        launch.origins.push_back(source.origin("--sweep", *launch.sweep, inside(*node)));
    }
    each_table(table, "cases", [&](const toml::table& t) {
        CaseOptions one = case_of(t, source, launch.origins);
        for (const CaseOptions& other : launch.cases) {
            if (other.name == one.name) { throw Wrong{place(t), fmt::format("there are two cases '{}'", one.name), {}}; }
        }
        launch.cases.push_back(std::move(one));
    });
}

/// fields = {nx = "16:u32"}: OFFSET:TYPE as --arg writes it behind the '+'.
void read_fields(const toml::node& node, std::size_t parameter, const std::string& of, const Source& source, KernelLaunches& entry) {
    for (const auto& [key, member] : table_of(node, "fields", "fields = {nx = \"16:u32\", ny = \"20:u32\"}")) {
        const auto place = member.value_exact<std::string>();
        const toml::source_position at = place ? inside(member) : toml_reader::place(member);
        const std::size_t colon = place ? place->find(':') : std::string::npos;
        if (colon == std::string::npos) { throw Wrong{at, "a field is OFFSET:TYPE in quotes", "nx = \"16:u32\": the u32 at byte 16, as flipflop inspect lists it"}; }
        FieldName field{parameter, of + "." + std::string(key.str()), 0, place->substr(colon + 1)};
        const char* const first = place->data() + (place->starts_with('+') ? 1 : 0);
        const auto [end, error] = std::from_chars(first, place->data() + colon, field.offset);
        if (error != std::errc{} || end != place->data() + colon || field.offset > (1U << 20)) { throw Wrong{at, fmt::format("'{}' is not a number of bytes", place->substr(0, colon)), {}}; }
        if (advise::bytes_of_field_type(field.type) == 0 || field.type == "ptr") {
            throw Wrong{{at.line, at.column + static_cast<std::uint32_t>(colon) + 1}, fmt::format("'{}' is not a type of a field (u8..u64, s8..s64, b8..b64, f32, f64)", field.type), {}};
        }
        for (const char c : key.str()) {
            if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') { throw Wrong{key.source().begin, fmt::format("'{}' is no name of a field: letters, digits and '_'", key.str()), {}}; }
        }
        entry.launch.origins.push_back(source.origin("field", field.name, key.source().begin));
        entry.fields.push_back(std::move(field));
    }
}

/// A list of names; a struct's may be a table with the names of its fields.
void read_params(const toml::node& node, const Source& source, KernelLaunches& entry) {
    const toml::array* const list = node.as_array();
    if (list == nullptr) { throw Wrong{place(node), "'params' is a list of names", "params = [\"x\", \"y\", \"n\"]"}; }
    for (const toml::node& item : *list) {
        if (const toml::table* const table = item.as_table()) {
            only_known_keys(*table, "in a parameter", {"name", "fields"});
            const toml::node* const name = table->get("name");
            if (name == nullptr) { throw Wrong{place(item), "a parameter has no name", "{name = \"grid\", fields = {nx = \"16:u32\"}}"}; }
            entry.params.push_back(text_of(*name, "name"));
            if (const auto* fields = table->get("fields")) { read_fields(*fields, entry.params.size() - 1, entry.params.back(), source, entry); }
        } else {
            entry.params.push_back(text_of(item, "params"));
        }
    }
    entry.launch.origins.push_back(source.origin("params", "", place(node)));
    for (std::size_t i = 0; i < entry.params.size(); ++i) {
        const auto first = entry.params.begin(), here = first + static_cast<std::ptrdiff_t>(i);
        if (!here->empty() && std::find(first, here, *here) != here) { throw Wrong{place(*list->get(i)), fmt::format("there are two parameters '{}'", *here), {}}; }
    }
}

KernelLaunches entry_of(const toml::table& table, const Source& source) {
    only_known_keys(table, "in [[kernel]]",
                    {"match", "params", "block", "grid", "work", "grid_x", "grid_y", "grid_z", "current", "current_grid", "dynamic_smem", "carveout", "cluster",
                     "cooperative", "args", "data", "trips", "taken", "assume_trips", "assume_taken", "calls", "cases", "sweep"});
    KernelLaunches entry;
    LaunchOptions& launch = entry.launch;
    const auto at = place(table);
    entry.at = {at.line, at.column};
    const toml::node* const match = table.get("match");
    if (match == nullptr) { throw Wrong{at, "an entry names no kernel", "match = \"saxpy\": a glob, =EXACT, /REGEX/ or #ID, as --kernel takes it"}; }
    entry.match = pattern_of(*match);
    launch.origins.push_back(source.origin("match", entry.match, inside(*match)));
    if (const auto* node = table.get("params")) { read_params(*node, source, entry); }
    if (const auto* node = table.get("block")) { launch.blocks = blocks_of(*node); }
    read_grid(table, source, launch);
    if (const auto* node = table.get("current")) { launch.current = shape_of(*node, "current"); }
    if (const auto* node = table.get("current_grid")) {
        launch.current_grid = shape_of(*node, "current_grid");
        if (!launch.current) { throw Wrong{place(*node), "'current_grid' needs 'current': the block that the grid is of", {}}; }
    }
    if (const auto* node = table.get("dynamic_smem")) { launch.dynamic_smem = expression_of(*node, "dynamic_smem", "--dynamic-smem", source, launch); }
    if (const auto* node = table.get("carveout")) {
        const double percent = number_of(*node, "carveout");
        if (percent > 100) { throw Wrong{place(*node), "'carveout' is a percentage", "0 to 100"}; }
        launch.carveout_percent = static_cast<std::uint32_t>(percent);
    }
    if (const auto* node = table.get("cluster")) { launch.cluster = shape_of(*node, "cluster"); }
    if (const auto* node = table.get("cooperative")) { launch.cooperative = truth_of(*node, "cooperative"); }
    if (const auto* node = table.get("args")) { launch.args = arguments_of(*node, source, launch.origins); }
    launch.file_args = launch.args.size();
    if (const auto* node = table.get("data")) {
        launch.data = pairs_of(*node, "data", "--data", "data = {row_ptr = \"row_ptr.npy\", cols = \"cols.bin:u32\"}", source, launch.origins,
                               [&](const toml::node& n) { return data_of(n, source); });
    }
    launch.file_data = launch.data.size();
    read_policy_keys(table, source, launch);
    if (const auto* node = table.get("calls")) {
        entry.calls = number_of(*node, "calls");
        if (*entry.calls <= 0) { throw Wrong{place(*node), "'calls' is not above 0", "launches per step"}; }
    }
    read_cases(table, source, launch);
    return entry;
}

LaunchesFile launches_of(const toml::table& root, const Source& source) {
    LaunchesFile file;
    file.path = source.path;
    only_known_keys(root, "in a launches file", {"kernel"});
    each_table(root, "kernel", [&](const toml::table& t) {
        if (file.kernels.size() >= kMostEntries) { throw Wrong{place(t), fmt::format("more than {} kernels", kMostEntries), {}}; }
        file.kernels.push_back(entry_of(t, source));
    });
    if (file.kernels.empty()) { throw Wrong{{1, 1}, "the file describes no kernel", "[[kernel]] and below it match = \"NAME\"; flipflop inspect --scaffold writes one to fill in"}; }
    return file;
}

}  // namespace

Result<LaunchesFile> parse_launches(std::string_view text, const std::string& path) {
    const Source source{text, path, std::filesystem::path(path).parent_path().string()};
    try {
        return launches_of(toml_reader::parsed(text, path), source);
    } catch (const toml::parse_error& error) {
        return tl::unexpected(complaint_at("FF0760", path, text, error.source().begin, std::string(error.description()), {}));
    } catch (const Wrong& wrong) {
        return tl::unexpected(complaint_at("FF0760", path, text, wrong.at, wrong.message, wrong.help));
    }
}

Result<LaunchesFile> read_launches(const std::string& path) {
    const auto text = read_whole(path);
    if (!text) { return tl::unexpected(complaint_at("FF0760", path, {}, {}, "the launches file cannot be read", {})); }
    return parse_launches(*text, path);
}

namespace advise {

LaunchOptions launch_of(const KernelLaunches& entry, const LaunchOptions& command) {
    LaunchOptions out = entry.launch;
    out.kernels = command.kernels;
    const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& more) { to.insert(to.end(), more.begin(), more.end()); };
    append(out.args, command.args);
    append(out.data, command.data);
    append(out.trips, command.trips);
    append(out.taken, command.taken);
    if (command.assume_trips) { out.assume_trips = command.assume_trips; }
    if (command.assume_taken) { out.assume_taken = command.assume_taken; }
    if (!command.blocks.empty()) { out.blocks = command.blocks; }
    const bool any_expression = std::any_of(std::begin(command.grid_expression), std::end(command.grid_expression), [](const auto& e) { return e.has_value(); }) ||
                                std::any_of(std::begin(command.work_expression), std::end(command.work_expression), [](const auto& e) { return e.has_value(); });
    if (command.grid || command.work || any_expression) {   // one rule, the command's: halves of two would be nobody's
        out.grid = command.grid;
        out.work = command.work;
        out.grid_axes = command.grid_axes;
        out.work_axes = command.work_axes;
        for (std::size_t i = 0; i < 3; ++i) {
            out.grid_expression[i] = command.grid_expression[i];
            out.work_expression[i] = command.work_expression[i];
        }
    }
    if (command.current) {
        out.current = command.current;
        out.current_grid = command.current_grid;
    }
    if (command.dynamic_smem) { out.dynamic_smem = command.dynamic_smem; }
    if (command.carveout_percent) { out.carveout_percent = command.carveout_percent; }
    if (command.cluster) { out.cluster = command.cluster; }
    out.cooperative = out.cooperative || command.cooperative;
    out.ignore_launch_bounds = command.ignore_launch_bounds;
    if (!command.case_texts.empty() || command.sweep) {
        out.case_texts = command.case_texts;
        out.sweep = command.sweep;
        out.cases.clear();
    }
    return out;
}

Diagnostic at_origin(Diagnostic diagnostic, const std::vector<TextOrigin>& origins) {
    const TextOrigin* found = nullptr;
    for (const TextOrigin& origin : origins) {
        if (origin.option != diagnostic.file) { continue; }
        const bool text = !origin.text.empty() && (diagnostic.source_line == origin.text || diagnostic.message.find("'" + origin.text + "'") != std::string::npos);
        if (text) {
            found = &origin;
            break;
        }
        // An option with one text needs no look at the text, unless it is another's (the command line's).
        if (found == nullptr && diagnostic.source_line.empty()) { found = &origin; }
    }
    if (found == nullptr) { return diagnostic; }
    const std::uint32_t column = diagnostic.source_line == found->text && diagnostic.at.column > 0 ? diagnostic.at.column - 1 : 0;
    diagnostic.file = found->file;
    diagnostic.at = {found->at.line, found->at.column + column};
    diagnostic.source_line = found->source_line.size() < diagnostic.at.column ? std::string() : found->source_line;
    diagnostic.source_column = 0;
    return diagnostic;
}

}  // namespace advise
}  // namespace flipflop
