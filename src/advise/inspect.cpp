// From inputs to an InspectReport: parse, run the passes, keep the facts. One module at a time, so that the memory of a
// library of a thousand kernels is that of its facts, not of its code.
#include "flipflop/inspect.hpp"

#include <fmt/core.h>

#include "advise/select_kernels.hpp"
#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop {
namespace {

/// Bytes of each module's own text: from its .version to the next one's (concatenated modules share one buffer).
std::vector<std::uint64_t> module_bytes(const ptx::ParseResult& parsed, std::size_t text_bytes) {
    std::vector<std::uint64_t> bytes;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < parsed.modules.size(); ++i) {
        const ptx::Module& module = parsed.modules[i];
        const bool last = i + 1 == parsed.modules.size();
        // The target's name is a view into the text: the one position that every module is sure to have.
        std::uint64_t end = text_bytes;
        if (!last) {
            const std::string_view next = parsed.modules[i + 1].target;
            const std::string& text = *module.text;
            if (next.data() >= text.data() && next.data() < text.data() + text.size()) {
                const std::size_t at = text.rfind(".version", static_cast<std::size_t>(next.data() - text.data()));
                end = at == std::string::npos ? before : at;
            }
        }
        bytes.push_back(end > before ? end - before : 0);
        before = std::max(before, end);
    }
    return bytes;
}

InspectedModule inspect_module(const ptx::Module& module, std::uint64_t bytes) {
    InspectedModule out;
    out.name = module.name;
    if (module.version_major != 0) { out.ptx_version = fmt::format("{}.{}", module.version_major, module.version_minor); }
    out.target = module.target;
    out.address_size = module.address_size;
    out.lines = module.line_count;
    out.bytes = bytes;
    out.line_table = module.has_dwarf || !module.locations.empty();
    out.instructions = module.instruction_count;
    for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
        const ptx::Function& function = module.functions[i];
        out.unknown_instructions += function.unknown_instructions;
        if (function.is_entry && function.has_body) {
            out.kernels.push_back(analyse_kernel(module, i).facts);
        } else {
            std::string name(function.name);
            out.functions.push_back({name, demangle(name), function.has_body, function.instructions.size(), function.line});
        }
    }
    return out;
}

void inspect_text(std::vector<InspectedModule>& modules, const PtxText& text) {
    ptx::ParseResult parsed = ptx::parse(text.text, text.name);
    const std::vector<std::uint64_t> bytes = module_bytes(parsed, text.text ? text.text->size() : 0);
    const std::size_t first = modules.size();
    for (std::size_t i = 0; i < parsed.modules.size(); ++i) { modules.push_back(inspect_module(parsed.modules[i], bytes[i])); }
    if (parsed.modules.empty()) {
        // A text without a module still has a name, a size and its diagnostics.
        InspectedModule empty;
        empty.name = text.name;
        empty.bytes = text.text ? text.text->size() : 0;
        modules.push_back(std::move(empty));
    }
    modules[first].diagnostics = std::move(parsed.diagnostics);
}

void count(InspectSummary& summary, const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& d : diagnostics) {
        summary.errors += d.severity == Severity::error;
        summary.warnings += d.severity == Severity::warning;
    }
}

/// Keeps the kernels that the patterns select.
Result<void> filter(InspectReport& report, const std::vector<std::string>& patterns) {
    if (patterns.empty()) { return {}; }
    std::vector<advise::KernelName> names;
    for (const InspectedInput& input : report.inputs) {
        for (const InspectedModule& module : input.modules) {
            for (const KernelFacts& kernel : module.kernels) { names.push_back({kernel.name, kernel.demangled, kernel.id}); }
        }
    }
    const auto selected = advise::select_kernels(names, patterns);
    if (!selected) { return tl::unexpected(selected.error()); }
    std::vector<bool> keep(names.size());
    for (const std::size_t i : *selected) { keep[i] = true; }
    std::size_t at = 0;
    for (InspectedInput& input : report.inputs) {
        for (InspectedModule& module : input.modules) {
            std::erase_if(module.kernels, [&](const KernelFacts&) { return !keep[at++]; });
        }
    }
    return {};
}

}  // namespace

void Inspector::add_text(const Input& input, const PtxText& text) { inspect_text(pending_[input.path], text); }

void Inspector::add_input(const Input& input) {
    InspectedInput& out = report_.inputs.emplace_back();
    out.path = input.path;
    out.kind = input.kind;
    out.sha256 = input.sha256;
    out.cubins = input.cubins;
    out.diagnostics = input.diagnostics;
    if (const auto found = pending_.find(input.path); found != pending_.end()) {
        out.modules = std::move(found->second);
        pending_.erase(found);
    }
    for (const PtxText& text : input.texts) { inspect_text(out.modules, text); }
    InspectSummary said;
    count(said, out.diagnostics);
    for (const InspectedModule& module : out.modules) { count(said, module.diagnostics); }
    errors_ += said.errors;
}

Result<InspectReport> Inspector::finish(const InspectOptions& options) && {
    if (const auto filtered = filter(report_, options.kernels); !filtered) { return tl::unexpected(filtered.error()); }
    InspectSummary& summary = report_.summary;
    for (const InspectedInput& input : report_.inputs) {
        ++summary.inputs;
        count(summary, input.diagnostics);
        for (const InspectedModule& module : input.modules) {
            summary.modules += !module.ptx_version.empty() || !module.kernels.empty();
            summary.kernels += module.kernels.size();
            summary.ptx_bytes += module.bytes;
            summary.instructions += module.instructions;
            summary.unknown_instructions += module.unknown_instructions;
            count(summary, module.diagnostics);
        }
    }
    return std::move(report_);
}

Result<InspectReport> inspect(const std::vector<Input>& inputs, const InspectOptions& options) {
    Inspector inspector;
    for (const Input& input : inputs) { inspector.add_input(input); }
    return std::move(inspector).finish(options);
}

}  // namespace flipflop
