#include "step.hpp"

#include <algorithm>

namespace flipflop::advise {

namespace {

struct Cost { double time_us{}; std::optional<double> energy_mj; };

Cost cost_of(const ConfigResult& config) {
    Cost cost{config.predicted->time.total.value, {}};
    if (config.predicted->power) cost.energy_mj = config.predicted->power->energy.value;
    return cost;
}

/// The launch that a step makes: today's, else the first one named, else the recommended one.
const ConfigResult* launch_in_use(const KernelResult& result, std::string& what) {
    const ConfigResult* recommended = nullptr;
    for (const ConfigResult& c : result.configs) {
        if (!c.predicted) continue;
        if (c.is_current) {
            what = "current";
            return &c;
        }
        if (c.recommended) recommended = &c;
    }
    what = "recommended";
    return recommended;
}

/// Sums over a kernel's cases, by their weights; nothing when one of them has none.
struct Mean {
    double weights{}, time_us{}, energy_mj{};
    bool any{}, all{true}, energy{true};

    void add(const ConfigResult* config, double weight) {
        if (config == nullptr) {
            all = false;
            return;
        }
        const Cost cost = cost_of(*config);
        any = true;
        weights += weight;
        time_us += weight * cost.time_us;
        energy = energy && cost.energy_mj.has_value();
        energy_mj += weight * cost.energy_mj.value_or(0);
    }
    [[nodiscard]] bool known() const { return any && all && weights > 0; }
};

double weight_of(const KernelAnalysis& kernel, std::size_t gpu, const KernelResult& result) {
    if (gpu >= kernel.across.size()) return 1;
    for (const CaseLine& line : kernel.across[gpu].cases)
        if (line.name == result.case_name) return line.weight;
    return 1;
}

void add_kernel(const KernelAnalysis& kernel, std::size_t index, std::size_t gpu, std::size_t gpus, StepSummary& step) {
    const std::size_t cases = kernel.results.size() / gpus;
    Mean used, best;
    StepLine line;
    line.kernel = index;
    line.calls = *kernel.calls;
    for (std::size_t c = 0; c < cases; ++c) {
        const KernelResult& result = kernel.results[gpu * cases + c];
        const double weight = weight_of(kernel, gpu, result);
        const ConfigResult* in_use = launch_in_use(result, line.launch);
        used.add(in_use, weight);
        if (in_use != nullptr && c == 0) line.block = in_use->block;
        const auto recommended = std::find_if(result.configs.begin(), result.configs.end(), [](const ConfigResult& x) { return x.recommended && x.predicted; });
        best.add(recommended == result.configs.end() ? nullptr : &*recommended, weight);
    }
    if (!used.known()) {
        step.unpredicted.push_back(index);
        return;
    }
    line.time_us = line.calls * used.time_us / used.weights;
    if (used.energy) line.energy_mj = line.calls * used.energy_mj / used.weights;
    if (best.known()) {
        line.recommended_time_us = line.calls * best.time_us / best.weights;
        if (best.energy) line.recommended_energy_mj = line.calls * best.energy_mj / best.weights;
    }
    step.lines.push_back(std::move(line));
}

void total(StepSummary& step) {
    const auto sum = [&](std::optional<double> StepLine::*member) {
        double all = 0;
        bool known = !step.lines.empty();
        for (const StepLine& line : step.lines) {
            known = known && (line.*member).has_value();
            all += (line.*member).value_or(0);
        }
        return known ? std::optional(all) : std::nullopt;
    };
    for (const StepLine& line : step.lines) step.time_us += line.time_us;
    step.energy_mj = sum(&StepLine::energy_mj);
    step.recommended_time_us = sum(&StepLine::recommended_time_us);
    step.recommended_energy_mj = sum(&StepLine::recommended_energy_mj);
    for (StepLine& line : step.lines) {
        line.time_share = step.time_us > 0 ? line.time_us / step.time_us : 0;
        if (step.energy_mj && *step.energy_mj > 0) line.energy_share = *line.energy_mj / *step.energy_mj;
    }
    std::stable_sort(step.lines.begin(), step.lines.end(), [](const StepLine& a, const StepLine& b) { return a.time_us > b.time_us; });
}

}  // namespace

std::vector<StepSummary> summarise_steps(const std::vector<KernelAnalysis>& kernels) {
    std::vector<StepSummary> steps;
    if (std::none_of(kernels.begin(), kernels.end(), [](const KernelAnalysis& k) { return k.calls.has_value(); })) return steps;
    std::vector<std::string> gpus;   // every kernel has the same ones, in the same order
    for (const KernelResult& result : kernels.front().results)
        if (gpus.empty() || gpus.back() != result.gpu) gpus.push_back(result.gpu);
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        StepSummary step;
        step.gpu = gpus[g];
        for (std::size_t k = 0; k < kernels.size(); ++k) {
            if (kernels[k].calls) add_kernel(kernels[k], k, g, gpus.size(), step);
            else step.uncounted.push_back(k);
        }
        total(step);
        steps.push_back(std::move(step));
    }
    return steps;
}

}  // namespace flipflop::advise
