#include "cli/session.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "cli/commands.hpp"

namespace flipflop::cli {
namespace {

constexpr std::size_t kMostSaid = 100;

}  // namespace

// fputs and not fmt::print: that throws when standard error is closed, and then nothing could be said at all.
void Complaints::say(const Diagnostic& diagnostic) {
    errors_ += diagnostic.severity == Severity::error;
    tool_errors_ += diagnostic.severity == Severity::error && diagnostic.id.starts_with("FF06");
    usage_errors_ += diagnostic.severity == Severity::error && diagnostic.id.starts_with("FF07");
    warnings_ += diagnostic.severity == Severity::warning;
    if (said_++ < kMostSaid) { std::fputs(render(diagnostic).c_str(), stderr); }
}

void Complaints::say(const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& diagnostic : diagnostics) { say(diagnostic); }
}

void Complaints::finish() const {
    if (said_ > kMostSaid) {
        std::fputs(fmt::format("flipflop: {} more messages ({} errors and {} warnings in all); the JSON report has them\n", said_ - kMostSaid, errors_, warnings_).c_str(), stderr);
    }
}

int Complaints::input_failure() const { return usage_errors_ > 0 ? kUsageError : tool_errors_ > 0 ? kToolError : kInputError; }

std::vector<Input> read_inputs(const std::vector<std::string>& paths, const SourceOptions& source, Complaints& complaints) {
    std::vector<Input> inputs;
    ReadOptions options;
    options.source = source;
    for (const std::string& path : paths) {
        Result<std::vector<Input>> read = read_input(path, options);
        if (!read) {
            complaints.say(read.error());
            continue;
        }
        for (Input& input : *read) { inputs.push_back(std::move(input)); }
    }
    return inputs;
}

int give_up(const Diagnostic& diagnostic, int code, Complaints& complaints) {
    complaints.say(diagnostic);
    complaints.finish();
    return code;
}

std::optional<Opened> open_session(const LaunchArguments& launch, const OutputArguments& output, const std::vector<Format>& formats,
                                   const std::vector<std::string>& paths, Complaints& complaints, int& code) {
    const auto stop = [&](const Diagnostic& diagnostic) {
        code = give_up(diagnostic, kUsageError, complaints);
        return std::nullopt;
    };
    Opened opened;
    Result<AnalyzeOptions> options = to_analyze_options(launch);
    if (!options) { return stop(options.error()); }
    opened.options = std::move(*options);
    auto plan = plan_output(output, formats);
    if (!plan) { return stop(plan.error()); }
    opened.plan = std::move(*plan);
    std::vector<std::string> read = paths;
    if (!launch.launches.empty()) { read.push_back(launch.launches); }
    if (const Result<void> kept = keep_inputs(opened.plan, read); !kept) { return stop(kept.error()); }
    opened.inputs = read_inputs(paths, opened.options.source, complaints);
    if (opened.inputs.empty()) {
        complaints.finish();
        code = complaints.input_failure();
        return std::nullopt;
    }
    return opened;
}

void say_what_was_found(const std::vector<InputSummary>& inputs, const std::vector<Diagnostic>& notes, bool any_kernel, const std::string& none, Complaints& complaints) {
    for (const InputSummary& input : inputs) {
        complaints.say(input.diagnostics);
        for (const ModuleSummary& module : input.modules) { complaints.say(module.diagnostics); }
    }
    complaints.say(notes);
    if (any_kernel || complaints.errors() > 0) { return; }
    Diagnostic d;
    d.id = "FF0817";
    d.file = inputs.empty() ? "" : inputs.front().path;
    d.message = none;
    complaints.say(d);
}

int exit_code(const Complaints& complaints, bool strict, bool unknown_instructions) {
    if (complaints.errors() > 0) { return complaints.input_failure(); }
    return strict && (complaints.warnings() > 0 || unknown_instructions) ? kInputError : kDone;
}

}  // namespace flipflop::cli
