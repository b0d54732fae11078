// Reads "flipflop.baseline/1". A baseline is a file that people merge by hand, so what is wrong with it is said with a line.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flipflop/gate.hpp"
#include "flipflop/passes.hpp"
#include "gpu/json_position.hpp"

namespace flipflop::gate {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchema = "flipflop.baseline/1";
constexpr std::string_view kFamily = "flipflop.baseline/";

Diagnostic bad(const std::string& name, std::uint32_t line, std::string message, std::string help = "write it again: flipflop baseline INPUT... -o FILE") {
    Diagnostic d;
    d.id = "FF0780";
    d.file = name;
    d.at = {line, line > 0 ? 1U : 0U};
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

std::uint32_t line_of(std::string_view text, std::size_t byte) {
    return 1 + static_cast<std::uint32_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size())), '\n'));
}

/// The line of a merge conflict's marker, or 0.
std::uint32_t conflict_line(std::string_view text) {
    std::uint32_t line = 1;
    for (std::size_t at = 0; at < text.size(); ++line) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("<<<<<<< ") || rest.starts_with(">>>>>>> ")) { return line; }
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos) { break; }
        at += end + 1;
    }
    return 0;
}

/// What a document says where it is not as it should be; the first one counts.
struct Wrong { std::string message, pointer{}; };

const Json& member(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) { throw Wrong{fmt::format("there is no \"{}\"", key)}; }
    return *found;
}
std::string text_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    if (value.is_null()) { return {}; }
    if (!value.is_string()) { throw Wrong{fmt::format("\"{}\" is no text", key)}; }
    return value.get<std::string>();
}
std::string optional_text(const Json& object, const char* key) { return object.contains(key) ? text_of(object, key) : std::string(); }
std::optional<double> number_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    if (value.is_null()) { return {}; }
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) { throw Wrong{fmt::format("\"{}\" is no number that it could be", key)}; }
    return value.get<double>();
}
Dim3 dim_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    if (value.is_null()) { return {}; }
    const auto axis = [&](std::size_t i) -> std::uint32_t {
        if (!value[i].is_number_unsigned() || value[i].get<std::uint64_t>() > 0xffffffffULL) { throw Wrong{fmt::format("\"{}\" is no list of three numbers", key)}; }
        return value[i].get<std::uint32_t>();
    };
    if (!value.is_array() || value.size() != 3) { throw Wrong{fmt::format("\"{}\" is no list of three numbers", key)}; }
    return {axis(0), axis(1), axis(2)};
}

std::map<std::string, SeverityCounts> findings_of(const Json& object) {
    std::map<std::string, SeverityCounts> findings;
    const Json& rules = member(object, "findings");
    if (!rules.is_object()) { throw Wrong{"\"findings\" is no object"}; }
    constexpr std::array<const char*, 3> kNames{"note", "warning", "error"};
    for (const auto& [rule, counts] : rules.items()) {
        if (!counts.is_object()) { throw Wrong{"\"findings\" holds what is no count by severity"}; }
        SeverityCounts& out = findings[rule];
        for (std::size_t s = 0; s < kNames.size(); ++s) {
            if (!counts.contains(kNames[s])) { continue; }
            if (!counts[kNames[s]].is_number_unsigned()) { throw Wrong{"\"findings\" holds what is no count"}; }
            out[s] = counts[kNames[s]].get<std::uint32_t>();
        }
    }
    return findings;
}

KernelRecord record_of(const Json& object) {
    if (!object.is_object()) { throw Wrong{"\"kernels\" holds what is no object"}; }
    KernelRecord record;
    record.name = text_of(object, "name");
    if (record.name.empty()) { throw Wrong{"a kernel has no name"}; }
    record.demangled = demangle(record.name);
    record.gpu = text_of(object, "gpu");
    record.case_name = optional_text(object, "case");
    record.module = optional_text(object, "module");
    record.block = dim_of(object, "block");
    record.grid = dim_of(object, "grid");
    record.launch_basis = text_of(object, "launch");
    record.why_not = optional_text(object, "why_not");
    record.launchable = record.why_not.empty();
    record.registers_basis = text_of(object, "registers_basis");
    record.sectors_basis = optional_text(object, "sectors_basis");
    record.producer = optional_text(object, "producer");
    record.fingerprint = text_of(object, "fingerprint");
    for (std::size_t m = 0; m < kMetrics; ++m) {
        if (static_cast<Metric>(m) != Metric::findings) { record.metrics[m] = number_of(object, kMetricNames[m].data()); }
    }
    record.findings = findings_of(object);
    double count = 0;
    for (const auto& [rule, counts] : record.findings) { count += counts[0] + counts[1] + counts[2]; }
    record.metric(Metric::findings) = count;
    return record;
}

Snapshot snapshot_of(const Json& document) {
    Snapshot snapshot;
    snapshot.tool_version = text_of(member(document, "tool"), "version");
    const std::string ptxas = text_of(member(document, "used"), "ptxas");
    if (!ptxas.empty()) { snapshot.ptxas = ptxas; }
    snapshot.models = text_of(document, "models");
    for (const Json& option : member(document, "options")) {
        if (!option.is_string()) { throw Wrong{"\"options\" holds what is no text"}; }
        snapshot.options.push_back(option.get<std::string>());
    }
    for (const Json& gpu : member(document, "gpus")) {
        snapshot.gpus.push_back({text_of(gpu, "gpu"), text_of(gpu, "id"), text_of(gpu, "profile"), text_of(gpu, "coefficients"), {}});
    }
    const Json& kernels = member(document, "kernels");
    if (!kernels.is_array()) { throw Wrong{"\"kernels\" is no list"}; }
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto wrong_here = [&](std::string message) { return Wrong{std::move(message), fmt::format("/kernels/{}", i)}; };
        try {
            snapshot.kernels.push_back(record_of(kernels[i]));
        } catch (const Wrong& wrong) {
            throw wrong_here(wrong.message);
        } catch (const Json::exception&) {
            throw wrong_here("a value is not of the kind it should be");
        }
    }
    return snapshot;
}

}  // namespace

Result<Snapshot> parse_baseline(std::string_view text, const std::string& name) {
    if (const std::uint32_t line = conflict_line(text); line > 0) {
        return tl::unexpected(bad(name, line, "the baseline holds the markers of a merge conflict", "settle the merge by writing it again: flipflop baseline INPUT... -o FILE"));
    }
    Json document;
    try {
        document = Json::parse(text);
    } catch (const Json::parse_error& error) {
        return tl::unexpected(bad(name, line_of(text, error.byte), text.empty() ? "the baseline is empty" : "the baseline is no JSON from here on"));
    } catch (const Json::exception&) {
        return tl::unexpected(bad(name, 0, "the baseline holds a number that is out of range"));
    }
    const std::string schema = document.is_object() && document.contains("schema") && document["schema"].is_string() ? document["schema"].get<std::string>() : "";
    if (schema != kSchema) {
        const bool other_version = schema.starts_with(kFamily);
        return tl::unexpected(bad(name, 1, other_version ? fmt::format("the baseline has the schema '{}', and this flipflop reads '{}'", schema.substr(0, 60), kSchema)
                                                         : fmt::format("the file is no baseline: its schema is not '{}'", kSchema)));
    }
    try {
        Snapshot snapshot = snapshot_of(document);
        snapshot.origin = name;
        return snapshot;
    } catch (const Wrong& wrong) {
        const std::uint32_t line = wrong.pointer.empty() ? 1 : profile::position_of(text, profile::offset_of(text, wrong.pointer)).line;
        return tl::unexpected(bad(name, line, "the baseline is damaged: " + wrong.message));
    } catch (const Json::exception&) {
        return tl::unexpected(bad(name, 1, "the baseline is damaged: a value is not of the kind it should be"));
    }
}

Result<Snapshot> read_baseline(const std::string& path) {
    constexpr std::size_t kMost = std::size_t{256} << 20, kPiece = std::size_t{1} << 20;
    std::error_code error;
    const auto kind = std::filesystem::status(path, error).type();
    if (kind == std::filesystem::file_type::not_found) { return tl::unexpected(bad(path, 0, "there is no such baseline")); }
    if (kind == std::filesystem::file_type::directory) { return tl::unexpected(bad(path, 0, "the baseline is a directory")); }
    std::ifstream file(path, std::ios::binary);
    std::string text;
    while (file && text.size() <= kMost) {
        const std::size_t before = text.size();
        text.resize(before + kPiece);
        file.read(text.data() + before, static_cast<std::streamsize>(kPiece));
        text.resize(before + static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    }
    if (file.bad() || !file.is_open()) { return tl::unexpected(bad(path, 0, "the baseline cannot be read")); }
    if (text.size() > kMost) { return tl::unexpected(bad(path, 0, "the baseline is larger than 256 MiB")); }
    return parse_baseline(text, path);
}

bool is_baseline(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string head(256, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    // One whose first lines are in conflict is still meant as one.
    return head.find("\"flipflop.baseline/") != std::string::npos || (head.starts_with("<<<<<<< ") && head.find("flipflop") != std::string::npos);
}

}  // namespace flipflop::gate
