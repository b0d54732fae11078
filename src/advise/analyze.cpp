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
#include "library.hpp"
#include "machine_code.hpp"
#include "machines.hpp"
#include "step.hpp"
#include "select_kernels.hpp"
#include "source_names.hpp"
#include "suppress.hpp"

namespace flipflop {

namespace {

using namespace advise;

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

bool asks_for_something(const Requests& requests) {
    return !requests.arguments.empty() || !requests.data.empty() || !requests.policy.trips.empty() || !requests.policy.taken.empty() || !requests.cases.list.empty() || !requests.params.empty();
}

/// What was asked for and fits nowhere is a usage error before any work is done: cheap beside the analysis, and a typo
/// should not wait for it.
Result<std::vector<Diagnostic>> check_fits(Library& library, const std::vector<std::size_t>& chosen, const Described& described, SourceNames& sources) {
    FitBook fits;
    std::vector<std::size_t> asking, position;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (!asks_for_something(described.requests[described.of_kernel[i]])) continue;
        asking.push_back(chosen[i]);
        position.push_back(i);
    }
    std::optional<Diagnostic> wrong;
    library.each(asking, 1, [&](std::size_t at, const KernelPlace& place, unsigned) {
        if (wrong) return;
        const Requests& requests = described.requests[described.of_kernel[position[at]]];
        const std::string& name = library.names()[asking[at]].demangled;
        KernelCode code = analyse_kernel(*place.module, place.entry);
        sources.apply(*place.input, code.facts);
        wrong = name_parameters(requests, code.facts);
        if (wrong) return;
        if (requests.cases.list.empty()) fits.record(name, requests, make_subject(code, requests));
        for (const Case& one : requests.cases.list) fits.record(name, requests, make_subject(code, requests, &one));
        std::vector<ArgumentRequest> common = requests.arguments;
        Cases cases = requests.cases;
        use_field_names(requests.fields, common);
        for (Case& one : cases.list) use_field_names(requests.fields, one.arguments);
        wrong = missing_argument(code.facts, common, cases);
    });
    if (wrong) return tl::unexpected(*wrong);
    if (const auto misfit = fits.misfit()) return tl::unexpected(*misfit);
    return fits.notes();
}

/// Of a kernel among many only what its line says: see AnalyzeOptions::lines_only.
void keep_line(KernelAnalysis& kernel) {
    kernel.facts.accesses = {};
    kernel.facts.loops = {};
    kernel.facts.parameters = {};
    kernel.parameter_values = {};
    for (KernelResult& result : kernel.results) {
        const bool any = std::any_of(result.configs.begin(), result.configs.end(), [](const ConfigResult& c) { return c.predicted && (c.recommended || c.is_current); });
        std::vector<ConfigResult> kept;
        for (ConfigResult& config : result.configs) {
            if (!config.predicted || (any ? !config.recommended && !config.is_current : !kept.empty())) continue;
            config.facts.reset();
            config.predicted->time.total.parts = {};
            if (config.predicted->power) config.predicted->power->energy.parts = {};
            if (config.predicted->power) config.predicted->power->power.parts = {};
            kept.push_back(std::move(config));
        }
        result.configs = std::move(kept);
        GpuProfile board;
        board.id = result.profile.id;
        board.name = result.profile.name;
        result.profile = std::move(board);
        result.assumptions = {};
        result.findings = {};
        result.suppressed = {};
        if (result.recommendation) result.recommendation->reasons = {};
    }
}

/// All chosen kernels, on some threads; the first failure in their order is the one reported.
Result<void> analyse_all(Library& library, const std::vector<std::size_t>& chosen, const Plan& plan, const Described& described, const std::vector<Metadata>& metadata,
                         const AnalyzeOptions& options, Analysis& analysis) {
    SourceNames sources;
    auto notes = check_fits(library, chosen, described, sources);
    if (!notes) return tl::unexpected(notes.error());
    // The gate's figures must not depend on how many other kernels there are.
    const bool brief = chosen.size() > kManyKernels && !options.own_launch && !options.full_detail;
    analysis.overview = brief && std::any_of(described.requests.begin(), described.requests.end(), [](const Requests& r) { return r.options.blocks.empty(); });
    std::vector<std::optional<Result<KernelAnalysis>>> results(chosen.size());
    std::mutex counting;
    std::size_t done = 0;
    library.each(chosen, std::max(1u, options.threads), [&](std::size_t i, const KernelPlace& place, unsigned inner) {
        const Requests& requests = described.requests[described.of_kernel[i]];
        KernelCode code = analyse_kernel(*place.module, place.entry);
        sources.apply(*place.input, code.facts);
        (void)name_parameters(requests, code.facts);   // checked above
        apply_metadata(metadata[i], code.facts);
        results[i] = analyse_on_boards(place, code, requests, plan.boards, options, inner, brief);
        if (options.on_progress) {
            const std::lock_guard lock(counting);
            options.on_progress(++done, chosen.size());
        }
        if (!*results[i]) return;
        KernelAnalysis& kernel = **results[i];
        kernel.calls = described.calls[i];
        kernel.input = place.input->path;
        kernel.facts.id = library.names()[chosen[i]].id;
        kernel.metadata = metadata[i];
        if (brief && options.lines_only && !options.variants) keep_line(kernel);
    }, {[&](const KernelPlace& place) { plan.boards.compiler->expect(*place.module); }, [&] { plan.boards.compiler->forget(); }});
    for (auto& result : results) {
        if (!*result) return tl::unexpected(result->error());
        analysis.kernels.push_back(std::move(**result));
        result.reset();
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
    Library library(inputs, analysis);
    analysis.used["ptxas"] = plan->boards.compiler->version();
    for (const Input& input : inputs)
        for (const auto& [tool, version] : input.used) analysis.used[tool] = version;
    auto machine_code = machine_kernels(inputs, options.launch.kernels, plan->boards.gpus);
    if (!machine_code && library.names().empty()) return tl::unexpected(machine_code.error());
    if (machine_code) analysis.machine_kernels = std::move(*machine_code);
    if (library.names().empty()) {
        // Texts with errors speak for themselves; a sound input without a kernel is an input error of its own.
        if (analysis.errors > 0) return analysis;
        Diagnostic none = complain("FF0817", inputs.size() == 1 ? inputs.front().path : "", "there is no kernel to analyse", "a kernel is an .entry with a body; flipflop inspect shows what is there");
        return tl::unexpected(none);
    }
    const auto chosen = select_kernels(library.names(), options.launch.kernels);
    if (!chosen) {
        if (analysis.errors == 0 || chosen.error().id != "FF0701") return tl::unexpected(chosen.error());
        // What the errors have hidden may well be it: they are the news.
        analysis.notes.push_back(chosen.error());
        analysis.notes.back().severity = Severity::warning;
        analysis.notes.back().help += "; the errors above may hide others";
        return analysis;
    }
    auto described = describe(std::move(plan->requests), options, library.names(), *chosen);
    if (!described) return tl::unexpected(described.error());
    std::vector<Metadata> metadata;
    for (const std::size_t k : *chosen) metadata.push_back(metadata_of(library.input_of(k), plan->table ? &*plan->table : nullptr, library.names()[k].name));
    add_metadata(*described, metadata);
    if (auto done = analyse_all(library, *chosen, *plan, *described, metadata, options, analysis); !done) return tl::unexpected(with_table_help(done.error(), options));
    if (options.variants) analysis.variants = rank_variants(analysis.kernels, options.objective, plan->boards.paired);
    if (options.source_text) suppress(analysis, options.source_text);
    analysis.steps = summarise_steps(analysis.kernels);
    const std::vector<Diagnostic> notes = plan->boards.compiler->notes();
    analysis.notes.insert(analysis.notes.end(), notes.begin(), notes.end());
    count(notes, analysis);
    return analysis;
}

}  // namespace flipflop
