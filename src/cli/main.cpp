// The door: names the commands, maps every way to end to the exit codes of CONTRACT.md section 2, and nothing else.
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"

namespace {

using namespace flipflop::cli;

void add_commands(CLI::App& app, CommandResult& result) {
    // One line a command, as each lands (commands.hpp declares them).
    (void)app;
    (void)result;
}

int run(int argc, char** argv) {
    CLI::App app{"Static time, power and energy of GPU kernels from their PTX"};
    app.name("flipflop");
    app.set_version_flag("-V,--version", std::string("flipflop ") + FLIPFLOP_VERSION);
    CommandResult result;
    add_commands(app, result);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // CLI11's own codes (106, 109, ...) are no contract of ours: help and version are 0, the rest is usage.
        return app.exit(error) == 0 ? kDone : kUsageError;
    }
    return result.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "flipflop: internal error, please report: {}\n", error.what());
    } catch (...) {
        fmt::print(stderr, "flipflop: internal error, please report\n");
    }
    return flipflop::cli::kInternalError;
}
