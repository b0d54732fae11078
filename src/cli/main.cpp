// The door: names the commands, maps every way to end to the exit codes of CONTRACT.md section 2, and nothing else.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/source_options.hpp"
#include "cli/suggest.hpp"
#include "flipflop/tools.hpp"
#include "flipflop/diagnostic.hpp"
#include "flipflop/source.hpp"

namespace {

using namespace flipflop;
using namespace flipflop::cli;

void add_commands(CLI::App& app, CommandResult& result) {
    // One line a command, as each lands (commands.hpp declares them).
    add_analyze_command(app, result);
    add_inspect_command(app, result);
    add_explain_command(app, result);
    add_baseline_command(app, result);
    add_check_command(app, result);
    add_diff_command(app, result);
    add_gpus_command(app, result);
    add_occupancy_command(app, result);
    add_rules_command(app, result);
    add_tune_command(app, result);
    add_validate_command(app, result);
    add_calibrate_command(app, result);
    add_accuracy_command(app, result);
    add_manual_commands(app, result);
}

/// The command whose arguments were being read, or the application itself.
const CLI::App& active(const CLI::App& app) {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? app : *parsed.front();
}

std::string suggestion_for(const CLI::App& app, const std::string& word) {
    const CLI::App& command = active(app);
    std::vector<std::string> known;
    if (word.starts_with('-')) {
        for (const CLI::Option* option : command.get_options()) {
            for (const std::string& name : option->get_lnames()) { known.push_back("--" + name); }
        }
    } else if (&command == &app) {
        for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) { known.push_back(sub->get_name()); }
    }
    return did_you_mean(word.substr(0, word.find('=')), known);
}

/// A script's --work "$N" with N unset must not pass for no --work at all, nor --top "" for 0.
void refuse_empty_values(CLI::App& app) {
    const auto not_empty = [](std::string& value) { return value.empty() ? std::string("its value is empty") : std::string(); };
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
        for (CLI::Option* option : command->get_options()) {
            const bool flag = option->get_items_expected_max() == 0;
            if (!flag && option->nonpositional()) { option->transform(CLI::Validator(not_empty, "", "")); }
        }
    }
}

/// "Could not convert: --top = x" says neither what is wrong nor what would be right.
std::string conversion_message(const CLI::App& command, const std::string& what) {
    const std::size_t name = what.find("--"), equals = what.find(" = ");
    if (name == std::string::npos || equals == std::string::npos || equals < name) { return what; }
    const std::string option = what.substr(name, equals - name), value = what.substr(equals + 3);
    const CLI::Option* const found = command.get_option_no_throw(option);
    const std::string type = found != nullptr ? found->get_type_name() : "";
    const bool real = type == "MHZ" || type == "W" || type == "SHARE";
    return fmt::format("{}: '{}' is not a {}", option, value, real ? "number" : "whole number from 0 to 4294967295");
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& command = active(app);
    const std::string name = &command == &app ? "flipflop" : "flipflop " + command.get_name();
    const std::vector<std::string> left = app.remaining(true);
    std::string message = error.what();
    std::string help;
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError)) { message = conversion_message(command, message); }
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !left.empty()) {
        const std::string& word = left.front();
        const bool option = word.size() > 1 && word.starts_with('-');
        message = option ? "unknown option '" + word.substr(0, word.find('=')) + "'"
                         : (&command == &app ? "unknown command '" : "unexpected argument '") + word + "'";
        help = suggestion_for(app, word);
    }
    if (message == "--gpu is required") { help = "--gpu a100, for example; flipflop gpus lists the boards, --gpu all takes each"; }
    std::fputs(fmt::format("{}: error: {}\n", name, harmless(message)).c_str(), stderr);
    if (!help.empty()) { std::fputs(fmt::format("  help: {}\n", harmless(help)).c_str(), stderr); }
    std::fputs(fmt::format("  see: {} --help\n", name).c_str(), stderr);
    return kUsageError;
}

/// A closed standard descriptor would be handed out again by the next open(): a report must never land in an input's or a
/// library's file. Writing to what stands in for it still fails, so that a closed standard output is noticed.
void guard_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) == -1) { (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY); }
    }
}

/// Our own version on the first line, for scripts; then the outside tools that would be used.
std::string version_text() {
    std::string out = std::string("flipflop ") + FLIPFLOP_VERSION;
    for (const FoundTool& tool : find_tools(to_source_options({}, {}))) { out += fmt::format("\n  {:<6} {}", tool.name, tool.version.value_or("not found")); }
    return out;
}

int run(int argc, char** argv) {
    CLI::App app{"Static time, power and energy of GPU kernels from their PTX"};
    app.name("flipflop");
    app.set_version_flag("-V,--version", version_text);
    app.footer("To begin:  flipflop inspect kernel.ptx                    kernels, parameters, and what each is used for\n"
               "           flipflop analyze kernel.ptx --gpu a100         the answer, with every assumption listed\n"
               "           flipflop analyze kernel.ptx --gpu a100 --work 4096,4096 --current 16,16 --arg 2=4096");
    CommandResult result;
    add_commands(app, result);
    refuse_empty_values(app);
    // `--` ends our options: what follows is the compiler's, for those commands that may have to run one.
    static constexpr std::string_view kCompiling[]{"analyze", "inspect", "explain", "baseline", "check", "diff", "tune"};
    const bool compiling = argc > 1 && std::find(std::begin(kCompiling), std::end(kCompiling), std::string_view(argv[1])) != std::end(kCompiling);
    if (compiling) { clean_up_when_interrupted(); }
    const int own = compiling ? static_cast<int>(std::find(argv + 1, argv + argc, std::string_view("--")) - argv) : argc;
    for (int i = own + 1; i < argc; ++i) { result.compiler_flags.emplace_back(argv[i]); }
    try {
        app.parse(own, argv);
    } catch (const CLI::ParseError& error) {
        // CLI11's own codes (106, 109, ...) are no contract of ours: help and version are 0, the rest is usage.
        if (error.get_exit_code() == 0) { return app.exit(error) == 0 ? kDone : kUsageError; }
        return usage_error(app, error);
    }
    if (app.get_subcommands().empty()) {
        std::fputs(app.help().c_str(), stderr);
        return kUsageError;
    }
    return result.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    // Some parents (service managers, CI runners) ignore SIGPIPE and pass that on; a closed pipe ends us as it ends cat.
    std::signal(SIGPIPE, SIG_DFL);
    // Beyond a limit on file sizes writing shall fail with words, not end us without any.
    std::signal(SIGXFSZ, SIG_IGN);
    if (argc == 2 && std::string_view(argv[1]) == "--nvrtc-worker") { return flipflop::nvrtc_worker(); }
    guard_standard_descriptors();
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fputs(fmt::format("flipflop: internal error, please report: {}\n", error.what()).c_str(), stderr);
    } catch (...) {
        std::fputs("flipflop: internal error, please report\n", stderr);
    }
    return kInternalError;
}
