#include "compile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "candidates.hpp"
#include "complaints.hpp"
#include "inputs/file.hpp"

namespace flipflop::advise {

namespace {

std::string architecture_of(const ptx::Module& module, const ComputeCapability& cc) {
    // An `a` or `f` target is assembled for itself: its instructions exist under no other name.
    if (module.target_suffix != 0 && ptx_runs_on(std::string(module.target), cc))
        return fmt::format("sm_{}{}{}", cc.major, cc.minor, module.target_suffix);
    return fmt::format("sm_{}{}", cc.major, cc.minor);
}

}  // namespace

CodeChoice choose_code(const Input& input, const ptx::Module& module, const ComputeCapability& cc) {
    CodeChoice choice;
    choice.analysed = "ptx";
    const CubinEntry* best = nullptr;
    for (const CubinEntry& cubin : input.cubins)
        if (cubin_runs_on(cubin.architecture, cc) && (!best || cubin.architecture > best->architecture)) best = &cubin;
    if (best) {
        choice.runs = "cubin " + best->architecture;   // machine code for the GPU goes before PTX; it may come from other source
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
    if (tool) {
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

Result<Resources> Compiler::resources(const KernelCode& code, const ptx::Module& module, const GpuProfile& gpu) {
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
    const std::lock_guard lock(mutex_);   // one ptxas at a time: it is a process, and the reports are shared
    auto known = reports_.find({&module, architecture});
    if (known == reports_.end()) {
        known = reports_.emplace(std::pair(&module, architecture), run_ptxas(*tool_, module.own_text(), architecture)).first;
        if (!known->second && use_ != PtxasUse::require) {
            Diagnostic note = known->second.error();
            note.severity = Severity::warning;
            note.message = fmt::format("ptxas was not used for {} on {}: {}", module.name, architecture, note.message);
            notes_.push_back(std::move(note));
        }
    }
    if (!known->second) {
        if (use_ == PtxasUse::require) return tl::unexpected(known->second.error());
        return resources;
    }
    const PtxasKernel* found = find_kernel(*known->second, code.facts.name, architecture);
    return found ? refine(resources, *found) : resources;
}

void Compiler::forget() {
    const std::lock_guard lock(mutex_);
    reports_.clear();
}

}  // namespace flipflop::advise
