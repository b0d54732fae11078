// The main job, top to bottom: options are checked before anything is read; texts become modules, modules kernels; each
// chosen kernel is analysed on each GPU; what was asked for and fitted nowhere is a usage error.
#include <algorithm>
#include <memory>

#include <mutex>

#include <fmt/format.h>

#include "complaints.hpp"
#include "described.hpp"
#include "fit_book.hpp"
#include "flipflop/advise.hpp"
#include "kernel_analysis.hpp"
#include "machine_code.hpp"
#include "machines.hpp"
#include "parallel.hpp"
#include "producer.hpp"
#include "step.hpp"
#include "passes/names.hpp"
#include "select_kernels.hpp"
#include "suppress.hpp"

namespace flipflop {

namespace {

using namespace advise;

/// Everything parsed, and kept alive for as long as kernels point into it.
struct Parsed {
    std::vector<std::unique_ptr<ptx::ParseResult>> texts;
    std::vector<KernelPlace> places;
    std::vector<KernelName> names;
};

struct Plan {
    Requests requests;                       ///< of the command line alone
    Boards boards;
    std::optional<VariantTable> table;
};

void count(const std::vector<Diagnostic>& diagnostics, Analysis& analysis) {
    for (const Diagnostic& d : diagnostics) {
        if (d.severity == Severity::error) ++analysis.errors;
        if (d.severity == Severity::warning) ++analysis.warnings;
    }
}

ModuleSummary summary_of(const ptx::Module& module) {
    ModuleSummary summary;
    summary.name = module.name;
    summary.ptx_version = fmt::format("{}.{}", module.version_major, module.version_minor);
    summary.target = std::string(module.target);
    summary.address_size = module.address_size;
    summary.lines = module.line_count;
    summary.line_table = !module.locations.empty() || !module.files.empty();
    if (module.text) summary.producer = producer_of(module.own_text());
    return summary;
}

Parsed parse_inputs(const std::vector<Input>& inputs, Analysis& analysis) {
    Parsed parsed;
    for (const Input& input : inputs) {
        InputSummary summary;
        summary.path = input.path;
        summary.kind = input.kind;
        summary.sha256 = input.sha256;
        summary.diagnostics = input.diagnostics;
        count(input.diagnostics, analysis);
        for (const PtxText& text : input.texts) {
            parsed.texts.push_back(std::make_unique<ptx::ParseResult>(ptx::parse(text.text, text.name)));
            ptx::ParseResult& result = *parsed.texts.back();
            analysis.errors += result.errors;
            analysis.warnings += result.warnings;
            const std::size_t first = summary.modules.size();
            for (const ptx::Module& module : result.modules) {
                summary.modules.push_back(summary_of(module));
                for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
                    const ptx::Function& function = module.functions[f];
                    if (!function.is_entry || !function.has_body) continue;
                    const std::string name(function.name);
                    parsed.places.push_back({&input, &module, f});
                    parsed.names.push_back({name, demangle(name), kernel_id(name)});
                }
            }
            // A text that gives no module still has something to say.
            if (summary.modules.size() == first) summary.modules.push_back(ModuleSummary{text.name, {}, {}, 64, 0, false, {}, {}});
            summary.modules[first].diagnostics = std::move(result.diagnostics);
        }
        analysis.inputs.push_back(std::move(summary));
    }
    return parsed;
}

Result<Plan> plan_of(const AnalyzeOptions& options) {
    Plan plan;
    auto requests = read_requests(options.launch);
    if (!requests) return tl::unexpected(requests.error());
    plan.requests = std::move(*requests);
    auto points = operating_points(options);
    if (!points) return tl::unexpected(points.error());
    Boards& boards = plan.boards;
    boards.points = std::move(*points);
    auto gpus = load_gpus(options);
    if (!gpus) return tl::unexpected(gpus.error());
    boards.gpus = std::move(*gpus);
    for (const GpuProfile& gpu : boards.gpus) {
        boards.models.emplace_back(gpu);
        boards.paired.push_back(paired_error(gpu));
    }
    if (!options.variant_table.empty()) {
        auto table = read_variant_table(options.variant_table);
        if (!table) return tl::unexpected(table.error());
        plan.table = std::move(*table);
    }
    auto compiler = Compiler::make(options);
    if (!compiler) return tl::unexpected(compiler.error());
    boards.compiler = std::move(*compiler);
    return plan;
}

/// What was asked for and fits nowhere is a usage error before any work is done: cheap beside the analysis, and a typo
/// should not wait for it.
Result<std::vector<Diagnostic>> check_fits(const Parsed& parsed, const std::vector<std::size_t>& chosen, const Described& described) {
    FitBook fits;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const Requests& requests = described.requests[described.of_kernel[i]];
        const bool asks = !requests.arguments.empty() || !requests.data.empty() || !requests.policy.trips.empty() || !requests.policy.taken.empty() || !requests.cases.list.empty() ||
                          !requests.params.empty();
        if (!asks) continue;
        const KernelPlace& place = parsed.places[chosen[i]];
        KernelCode code = analyse_kernel(*place.module, place.entry);
        if (auto wrong = name_parameters(requests, code.facts)) return tl::unexpected(*wrong);
        if (requests.cases.list.empty()) fits.record(parsed.names[chosen[i]].demangled, requests, make_subject(code, requests), code.facts.loops);
        for (const Case& one : requests.cases.list) fits.record(parsed.names[chosen[i]].demangled, requests, make_subject(code, requests, &one), code.facts.loops);
        if (const auto missing = missing_argument(code.facts, requests.arguments, requests.cases)) return tl::unexpected(*missing);
    }
    if (const auto misfit = fits.misfit()) return tl::unexpected(*misfit);
    return fits.notes();
}

/// All chosen kernels, on some threads; the first failure in their order is the one reported.
Result<void> analyse_all(const Parsed& parsed, const std::vector<std::size_t>& chosen, const Plan& plan, const Described& described, const std::vector<Metadata>& metadata,
                         const AnalyzeOptions& options, Analysis& analysis) {
    auto notes = check_fits(parsed, chosen, described);
    if (!notes) return tl::unexpected(notes.error());
    const unsigned threads = std::max(1u, options.threads);
    const unsigned outer = chosen.size() >= threads ? threads : 1, inner = outer > 1 ? 1 : threads;
    // The gate's figures must not depend on how many other kernels there are.
    const bool brief = chosen.size() > kManyKernels && !options.own_launch && !options.full_detail;
    std::vector<std::optional<Result<KernelAnalysis>>> results(chosen.size());
    std::mutex counting;
    std::size_t done = 0;
    parallel_for(chosen.size(), outer, [&](std::size_t i) {
        const KernelPlace& place = parsed.places[chosen[i]];
        const Requests& requests = described.requests[described.of_kernel[i]];
        KernelCode code = analyse_kernel(*place.module, place.entry);
        (void)name_parameters(requests, code.facts);   // checked above
        apply_metadata(metadata[i], code.facts);
        results[i] = analyse_on_boards(place, code, requests, plan.boards, options, inner, brief);
        if (options.on_progress) {
            const std::lock_guard lock(counting);
            options.on_progress(++done, chosen.size());
        }
        if (!*results[i]) return;
        (*results[i])->calls = described.calls[i];
        (*results[i])->input = place.input->path;
        (*results[i])->metadata = metadata[i];
    });
    for (auto& result : results) {
        if (!*result) return tl::unexpected(result->error());
        analysis.kernels.push_back(std::move(**result));
    }
    analysis.notes = described.notes;
    analysis.notes.insert(analysis.notes.end(), notes->begin(), notes->end());
    count(described.notes, analysis);
    return {};
}

/// A constant that was compiled in has no name any more: the table can say it.
Diagnostic with_table_help(Diagnostic error, const AnalyzeOptions& options) {
    if (error.id == "FF0742" && options.variants) error.help += (error.help.empty() ? "" : "; ") + std::string("what was compiled in is said by --variant-table FILE.csv: a column variant, and one by that name");
    return error;
}

}  // namespace

Result<Analysis> analyze(const std::vector<Input>& inputs, const AnalyzeOptions& options) {
    auto plan = plan_of(options);
    if (!plan) return tl::unexpected(plan.error());
    Analysis analysis;
    const Parsed parsed = parse_inputs(inputs, analysis);
    analysis.used["ptxas"] = plan->boards.compiler->version();
    for (const Input& input : inputs)
        for (const auto& [tool, version] : input.used) analysis.used[tool] = version;
    auto machine_code = machine_kernels(inputs, options.launch.kernels, plan->boards.gpus);
    if (!machine_code && parsed.places.empty()) return tl::unexpected(machine_code.error());
    if (machine_code) analysis.machine_kernels = std::move(*machine_code);
    if (parsed.places.empty()) {
        // Texts with errors speak for themselves; a sound input without a kernel is an input error of its own.
        if (analysis.errors > 0) return analysis;
        Diagnostic none = complain("FF0817", inputs.size() == 1 ? inputs.front().path : "", "there is no kernel to analyse", "a kernel is an .entry with a body; flipflop inspect shows what is there");
        return tl::unexpected(none);
    }
    const auto chosen = select_kernels(parsed.names, options.launch.kernels);
    if (!chosen) {
        Diagnostic error = chosen.error();
        if (analysis.errors > 0) error.help += fmt::format("; {} error{} in the input may hide others: flipflop inspect", analysis.errors, analysis.errors == 1 ? "" : "s");
        return tl::unexpected(error);
    }
    auto described = describe(std::move(plan->requests), options, parsed.names, *chosen);
    if (!described) return tl::unexpected(described.error());
    for (const std::size_t k : *chosen) plan->boards.compiler->expect(*parsed.places[k].module);
    std::vector<Metadata> metadata;
    for (const std::size_t k : *chosen) metadata.push_back(metadata_of(*parsed.places[k].input, plan->table ? &*plan->table : nullptr, parsed.names[k].name));
    add_metadata(*described, metadata);
    if (auto done = analyse_all(parsed, *chosen, *plan, *described, metadata, options, analysis); !done) return tl::unexpected(with_table_help(done.error(), options));
    if (options.variants) analysis.variants = rank_variants(analysis.kernels, options.objective, plan->boards.paired);
    if (options.source_text) suppress(analysis, options.source_text);
    analysis.steps = summarise_steps(analysis.kernels);
    const std::vector<Diagnostic> notes = plan->boards.compiler->notes();
    analysis.notes.insert(analysis.notes.end(), notes.begin(), notes.end());
    count(notes, analysis);
    return analysis;
}

}  // namespace flipflop
