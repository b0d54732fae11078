// Owns: the words. Every format is made from the same struct; nothing is computed here. Output ends in a newline.
#pragma once

#include <string>

#include "flipflop/analysis.hpp"

namespace flipflop {

struct TextStyle {
    bool color{};
    unsigned width{100};
    unsigned top{8};              ///< rows of the kept table
    bool all{};                   ///< every launchable block
    bool findings{};              ///< every finding
};

[[nodiscard]] std::string text_report(const Analysis& analysis, const TextStyle& style);
[[nodiscard]] std::string json_report(const Analysis& analysis);
[[nodiscard]] std::string csv_report(const Analysis& analysis);
[[nodiscard]] std::string markdown_report(const Analysis& analysis);

}  // namespace flipflop
