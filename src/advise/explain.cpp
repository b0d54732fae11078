// From an Analysis to an Explanation: which configurations stand beside each other, how their terms differ, and why one
// is not the recommended one.
#include "flipflop/explain.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

namespace flipflop {
namespace {

std::string block_text(const Dim3& block) {
    return block.z != 1   ? fmt::format("{},{},{}", block.x, block.y, block.z)
           : block.y != 1 ? fmt::format("{},{}", block.x, block.y)
                          : fmt::format("{}", block.x);
}

/// Every term by its path; a repeated path gets the position among its siblings.
void collect(const Term& term, const std::string& path, std::map<std::string, const Term*>& out, std::vector<std::string>& order) {
    out.emplace(path, &term);
    order.push_back(path);
    for (std::size_t i = 0; i < term.parts.size(); ++i) {
        std::string child = path + "/" + term.parts[i].id;
        if (out.contains(child)) { child += fmt::format("#{}", i); }
        collect(term.parts[i], child, out, order);
    }
}

/// Differences of the terms that are times or energies of their own (they carry the root's unit): "what costs more".
std::vector<TermChange> term_changes(const Term& first, const Term& second) {
    std::map<std::string, const Term*> a;
    std::map<std::string, const Term*> b;
    std::vector<std::string> order;
    std::vector<std::string> order_b;
    collect(first, first.id, a, order);
    collect(second, second.id, b, order_b);
    for (const std::string& path : order_b) {
        if (!a.contains(path)) { order.push_back(path); }
    }
    std::vector<TermChange> changes;
    for (const std::string& path : order) {
        const auto in_a = a.find(path);
        const auto in_b = b.find(path);
        const Term* const known = in_a != a.end() ? in_a->second : in_b->second;
        if (known->unit != first.unit) { continue; }
        TermChange change{path, known->unit, {}, {}};
        if (in_a != a.end()) { change.value = in_a->second->value; }
        if (in_b != b.end()) { change.other = in_b->second->value; }
        const double delta = change.value.value_or(0) - change.other.value_or(0);
        // Below half a percent of the total a difference explains nothing.
        if (std::abs(delta) > 0.005 * std::abs(second.value)) { changes.push_back(std::move(change)); }
    }
    std::stable_sort(changes.begin(), changes.end(), [](const TermChange& x, const TermChange& y) {
        const auto size = [](const TermChange& c) { return std::abs(c.value.value_or(0) - c.other.value_or(0)); };
        return size(x) > size(y);
    });
    return changes;
}

/// The deepest term that holds most of the whole difference (four fifths): the most precise thing that is still true.
const TermChange* telling_change(const std::vector<TermChange>& changes, double whole) {
    const auto depth = [](const TermChange& c) { return std::count(c.path.begin(), c.path.end(), '/'); };
    const TermChange* best = nullptr;
    for (const TermChange& change : changes) {
        if (!change.value || !change.other) { continue; }
        const double share = (*change.value - *change.other) / whole;
        if (share >= 0.8 && depth(change) > 0 && (best == nullptr || depth(change) > depth(*best))) { best = &change; }
    }
    return best;
}

/// Puts the whole trees where the energy's own tree only names their values.
void graft(Term& energy, const Term& power, const Term& time) {
    for (Term& part : energy.parts) {
        if (!part.parts.empty()) {
            graft(part, power, time);
        } else if (part.id == power.id && part.value == power.value) {
            part = power;
        } else if (part.id == time.id && part.value == time.value) {
            part = time;
        }
    }
}

/// 90 % of a log-normal ratio.
constexpr double kNinety = 1.6448536269514722;

Comparison compare(const ExplainedKernel& kernel, std::size_t first, std::size_t second, const GpuProfile& gpu) {
    Comparison out;
    out.first = first;
    out.second = second;
    const ConfigResult& a = kernel.configs[first].config;
    const ConfigResult& b = kernel.configs[second].config;
    if (!a.predicted || !b.predicted) {
        const ConfigResult& missing = a.predicted ? b : a;
        out.verdict = fmt::format("{} cannot be compared: {}", block_text(missing.block), missing.why_not.empty() ? "not predicted" : missing.why_not);
        return out;
    }
    const PairedError error = paired_error(gpu);
    const auto ratio = [](double x, double y, double sigma, auto& value, auto& low, auto& high) {
        value = x / y;
        low = *value * std::exp(-kNinety * sigma);
        high = *value * std::exp(kNinety * sigma);
    };
    const Term& time_a = a.predicted->time.total;
    const Term& time_b = b.predicted->time.total;
    if (time_b.value > 0) { ratio(time_a.value, time_b.value, error.time_log_sigma, out.time_ratio, out.time_ratio_low, out.time_ratio_high); }
    if (a.predicted->power && b.predicted->power && b.predicted->power->energy.value > 0) {
        ratio(a.predicted->power->energy.value, b.predicted->power->energy.value, error.energy_log_sigma, out.energy_ratio,
              out.energy_ratio_low, out.energy_ratio_high);
    }
    out.changes = term_changes(time_a, time_b);
    if (out.time_ratio) {
        const bool clear = *out.time_ratio_high < 1 || *out.time_ratio_low > 1;
        out.verdict = !clear ? fmt::format("{} and {} are too close to tell apart", block_text(a.block), block_text(b.block))
                             : fmt::format("{} is {} than {}", block_text(a.block), *out.time_ratio < 1 ? "faster" : "slower", block_text(b.block));
        if (const TermChange* const reason = telling_change(out.changes, time_a.value - time_b.value); reason != nullptr) {
            out.verdict += fmt::format(", most of it in {}: {:.3g} for {:.3g} {}", reason->path, *reason->value, *reason->other, reason->unit);
        }
        out.verdict += ".";
    }
    return out;
}

const ConfigResult* find_block(const KernelResult& result, const Dim3& block) {
    const auto found = std::find_if(result.configs.begin(), result.configs.end(), [&](const ConfigResult& c) { return c.block == block; });
    return found != result.configs.end() ? &*found : nullptr;
}

/// What the search said of each kernel and board; empty without a search.
const KernelResult* same_result(const std::optional<Analysis>& searched, std::size_t kernel, std::size_t result) {
    if (!searched || kernel >= searched->kernels.size() || result >= searched->kernels[kernel].results.size()) { return nullptr; }
    return &searched->kernels[kernel].results[result];
}

std::vector<std::string> reasons_against(const ExplainedKernel& kernel, const Dim3& block, const KernelResult* searched) {
    std::vector<std::string> reasons;
    const auto asked = std::find_if(kernel.configs.begin(), kernel.configs.end(), [](const ExplainedConfig& e) { return e.role == "why_not"; });
    if (asked == kernel.configs.end()) { return reasons; }
    const ConfigResult& config = asked->config;
    if (!config.launchable) {
        reasons.push_back(fmt::format("it cannot launch: {}", config.why_not));
        return reasons;
    }
    if (config.safe == std::optional(false)) { reasons.push_back(fmt::format("it would not compute the same: {}", config.safe_reason)); }
    if (!config.safe) {
        reasons.push_back(fmt::format("that it computes the same is not verified{}", config.safe_reason.empty() ? "" : ": " + config.safe_reason));
    }
    if (searched != nullptr) {
        const ConfigResult* const candidate = find_block(*searched, block);
        if (candidate == nullptr) {
            reasons.push_back("it is not among the shapes that the search tries (1-D: multiples of 32; 2-D and 3-D: powers of two)");
        } else if (candidate->recommended) {
            reasons.push_back("it is the recommended block");
        } else if (candidate->kept) {
            reasons.push_back("it is among the kept ones: the recommended block only leads by the objective");
        }
        if (candidate != nullptr && candidate->rank) { reasons.push_back(fmt::format("rank {} of {} launchable", *candidate->rank, searched->space.launchable)); }
    }
    for (const Comparison& comparison : kernel.comparisons) {
        if (&kernel.configs[comparison.second] == &*asked && !comparison.verdict.empty()) { reasons.push_back(comparison.verdict); }
    }
    return reasons;
}

/// One kernel on one board: the asked one (or the recommended), then those beside it.
ExplainedKernel explain_result(const KernelAnalysis& kernel, const KernelResult& result, const KernelResult* searched, const ExplainRequest& request) {
    ExplainedKernel out;
    out.facts = kernel.facts;
    out.parameter_values = kernel.parameter_values;
    out.gpu = result.gpu;
    out.gpu_name = result.profile.name;
    out.case_name = result.case_name;
    out.resources = result.resources;
    out.assumptions = result.assumptions;
    out.findings = result.findings;
    const auto add = [&](std::string role, const ConfigResult* config) {
        if (config != nullptr) { out.configs.push_back({std::move(role), *config}); }
    };
    const bool recommends = searched != nullptr && searched->recommendation.has_value();
    if (request.block) {
        add("asked", find_block(result, *request.block));
    } else if (recommends) {
        add("recommended", find_block(result, searched->recommendation->block));
    }
    if (request.versus) { add("versus", find_block(result, *request.versus)); }
    if (request.why_not) { add("why_not", find_block(result, *request.why_not)); }
    for (std::size_t i = 1; i < out.configs.size(); ++i) { out.comparisons.push_back(compare(out, 0, i, result.profile)); }
    if (request.why_not) { out.why_not = reasons_against(out, *request.why_not, searched); }
    return out;
}

/// Without --block the recommended configuration is explained; where there is none, that is what must be said.
std::optional<Diagnostic> nothing_to_explain(const ExplainRequest& request, const std::optional<Analysis>& searched) {
    if (request.block || !searched || searched->kernels.empty()) { return std::nullopt; }
    std::string why;
    for (const KernelAnalysis& kernel : searched->kernels) {
        for (const KernelResult& result : kernel.results) {
            if (result.recommendation) { return std::nullopt; }
            if (why.empty()) { why = result.no_recommendation; }
        }
    }
    Diagnostic out;
    out.id = "FF0758";
    out.file = "--block";
    out.message = "nothing is recommended that could be explained" + (why.empty() ? "" : ": " + why);
    out.help = "name the configuration with --block X[,Y[,Z]]";
    return out;
}

/// Why the first differs from each of the others, as `analyze` tells it: with the first as the only candidate and the other as
/// today's launch, the reasons of the recommendation are exactly that. None where the first may not be recommended.
Result<void> add_reasons(const std::vector<Input>& inputs, const AnalyzeOptions& options, Explanation& out) {
    std::vector<std::pair<Dim3, Dim3>> done;
    for (const ExplainedKernel& kernel : out.kernels) {
        for (const Comparison& comparison : kernel.comparisons) {
            const std::pair pair{kernel.configs[comparison.first].config.block, kernel.configs[comparison.second].config.block};
            if (std::find(done.begin(), done.end(), pair) != done.end()) { continue; }
            done.push_back(pair);
            AnalyzeOptions only = options;
            only.launch.blocks = {pair.first};
            only.launch.current = pair.second;
            only.launch.current_grid.reset();
            const Result<Analysis> analysis = analyze(inputs, only);
            if (!analysis) { return tl::unexpected(analysis.error()); }
            std::size_t at = 0;
            for (const KernelAnalysis& k : analysis->kernels) {
                for (const KernelResult& r : k.results) {
                    if (at >= out.kernels.size()) { break; }
                    ExplainedKernel& explained = out.kernels[at++];
                    for (Comparison& c : explained.comparisons) {
                        const bool same = explained.configs[c.first].config.block == pair.first && explained.configs[c.second].config.block == pair.second;
                        if (same && r.recommendation && r.recommendation->over_current) { c.reasons = r.recommendation->reasons; }
                    }
                }
            }
        }
    }
    return {};
}

/// Without blocks of the options' own, in the launches file too.
void search_freely(AnalyzeOptions& options) {
    options.launch.blocks.clear();
    if (!options.launches) { return; }
    for (KernelLaunches& entry : options.launches->kernels) { entry.launch.blocks.clear(); }
}

}  // namespace

std::optional<std::size_t> dominant_part(const Term& term) {
    if (term.parts.empty()) { return std::nullopt; }
    const auto by_size = [](const Term& a, const Term& b) { return std::abs(a.value) < std::abs(b.value); };
    const auto index = [&](auto iterator) { return static_cast<std::size_t>(iterator - term.parts.begin()); };
    switch (term.fold) {
        case Fold::sum:
        case Fold::max:
        case Fold::norm: return index(std::max_element(term.parts.begin(), term.parts.end(), by_size));
        case Fold::min: return index(std::min_element(term.parts.begin(), term.parts.end(), by_size));
        case Fold::product: {
            // Each factor matters alike; what a kernel engineer can change is the time.
            const auto is_time = [](const Term& t) { return t.unit == "us" || t.unit == "ms" || t.unit == "cycles"; };
            const auto time = std::find_if(term.parts.begin(), term.parts.end(), [&](const Term& t) { return !t.parts.empty() && is_time(t); });
            if (time != term.parts.end()) { return index(time); }
            const auto deep = std::find_if(term.parts.begin(), term.parts.end(), [](const Term& t) { return !t.parts.empty(); });
            return deep == term.parts.end() ? 0 : index(deep);
        }
        case Fold::difference:
        case Fold::ratio:
        case Fold::leaf: break;
    }
    return 0;
}

std::optional<Term> whole_term(const ConfigResult& config) {
    if (!config.predicted) { return std::nullopt; }
    if (!config.predicted->power) { return config.predicted->time.total; }
    const PowerEstimate& power = *config.predicted->power;
    Term whole = power.energy;
    graft(whole, power.power, config.predicted->time.total);
    return whole;
}

Result<Explanation> explain(const std::vector<Input>& inputs, const AnalyzeOptions& options, const ExplainRequest& request) {
    // The search says what is recommended and how the asked-for block ranks; it is run where the question needs that.
    std::optional<Analysis> searched;
    if (!request.block || request.why_not) {
        AnalyzeOptions search = options;
        search_freely(search);
        Result<Analysis> found = analyze(inputs, search);
        if (!found) { return tl::unexpected(found.error()); }
        searched = std::move(*found);
    }
    AnalyzeOptions named = options;
    named.full_detail = true;
    search_freely(named);
    const auto add = [&](const std::optional<Dim3>& block) {
        auto& blocks = named.launch.blocks;
        if (block && std::find(blocks.begin(), blocks.end(), *block) == blocks.end()) { blocks.push_back(*block); }
    };
    if (const auto nothing = nothing_to_explain(request, searched)) { return tl::unexpected(*nothing); }
    add(request.block);
    add(request.versus);
    add(request.why_not);
    if (!request.block) {
        for (const KernelAnalysis& kernel : searched->kernels) {
            for (const KernelResult& result : kernel.results) {
                if (result.recommendation) { add(result.recommendation->block); }
            }
        }
    }
    Result<Analysis> analysis = analyze(inputs, named);
    if (!analysis) { return tl::unexpected(analysis.error()); }

    Explanation out;
    out.used = analysis->used;
    out.inputs = analysis->inputs;
    out.notes = analysis->notes;
    out.errors = analysis->errors;
    out.warnings = analysis->warnings;
    for (std::size_t k = 0; k < analysis->kernels.size(); ++k) {
        const KernelAnalysis& kernel = analysis->kernels[k];
        for (std::size_t r = 0; r < kernel.results.size(); ++r) {
            out.kernels.push_back(explain_result(kernel, kernel.results[r], same_result(searched, k, r), request));
        }
    }
    if (const auto added = add_reasons(inputs, options, out); !added) { return tl::unexpected(added.error()); }
    return out;
}

}  // namespace flipflop
