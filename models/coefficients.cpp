#include "models/coefficients.hpp"

#include <nlohmann/json.hpp>

#include "gpu/embedded_data.hpp"

namespace flipflop {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& entry, const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Coefficients parse(std::string_view content) {
    Coefficients result;
    const Json document = Json::parse(content, nullptr, false);
    if (document.is_discarded() || !document.contains("values")) return result;
    for (const auto& [name, entry] : document["values"].items()) {
        SourcedValue value;
        if (entry.contains("value") && entry["value"].is_number()) value.value = entry["value"].get<double>();
        value.unit = text_of(entry, "unit");
        value.basis = text_of(entry, "basis");
        value.source = text_of(entry, "source");
        value.note = text_of(entry, "note");
        result.emplace(name, std::move(value));
    }
    return result;
}

std::map<std::string, Coefficients, std::less<>> parse_all() {
    constexpr std::string_view folder = "models/coefficients/", ending = ".json";
    std::map<std::string, Coefficients, std::less<>> result;
    for (const EmbeddedFile& file : embedded_files()) {
        if (!file.path.starts_with(folder) || !file.path.ends_with(ending)) continue;
        std::string_view id = file.path.substr(folder.size());
        id.remove_suffix(ending.size());
        result.emplace(id, parse(file.content));
    }
    return result;
}

}  // namespace

const Coefficients& coefficients_for(std::string_view gpu_id) {
    static const std::map<std::string, Coefficients, std::less<>> all = parse_all();  // constant data, parsed once
    static const Coefficients none;
    const auto found = all.find(gpu_id);
    return found == all.end() ? none : found->second;
}

}  // namespace flipflop
