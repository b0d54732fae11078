#include "kernel_analysis.hpp"

#include <algorithm>

#include "across_cases.hpp"
#include "flipflop/evaluator.hpp"
#include "gpu_result.hpp"
#include "launches_file.hpp"
#include "listing.hpp"
#include "parallel.hpp"

namespace flipflop::advise {

namespace {

/// One case: its subject and what its launches do.
struct Run {
    Subject subject;
    std::unique_ptr<FactsBook> book;
};

std::vector<Run> runs_of(const KernelCode& code, const Evaluator& evaluator, const Requests& requests, bool brief) {
    std::vector<Run> runs(std::max<std::size_t>(1, requests.cases.list.size()));
    const std::optional<std::uint64_t> budget = requests.options.blocks.empty() ? std::optional(brief ? kSearchBudget / 10 : kSearchBudget) : std::nullopt;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].subject = make_subject(code, requests, requests.cases.list.empty() ? nullptr : &requests.cases.list[i]);
        runs[i].book = std::make_unique<FactsBook>(code, evaluator, runs[i].subject, budget, brief);
    }
    return runs;
}

bool same_launch(const ConfigResult& config, Dim3 block, const std::optional<double>& clock, const std::optional<double>& limit) {
    return config.block == block && (!clock || config.clock_mhz == clock) && (!limit || config.power_limit_w == limit);
}

/// Says on each configuration what it is among the cases.
void mark(const AcrossCases& across, Objective objective, std::span<KernelResult> results) {
    for (KernelResult& result : results) {
        const auto line = std::find_if(across.cases.begin(), across.cases.end(), [&](const CaseLine& l) { return l.name == result.case_name; });
        if (line == across.cases.end()) continue;
        for (ConfigResult& config : result.configs) {
            if (!config.predicted) continue;
            if (objective == Objective::time) config.regret = config.predicted->time.total.value / line->best_cost - 1;
            const auto add = [&](const char* what) { config.chosen_for += (config.chosen_for.empty() ? "" : " ") + std::string(what); };
            const auto is = [&](const auto& launch) { return same_launch(config, launch.block, launch.clock_mhz, launch.power_limit_w); };
            if (across.least_worst_regret && is(*across.least_worst_regret)) add("least_worst_regret");
            if (across.least_weighted_cost && is(*across.least_weighted_cost)) add("least_weighted_cost");
            for (const DispatchRow& row : across.dispatch)
                if (is(row) && std::find(row.cases.begin(), row.cases.end(), result.case_name) != row.cases.end()) add("dispatch");
        }
    }
}

}  // namespace

Result<KernelAnalysis> analyse_on_boards(const KernelPlace& place, KernelCode& code, const Requests& requests, const Boards& boards,
                                         const AnalyzeOptions& options, unsigned threads, bool brief) {
    const auto at_fault = [&](const Diagnostic& d) { return tl::unexpected(at_origin(d, requests.options.origins)); };
    const Evaluator evaluator(code);
    std::vector<Run> runs = runs_of(code, evaluator, requests, brief);
    for (const Run& run : runs)
        if (run.subject.broken) return tl::unexpected(*run.subject.broken);
    KernelAnalysis analysis;
    analysis.parameter_values = runs.front().subject.arguments.words;
    std::vector<Stage> stages;
    std::vector<Result<Resources>> resources(boards.gpus.size());
    parallel_for(boards.gpus.size(), threads, [&](std::size_t g) { resources[g] = boards.compiler->resources(*place.input, code, *place.module, boards.gpus[g]); });
    for (std::size_t g = 0; g < boards.gpus.size(); ++g) {
        if (!resources[g]) return tl::unexpected(resources[g].error());
        for (Run& run : runs)
            stages.push_back({run.book.get(), &boards.gpus[g], &boards.models[g], boards.paired[g], *resources[g],
                              choose_code(*place.input, *place.module, code.facts.name, boards.gpus[g].cc), requests.options, options.warm_cache, place.input->kind == InputKind::triton});
    }
    // Several cases go side by side, a single one spreads its blocks.
    const unsigned outer = runs.size() > 1 ? threads : 1, inner = runs.size() > 1 ? 1 : threads;
    const ResultOptions result_options{options.objective, boards.points, options.full_detail, options.own_launch, inner, brief};
    std::vector<std::optional<Result<KernelResult>>> results(stages.size());
    parallel_for(stages.size(), outer, [&](std::size_t i) {
        stages[i].budget = share_of_search(stages[i]);
        results[i] = result_on_gpu(stages[i], result_options, requests, evaluator);
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!*results[i]) return at_fault(results[i]->error());
        (*results[i])->case_name = requests.cases.list.empty() ? std::string() : requests.cases.list[i % runs.size()].name;
        analysis.results.push_back(std::move(**results[i]));
    }
    if (!requests.cases.list.empty()) {
        for (std::size_t g = 0; g < boards.gpus.size(); ++g) {
            const std::size_t first = g * runs.size();
            analysis.across.push_back(across_cases({stages.data() + first, runs.size()}, {analysis.results.data() + first, runs.size()}, result_options, requests, evaluator));
            mark(analysis.across.back(), options.objective, {analysis.results.data() + first, runs.size()});
        }
    }
    if (options.listing) analysis.listing = listing_of(code);
    analysis.facts = std::move(code.facts);
    return analysis;
}

}  // namespace flipflop::advise
