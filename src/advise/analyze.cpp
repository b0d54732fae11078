// The main job, top to bottom: options are checked before anything is read; texts become modules, modules kernels; each
// chosen kernel is analysed on each GPU; what was asked for and fitted nowhere is a usage error.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "compile.hpp"
#include "complaints.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/evaluator.hpp"
#include "gpu_result.hpp"
#include "machines.hpp"
#include "parallel.hpp"
#include "producer.hpp"
#include "passes/names.hpp"
#include "select_kernels.hpp"

namespace flipflop {

namespace {

using namespace advise;

struct KernelPlace { const Input* input{}; const ptx::Module* module{}; std::uint32_t entry{}; };

/// Everything parsed, and kept alive for as long as kernels point into it.
struct Parsed {
    std::vector<std::unique_ptr<ptx::ParseResult>> texts;
    std::vector<KernelPlace> places;
    std::vector<KernelName> names;
};

struct Plan {
    Requests requests;
    std::vector<GpuProfile> gpus;
    std::vector<GpuModel> models;            ///< by GPU
    std::vector<PairedError> paired;         ///< by GPU
    std::vector<OperatingPoint> points;
    std::unique_ptr<Compiler> compiler;
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
    plan.points = std::move(*points);
    auto gpus = load_gpus(options);
    if (!gpus) return tl::unexpected(gpus.error());
    plan.gpus = std::move(*gpus);
    for (const GpuProfile& gpu : plan.gpus) {
        plan.models.emplace_back(gpu);
        plan.paired.push_back(paired_error(gpu));
    }
    auto compiler = Compiler::make(options);
    if (!compiler) return tl::unexpected(compiler.error());
    plan.compiler = std::move(*compiler);
    return plan;
}

/// One kernel on all GPUs. The subject is made first, so that requests that fit nowhere are known before any work is done.
Result<KernelAnalysis> analyse_one(const KernelPlace& place, KernelCode& code, const Subject& subject, const Plan& plan, const AnalyzeOptions& options, unsigned threads) {
    KernelAnalysis analysis;
    analysis.parameter_values = subject.arguments.words;
    const Evaluator evaluator(code);
    FactsBook book(code, evaluator, subject, options.launch.blocks.empty() ? std::optional(kSearchBudget) : std::nullopt);
    ResultOptions result_options{options.objective, plan.points, options.full_detail, options.own_launch, threads};
    for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
        const GpuProfile& gpu = plan.gpus[i];
        auto resources = plan.compiler->resources(code, *place.module, gpu);
        if (!resources) return tl::unexpected(resources.error());
        const Stage stage{&book, &gpu, &plan.models[i], plan.paired[i], std::move(*resources), choose_code(*place.input, *place.module, gpu.cc), options.launch, options.warm_cache};
        auto result = result_on_gpu(stage, result_options, plan.requests, evaluator);
        if (!result) return tl::unexpected(result.error());
        analysis.results.push_back(std::move(*result));
    }
    analysis.facts = std::move(code.facts);
    return analysis;
}

/// All chosen kernels, on some threads; the first failure in their order is the one reported.
Result<void> analyse_all(const Parsed& parsed, const std::vector<std::size_t>& chosen, const Plan& plan, const AnalyzeOptions& options, Analysis& analysis) {
    const unsigned threads = std::max(1u, options.threads);
    const unsigned outer = chosen.size() >= threads ? threads : 1, inner = outer > 1 ? 1 : threads;
    FitBook fits(plan.requests, chosen.size());
    std::vector<std::optional<Result<KernelAnalysis>>> results(chosen.size());
    const bool asks = !plan.requests.arguments.empty() || !plan.requests.data.empty() || !plan.requests.policy.trips.empty() ||
                      !plan.requests.policy.taken.empty();
    if (asks)
        for (std::size_t i = 0; i < chosen.size(); ++i) {   // cheap beside the analysis, and a typo should not wait for it
            const KernelPlace& place = parsed.places[chosen[i]];
            const KernelCode code = analyse_kernel(*place.module, place.entry);
            fits.record(i, parsed.names[chosen[i]].demangled, make_subject(code, plan.requests), code.facts.loops);
        }
    if (const auto misfit = fits.misfit()) return tl::unexpected(*misfit);
    parallel_for(chosen.size(), outer, [&](std::size_t i) {
        const KernelPlace& place = parsed.places[chosen[i]];
        KernelCode code = analyse_kernel(*place.module, place.entry);
        const Subject subject = make_subject(code, plan.requests);
        results[i] = analyse_one(place, code, subject, plan, options, inner);
    });
    for (auto& result : results) {
        if (!*result) return tl::unexpected(result->error());
        analysis.kernels.push_back(std::move(**result));
    }
    analysis.notes = fits.notes();
    return {};
}

}  // namespace

Result<Analysis> analyze(const std::vector<Input>& inputs, const AnalyzeOptions& options) {
    auto plan = plan_of(options);
    if (!plan) return tl::unexpected(plan.error());
    Analysis analysis;
    const Parsed parsed = parse_inputs(inputs, analysis);
    analysis.used["ptxas"] = plan->compiler->version();
    for (const Input& input : inputs)
        for (const auto& [tool, version] : input.used) analysis.used[tool] = version;
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
    if (auto done = analyse_all(parsed, *chosen, *plan, options, analysis); !done) return tl::unexpected(done.error());
    const std::vector<Diagnostic>& notes = plan->compiler->notes();
    analysis.notes.insert(analysis.notes.end(), notes.begin(), notes.end());
    count(notes, analysis);
    return analysis;
}

}  // namespace flipflop
