// What is this, and who unpacks it? Ids of the diagnostics: docs/inputs.md.
#include "flipflop/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "inputs/collector.hpp"
#include "inputs/directory.hpp"
#include "inputs/file.hpp"
#include "inputs/sha256.hpp"
#include "inputs/sniff.hpp"
#include "inputs/source_input.hpp"
#include "inputs/triton.hpp"

namespace flipflop {
namespace {

namespace fs = std::filesystem;

/// Why content without PTX is refused, and what the user can do about it.
Diagnostic refusal(Content content, const std::string& path, std::string_view bytes) {
    // What is to be made must not be what it is made from: LLVM IR in a file named kernel.ptx.
    const bool named_ptx = fs::path(path).extension() == ".ptx";
    const std::string stem = path == "-" ? "kernel" : fs::path(path).stem().string() + (named_ptx ? ".new" : "");
    const std::string file = path == "-" ? "kernel.cu" : path;
    const std::string text_file = path == "-" ? "kernel.txt" : path, ir_file = path == "-" ? "kernel.ll" : path;
    switch (content) {
        case Content::empty: return input_error("FF0802", path, "is empty");
        case Content::utf16:
            return input_error("FF0805", path, "is UTF-16 or UTF-32 text; PTX is ASCII",
                               fmt::format("convert it: iconv -f UTF-16 -t UTF-8 {} > {}.ptx", text_file, stem));
        case Content::thin_archive:
            return input_error("FF0806", path, "is a thin archive: it names its members and does not hold them", "pass the object files themselves");
        case Content::cuda:
            return input_error("FF0810", path, "is CUDA or C++ source, not PTX",
                               fmt::format("compile it to PTX first: nvcc -ptx -arch=sm_80 -lineinfo -o {0}.ptx {1}   (or clang++ -x cuda "
                                           "--cuda-device-only --cuda-gpu-arch=sm_80 -O2 -S -o {0}.ptx {1})", stem, file));
        case Content::llvm_ir:
        case Content::llvm_bitcode:
            return input_error("FF0811", path, fmt::format("is {}, not PTX", describe(content)),
                               fmt::format("compile it to PTX first: llc -march=nvptx64 -mcpu=sm_80 -o {}.ptx {}", stem, ir_file));
        case Content::sass:
            return input_error("FF0812", path, "is SASS, the disassembly of machine code, not PTX",
                               "pass what it was made from, or the output of cuobjdump --dump-ptx");
        case Content::compressed:
            return input_error("FF0809", path, "is a compressed file", "unpack it first");
        case Content::binary:
            return input_error("FF0809", path, "is a binary file of no kind that holds PTX",
                               "PTX text, ELF objects and libraries, static archives, fatbins and cuobjdump text are read");
        default:
            if (const std::string_view head = bytes.substr(0, 1 << 16); head.find('\r') != std::string_view::npos && head.find('\n') == std::string_view::npos)
                return input_error("FF0813", path, "is one line to PTX: its lines end in a carriage return alone",
                                   fmt::format("convert it: tr '\\r' '\\n' < {} > {}.ptx", text_file, stem));
            return input_error("FF0813", path, "is not PTX: it begins with no .version directive, nor is it any other kind that is read");
    }
}

std::optional<InputKind> kind_of(Content content) {
    switch (content) {
        case Content::ptx:
        case Content::ptx_late: return InputKind::ptx;   // the parser says what stands before the PTX
        case Content::cuobjdump: return InputKind::cuobjdump;
        case Content::elf: return InputKind::elf;
        case Content::archive: return InputKind::archive;
        case Content::fatbin: return InputKind::fatbin;
        default: return std::nullopt;
    }
}

void unpack(InputKind kind, std::string_view bytes, const std::string& name, Collector& to) {
    switch (kind) {
        case InputKind::cuobjdump: return unpack_cuobjdump(bytes, name, to);
        case InputKind::elf: return unpack_elf(bytes, name, to);
        case InputKind::archive: return unpack_archive(bytes, name, to);
        case InputKind::fatbin: return unpack_fatbins(bytes, name, to);
        default: return unpack_ptx(std::string{bytes}, name, to);
    }
}

/// "90a" of sm_90a, for the flag that keeps PTX.
std::string compute_number(const CubinEntry& cubin) { return cubin.architecture.starts_with("sm_") ? cubin.architecture.substr(3) : "80"; }

/// FF0806: a container that was read to its end and holds no PTX.
Diagnostic no_ptx_in(const Input& input, Content content) {
    std::string message = fmt::format("is {} without PTX", describe(content));
    if (input.cubins.empty())
        return input_error("FF0806", input.path, std::move(message), "there is no device code in it at all: was it compiled by nvcc or clang, and not stripped?");
    if (input.kind == InputKind::elf && input.cubins.size() == 1 && input.cubins[0].name == input.path)
        return input_error("FF0806", input.path, fmt::format("is a cubin: machine code for {} that ptxas made, not PTX", input.cubins[0].architecture),
                           fmt::format("pass the PTX that it was made from (nvcc -ptx or -keep writes it, Triton keeps it beside the cubin), or compile with -gencode arch=compute_{0},code=compute_{0} beside what is there",
                                       compute_number(input.cubins[0])));
    std::string architectures;
    const CubinEntry* oldest = nullptr;
    for (const CubinEntry& cubin : input.cubins) {
        if (architectures.find(cubin.architecture) == std::string::npos) architectures += (architectures.empty() ? "" : ", ") + cubin.architecture;
        const auto number = [](const CubinEntry& c) { return std::pair(c.architecture.size(), c.architecture); };   // "sm_90" before "sm_100"
        if (oldest == nullptr || number(cubin) < number(*oldest)) oldest = &cubin;
    }
    return input_error("FF0806", input.path, fmt::format("{}: it holds machine code only, for {}", message, architectures),
                       fmt::format("compile with -gencode arch=compute_{0},code=compute_{0} beside what is there to keep PTX in it", compute_number(*oldest)));
}

bool has_kernels(const Input& input) {
    return std::any_of(input.cubins.begin(), input.cubins.end(), [](const CubinEntry& c) { return c.kernels && !c.kernels->empty(); });
}

/// Triton keeps NAME.ptx, NAME.json and NAME.cubin side by side.
void look_beside(Input& input, const ReadOptions& options) {
    if (input.kind != InputKind::ptx || input.path == "-") return;
    const fs::path json = fs::path(input.path).replace_extension(".json");
    std::error_code ignored;
    if (json == input.path || !fs::is_regular_file(json, ignored)) return;
    InputLimits limits = options.limits;
    limits.max_file_bytes = std::min<std::uint64_t>(limits.max_file_bytes, 16ULL << 20);
    const auto file = FileBytes::open(json.string(), limits);
    if (!file) return;
    if (auto metadata = triton_metadata(file->view())) {
        input.kind = InputKind::triton;
        input.metadata = std::move(*metadata);
    }
}

/// NAME.cubin is what Triton launches, where it is there.
void look_for_cubin(const Input& input, const ReadOptions& options, Collector& to) {
    if (input.kind != InputKind::triton) return;
    const std::string cubin = fs::path(input.path).replace_extension(".cubin").string();
    InputLimits limits = options.limits;
    limits.max_file_bytes = std::min<std::uint64_t>(limits.max_file_bytes, 256ULL << 20);
    std::error_code ignored;
    if (!fs::is_regular_file(cubin, ignored)) return;
    const auto file = FileBytes::open(cubin, limits);
    if (file && sniff(file->view()) == Content::elf) unpack_elf(file->view(), cubin, to);
}

/// The digest of the file, on a thread of its own where that is worth one.
class Digest {
public:
    Digest(std::string_view bytes, const FileBytes* file) {
        const auto work = [bytes, file] { return sha256(bytes, file ? [file](std::size_t done) { file->forget_before(done); } : std::function<void(std::size_t)>{}); };
        try {
            if (bytes.size() > kWorthAThread) later_ = std::async(std::launch::async, work);
        } catch (const std::system_error&) {   // no thread to be had
        }
        if (!later_.valid()) now_ = work();
    }
    [[nodiscard]] const std::string& known_now() const { return now_; }   ///< empty while a thread is at it
    [[nodiscard]] std::string get() { return later_.valid() ? later_.get() : std::move(now_); }

private:
    static constexpr std::size_t kWorthAThread = 8ULL << 20;
    std::future<std::string> later_;
    std::string now_;
};

enum class WithoutPtx : std::uint8_t { refuse, keep_machine_code };

/// `file` is what holds the bytes, if it is one. Machine code alone is an input with an error where it is to be kept: what
/// its kernels need can still be said.
Result<Input> read_bytes(std::string_view bytes, const std::string& path, const ReadOptions& options, WithoutPtx without_ptx, const FileBytes* file = nullptr) {
    const Content content = sniff(bytes);
    const auto kind = kind_of(content);
    if (!kind) return tl::unexpected(refusal(content, path, bytes));
    Input input;
    input.path = path;
    input.kind = *kind;
    input.file_bytes = bytes.size();
    std::optional<Digest> digest;
    if (options.digest) input.sha256 = digest.emplace(bytes, file).known_now();
    look_beside(input, options);
    Collector collector{input, options, bytes, file ? [file](std::size_t end) { file->forget_before(end); } : std::function<void(std::size_t)>{}};
    unpack(*kind, bytes, path, collector);
    look_for_cubin(input, options, collector);
    collector.finish();
    if (digest) input.sha256 = digest->get();
    if (collector.texts() == 0) {
        const auto error = std::find_if(input.diagnostics.begin(), input.diagnostics.end(),
                                        [](const Diagnostic& d) { return d.severity == Severity::error; });
        if (error != input.diagnostics.end()) return tl::unexpected(*error);
        if (without_ptx == WithoutPtx::refuse || !has_kernels(input)) return tl::unexpected(no_ptx_in(input, content));
        input.diagnostics.push_back(no_ptx_in(input, content));
    }
    return input;
}

/// What was named by itself: source is compiled where that is allowed.
Result<Input> read_named(std::string_view bytes, const std::string& path, const ReadOptions& options, const FileBytes* file = nullptr) {
    if (options.source)
        if (const auto kind = source_kind(sniff(bytes))) return read_source(bytes, path, *kind, options);
    return read_bytes(bytes, path, options, WithoutPtx::keep_machine_code, file);
}

/// In a directory only what holds PTX counts; that the rest is something else is no complaint.
bool passes_over(const Diagnostic& error, const std::string& path) {
    static constexpr std::string_view kOtherKinds[]{"FF0802", "FF0805", "FF0806", "FF0809", "FF0810", "FF0811", "FF0812", "FF0813"};
    const bool other = std::find(std::begin(kOtherKinds), std::end(kOtherKinds), error.id) != std::end(kOtherKinds);
    return other && fs::path(path).extension() != ".ptx";
}

Result<std::vector<Input>> read_directory(const std::string& path, const ReadOptions& options) {
    DirectoryListing listing = list_directory(path, options.limits);
    std::vector<Input> inputs;
    std::map<std::string, std::uint64_t> others;
    bool any_text = false;
    for (const std::string& name : listing.files) {
        const auto file = FileBytes::open(name, options.limits);
        if (file && sniff(file->view()) == Content::ptx_late && fs::path(name).extension() != ".ptx") {
            ++others[std::string{describe(Content::text)}];   // prose about PTX, most likely
            continue;
        }
        auto input = file ? read_bytes(file->view(), name, options, WithoutPtx::refuse, &*file) : tl::unexpected(file.error());
        if (input) {
            any_text = true;
            inputs.push_back(std::move(*input));
        } else if (passes_over(input.error(), name)) {
            ++others[std::string{describe(sniff(file->view()))}];
        } else {
            Input broken;
            broken.path = name;
            broken.diagnostics.push_back(std::move(input.error()));
            if (file) {
                broken.sha256 = sha256(file->view());
                broken.file_bytes = file->view().size();
            }
            inputs.push_back(std::move(broken));
        }
    }
    if (!any_text) {
        if (!inputs.empty()) return tl::unexpected(inputs.front().diagnostics.front());
        if (!listing.diagnostics.empty()) return tl::unexpected(listing.diagnostics.front());
        std::string seen;
        for (const auto& [what, count] : others) seen += fmt::format("{}{} of {}", seen.empty() ? "" : ", ", count, what);
        return tl::unexpected(input_error("FF0804", path, others.empty() ? "is a directory without files" : fmt::format("is a directory without PTX (files: {})", seen)));
    }
    for (Diagnostic& diagnostic : listing.diagnostics) inputs.front().diagnostics.push_back(std::move(diagnostic));
    return inputs;
}

}  // namespace

std::string_view to_string(InputKind kind) {
    switch (kind) {
        case InputKind::ptx: return "ptx";
        case InputKind::fatbin: return "fatbin";
        case InputKind::elf: return "elf";
        case InputKind::archive: return "archive";
        case InputKind::cuda: return "cuda";
        case InputKind::llvm_ir: return "llvm-ir";
        case InputKind::llvm_bitcode: return "llvm-bitcode";
        case InputKind::triton: return "triton";
        case InputKind::cuobjdump: return "cuobjdump";
    }
    return "unknown";
}

Result<Input> read_input_bytes(std::string_view bytes, const std::string& name, const ReadOptions& options) {
    return read_named(bytes, name, options);
}

Result<std::vector<Input>> read_input(const std::string& path, const ReadOptions& options) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) return read_directory(path, options);
    const auto file = FileBytes::open(path, options.limits);
    if (!file) return tl::unexpected(file.error());
    auto input = read_named(file->view(), path, options, &*file);
    if (!input) return tl::unexpected(std::move(input.error()));
    std::vector<Input> inputs;
    inputs.push_back(std::move(*input));
    return inputs;
}

}  // namespace flipflop
