#include "inputs/triton.hpp"

#include <nlohmann/json.hpp>

namespace flipflop {

std::optional<std::map<std::string, std::string>> triton_metadata(std::string_view json) {
    // A parser that keeps one level, so that a hostile file's depth costs nothing.
    const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth <= 2; };
    const auto parsed = nlohmann::json::parse(json.begin(), json.end(), shallow, /*allow_exceptions=*/false);
    if (!parsed.is_object() || !parsed.contains("num_warps")) return std::nullopt;
    std::map<std::string, std::string> scalars;
    for (const auto& [key, value] : parsed.items()) {
        if (value.is_string()) scalars[key] = value.get<std::string>();
        else if (value.is_number() || value.is_boolean()) scalars[key] = value.dump();
        // "target": {"backend": "cuda", "arch": 80, "warp_size": 32}
        else if (value.is_object())
            for (const auto& [inner, leaf] : value.items())
                if (leaf.is_number()) scalars[key + "." + inner] = leaf.dump();
    }
    return scalars;
}

}  // namespace flipflop
