// Owns: the shape of a command: one function a file (src/cli/<name>_command.cpp) that adds its subcommand to the CLI11
// application, with a callback that runs it and leaves the exit code of CONTRACT.md section 2 in `result`.
// Only command files and main.cpp include CLI11; this header does not.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace flipflop::cli {

struct CommandResult {
    int exit_code{0};
    std::vector<std::string> compiler_flags;  ///< what stands behind `--`, for whatever compiles an input
};

/// Exit codes of CONTRACT.md section 2.
inline constexpr int kDone = 0;
inline constexpr int kGateFailed = 1;
inline constexpr int kUsageError = 2;
inline constexpr int kInputError = 3;
inline constexpr int kToolError = 4;
inline constexpr int kInternalError = 70;

// `result` must outlive the application's parse. A new command: its line here and its line in main.cpp.
void add_accuracy_command(CLI::App& app, CommandResult& result);
void add_analyze_command(CLI::App& app, CommandResult& result);
void add_baseline_command(CLI::App& app, CommandResult& result);
void add_calibrate_command(CLI::App& app, CommandResult& result);
void add_check_command(CLI::App& app, CommandResult& result);
void add_diff_command(CLI::App& app, CommandResult& result);
void add_explain_command(CLI::App& app, CommandResult& result);
void add_gpus_command(CLI::App& app, CommandResult& result);
void add_inspect_command(CLI::App& app, CommandResult& result);
void add_manual_commands(CLI::App& app, CommandResult& result);
void add_occupancy_command(CLI::App& app, CommandResult& result);
void add_rules_command(CLI::App& app, CommandResult& result);
void add_tune_command(CLI::App& app, CommandResult& result);
void add_validate_command(CLI::App& app, CommandResult& result);

}  // namespace flipflop::cli
