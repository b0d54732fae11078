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

int exit_code(const Complaints& complaints, bool strict, bool unknown_instructions) {
    if (complaints.errors() > 0) { return complaints.input_failure(); }
    return strict && (complaints.warnings() > 0 || unknown_instructions) ? kInputError : kDone;
}

}  // namespace flipflop::cli
