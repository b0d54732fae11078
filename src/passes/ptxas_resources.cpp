#include "passes/ptxas_resources.hpp"

#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "flipflop/inputs.hpp"

namespace flipflop {
namespace {

Diagnostic complaint(const char* id, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = id;
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

/// The number that ends right before `at` (spaces allowed): "16 bytes stack frame" -> 16.
std::optional<std::uint64_t> number_before(std::string_view line, std::string_view words) {
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t end = at;
    while (end > 0 && line[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
    std::uint64_t value = 0;
    const auto [next, error] = std::from_chars(line.data() + begin, line.data() + end, value);
    if (begin == end || error != std::errc{} || next != line.data() + end) return std::nullopt;
    // CUDA 4 and older wrote "2048+16 bytes smem": user's and system's part.
    if (begin > 0 && line[begin - 1] == '+') {
        const std::size_t plus = begin - 1;
        if (const auto first = number_before(line.substr(0, plus), line.substr(plus, 0))) return *first + value;
        std::size_t start = plus;
        while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
        std::uint64_t front = 0;
        if (std::from_chars(line.data() + start, line.data() + plus, front).ec == std::errc{}) return front + value;
    }
    return value;
}

std::string quoted(std::string_view line, std::string_view before) {
    const std::size_t at = line.find(before);
    if (at == std::string_view::npos) return {};
    const std::size_t begin = line.find('\'', at);
    if (begin == std::string_view::npos) return {};
    const std::size_t end = line.find('\'', begin + 1);
    return end == std::string_view::npos ? std::string{} : std::string(line.substr(begin + 1, end - begin - 1));
}

void read_usage(std::string_view line, PtxasKernel& kernel) {
    const auto narrow = [](std::optional<std::uint64_t> v) -> std::optional<std::uint32_t> {
        if (!v || *v > UINT32_MAX) return std::nullopt;
        return static_cast<std::uint32_t>(*v);
    };
    kernel.registers = narrow(number_before(line, " registers"));
    kernel.barriers = narrow(number_before(line, " barriers"));
    // A kernel without shared memory has no such part: ptxas leaves out what is zero.
    kernel.shared_bytes = number_before(line, " bytes smem").value_or(0);
}

std::string first_error(const std::string& text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos) return line;
        at = end + 1;
    }
    return text.substr(0, text.find('\n'));
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
    return text;
}

Result<std::string> version_of(const std::string& path) {
    ProcessOptions options;
    options.timeout = std::chrono::seconds(10);
    const auto result = run_process({path, "--version"}, options);
    if (!result) return tl::unexpected(result.error());
    if (!result->succeeded()) return tl::unexpected(complaint("FF0604", path + " --version failed"));
    const std::size_t at = result->output.find(", V");
    if (at == std::string::npos) return tl::unexpected(complaint("FF0604", path + " --version names no version: is it ptxas?"));
    const std::size_t end = result->output.find_first_not_of("0123456789.", at + 3);
    return result->output.substr(at + 3, end == std::string::npos ? end : end - at - 3);
}

/// What `ptxas -v` prints for the PTX.
Result<std::string> output_of(const PtxasTool& tool, std::string_view ptx_text, const std::string& architecture, const std::string& entry) {
    const auto folder = TemporaryFolder::make(tool.temporary_folder);
    if (!folder) return tl::unexpected(folder.error());
    const std::string input = (folder->path() / "kernel.ptx").string();
    {
        std::ofstream file(input, std::ios::binary);
        file.write(ptx_text.data(), static_cast<std::streamsize>(ptx_text.size()));
        file.close();
        if (!file) return tl::unexpected(complaint("FF0606", "cannot write a temporary file for ptxas", "is the disk full?"));
    }
    ProcessOptions options;
    options.timeout = tool.timeout;
    options.max_output_bytes = 64U << 20;
    options.working_directory = options.temporary_folder = folder->path().string();
    std::vector<std::string> arguments{tool.path, "-v", "-arch=" + architecture, "kernel.ptx", "-o", "kernel.cubin"};
    if (!entry.empty()) arguments.insert(arguments.end(), {"-e", entry});
    const auto result = run_process(arguments, options);
    if (!result) return tl::unexpected(result.error());
    if (result->timed_out)
        return tl::unexpected(complaint("FF0603", "ptxas took longer than " + std::to_string(tool.timeout.count() / 1000) + " s and was stopped",
                                        "registers are estimated instead; --compile-timeout N gives it more"));
    const std::string said = replaced(result->errors + result->output, folder->path().string() + "/", "");
    if (result->signal != 0) return tl::unexpected(complaint("FF0604", "ptxas crashed (signal " + std::to_string(result->signal) + ")"));
    if (!result->succeeded()) return tl::unexpected(complaint("FF0604", "ptxas failed for " + architecture + ": " + first_error(said)));
    return said;
}

}  // namespace

Result<PtxasTool> find_ptxas(const std::string& explicit_path, const ToolEnvironment& environment) {
    PtxasTool tool;
    tool.temporary_folder = environment.temporary_folder;
    if (!explicit_path.empty()) {
        tool.path = explicit_path;
    } else {
        std::optional<std::string> found;
        if (!environment.cuda_home.empty()) found = find_executable("ptxas", environment.cuda_home + "/bin");
        if (!found) found = find_executable("ptxas", environment.path);
        if (!found) return tl::unexpected(complaint("FF0601", "ptxas was not found in CUDA_HOME or on PATH",
                                                    "install the CUDA toolkit, or give a log with --ptxas-log; without one, registers are estimated"));
        tool.path = *found;
    }
    const auto version = version_of(tool.path);
    if (!version) return tl::unexpected(version.error());
    tool.version = *version;
    return tool;
}

Result<std::vector<PtxasKernel>> run_ptxas(const PtxasTool& tool, std::string_view ptx_text, const std::string& architecture, const std::string& entry, const ContentCache& cache) {
    const std::string key = cache.on() ? sha256(fmt::format("{} {}\n{}\n{}\n{}", tool.version, tool.path, architecture, entry, ptx_text)) : std::string();
    if (cache.on())
        if (const auto known = cache.find("ptxas", key))
            if (auto report = parse_ptxas_log(*known)) return report;
    const auto said = output_of(tool, ptx_text, architecture, entry);
    if (!said) return tl::unexpected(said.error());
    auto report = parse_ptxas_log(*said);
    if (report && cache.on()) cache.keep("ptxas", key, *said);
    return report;
}

Result<std::vector<PtxasKernel>> parse_ptxas_log(std::string_view log) {
    std::vector<PtxasKernel> report;
    bool in_kernel = false, own_properties = false;
    while (!log.empty()) {
        const std::size_t end = std::min(log.find('\n'), log.size());
        const std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        if (std::string name = quoted(line, "Compiling entry function "); !name.empty()) {
            PtxasKernel kernel;
            kernel.name = std::move(name);
            if (const std::size_t at = line.find("' for '"); at != std::string_view::npos) kernel.architecture = quoted(line.substr(at + 1), " for ");
            report.push_back(std::move(kernel));
            in_kernel = true;
            own_properties = false;
            continue;
        }
        if (!in_kernel) continue;
        PtxasKernel& kernel = report.back();
        if (const std::size_t at = line.find("Function properties for "); at != std::string_view::npos) {
            // Functions that a kernel calls are listed after it; their frames are not the kernel's.
            std::string_view name = line.substr(at + 24);
            while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.remove_suffix(1);
            own_properties = name == kernel.name;
        } else if (own_properties && line.find("bytes stack frame") != std::string_view::npos) {
            kernel.stack_frame_bytes = number_before(line, " bytes stack frame");
            kernel.spill_store_bytes = number_before(line, " bytes spill stores");
            kernel.spill_load_bytes = number_before(line, " bytes spill loads");
        } else if (line.find("Used ") != std::string_view::npos && line.find(" registers") != std::string_view::npos && !kernel.registers) {
            read_usage(line, kernel);
        }
    }
    if (report.empty()) return tl::unexpected(complaint("FF0605", "no kernel in the output of ptxas", "it must be run with -v (nvcc: -Xptxas -v)"));
    return report;
}

const PtxasKernel* find_kernel(const std::vector<PtxasKernel>& report, std::string_view name, std::string_view architecture) {
    for (const PtxasKernel& kernel : report)
        if (kernel.name == name && (architecture.empty() || kernel.architecture == architecture)) return &kernel;
    return nullptr;
}

Resources refine(const Resources& estimate, const PtxasKernel& measured) {
    Resources r = estimate;
    if (measured.registers) {
        r.registers_per_thread = r.registers_low = r.registers_high = *measured.registers;
        r.registers_basis = RegistersBasis::ptxas;
        r.complete = true;
    }
    if (measured.shared_bytes) r.static_shared_bytes = *measured.shared_bytes;
    if (measured.stack_frame_bytes) r.local_bytes = measured.stack_frame_bytes;
    if (measured.spill_store_bytes) r.spill_store_bytes = measured.spill_store_bytes;
    if (measured.spill_load_bytes) r.spill_load_bytes = measured.spill_load_bytes;
    if (measured.barriers) r.barriers = measured.barriers;
    return r;
}

}  // namespace flipflop
