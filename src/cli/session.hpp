// Owns: what every command that reads inputs shares: reading them all, saying what is wrong with them on standard error,
// and the exit code that this makes (CONTRACT.md section 2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/launch_options.hpp"
#include "cli/output.hpp"
#include "flipflop/analysis.hpp"
#include "flipflop/inputs.hpp"

namespace flipflop::cli {

/// To standard error; a note of how many were left out after the first hundred.
class Complaints {
public:
    void say(const Diagnostic& diagnostic);
    void say(const std::vector<Diagnostic>& diagnostics);
    /// Says how many were left out. Call once, at the end.
    void finish() const;
    [[nodiscard]] std::size_t errors() const { return errors_; }
    [[nodiscard]] std::size_t warnings() const { return warnings_; }
    /// 2 where what an option names for an input is wrong, 4 where an outside tool that it needs is missing or failed, else 3.
    [[nodiscard]] int input_failure() const;

private:
    std::size_t errors_{}, warnings_{}, said_{}, tool_errors_{}, usage_errors_{};
};

/// Reads every INPUT; one that cannot be read is said and the rest still read.
[[nodiscard]] std::vector<Input> read_inputs(const std::vector<std::string>& paths, const SourceOptions& source, Complaints& complaints);

/// What analyze and explain begin with: options, where the reports go, inputs. Nothing is read before the options are sound.
struct Opened {
    AnalyzeOptions options;
    std::vector<Destination> plan;
    std::vector<Input> inputs;
};
/// Empty, with what is wrong said and the exit code in `code`.
[[nodiscard]] std::optional<Opened> open_session(const LaunchArguments& launch, const OutputArguments& output, const std::vector<Format>& formats,
                                                 const std::vector<std::string>& paths, Complaints& complaints, int& code);

/// What the inputs, their modules and the analysis have to say; with `none` where there is no kernel and no error says why.
void say_what_was_found(const std::vector<InputSummary>& inputs, const std::vector<Diagnostic>& notes, bool any_kernel, const std::string& none, Complaints& complaints);

/// Says `diagnostic` as the last word; its exit code.
[[nodiscard]] int give_up(const Diagnostic& diagnostic, int code, Complaints& complaints);

/// 3 when an error was said (4 when it was an outside tool's) (with `strict`, a warning or an unknown instruction too), else 0.
[[nodiscard]] int exit_code(const Complaints& complaints, bool strict, bool unknown_instructions);

}  // namespace flipflop::cli
