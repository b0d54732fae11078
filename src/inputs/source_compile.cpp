#include "inputs/source_compile.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "flipflop/inputs.hpp"
#include "inputs/file.hpp"

namespace flipflop {

namespace {

namespace fs = std::filesystem;
using Kind = CompilerTool::Kind;

constexpr std::size_t kMostLog = 1U << 20;
constexpr std::size_t kMostMessages = 50;
constexpr std::size_t kBatch = 16;           ///< jobs a worker takes at once: starting one costs a third of a small kernel
constexpr std::string_view kStandardInput = "stdin";   ///< compilers want a name
constexpr std::string_view kFormat = "1";    ///< of what is cached; another one makes everything anew

Diagnostic complaint(const char* id, Severity severity, std::string file, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = id;
    d.severity = severity;
    d.file = std::move(file);
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

std::uint32_t number_in(std::string_view text) {
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// "file:12:5", and not "llc-19".
bool ends_in_number(std::string_view text) {
    const std::size_t before = text.find_last_not_of("0123456789");
    return before != std::string_view::npos && before + 1 < text.size() && text[before] == ':';
}

/// "file(12): error: text" of nvcc and NVRTC, "file:12:5: error: text" of clang and llc.
std::optional<Diagnostic> message_of(const std::string& line) {
    for (const auto& [word, severity] : {std::pair{std::string_view("error"), Severity::error}, {"fatal", Severity::error}, {"warning", Severity::warning}}) {
        const std::string mark = fmt::format(": {}", word);
        std::size_t at = line.find(mark);
        // "llc: error: llc: file:2:1: error: text": the place is what ends in a number.
        const auto placed = [&](std::size_t end) { return end > 0 && (line[end - 1] == ')' || ends_in_number(std::string_view(line).substr(0, end))); };
        for (std::size_t next = at; next != std::string::npos && !placed(at); next = line.find(mark, next + 1)) at = next;
        // "error:", "error #20:" and "fatal error:" are a compiler's; "cp: error writing" is somebody else's.
        if (at != std::string::npos) {
            const std::string_view rest = std::string_view(line).substr(at + mark.size());
            if (!rest.starts_with(':') && !rest.starts_with(" #") && !rest.starts_with(" error:")) continue;
        }
        const bool bare = line.starts_with(word) || line.find(fmt::format(" {} ", word)) == 0 || line.find(" fatal   :") != std::string::npos;
        if (at == std::string::npos && !bare) continue;
        if (at == std::string::npos) return complaint("FF0850", severity, "", line);
        std::string place = line.substr(0, at);
        const std::size_t text = line.find_first_of(":", at + 2);
        Diagnostic d = complaint("FF0850", severity, "", text == std::string::npos ? line.substr(at + 2) : line.substr(std::min(line.size(), text + 2)));
        if (place.ends_with(')')) {
            const std::size_t open = place.rfind('(');
            if (open != std::string::npos) {
                d.at.line = number_in(std::string_view(place).substr(open + 1));
                place.resize(open);
            }
        } else {
            // The last one or two ":N" are line and column.
            std::uint32_t numbers[2]{};
            int found = 0;
            while (found < 2) {
                const std::size_t colon = place.rfind(':');
                if (colon == std::string::npos || colon + 1 == place.size() || place.find_first_not_of("0123456789", colon + 1) != std::string::npos) break;
                numbers[found++] = number_in(std::string_view(place).substr(colon + 1));
                place.resize(colon);
            }
            d.at = found == 2 ? LineColumn{numbers[1], numbers[0]} : LineColumn{numbers[0], 0};
        }
        if (const std::size_t prefix = place.rfind(": "); prefix != std::string::npos) place.erase(0, prefix + 2);
        if (d.at.line > 0) d.file = std::move(place);
        else if (place.find(' ') != std::string::npos) d.message = fmt::format("{}: {}", place, d.message);   // "At end of source"
        return d;
    }
    return std::nullopt;
}

std::string first_lines(const std::string& text, std::size_t most) {
    std::string out = text.substr(0, most);
    while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.pop_back();
    return out;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
    if (what.empty()) return;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
}

bool read_whole(const fs::path& path, std::string& text) {
    InputLimits limits;
    limits.max_file_bytes = 1ULL << 30;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return false;
    const auto file = FileBytes::open(path.string(), limits);
    if (file) text = file->view();
    return file.has_value();
}

}  // namespace

SourceCompiler::SourceCompiler(CompilerTool tool, const SourceOptions& options, SourceText source)
    : tool_(std::move(tool)), options_(options), source_(std::move(source)), architecture_(options.architecture), cache_(options.cache_folder, options.cache_limit_bytes) {
    if (!options.compile_commands.empty() && !source_.path.empty()) {
        auto flags = compile_command_flags(options.compile_commands, source_.path);
        if (flags) flags_ = std::move(*flags);
        else bad_commands_ = flags.error();
    }
    flags_.insert(flags_.end(), options.flags.begin(), options.flags.end());
    if (architecture_.empty()) architecture_ = tool_.architectures.empty() ? "80" : tool_.architectures.front();
    std::vector<std::string> folders = options.include_folders;
    for (std::size_t i = 0; i < flags_.size(); ++i) {
        if (flags_[i].starts_with("-I") && flags_[i].size() > 2) folders.push_back(flags_[i].substr(2));
        if ((flags_[i] == "-I" || flags_[i] == "-isystem") && i + 1 < flags_.size()) folders.push_back(flags_[i + 1]);
    }
    const bool pulls_in = std::any_of(flags_.begin(), flags_.end(), [](const std::string& f) { return f.starts_with("-include") || f.starts_with("--pre-include") || f.starts_with("@") || f.starts_with("--options-file"); });
    const auto digest = pulls_in ? std::nullopt : digest_with_includes(source_, folders);
    if (!digest) return;
    base_key_ = fmt::format("{}\n{} {} {}\n{}\n{}\n", kFormat, tool_.name(), tool_.version, tool_.path, architecture_, source_.name);
    for (const auto* list : {&flags_, &options_.include_folders}) {
        for (const std::string& flag : *list) base_key_ += flag + '\0';
        base_key_ += '\n';
    }
    base_key_ += *digest;
}

std::string SourceCompiler::key_of(const std::vector<std::string>& defines) const {
    std::string all = base_key_;
    for (const std::string& define : defines) all += '\n' + define;
    return sha256(all);
}

std::optional<Diagnostic> SourceCompiler::refusal() const {
    if (bad_commands_) return bad_commands_;
    std::string number = architecture_;
    while (!number.empty() && (number.back() < '0' || number.back() > '9')) number.pop_back();
    if (tool_.architectures.empty() || std::find(tool_.architectures.begin(), tool_.architectures.end(), number) != tool_.architectures.end()) return std::nullopt;
    return complaint("FF0613", Severity::error, "", fmt::format("{} {} cannot compile for compute_{}: it knows {} to {}", tool_.name(), tool_.version, architecture_, tool_.architectures.front(), tool_.architectures.back()),
                     "another CUDA toolkit may: --compiler FILE, or CUDA_HOME");
}

std::vector<std::string> SourceCompiler::nvrtc_options() const {
    std::vector<std::string> out{fmt::format("--gpu-architecture=compute_{}", architecture_), "-lineinfo"};
    const fs::path folder = fs::path(source_.path).parent_path();
    out.push_back(fmt::format("--include-path={}", folder.empty() ? "." : folder.string()));
    for (const std::string& i : options_.include_folders) out.push_back("--include-path=" + i);
    // The toolkit's own headers (cuda_fp16.h, ...) lie beside the library.
    const fs::path home = fs::path(tool_.path).parent_path().parent_path();
    std::error_code ignored;
    if (fs::exists(home / "include" / "cuda.h", ignored)) out.push_back("--include-path=" + (home / "include").string());
    // What only a host compiler understands is not NVRTC's business.
    for (std::size_t i = 0; i < flags_.size(); ++i) {
        const std::string& f = flags_[i];
        if (f == "-Xcompiler" || f == "-ccbin" || f == "-Xlinker" || f == "-Xptxas") ++i;
        else if (!f.starts_with("-O") && !f.starts_with("-Xcompiler=") && !f.starts_with("-W") && f != "-g" && !f.starts_with("-l") && !f.starts_with("-L")) out.push_back(f);
        else if (f == "-lineinfo") continue;
    }
    return out;
}

std::vector<std::string> SourceCompiler::arguments(const std::vector<std::string>& defines, const std::string& source, const std::string& out) const {
    std::vector<std::string> all{tool_.path};
    const auto add = [&](std::initializer_list<std::string> more) { all.insert(all.end(), more); };
    switch (tool_.kind) {
        case Kind::nvcc: add({"-ptx", "-lineinfo", "-arch=compute_" + architecture_}); break;
        case Kind::clang:
            add({"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_" + architecture_, "-O3", "-S", "-gline-directives-only", "-Wno-unknown-cuda-version"});
            if (!options_.cuda_home.empty()) add({"--cuda-path=" + options_.cuda_home});
            // CUDA 13 has lost a header that clang 19 includes and does not need; an empty one lies beside the output.
            add({"-idirafter", fs::path(out).parent_path().string()});
            break;
        default: add({"-march=nvptx64", "-mcpu=sm_" + architecture_, "-O2"}); break;
    }
    if (tool_.kind != Kind::llc) {
        for (const std::string& d : options_.defines) add({"-D" + d});
        for (const std::string& d : defines) add({"-D" + d});
        for (const std::string& i : options_.include_folders) add({"-I" + i});
    }
    all.insert(all.end(), flags_.begin(), flags_.end());
    add({"-o", out, source});
    return all;
}

std::vector<Diagnostic> SourceCompiler::messages_in(const std::string& log) const {
    std::vector<Diagnostic> errors, warnings;
    for (std::size_t at = 0; at < log.size();) {
        const std::size_t end = std::min(log.find('\n', at), log.size());
        const std::string line = log.substr(at, end - at);
        at = end + 1;
        auto d = message_of(line);
        if (!d) continue;
        std::error_code ignored;
        const bool own = source_.path.empty() ? fs::path(d->file).stem() == kStandardInput : d->file == source_.path || d->file == fs::absolute(source_.path, ignored).string();
        if (own || d->file.empty()) d->file = source_.name;
        (d->severity == Severity::error ? errors : warnings).push_back(std::move(*d));
    }
    errors.insert(errors.end(), warnings.begin(), warnings.end());
    if (errors.size() > kMostMessages) errors.resize(kMostMessages);
    return errors;
}

/// The line table names the source as the user did, not where it lies on this machine.
void SourceCompiler::name_source(std::string& ptx, const std::string& compiled) const {
    std::error_code ignored;
    for (const std::string& path : {fs::weakly_canonical(compiled, ignored).string(), fs::absolute(compiled, ignored).string(), compiled})
        if (path != source_.name) replace_all(ptx, fmt::format("\"{}\"", path), fmt::format("\"{}\"", source_.name));
}

CompileResult SourceCompiler::outcome(const ProcessResult& process, std::string ptx) const {
    CompileResult result;
    const std::string log = process.output + process.errors;
    if (process.succeeded() && !ptx.empty()) {
        result.ptx = std::move(ptx);
        return result;
    }
    result.messages = messages_in(log);
    const auto tool_trouble = [&](std::string what, std::string help = {}) {
        result.tool_failed = true;
        result.messages.insert(result.messages.begin(), complaint("FF0614", Severity::error, source_.name, fmt::format("{} {} {}", tool_.name(), tool_.version, what), std::move(help)));
    };
    if (process.timed_out) tool_trouble(fmt::format("took longer than {} s", options_.timeout.count() / 1000), "--compile-timeout N gives it more");
    else if (process.signal != 0) tool_trouble(fmt::format("crashed (signal {}){}{}", process.signal, log.empty() ? "" : ": ", log.substr(0, std::min<std::size_t>(log.find('\n'), 200))));
    else if (process.succeeded()) tool_trouble("ended well and left no PTX");
    else if (process.output_cut && (result.messages.empty() || result.messages.front().severity != Severity::error))
        tool_trouble(fmt::format("ended with code {} and more than {} MiB of messages, of which the first hold no error", process.exit_code, kMostLog >> 20));
    else if (result.messages.empty() || result.messages.front().severity != Severity::error)
        tool_trouble(fmt::format("ended with code {}{}{}", process.exit_code, log.empty() ? "" : ": ", first_lines(log, 400)));
    return result;
}

CompileResult SourceCompiler::run(const std::vector<std::string>& defines) const {
    CompileResult result;
    auto folder = TemporaryFolder::make(options_.temporary_folder);
    if (!folder) {
        result.tool_failed = true;
        result.messages.push_back(folder.error());
        return result;
    }
    const std::string out = (folder->path() / "out.ptx").string();
    ProcessOptions process;
    process.timeout = options_.timeout;
    process.max_output_bytes = kMostLog;
    process.temporary_folder = folder->path().string();
    if (tool_.kind == Kind::clang) std::ofstream(folder->path() / "texture_fetch_functions.h").flush();
    std::string source = source_.path;
    if (source.empty()) {   // standard input: compilers want a name, and llc a file
        source = (folder->path() / (std::string(kStandardInput) + (tool_.kind == Kind::llc ? ".ll" : ".cu"))).string();
        std::ofstream file(source, std::ios::binary);
        file.write(source_.bytes.data(), static_cast<std::streamsize>(source_.bytes.size()));
        if (!file.flush()) {
            result.tool_failed = true;
            result.messages.push_back(complaint("FF0606", Severity::error, source_.name, "cannot be written for the compiler: is the disk full?"));
            return result;
        }
    }
    const auto ran = run_process(arguments(defines, source, out), process);
    if (!ran) {
        result.tool_failed = true;
        result.messages.push_back(ran.error());
        return result;
    }
    std::string ptx;
    (void)read_whole(out, ptx);
    name_source(ptx, source);
    return outcome(*ran, std::move(ptx));
}

std::vector<CompileResult> SourceCompiler::run_nvrtc(const std::vector<const std::vector<std::string>*>& jobs) const {
    std::vector<CompileResult> results;
    std::vector<std::vector<std::string>> options;
    std::vector<const std::vector<std::string>*> open;
    for (const auto* job : jobs) {
        std::vector<std::string> own;
        for (const std::string& d : options_.defines) own.push_back("-D" + d);
        for (const std::string& d : *job) own.push_back("-D" + d);
        options.push_back(std::move(own));
    }
    for (const auto& own : options) open.push_back(&own);
    const std::string name = source_.path.empty() ? std::string(kStandardInput) + ".cu" : source_.name;
    while (results.size() < jobs.size()) {
        const std::vector<const std::vector<std::string>*> rest(open.begin() + static_cast<std::ptrdiff_t>(results.size()), open.end());
        NvrtcAnswer answer = ask_nvrtc(options_, tool_.path, name, source_.bytes, nvrtc_options(), rest);
        for (NvrtcReply& reply : answer.replies) {
            CompileResult result;
            if (reply.compiled) {
                result.ptx = std::move(reply.ptx);
                name_source(*result.ptx, source_.path.empty() ? name : source_.path);
            } else {
                result.messages = messages_in(reply.log);
                result.tool_failed = reply.bad_option;
                if (result.messages.empty()) result.messages.push_back(complaint("FF0850", Severity::error, source_.name, fmt::format("nvrtc {} gives no PTX: {}", tool_.version, first_lines(reply.log, 400))));
            }
            results.push_back(std::move(result));
        }
        if (results.size() == jobs.size()) break;
        // The first one without an answer is the one that ended it; the others get another worker.
        CompileResult result;
        result.tool_failed = true;
        result.messages.push_back(complaint("FF0614", Severity::error, source_.name, fmt::format("nvrtc {} {}", tool_.version, answer.trouble.empty() ? "ended early" : answer.trouble)));
        results.push_back(std::move(result));
    }
    return results;
}

std::vector<CompileResult> SourceCompiler::compile(const std::vector<std::vector<std::string>>& defines, unsigned threads, const std::function<void(std::size_t)>& done) {
    std::vector<CompileResult> results(defines.size());
    std::vector<std::size_t> open;
    const bool cached = cache_.on() && !base_key_.empty();
    std::size_t finished = 0;
    std::mutex mutex;
    const auto finish = [&](std::size_t count) {
        const std::lock_guard lock(mutex);
        finished += count;
        if (done) done(finished);
    };
    for (std::size_t i = 0; i < defines.size(); ++i) {
        if (cached) results[i].ptx = cache_.find("ptx", key_of(defines[i]));
        results[i].from_cache = results[i].ptx.has_value();
        if (!results[i].from_cache) open.push_back(i);
    }
    if (open.size() < defines.size()) finish(defines.size() - open.size());
    const std::size_t workers = std::max<std::size_t>(1, std::min<std::size_t>(threads, open.size()));
    const std::size_t batch = tool_.kind == Kind::nvrtc ? std::clamp<std::size_t>(open.size() / (workers * 4), 1, kBatch) : 1;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t begin; (begin = next.fetch_add(batch)) < open.size();) {
            const std::size_t end = std::min(begin + batch, open.size());
            std::vector<CompileResult> some;
            if (tool_.kind == Kind::nvrtc) {
                std::vector<const std::vector<std::string>*> jobs;
                for (std::size_t i = begin; i < end; ++i) jobs.push_back(&defines[open[i]]);
                some = run_nvrtc(jobs);
            } else {
                some.push_back(run(defines[open[begin]]));
            }
            for (std::size_t i = begin; i < end; ++i) {
                if (cached && some[i - begin].ptx) cache_.keep("ptx", key_of(defines[open[i]]), *some[i - begin].ptx);
                results[open[i]] = std::move(some[i - begin]);
            }
            finish(end - begin);
        }
    };
    std::vector<std::thread> pool;
    for (std::size_t w = 1; w < workers; ++w) pool.emplace_back(work);
    work();
    for (std::thread& thread : pool) thread.join();
    return results;
}

}  // namespace flipflop
