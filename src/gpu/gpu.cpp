#include "flipflop/gpu.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "gpu/embedded_data.hpp"
#include "gpu/names.hpp"
#include "gpu/profile_json.hpp"

namespace flipflop {
namespace {

constexpr std::string_view kFolder = "gpu_profiles/";
constexpr std::string_view kCapability = "gpu_profiles/cc_";
constexpr std::string_view kSuffix = ".json";
constexpr std::uintmax_t kLargestProfile = std::uintmax_t{4} << 20;

bool starts_with(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
bool ends_with(std::string_view text, std::string_view with) {
    return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}
bool names_a_file(std::string_view name) { return name.find('/') != std::string_view::npos || ends_with(name, kSuffix); }

Diagnostic complaint(std::string id, std::string message, std::string file = {}, std::string help = {}) {
    return {std::move(id), Severity::error, std::move(file), {}, std::move(message), {}, std::move(help)};
}

struct BoardFile {
    std::string_view text;
    profile::Head head;
};

std::vector<BoardFile> board_files() {
    std::vector<BoardFile> boards;
    for (const auto& file : embedded_files()) {
        if (starts_with(file.path, kFolder) && !starts_with(file.path, kCapability)) {
            boards.push_back({file.content, profile::read_head(file.content)});
        }
    }
    std::sort(boards.begin(), boards.end(), [](const auto& a, const auto& b) { return a.head.names.id < b.head.names.id; });
    return boards;
}

Result<std::string> read_file(const std::string& path) {
    std::error_code error;
    const std::filesystem::path file(path);
    if (std::filesystem::is_directory(file, error)) {
        return tl::unexpected(complaint("FF0902", "is a directory, not a GPU profile", path));
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        return tl::unexpected(complaint("FF0902", "cannot read this GPU profile", path));
    }
    // Not asked of the file system: a pipe or a device has no size, and need not end.
    std::string text(kLargestProfile + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestProfile) {
        return tl::unexpected(complaint("FF0902", "too large for a GPU profile (4 MiB at most)", path));
    }
    return text;
}

Result<GpuProfile> load_built_in(const std::string& name) {
    const auto key = profile::name_key(name);
    const auto boards = board_files();
    for (const auto& board : boards) {
        const auto& names = board.head.names;
        const auto alias = std::find_if(names.aliases.begin(), names.aliases.end(),
                                        [&](const std::string& text) { return profile::name_key(text) == key; });
        if (profile::name_key(names.id) != key && profile::name_key(names.name) != key && alias == names.aliases.end()) {
            continue;
        }
        auto gpu = profile::read_board(board.text, std::string(kFolder) + names.id + std::string(kSuffix), true, nullptr);
        if (!gpu || alias == names.aliases.end()) {
            return gpu;
        }
        if (const auto also = board.head.alias_also.find(*alias); also != board.head.alias_also.end()) {
            gpu->alias_note = name + " stands for " + names.name + " here; other boards of that name:";
            for (std::size_t i = 0; i < also->second.size(); ++i) {
                gpu->alias_note += (i ? ", " : " ") + also->second[i];
            }
        }
        return gpu;
    }
    std::vector<std::string> known;
    for (const auto& board : boards) {
        known.push_back(board.head.names.name);
        known.push_back(board.head.names.id);
        known.insert(known.end(), board.head.names.aliases.begin(), board.head.names.aliases.end());
    }
    auto help = profile::did_you_mean_text(name, known);
    help += help.empty() ? "`flipflop gpus` lists them; a board of your own is a JSON file (docs/profiles.md)" : " (`flipflop gpus` lists all)";
    return tl::unexpected(complaint("FF0901", "unknown GPU '" + name + "'", {}, std::move(help)));
}

Result<GpuProfile> load_base(const std::string& name, const std::filesystem::path& folder) {
    if (!names_a_file(name)) {
        return load_built_in(name);
    }
    const auto path = (folder / name).string();
    auto text = read_file(path);
    if (!text) {
        return tl::unexpected(std::move(text.error()));
    }
    return profile::read_board(*text, path, false, nullptr);
}

/// What `flipflop calibrate` wrote: a built-in board with coefficients of the user's own.
Result<GpuProfile> load_calibrated(const std::string& text, const std::string& path) {
    const nlohmann::json file = nlohmann::json::parse(text, nullptr, false);
    const auto wrong = [&](const std::string& message) { return tl::unexpected(complaint("FF0902", message, path)); };
    if (!file.is_object() || !file.contains("gpu") || !file["gpu"].is_string() || !file.contains("values") || !file["values"].is_object()) {
        return wrong("a file of coefficients holds \"gpu\" and \"values\"");
    }
    auto gpu = load_built_in(file["gpu"].get<std::string>());
    if (!gpu) {
        return tl::unexpected(std::move(gpu.error()));
    }
    for (const auto& [key, entry] : file["values"].items()) {
        if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number() || !(entry["value"].get<double>() >= 0)) {
            return wrong("/values/" + key + ": its value is no number of zero and more");
        }
        const auto word = [&](const char* name) { return entry.contains(name) && entry[name].is_string() ? entry[name].get<std::string>() : std::string(); };
        SourcedValue& value = gpu->values[key];
        value = {};
        value.value = entry["value"].get<double>();
        value.unit = word("unit");
        value.basis = "fitted";
        value.source = word("source");
        value.note = word("note");
    }
    gpu->origin = path;
    return gpu;
}

}  // namespace

double SourcedCurve::at(double x) const {
    const auto next = std::lower_bound(points.begin(), points.end(), x, [](const auto& point, double value) { return point.first < value; });
    if (next == points.begin()) {
        return points.front().second;
    }
    if (next == points.end()) {
        return points.back().second;
    }
    const auto& [x1, y1] = *next;
    const auto& [x0, y0] = *(next - 1);
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

double ComputeCapability::limit(std::string_view name, double otherwise) const {
    const auto found = limits.find(name);
    return found == limits.end() ? otherwise : found->second.value.value_or(otherwise);
}

std::optional<double> ComputeCapability::rate(std::string_view name) const {
    const auto found = throughput.find(name);
    return found == throughput.end() ? std::nullopt : found->second.value;
}

std::string ComputeCapability::version() const { return std::to_string(major) + "." + std::to_string(minor); }

std::optional<double> GpuProfile::value(std::string_view quantity) const {
    const auto* found = sourced(quantity);
    return found ? found->value : std::nullopt;
}

const SourcedValue* GpuProfile::sourced(std::string_view quantity) const {
    const auto found = values.find(quantity);
    return found == values.end() ? nullptr : &found->second;
}

const SourcedCurve* GpuProfile::curve(std::string_view quantity) const {
    const auto found = curves.find(quantity);
    return found == curves.end() ? nullptr : &found->second;
}

double GpuProfile::sm_count() const {
    return sm_override ? static_cast<double>(*sm_override) : value("sm_count").value_or(0);
}

std::vector<GpuName> list_gpus() {
    std::vector<GpuName> names;
    for (auto& board : board_files()) {
        names.push_back(std::move(board.head.names));
    }
    return names;
}

Result<GpuProfile> load_gpu(const std::string& name) {
    if (!names_a_file(name)) {
        return load_built_in(name);
    }
    auto text = read_file(name);
    if (!text) {
        return tl::unexpected(std::move(text.error()));
    }
    if (text->find("\"flipflop.coefficients/1\"") != std::string::npos) {
        return load_calibrated(*text, name);
    }
    return parse_gpu_profile(*text, name);
}

Result<GpuProfile> parse_gpu_profile(std::string_view text, const std::string& file) {
    const auto folder = std::filesystem::path(file).parent_path();
    const profile::BaseLoader base = [&](const std::string& name) { return load_base(name, folder); };
    return profile::read_board(text, file, false, &base);
}

Result<GpuProfile> with_sms(GpuProfile gpu, std::uint32_t sms) {
    const auto whole = gpu.value("sm_count").value_or(0);
    if (sms == 0 || static_cast<double>(sms) > whole) {
        return tl::unexpected(complaint("FF0904", "a part of " + gpu.name + " has 1 to " + std::to_string(static_cast<std::uint32_t>(whole)) +
                                                      " SMs, not " + std::to_string(sms)));
    }
    gpu.sm_override = sms;
    return gpu;
}

std::vector<std::string> list_compute_capabilities() {
    std::vector<std::string> versions;
    for (const auto& file : embedded_files()) {
        if (starts_with(file.path, kCapability)) {
            versions.emplace_back(file.path.substr(kCapability.size(), file.path.size() - kCapability.size() - kSuffix.size()));
        }
    }
    std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) { return std::stod(a) < std::stod(b); });
    return versions;
}

Result<ComputeCapability> load_compute_capability(const std::string& version) {
    const auto path = std::string(kCapability) + version + std::string(kSuffix);
    for (const auto& file : embedded_files()) {
        if (file.path == path) {
            return profile::read_capability(file.content, path);
        }
    }
    std::string known;
    for (const auto& other : list_compute_capabilities()) {
        known += (known.empty() ? "" : ", ") + other;
    }
    return tl::unexpected(complaint("FF0903", "unknown compute capability '" + version + "'", {}, "known: " + known));
}

}  // namespace flipflop
