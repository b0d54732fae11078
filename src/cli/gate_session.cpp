#include "cli/gate_session.hpp"

#include "cli/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"

namespace flipflop::cli {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
    return value != nullptr ? value : "";
}

/// Describes the launch, or how it is looked at; the rest of the options does not change what is predicted.
bool describes_launch(const CLI::Option& option) {
    const std::string name = option.get_name();
    if (name == "--kernel" || option.get_group() == "Launch") { return true; }
    if (option.get_group() == "Data") { return true; }
    return name == "--sms" || name == "--clock" || name == "--power-limit" || name == "--cache-state";
}

}  // namespace

std::vector<std::string> given_launch_options(const CLI::App& command) {
    std::vector<std::string> given;
    for (const CLI::Option* option : command.get_options()) {
        if (option->count() == 0 || !describes_launch(*option)) { continue; }
        const std::string name = option->get_name();
        if (option->get_expected_min() == 0) {   // a flag
            given.push_back(name);
            continue;
        }
        for (const std::string& value : option->results()) {
            const bool is_default = (name == "--cache-state" && value == "warm") || (name == "--objective" && value == "time");
            if (!is_default) { given.push_back(name + "=" + value); }
        }
    }
    // Blocks stay in their order: the first is the team's own.
    std::stable_sort(given.begin(), given.end(), [](const std::string& a, const std::string& b) {
        const bool blocks = a.starts_with("--block=") && b.starts_with("--block=");
        return !blocks && a < b;
    });
    return given;
}

Result<void> apply_launch_options(const std::vector<std::string>& options, const std::string& baseline, LaunchArguments& launch) {
    CLI::App reader;
    reader.add_option("--block", launch.blocks)->allow_extra_args(false)->group("Launch");
    add_launch_options(reader, launch);
    // A baseline is data, often of another branch: it may describe a launch, and name no program to run.
    for (const std::string& option : options) {
        const CLI::Option* const known = reader.get_option_no_throw(option.substr(0, option.find('=')));
        if (known != nullptr && describes_launch(*known)) { continue; }
        Diagnostic d;
        d.id = "FF0780";
        d.file = baseline;
        d.message = fmt::format("'{}' in the baseline describes no launch", option);
        d.help = "write it again: flipflop baseline INPUT... -o FILE";
        return tl::unexpected(std::move(d));
    }
    std::vector<std::string> reversed(options.rbegin(), options.rend());   // CLI11 takes them from the back
    try {
        reader.parse(reversed);
        return {};
    } catch (const CLI::ParseError& error) {
        Diagnostic d;
        d.id = "FF0780";
        d.file = baseline;
        d.message = fmt::format("the launch options in the baseline cannot be used: {}", error.what());
        d.help = "write it again: flipflop baseline INPUT... -o FILE";
        return tl::unexpected(std::move(d));
    }
}

std::optional<Analysis> analyze_for_gate(const std::vector<std::string>& paths, const AnalyzeOptions& options, Complaints& complaints, int& code) {
    const std::vector<Input> inputs = read_inputs(paths, options.source, complaints);
    if (inputs.empty()) {
        code = complaints.input_failure();
        return {};
    }
    AnalyzeOptions own = options;
    own.own_launch = true;
    Progress progress("kernels");
    own.on_progress = [&](std::size_t done, std::size_t all) { progress(done, all); };
    Result<Analysis> analysis = analyze(inputs, own);
    progress.end();
    if (!analysis) {
        complaints.say(analysis.error());
        code = exit_code_of(analysis.error());
        return {};
    }
    say_what_was_found(analysis->inputs, analysis->notes, !analysis->kernels.empty(), "no kernel was analysed: that is never a pass", complaints);
    if (analysis->kernels.empty()) {
        code = kInputError;
        return {};
    }
    return std::move(*analysis);
}

void add_policy_options(CLI::App& command, PolicyArguments& arguments) {
    auto* const file = command.add_option("--policy", arguments.file, "thresholds, budgets and waivers; else flipflop.toml from the input up to the root of its repository")
                           ->type_name("FILE")->group("Gate");
    command.add_flag("--no-policy", arguments.none, "the defaults, whatever flipflop.toml says")->excludes(file)->group("Gate");
}

Result<gate::Policy> load_policy(const PolicyArguments& arguments, const std::string& first_input, Complaints& complaints) {
    if (arguments.none) { return gate::Policy{}; }
    std::string file = arguments.file;
    if (file.empty()) {
        std::string config = variable("XDG_CONFIG_HOME");
        if (config.empty() && !variable("HOME").empty()) { config = variable("HOME") + "/.config"; }
        std::error_code error;
        file = gate::find_policy(first_input, std::filesystem::current_path(error).string(), config);
    }
    if (file.empty()) { return gate::Policy{}; }
    Result<gate::Policy> policy = gate::read_policy(file);
    if (policy) { complaints.say(policy->warnings); }
    return policy;
}

gate::Repository here(const std::string& fallback) {
    std::error_code error;
    return gate::find_repository(std::filesystem::current_path(error).string(), fallback);
}

std::vector<std::string> gpu_ids(const gate::Snapshot& snapshot) {
    std::vector<std::string> ids;
    for (const gate::GpuBasis& gpu : snapshot.gpus) { ids.push_back(gpu.id); }
    return ids;
}

std::function<std::optional<std::string>(const std::string&, const std::string&)> source_reader(gate::Repository repository) {
    return [repository = std::move(repository)](const std::string& file, const std::string& module) { return gate::source_text(repository, file, module); };
}

std::map<std::string, std::string> sources_of(const Analysis& analysis, const gate::Repository& repository) {
    std::map<std::string, std::string> sources;
    for (const KernelAnalysis& kernel : analysis.kernels) {
        for (const std::string& file : kernel.listing.files) {
            if (sources.contains(file)) { continue; }
            if (std::optional<std::string> text = gate::source_text(repository, file, kernel.facts.module)) { sources.emplace(file, std::move(*text)); }
        }
    }
    return sources;
}

std::string today() {
    std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    if (const std::string epoch = variable("SOURCE_DATE_EPOCH"); !epoch.empty()) {
        char* end = nullptr;
        const long long seconds = std::strtoll(epoch.c_str(), &end, 10);
        if (*end == '\0') { now = static_cast<std::time_t>(seconds); }
    }
    std::tm day{};
    if (gmtime_r(&now, &day) == nullptr) { return {}; }
    return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

}  // namespace flipflop::cli
