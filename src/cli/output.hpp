// Owns: where reports go: standard output or files written beside their destination and renamed, so that nothing is ever
// half-written; and what a terminal may be told (colour, width). Diagnostics go to standard error, never here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flipflop/diagnostic.hpp"
#include "flipflop/report.hpp"

namespace CLI {
class App;
}

namespace flipflop::cli {

enum class Format : std::uint8_t { text, json, csv, markdown, sarif, github, html };

/// The options as given.
struct OutputArguments {
    std::vector<std::string> formats;     ///< FMT or FMT=FILE
    std::string output;                   ///< -o
    std::string color{"auto"};
};

/// One report to write. An empty file, or "-", is standard output.
struct Destination {
    Format format{Format::text};
    std::string file;
};

/// --format, -o, --color.
void add_output_options(CLI::App& command, OutputArguments& arguments, std::string_view formats);

/// What is to be written where. At most one report goes to standard output; without any --format it is text. FF0773: an
/// unknown format or two reports for one place. FF0774: a destination that cannot be written.
[[nodiscard]] Result<std::vector<Destination>> plan_output(const OutputArguments& arguments, const std::vector<Format>& supported);

[[nodiscard]] bool wants(const std::vector<Destination>& plan, Format format);

/// FF0774 where a report would take the place of something that is read.
[[nodiscard]] Result<void> keep_inputs(const std::vector<Destination>& plan, const std::vector<std::string>& inputs);

/// Hands `produce` a sink and makes what it gets the content of the destination, whole or not at all.
[[nodiscard]] Result<void> write_report(const Destination& destination, const std::function<void(const TextSink&)>& produce);

/// --color=always|never, NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, TERM=dumb, CLICOLOR=0, then whether it is a terminal.
[[nodiscard]] bool use_color(const OutputArguments& arguments, const Destination& destination);
/// Of the terminal; 100 elsewhere, so that a file's bytes do not depend on the window.
[[nodiscard]] unsigned text_width(const Destination& destination);

}  // namespace flipflop::cli
