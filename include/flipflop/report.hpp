// Owns: the words. Every format is made from the same structs; nothing is computed here but layout and rounding.
// Invariant: text that came from an input (names, paths, messages) is never passed on raw: control characters and
// whatever the format itself would read as markup are made harmless. Output ends in a newline, or is empty.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "flipflop/analysis.hpp"
#include "flipflop/explain.hpp"
#include "flipflop/inspect.hpp"

namespace flipflop {

/// Receives the report piece by piece, in order. Reports of any size go out in pieces of about 64 KiB.
using TextSink = std::function<void(std::string_view)>;

struct TextStyle {
    bool color{};
    unsigned width{100};
    unsigned top{8};              ///< rows of the kept table
    bool all{};                   ///< every launchable block
    bool findings{};              ///< every finding
    bool full_detail{};           ///< every access, loop and assumption
    bool operating_points{};      ///< clocks or power limits were asked for: a column says which
    bool named_blocks{};          ///< the configurations are the user's own (--block), in his order
};

/// From this many kernels on, the text of analyze and inspect is one line a kernel (CONTRACT.md section 3: "more than ten").
inline constexpr std::size_t kOverviewAbove = 10;

[[nodiscard]] std::string text_report(const Analysis& analysis, const TextStyle& style);
[[nodiscard]] std::string json_report(const Analysis& analysis);
[[nodiscard]] std::string csv_report(const Analysis& analysis);
[[nodiscard]] std::string markdown_report(const Analysis& analysis);
void write_json(const Analysis& analysis, const TextSink& sink);

[[nodiscard]] std::string text_report(const InspectReport& report, const TextStyle& style);
void write_json(const InspectReport& report, const TextSink& sink);

/// A launches.toml to fill in, with each parameter's uses: valid as it is, and silent about what is not known.
[[nodiscard]] std::string launches_scaffold(const InspectReport& report);

[[nodiscard]] std::string text_report(const Explanation& explanation, const TextStyle& style);
void write_json(const Explanation& explanation, const TextSink& sink);

}  // namespace flipflop
