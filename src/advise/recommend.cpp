#include "recommend.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "complaints.hpp"
#include "reasons.hpp"
#include "safety.hpp"

namespace flipflop::advise {

namespace {

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
    const LaunchFacts& facts = *best.trial->facts;
    if (facts.unknown_branches > 0)
        caveats.push_back(fmt::format("{} {} on data: ranked with both outcomes, what is good under either is kept", facts.unknown_branches, facts.unknown_branches == 1 ? "branch depends" : "branches depend"));
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

Confidence confidence_in(const Stage& stage, const Candidate& recommended, const std::vector<Assumption>& assumptions) {
    // The levels are to be tied to measured hit rates; none has been measured, so nothing is called high.
    std::vector<std::string> open;
    for (const Assumption& a : assumptions)
        if (a.could_change) open.push_back(a.name);
    if (!open.empty()) return {"low", "assumed, and could change the answer: " + list_some(open, 4)};
    const LaunchFacts& facts = *recommended.trial->facts;
    if (facts.basis == CountBasis::assumed || facts.basis == CountBasis::unknown) return {"low", "part of what the kernel does could not be followed"};
    if (stage.resources.registers_basis == RegistersBasis::estimate && stage.resources.registers_low != stage.resources.registers_high)
        return {"low", "registers are estimated, not from ptxas"};
    const std::string unmeasured = "; how often that holds has not been measured yet";
    if (recommended.p_within && *recommended.p_within < 0.5)
        return {"low", fmt::format("several blocks are too near each other: {:.0f} % to be within 5 % of the best", 100 * *recommended.p_within) + unmeasured};
    return {"medium", "the launch is fully described" + unmeasured};
}

Advice recommend(const Stage& stage, const ResultOptions& options, const Candidate* best, const Baseline& heuristic,
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
    const Confidence confidence = confidence_in(stage, *best, assumptions);
    r.confidence = confidence.level;
    r.confidence_reason = confidence.reason;
    advice.recommendation = std::move(r);
    return advice;
}

}  // namespace flipflop::advise
