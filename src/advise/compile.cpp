#include "compile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "candidates.hpp"
#include "complaints.hpp"
#include "inputs/file.hpp"

namespace flipflop::advise {

namespace {

constexpr std::size_t kTextReadAgain = 4U << 20;   ///< bytes that ptxas may read beyond one pass over a module
constexpr int kMostTimeouts = 2;             ///< a ptxas that hangs is not waited for again and again

std::string architecture_of(const ptx::Module& module, const ComputeCapability& cc) {
    // An `a` or `f` target is assembled for itself: its instructions exist under no other name.
    if (module.target_suffix != 0 && ptx_runs_on(std::string(module.target), cc))
        return fmt::format("sm_{}{}{}", cc.major, cc.minor, module.target_suffix);
    return fmt::format("sm_{}{}", cc.major, cc.minor);
}

}  // namespace

const CubinEntry* running_cubin(const Input& input, const std::string& kernel, const ComputeCapability& cc) {
    const auto holds = [&](const CubinEntry& cubin) {
        return !cubin.kernels || std::any_of(cubin.kernels->begin(), cubin.kernels->end(), [&](const CubinKernel& k) { return k.linked && k.name == kernel; });
    };
    const CubinEntry* best = nullptr;
    for (const CubinEntry& cubin : input.cubins) {
        if (!cubin_runs_on(cubin.architecture, cc) || !holds(cubin)) continue;
        // One that is known to hold the kernel goes before one that was not read.
        const auto better = [](const CubinEntry& c) { return std::pair(c.kernels.has_value(), std::string_view(c.architecture)); };
        if (!best || better(cubin) > better(*best)) best = &cubin;
    }
    return best;
}

CodeChoice choose_code(const Input& input, const ptx::Module& module, const std::string& kernel, const ComputeCapability& cc) {
    CodeChoice choice;
    choice.analysed = "ptx";
    if (const CubinEntry* const cubin = running_cubin(input, kernel, cc)) {
        choice.runs = "cubin " + cubin->architecture;   // machine code for the GPU goes before PTX; it may come from other source
        return choice;
    }
    choice.compatible = ptx_runs_on(std::string(module.target), cc);
    if (choice.compatible) {
        choice.runs = "ptx (assembled for the GPU by its driver)";
        choice.same_source = true;
    } else {
        const bool exact = module.target_suffix == 'a', family = module.target_suffix == 'f';
        choice.runs = "nothing";
        choice.why_not = fmt::format("the PTX is for {}, which {}; this GPU is {}.{}", module.target,
                                     exact ? "runs on exactly that architecture" : family ? "runs on its family only" : "is newer than this GPU", cc.major, cc.minor);
    }
    return choice;
}

Result<std::unique_ptr<Compiler>> Compiler::make(const AnalyzeOptions& options) {
    auto compiler = std::make_unique<Compiler>();
    compiler->use_ = options.ptxas;
    if (!options.ptxas_log.empty()) {
        constexpr std::uint64_t kLargestLog = 64ULL << 20;
        InputLimits limits;
        limits.max_file_bytes = limits.max_stream_bytes = kLargestLog;
        const auto file = FileBytes::open(options.ptxas_log, limits);
        if (!file) return tl::unexpected(complain("FF0755", "--ptxas-log", fmt::format("'{}': {}", options.ptxas_log, file.error().message)));
        auto log = parse_ptxas_log(file->view());
        if (!log) return tl::unexpected(complain("FF0755", "--ptxas-log", fmt::format("'{}': {}", options.ptxas_log, log.error().message)));
        compiler->log_ = std::move(*log);
    }
    if (options.ptxas == PtxasUse::off) return compiler;
    const ToolEnvironment environment{options.environment.path, options.environment.cuda_home, options.environment.temporary_directory};
    auto tool = find_ptxas({}, environment);
    compiler->cache_ = std::make_unique<ContentCache>(options.source.cache_folder, options.source.cache_limit_bytes);
    if (tool) {
        tool->timeout = options.source.timeout;
        compiler->version_ = tool->version;
        compiler->tool_ = std::move(*tool);
    } else if (options.ptxas == PtxasUse::require) {
        return tl::unexpected(tool.error());
    } else if (tool.error().id != "FF0601") {   // none there is no news; one that does not work is
        Diagnostic note = tool.error();
        note.severity = Severity::warning;
        note.help = "registers are estimated instead; --ptxas off says that this is meant";
        compiler->notes_.push_back(std::move(note));
    }
    return compiler;
}

Resources refine(const Resources& estimate, const CubinKernel& measured) {
    PtxasKernel shared_words;   // what both say
    shared_words.registers = measured.registers;
    shared_words.barriers = measured.barriers;
    shared_words.stack_frame_bytes = measured.stack_frame_bytes;
    shared_words.shared_bytes = measured.shared_bytes;
    Resources r = refine(estimate, shared_words);
    const bool same_code = estimate.registers_basis == RegistersBasis::ptxas && measured.registers == estimate.registers_per_thread && measured.stack_frame_bytes == estimate.local_bytes;
    if (measured.registers) r.registers_basis = RegistersBasis::cubin;
    if (measured.stack_frame_bytes == 0U) r.spill_store_bytes = r.spill_load_bytes = 0;
    else if (!same_code) r.spill_store_bytes = r.spill_load_bytes = std::nullopt;
    return r;
}

Result<Resources> Compiler::resources(const Input& input, const KernelCode& code, const ptx::Module& module, const GpuProfile& gpu) {
    const CubinEntry* const cubin = running_cubin(input, code.facts.name, gpu.cc);
    const CubinKernel* machine = nullptr;
    if (cubin != nullptr && cubin->kernels)
        for (const CubinKernel& k : *cubin->kernels)
            if (k.linked && k.name == code.facts.name) machine = &k;
    // A cubin without a stack frame says all that ptxas would; --ptxas require asks for it by name.
    if (machine != nullptr && machine->registers && machine->stack_frame_bytes == 0U && use_ != PtxasUse::require) return refine(code.facts.resources, *machine);
    auto resources = without_cubin(code, module, gpu);
    if (!resources || machine == nullptr) return resources;
    return refine(*resources, *machine);
}

Result<Resources> Compiler::without_cubin(const KernelCode& code, const ptx::Module& module, const GpuProfile& gpu) {
    Resources resources = code.facts.resources;
    // A module that is not for this GPU is judged by its own target: its facts still hold there.
    const bool runs = ptx_runs_on(std::string(module.target), gpu.cc);
    const std::uint32_t sm = runs ? static_cast<std::uint32_t>(gpu.cc.major * 10 + gpu.cc.minor) : module.target_number;
    estimate_registers(code, sm, resources);
    const std::string architecture = runs ? architecture_of(module, gpu.cc) : std::string(module.target);
    if (log_) {
        const PtxasKernel* found = find_kernel(*log_, code.facts.name, architecture);
        if (!found && gpu.cc.major > 0) found = find_kernel(*log_, code.facts.name, "");
        if (found) return refine(resources, *found);
    }
    if (!tool_) return resources;
    const Report& report = report_on(module, code.facts.name, architecture);
    if (!report) {
        if (use_ == PtxasUse::require) return tl::unexpected(report.error());
        return resources;
    }
    const PtxasKernel* found = find_kernel(*report, code.facts.name, architecture);
    return found ? refine(resources, *found) : resources;
}

void Compiler::forget() {
    const std::lock_guard lock(mutex_);
    reports_.clear();
    expected_.clear();
}

const Compiler::Report& Compiler::report_on(const ptx::Module& module, const std::string& kernel, const std::string& architecture) {
    std::promise<Report> promise;
    std::shared_future<Report> future;
    ReportPlace place{&module, architecture, {}};
    bool mine = false;
    {
        const std::lock_guard lock(mutex_);
        // Few kernels of a module are assembled one by one, side by side; of many, each run would read all the text again.
        const std::size_t expected = std::max<std::size_t>(1, expected_[&module]);
        if (expected * module.own_text().size() <= kTextReadAgain || expected == 1) std::get<2>(place) = kernel;
        auto [known, is_new] = reports_.try_emplace(place);
        if (is_new) known->second = promise.get_future().share();
        future = known->second;
        mine = is_new;
    }
    if (mine) promise.set_value(ask(module, std::get<2>(place), architecture));
    return future.get();
}

Compiler::Report Compiler::ask(const ptx::Module& module, const std::string& entry, const std::string& architecture) {
    {
        const std::lock_guard lock(mutex_);
        if (timeouts_ >= kMostTimeouts && use_ != PtxasUse::require)
            return tl::unexpected(complain("FF0603", "", "ptxas is not run again"));   // notes() says so, once
    }
    Report report = run_ptxas(*tool_, module.own_text(), architecture, entry, *cache_);
    if (report || use_ == PtxasUse::require) return report;
    const std::lock_guard lock(mutex_);
    timeouts_ += report.error().id == "FF0603" ? 1 : 0;
    Diagnostic note = report.error();
    note.severity = Severity::warning;
    note.message = fmt::format("ptxas was not used for {} on {}: {}", module.name, architecture, note.message);
    notes_.push_back(std::move(note));
    return report;
}

std::vector<Diagnostic> Compiler::notes() const {
    std::vector<Diagnostic> sorted = notes_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) { return a.message < b.message; });
    // An error in a module is met once for each of its kernels.
    sorted.erase(std::unique(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) { return a.message == b.message; }), sorted.end());
    if (timeouts_ >= kMostTimeouts) {
        sorted.push_back(complain("FF0603", "", fmt::format("ptxas took too long {} times and was not run again", timeouts_), "registers are estimated instead; --compile-timeout N gives it more, --ptxas off does without"));
        sorted.back().severity = Severity::warning;
    }
    if (cache_ && !cache_->trouble().empty()) {
        Diagnostic note = complain("FF0615", "", cache_->trouble());
        note.severity = Severity::note;
        sorted.push_back(std::move(note));
    }
    return sorted;
}

}  // namespace flipflop::advise
