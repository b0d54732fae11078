#include "recommend.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "candidates.hpp"
#include "complaints.hpp"
#include "flipflop/hit_rates.hpp"
#include "reasons.hpp"
#include "safety.hpp"

namespace flipflop::advise {

namespace {

constexpr double kHigh = 0.7, kMedium = 0.5;      // chances whose levels docs/accuracy.md measures (tools/accuracy/residuals.py)
constexpr double kNinety = 1.6448536269514722;   // 90 % of a normal distribution lies within this many sigmas

std::vector<std::string> caveats_of(const Stage& stage, const Candidate& best) {
    std::vector<std::string> caveats;
    const KernelFacts& kernel = stage.facts->code().facts;
    if (!best.safety.safe) caveats.push_back("unverified: " + best.safety.reason);
    if (!stage.code.same_source) caveats.push_back(fmt::format("the GPU runs {}, the analysis is of the PTX beside it", stage.code.runs));
    if (stage.resources.registers_basis == RegistersBasis::estimate && stage.resources.registers_low != stage.resources.registers_high)
        caveats.push_back(fmt::format("registers are estimated ({} to {}); ptxas would tell", stage.resources.registers_low, stage.resources.registers_high));
    if (kernel.bounds.required_block && !stage.options.ignore_launch_bounds)
        caveats.push_back(fmt::format("the block is fixed at compile time ({}): {}", stage.triton ? "Triton, 32 * num_warps threads" : ".reqntid", levers_of(stage)));
    if (stage.options.ignore_launch_bounds && (kernel.bounds.required_block || kernel.bounds.max_threads))
        caveats.push_back("a what-if: the code's launch bounds were ignored (--ignore-launch-bounds)");
    if (const auto& cluster = stage.facts->subject().cluster; cluster && cluster->count() > kPortableCluster)
        caveats.push_back(fmt::format("a cluster of {} blocks is more than the portable {}: the host must allow it (cudaFuncAttributeNonPortableClusterSizeAllowed), and not every GPU of this kind has the room",
                                      cluster->count(), kPortableCluster));
    const LaunchFacts& facts = *best.trial->facts;
    if (facts.unknown_branches > 0)
        caveats.push_back(fmt::format("{} {} on data: ranked with both outcomes, what is good under either is kept", facts.unknown_branches, facts.unknown_branches == 1 ? "branch depends" : "branches depend"));
    for (std::size_t i = 0; i < facts.loops.size() && i < kernel.loops.size(); ++i) {
        if (facts.loops[i].basis != CountBasis::wait) continue;
        const auto& place = kernel.loops[i].source;
        caveats.push_back(fmt::format("it waits in a loop ({}) for others: one pass is counted, so where they are late it takes longer than predicted",
                                      place ? fmt::format("{}:{}", place->file.substr(place->file.find_last_of('/') + 1), place->line) : fmt::format("ptx:{}", kernel.loops[i].ptx_line)));
        break;
    }
    if (kernel.mix.unknown_share > 0) caveats.push_back(fmt::format("{:.1f} % of the instructions are not known", 100 * kernel.mix.unknown_share));
    if (best.predicted->power && !best.predicted->power->calibrated) caveats.push_back("power is not calibrated for this board");
    if (!best.predicted->time.calibrated) caveats.push_back("time is not calibrated for this board");
    return caveats;
}

}  // namespace

std::string levers_of(const Stage& stage) {
    const KernelFacts& kernel = stage.facts->code().facts;
    std::vector<std::string> levers;
    if (stage.triton) levers.push_back("num_warps, num_stages and the tile sizes (compile variants and rank them: --variants)");
    const auto& axes = stage.facts->subject().rule.axis;
    const bool open_grid = std::any_of(std::begin(axes), std::end(axes), [](const AxisRule& a) { return a.kind != AxisRule::Kind::work; });
    if (open_grid) levers.push_back("the grid (--grid, --grid-x)");
    if (!stage.triton) levers.push_back("the work of a thread");
    if (stage.resources.uses_dynamic_shared && !stage.triton) levers.push_back("dynamic shared memory (--dynamic-smem)");
    if (stage.gpu->cc.major >= 9 && (kernel.uses_cluster || kernel.bounds.cluster)) levers.push_back("the cluster (--cluster)");
    if (!kernel.bounds.max_registers) levers.push_back("registers (-maxrregcount)");
    levers.push_back("clock and power limit (--clock, --power-limit)");
    return "what remains is " + fmt::format("{}", fmt::join(levers, ", "));
}

Gain gain_over(const Dim3& other, const Prediction& recommended, const Prediction& baseline, bool same, const PairedError& error) {
    Gain gain;
    gain.block = other;
    const auto spread = [&](double sigma) { return same ? 1.0 : std::exp(kNinety * sigma); };
    gain.time_ratio = recommended.time.total.value / baseline.time.total.value;
    gain.time_ratio_low = gain.time_ratio / spread(error.time_log_sigma);
    gain.time_ratio_high = gain.time_ratio * spread(error.time_log_sigma);
    if (recommended.power && baseline.power && baseline.power->energy.value > 0) {
        gain.energy_ratio = recommended.power->energy.value / baseline.power->energy.value;
        gain.energy_ratio_low = *gain.energy_ratio / spread(error.energy_log_sigma);
        gain.energy_ratio_high = *gain.energy_ratio * spread(error.energy_log_sigma);
    }
    return gain;
}

Confidence confidence_in(const Stage& stage, const Candidate& recommended, std::size_t compared, const std::vector<Assumption>& assumptions) {
    std::vector<std::string> open;
    for (const Assumption& a : assumptions)
        if (a.could_change) open.push_back(a.name);
    if (!open.empty()) return {"low", "assumed, and could change the answer: " + list_some(open, 4)};
    if (compared < 2) return {"low", "only one block was compared: that it is the best of one says nothing"};
    const LaunchFacts& facts = *recommended.trial->facts;
    if (facts.basis == CountBasis::assumed || facts.basis == CountBasis::unknown) return {"low", "part of what the kernel does could not be followed"};
    if (stage.resources.registers_basis == RegistersBasis::estimate && stage.resources.registers_low != stage.resources.registers_high)
        return {"low", "registers are estimated, not from ptxas"};
    if (!recommended.p_within) return {"low", "how near the other blocks are is not known"};
    const double chance = *recommended.p_within;
    const std::string level = chance >= kHigh ? "high" : chance >= kMedium ? "medium" : "low";
    const std::optional<HitRate> measured = measured_hit_rate(level);
    const std::string expected = fmt::format("by the models' errors this block is within 5 % of the best with a chance of {:.0f} %", 100 * chance);
    if (!measured) return {"low", expected + "; how often such picks are has not been measured"};
    return {level, fmt::format("{:.0f} % of the picks called {} were within 5 % of the measured best ({}); {}", 100 * measured->within_5pct, level, measured->source, expected)};
}

/// Is today's launch as good as can be told? The recommendation's cost over its own, at the far end of the interval.
bool keeps_current(const Gain& over_current, Objective objective, bool same) {
    if (same) return true;
    if (objective == Objective::time) return over_current.time_ratio_high >= 1;
    if (!over_current.energy_ratio_high) return false;
    return objective == Objective::edp ? over_current.time_ratio_high * *over_current.energy_ratio_high >= 1 : *over_current.energy_ratio_high >= 1;
}

Advice recommend(const Stage& stage, const ResultOptions& options, const Candidate* best, std::size_t compared, const Baseline& heuristic,
                 const Baseline& current, const std::vector<Assumption>& assumptions) {
    Advice advice;
    if (!best) {
        advice.none_because = stage.code.compatible ? "no block of the search can be launched on this GPU" : stage.code.why_not;
        return advice;
    }
    if (best->safety.safe && !*best->safety.safe) {
        advice.none_because = "every block that can be launched would compute something else: " + best->safety.reason;
        return advice;
    }
    Recommendation r;
    r.objective = to_string(options.objective);
    r.block = best->trial->block;
    r.grid = best->trial->grid;
    const OperatingPoint& point = options.points[best->point];
    r.clock_mhz = point.clock_mhz;
    r.power_limit_w = point.power_limit_w;
    r.safe = best->safety.safe;
    const auto same = [&](const Baseline& b) { return b.trial && b.trial->block == r.block && b.trial->grid == r.grid; };
    if (heuristic.predicted) r.over_heuristic = gain_over(heuristic.trial->block, *best->predicted, *heuristic.predicted, same(heuristic), stage.paired);
    if (current.predicted) r.over_current = gain_over(current.trial->block, *best->predicted, *current.predicted, same(current), stage.paired);
    if (r.over_current) r.keep_current = keeps_current(*r.over_current, options.objective, same(current));
    const Baseline& versus = current.predicted ? current : heuristic;
    if (versus.predicted && !same(versus)) {
        r.reasons = reasons_for(stage, *versus.trial, *best->trial, point);
    }
    r.caveats = caveats_of(stage, *best);
    for (const Baseline* baseline : {&heuristic, &current}) {
        if (!baseline->predicted) continue;
        const Contradiction other = contradiction(*best->trial->facts, *baseline->trial->facts);
        if (other.proof)
            r.caveats.push_back(fmt::format("{} ({}) does not do the same work, so the gain over it is not like for like ({:.0f} distinct bytes written, {:.0f} recommended)", words_of(baseline->trial->block),
                                            baseline == &heuristic ? "the occupancy heuristic" : "today's launch",
                                            baseline->trial->facts->footprint.unique_written_bytes.value_or(0), best->trial->facts->footprint.unique_written_bytes.value_or(0)));
    }
    const Confidence confidence = confidence_in(stage, *best, compared, assumptions);
    r.confidence = confidence.level;
    r.confidence_reason = confidence.reason;
    advice.recommendation = std::move(r);
    return advice;
}

}  // namespace flipflop::advise
