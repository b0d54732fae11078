#include "cli/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/suggest.hpp"

namespace flipflop::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kFormats{"text", "json", "csv", "markdown", "sarif", "github", "html"};

Diagnostic usage(std::string id, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = std::move(id);
    d.file = "flipflop";
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

Diagnostic cannot_write(const std::string& file, int error) {
    return usage("FF0774", fmt::format("cannot write '{}': {}", file.empty() ? "standard output" : file, std::strerror(error)));
}

bool is_stdout(const Destination& destination) { return destination.file.empty() || destination.file == "-"; }

/// A variable that is set to nothing counts as not set (no-color.org, and what other tools do).
std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
    return value != nullptr ? value : "";
}

/// Where the bytes end up: through symbolic links, so that a rename replaces the file and not the link to it.
fs::path resolved(const std::string& file) {
    std::error_code error;
    fs::path target = fs::weakly_canonical(file, error);
    return error ? fs::path(file) : target;
}

/// Says early what would fail late: a folder that is not there or not writable, a folder in place of a file.
std::optional<Diagnostic> check_writable(const std::string& file) {
    std::error_code error;
    const fs::path target = resolved(file);
    if (fs::is_directory(target, error)) { return cannot_write(file, EISDIR); }
    if (fs::exists(target, error) && !fs::is_regular_file(target, error)) {
        return access(target.c_str(), W_OK) == 0 ? std::nullopt : std::optional(cannot_write(file, errno));
    }
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error)) { return cannot_write(file, fs::exists(folder, error) ? ENOTDIR : ENOENT); }
    if (access(folder.c_str(), W_OK | X_OK) != 0) { return cannot_write(file, errno); }
    if (fs::exists(target, error) && access(target.c_str(), W_OK) != 0) { return cannot_write(file, errno); }
    return std::nullopt;
}

/// Feeds a stream until the first error, which it remembers.
class StreamSink {
public:
    explicit StreamSink(std::FILE* stream) : stream_(stream) {}
    void operator()(std::string_view piece) {
        if (error_ == 0 && std::fwrite(piece.data(), 1, piece.size(), stream_) != piece.size()) { error_ = errno; }
    }
    [[nodiscard]] int flush() {
        if (error_ == 0 && std::fflush(stream_) != 0) { error_ = errno; }
        return error_;
    }

private:
    std::FILE* stream_;
    int error_{};
};

Result<void> write_stream(std::FILE* stream, const std::string& name, const std::function<void(const TextSink&)>& produce) {
    StreamSink sink(stream);
    produce([&](std::string_view piece) { sink(piece); });
    if (const int error = sink.flush(); error != 0) { return tl::unexpected(cannot_write(name, error)); }
    return {};
}

/// Pipes, devices and the like take bytes as they come; there is nothing to rename.
Result<void> write_through(const std::string& file, const fs::path& target, const std::function<void(const TextSink&)>& produce) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(target.c_str(), "wb"), &std::fclose);
    if (!stream) { return tl::unexpected(cannot_write(file, errno)); }
    return write_stream(stream.get(), file, produce);
}

Result<void> write_beside(const std::string& file, const fs::path& target, const std::function<void(const TextSink&)>& produce) {
    std::string temporary = target.string() + ".XXXXXX";
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0) { return tl::unexpected(cannot_write(file, errno)); }
    // mkstemp makes it private; a report has the rights of the file it replaces, or those that open() would give.
    struct stat before {};
    const mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, stat(target.c_str(), &before) == 0 ? before.st_mode & 07777U : 0666U & ~mask);
    std::FILE* const stream = fdopen(descriptor, "wb");
    Result<void> written = stream ? write_stream(stream, file, produce) : Result<void>(tl::unexpected(cannot_write(file, errno)));
    if (stream != nullptr && std::fclose(stream) != 0 && written) { written = tl::unexpected(cannot_write(file, errno)); }
    if (written && std::rename(temporary.c_str(), target.c_str()) != 0) { written = tl::unexpected(cannot_write(file, errno)); }
    if (!written) { (void)unlink(temporary.c_str()); }
    return written;
}

Result<Destination> read_destination(const std::string& text, const std::vector<Format>& supported) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::vector<std::string> known;
    std::string list;
    for (const Format format : supported) {
        known.emplace_back(kFormats[static_cast<std::size_t>(format)]);
        list += (list.empty() ? "" : ", ") + known.back();
    }
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
        std::string help = did_you_mean(name, known);
        return tl::unexpected(usage("FF0773", fmt::format("there is no format '{}' here; the formats are {}", name, list), std::move(help)));
    }
    if (equals != std::string::npos && equals + 1 == text.size()) {
        return tl::unexpected(usage("FF0773", fmt::format("--format {} names no file after '='", text)));
    }
    return Destination{supported[static_cast<std::size_t>(found - known.begin())], equals == std::string::npos ? "" : text.substr(equals + 1)};
}

}  // namespace

void add_output_options(CLI::App& command, OutputArguments& arguments, std::string_view formats) {
    command.add_option("--format", arguments.formats, fmt::format("{}; as FMT=FILE into a file, repeatable", formats))
        ->allow_extra_args(false)->type_name("FMT[=FILE]")->group("Output");
    command.add_option("-o,--output", arguments.output, "write the report there instead of standard output")->type_name("FILE")->group("Output");
    command.add_option("--color", arguments.color, "auto, always or never; NO_COLOR is honoured")
        ->check(CLI::IsMember({"auto", "always", "never"}))->type_name("WHEN")->group("Output");
}

Result<std::vector<Destination>> plan_output(const OutputArguments& arguments, const std::vector<Format>& supported) {
    std::vector<Destination> plan;
    bool nameless = false;
    for (const std::string& text : arguments.formats) {
        Result<Destination> destination = read_destination(text, supported);
        if (!destination) { return tl::unexpected(destination.error()); }
        if (destination->file.empty()) {
            if (nameless) {
                return tl::unexpected(usage("FF0773", "two formats for one place", "give all but one a file: --format json=report.json"));
            }
            nameless = true;
            destination->file = arguments.output;
        }
        plan.push_back(std::move(*destination));
    }
    // -o, or no format at all, asks for a text report even where every --format has a file of its own.
    if (plan.empty() || (!nameless && !arguments.output.empty())) { plan.push_back({Format::text, arguments.output}); }
    for (std::size_t i = 0; i < plan.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            const bool same = is_stdout(plan[i]) ? is_stdout(plan[k]) : !is_stdout(plan[k]) && resolved(plan[i].file) == resolved(plan[k].file);
            const bool device = !is_stdout(plan[i]) && same && !fs::is_regular_file(resolved(plan[i].file)) && fs::exists(resolved(plan[i].file));
            if (same && !device) {
                return tl::unexpected(usage("FF0773", fmt::format("two formats for one place, '{}'", plan[i].file.empty() ? "standard output" : plan[i].file)));
            }
        }
        if (is_stdout(plan[i])) { continue; }
        if (std::optional<Diagnostic> complaint = check_writable(plan[i].file)) { return tl::unexpected(std::move(*complaint)); }
    }
    return plan;
}

bool wants(const std::vector<Destination>& plan, Format format) {
    return std::any_of(plan.begin(), plan.end(), [&](const Destination& destination) { return destination.format == format; });
}

Result<void> keep_inputs(const std::vector<Destination>& plan, const std::vector<std::string>& inputs) {
    for (const Destination& destination : plan) {
        if (is_stdout(destination)) { continue; }
        for (const std::string& input : inputs) {
            std::error_code error;
            if (input == "-" || !fs::is_regular_file(input, error) || !fs::equivalent(input, destination.file, error) || error) { continue; }
            return tl::unexpected(usage("FF0774", fmt::format("'{}' is an input; a report written there would destroy it", destination.file), "name another file"));
        }
    }
    return {};
}

Result<void> write_report(const Destination& destination, const std::function<void(const TextSink&)>& produce) {
    if (is_stdout(destination)) { return write_stream(stdout, "", produce); }
    const fs::path target = resolved(destination.file);
    std::error_code error;
    const bool special = fs::exists(target, error) && !fs::is_regular_file(target, error);
    return special ? write_through(destination.file, target, produce) : write_beside(destination.file, target, produce);
}

bool use_color(const OutputArguments& arguments, const Destination& destination) {
    if (arguments.color != "auto") { return arguments.color == "always"; }
    if (!is_stdout(destination)) { return false; }
    if (!variable("NO_COLOR").empty()) { return false; }
    if (const auto force = variable("CLICOLOR_FORCE"); !force.empty() && force != "0") { return true; }
    if (const auto force = variable("FORCE_COLOR"); !force.empty()) { return force != "0"; }
    if (variable("TERM") == "dumb" || variable("CLICOLOR") == "0") { return false; }
    return isatty(STDOUT_FILENO) != 0;
}

unsigned text_width(const Destination& destination) {
    constexpr unsigned kDefault = 100;
    if (!is_stdout(destination) || isatty(STDOUT_FILENO) == 0) { return kDefault; }
    const std::string columns(variable("COLUMNS"));
    if (const long given = std::strtol(columns.c_str(), nullptr, 10); given >= 40 && given <= 1000) { return static_cast<unsigned>(given); }
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) { return size.ws_col; }
    return 80;
}

}  // namespace flipflop::cli
