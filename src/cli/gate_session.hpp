// Owns: what baseline, check and diff share: the launch options as they stand in a baseline, the analysis of a list of
// inputs as the gate needs it, and where the policy comes from.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch_options.hpp"
#include "cli/session.hpp"
#include "flipflop/gate.hpp"

namespace flipflop::cli {

/// The launch options that were given to `command`, "--work=4096", sorted; what does not describe a launch (--gpu,
/// --ptxas, threads, formats) is not among them.
[[nodiscard]] std::vector<std::string> given_launch_options(const CLI::App& command);
/// Sets `launch` to options that a baseline holds. FF0780 where they are none of ours.
[[nodiscard]] Result<void> apply_launch_options(const std::vector<std::string>& options, const std::string& baseline, LaunchArguments& launch);

/// Says what is wrong with the inputs. Empty, with the exit code in `code`: nothing can be compared.
[[nodiscard]] std::optional<Analysis> analyze_for_gate(const std::vector<std::string>& paths, const AnalyzeOptions& options, Complaints& complaints, int& code);

struct PolicyArguments {
    std::string file;                        ///< --policy
    bool none{};                             ///< --no-policy
};
void add_policy_options(CLI::App& command, PolicyArguments& arguments);
/// The policy named, else found near the first input, else the defaults. Says its warnings.
[[nodiscard]] Result<gate::Policy> load_policy(const PolicyArguments& arguments, const std::string& first_input, Complaints& complaints);

/// The repository around the working directory.
[[nodiscard]] gate::Repository here(const std::string& fallback);
[[nodiscard]] std::vector<std::string> gpu_ids(const gate::Snapshot& snapshot);

/// AnalyzeOptions::source_text: files inside the repository only, whatever a .loc says.
[[nodiscard]] std::function<std::optional<std::string>(const std::string&, const std::string&)> source_reader(gate::Repository repository);
/// The texts of the source files that listings name, by that name: of files inside the repository only, whatever a .loc says.
[[nodiscard]] std::map<std::string, std::string> sources_of(const Analysis& analysis, const gate::Repository& repository);

/// Today in UTC, or the day of SOURCE_DATE_EPOCH: "2026-12-01".
[[nodiscard]] std::string today();

}  // namespace flipflop::cli
