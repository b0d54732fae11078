// estimate_power: the power and energy model of docs/models/power.md, as terms that re-fold.
#include <algorithm>
#include <cmath>

#include "models/power_numbers.hpp"
#include "models/time_numbers.hpp"

namespace flipflop {
namespace {

Term counted(std::string_view id, double value, std::string_view unit, std::string_view source) {
    return leaf(std::string(id), value, std::string(unit), Basis::derived, std::string(source));
}

PowerNumbers at_clock(const Joules& energy, const BlockWork& work, const ResourceUse& use, const Machine& gpu, double clock) {
    PowerNumbers out;
    out.time = time_numbers(work, use, gpu, clock);
    demand(out, energy, gpu, clock);
    return out;
}

struct Settled { PowerNumbers numbers; BlockWork work; double clock{}; bool limited{}; };

/// The clock at which the board settles: the one asked for, or the highest at which the power fits under the limit.
Settled settle(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const Machine& gpu, const Joules& energy, BlockWork work_at_asked, double asked,
               double limit, bool warm) {
    auto with = [&](BlockWork work, double clock) {
        Settled result;
        result.work = std::move(work);
        result.numbers = at_clock(energy, result.work, use, gpu, clock);
        result.clock = clock;
        return result;
    };
    auto at = [&](double clock) { return with(block_work(kernel, launch, use, gpu, warm, clock), clock); };
    Settled top = with(std::move(work_at_asked), asked);
    if (top.numbers.power_w <= limit) return top;
    double low = std::min(gpu.min_mhz.value, asked), high = asked;
    for (int i = 0; i < 24 && high - low > 0.01; ++i) {
        const double middle = 0.5 * (low + high);
        (at(middle).numbers.power_w > limit ? high : low) = middle;
    }
    Settled result = at(low);
    result.limited = true;
    return result;
}

Term power_term(const PowerNumbers& n, const Joules& energy, const Machine& gpu, const TimeEstimate& time, double limit, bool limit_known,
                std::string_view limit_source) {
    std::vector<Term> core;
    core.push_back(counted("energy.operations", energy.operations, "uJ", "thread operations by pipe times energy each: " + gpu.e_fma.source));
    if (energy.tensor > 0) core.push_back(leaf("energy.tensor", energy.tensor, "uJ", gpu.e_tensor.basis, gpu.e_tensor.source));
    if (energy.shared > 0) core.push_back(leaf("energy.shared", energy.shared, "uJ", gpu.e_shared.basis, gpu.e_shared.source));
    if (energy.l1 > 0) core.push_back(leaf("energy.l1", energy.l1, "uJ", gpu.e_l1.basis, gpu.e_l1.source));
    if (energy.l2 > 0) core.push_back(leaf("energy.l2", energy.l2, "uJ", gpu.e_l2.basis, gpu.e_l2.source));
    std::vector<Term> scaled;
    scaled.push_back(fold("energy.core_at_boost", "uJ", Fold::sum, std::move(core)));
    scaled.push_back(leaf("voltage_squared", n.voltage_squared, "1", gpu.voltage_slope.basis, "(V / V at boost) squared: " + gpu.voltage_slope.source));
    std::vector<Term> all;
    all.push_back(fold("energy.core", "uJ", Fold::product, std::move(scaled)));
    if (energy.dram > 0) all.push_back(leaf("energy.dram", energy.dram, "uJ", gpu.e_dram.basis, gpu.e_dram.source));
    std::vector<Term> over;
    over.push_back(fold("energy.dynamic", "uJ", Fold::sum, std::move(all)));
    over.push_back(counted("time", time.total.value, "us", "the time model at this clock"));

    std::vector<Term> parts;
    parts.push_back(leaf("power.idle", n.idle_w, "W", gpu.idle_w.basis, gpu.idle_w.source));
    parts.push_back(leaf("power.awake", n.awake_w, "W", gpu.awake_w.known ? gpu.awake_w.basis : Basis::assumed,
                         "at this clock and voltage: " + (gpu.awake_w.known ? gpu.awake_w.source : std::string("share of TDP that boards of this memory type draw once awake"))));
    if (n.sm_w > 0) {
        std::vector<Term> sm;
        sm.push_back(leaf("power.all_sms", n.sm_w, "W", gpu.sm_w.basis, "at this clock: " + gpu.sm_w.source));
        sm.push_back(counted("active_share", n.active_share, "1", "mean share of SMs with a block"));
        sm.push_back(counted("voltage_squared", n.voltage_squared, "1", "as above"));
        parts.push_back(fold("power.sms", "W", Fold::product, std::move(sm)));
    }
    parts.push_back(fold("power.dynamic", "W", Fold::ratio, std::move(over)));
    Term demand = fold(limit_known ? "power.demand" : "power", "W", Fold::sum, std::move(parts));
    if (!limit_known) return demand;
    std::vector<Term> capped;
    capped.push_back(std::move(demand));
    capped.push_back(counted("power.limit", limit, "W", limit_source));
    return fold("power", "W", Fold::min, std::move(capped));
}

Term energy_term(double power_w, double time_us, bool terms) {
    std::vector<Term> seconds;
    seconds.push_back(counted("time", time_us, "us", "the time model at this clock"));
    seconds.push_back(counted("us_per_ms", 1000, "us/ms", "unit"));
    std::vector<Term> parts;
    parts.push_back(counted("power", power_w, "W", "the power model"));
    parts.push_back(fold("time_ms", "ms", Fold::ratio, std::move(seconds)));
    Term energy = fold("energy", "mJ", Fold::product, std::move(parts));
    if (!terms) energy = counted("energy", energy.value, "mJ", {});
    return energy;
}

void set_intervals(PowerEstimate& out, const Machine& gpu, const PowerNumbers& n, double limit, bool limit_known) {
    constexpr double kNinety = 1.645;
    const double power = out.power.value;
    const double time_sigma = std::log(std::max(1.0, out.time.interval.high / std::max(out.time.total.value, 1e-12))) / kNinety;
    // Power: its own error on the dynamic part and what the time's error makes of it (dynamic power is energy over time).
    const double dynamic = std::clamp(n.dynamic_w / std::max(power, 1e-9), 0.0, 1.0);
    const double own = gpu.power_sigma.value + (gpu.awake_w.known || gpu.idle_boost_w.known ? 0 : 0.10);
    const double sigma = std::sqrt(own * own + dynamic * time_sigma * dynamic * time_sigma);
    out.power_interval = {power * std::exp(-kNinety * sigma), power * std::exp(kNinety * sigma)};
    if (limit_known) out.power_interval.high = std::max(power, std::min(out.power_interval.high, limit));
    out.power_interval.low = std::max(out.power_interval.low, std::min(power, n.idle_w));
    // Energy: dynamic energy does not depend on time, the rest grows with it.
    const double resting = (1 - dynamic) * time_sigma;
    const double spread = std::sqrt(own * own + resting * resting);
    out.energy_interval = {out.energy.value * std::exp(-kNinety * spread), out.energy.value * std::exp(kNinety * spread)};
}

}  // namespace

Joules joules(const EnergyCounts& counts, const Machine& gpu) {
    Joules energy;
    energy.operations = counts.operations * gpu.e_fma.value;
    energy.tensor = counts.tensor_flops * gpu.e_tensor.value;
    energy.shared = counts.shared_bytes * gpu.e_shared.value;
    energy.l1 = counts.l1_bytes * gpu.e_l1.value;
    energy.l2 = counts.l2_bytes * gpu.e_l2.value;
    energy.dram = counts.dram_bytes * gpu.e_dram.value;
    for (double* part : {&energy.operations, &energy.tensor, &energy.shared, &energy.l1, &energy.l2, &energy.dram}) *part *= 1e-6;
    return energy;
}

EnergyCounts energy_counts(const LaunchFacts& launch, const Memory& memory, const Machine& gpu) {
    EnergyCounts counts;
    for (std::size_t i = 0; i < kMachineOps; ++i)
        if (launch.thread_machine_ops[i] > 0) counts.operations += launch.thread_machine_ops[i] * static_cast<double>(gpu.op_pj[i]);
    counts.operations /= std::max(gpu.e_fma.value, 1e-9);
    counts.tensor_flops = launch.tensor_fma * 2;
    double wavefronts = 0;
    for (const PhaseFacts& phase : launch.phases) wavefronts += phase.shared_wavefronts;
    counts.shared_bytes = wavefronts * launch.blocks * 128;
    counts.dram_bytes = memory.dram_read + memory.dram_write + memory.spill_bytes;
    counts.l2_bytes = std::max(0.0, memory.l2_bytes - counts.dram_bytes);
    counts.l1_bytes = std::max(0.0, memory.l1_bytes - std::max(memory.l2_bytes, counts.dram_bytes));
    return counts;
}

void demand(PowerNumbers& out, const Joules& energy, const Machine& gpu, double clock) {
    out.voltage_squared = voltage_squared(gpu, clock);
    const double core = energy.operations + energy.tensor + energy.shared + energy.l1 + energy.l2;
    out.core_uj = core;
    out.dram_uj = energy.dram;
    out.idle_w = idle_power(gpu, clock);
    const double busy = out.time.total_us > 0 ? out.time.execution_us / out.time.total_us : 0;
    out.active_share = busy * std::min(1.0, out.time.active_sms / gpu.sms.value);
    // What a chip draws for being awake is its clock tree and what leaks with its voltage: as the clock and V^2.
    const double tree = clock / gpu.boost_mhz.value * out.voltage_squared;
    out.awake_w = awake_power(gpu) * busy * tree;
    out.sm_w = gpu.sm_w.value * gpu.sms.value * clock / gpu.boost_mhz.value;
    out.dynamic_w = (core * out.voltage_squared + energy.dram) / out.time.total_us;
    out.power_w = out.idle_w + out.awake_w + out.sm_w * out.active_share * out.voltage_squared + out.dynamic_w;
}

double voltage_squared(const Machine& gpu, double clock_mhz) {
    if (!gpu.voltage_mv.points.empty()) {
        const double ratio = gpu.voltage_mv.at(clock_mhz) / gpu.voltage_mv.at(gpu.boost_mhz.value);
        return ratio * ratio;
    }
    auto volts = [&](double clock) { return 1 + gpu.voltage_slope.value * std::max(0.0, clock - gpu.ridge_mhz.value); };
    const double ratio = volts(clock_mhz) / volts(gpu.boost_mhz.value);
    return ratio * ratio;
}

double idle_power(const Machine& gpu, double clock_mhz) {
    if (!gpu.idle_curve_w.points.empty()) return gpu.idle_curve_w.at(clock_mhz);
    if (!gpu.idle_boost_w.known) return gpu.idle_w.value;
    // Measured idle at both ends: flat while the voltage is flat, then with its square (EnergAIzer's two A100s).
    const double floor = voltage_squared(gpu, 0), now = voltage_squared(gpu, clock_mhz);
    const double share = floor < 1 ? std::clamp((now - floor) / (1 - floor), 0.0, 1.0) : 1;
    return gpu.idle_w.value + (gpu.idle_boost_w.value - gpu.idle_w.value) * share;
}

double awake_power(const Machine& gpu) {
    const double idle = gpu.idle_boost_w.known ? gpu.idle_boost_w.value : gpu.idle_w.value;
    if (gpu.awake_w.known) return std::max(0.0, gpu.awake_w.value - idle);
    if (gpu.idle_boost_w.known) return 0;   // measured with clocks locked at boost: already awake
    const double share = gpu.hbm ? 0.07 : 0.28;
    return gpu.limit_w.known ? share * gpu.limit_w.value : idle;
}

PowerResult estimate_power(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const GpuModel& model,
                           const OperatingPoint& point) {
    const Machine& gpu = model.prepared().machine;
    PowerResult result;
    if (!gpu.idle_w.known) {
        result.why = "the idle power of " + gpu.name + " is not known";
        return result;
    }
    const double asked = std::max(1.0, point.clock_mhz.value_or(gpu.boost_mhz.value));
    const bool limit_known = point.power_limit_w.has_value() || gpu.limit_w.known;
    const double stated = point.power_limit_w.value_or(gpu.limit_w.value);
    const double limit = limit_known ? stated * gpu.cap_factor.value : 1e300;
    BlockWork at_asked = block_work(kernel, launch, use, gpu, point.warm_cache, asked);
    const Joules energy = joules(energy_counts(launch, at_asked.memory, gpu), gpu);
    const Settled settled = settle(kernel, launch, use, gpu, energy, std::move(at_asked), asked, limit, point.warm_cache);

    PowerEstimate out;
    out.time = describe_time(launch, settled.work, settled.numbers.time, gpu, point);
    out.clock_mhz = settled.clock;
    const PowerNumbers& n = settled.numbers;
    if (point.terms) {
        out.power = power_term(n, energy, gpu, out.time, limit, limit_known, point.power_limit_w ? "asked for" : gpu.limit_w.source);
    } else {
        out.power = counted("power", limit_known ? std::min(n.power_w, limit) : n.power_w, "W", {});
    }
    out.energy = energy_term(out.power.value, out.time.total.value, point.terms);
    set_intervals(out, gpu, n, limit, limit_known);
    if (point.terms) out.interval_basis = gpu.power_sigma.source;
    out.idle_mj = std::min(n.idle_w, out.power.value) * out.time.total.value * 1e-3;
    out.above_idle_mj = std::max(0.0, out.energy.value - out.idle_mj);
    out.calibrated = gpu.power_calibrated;
    result.estimate = std::move(out);
    return result;
}

PowerResult estimate_power(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const GpuProfile& gpu,
                           const OperatingPoint& point) {
    return estimate_power(kernel, launch, use, GpuModel(gpu), point);
}

}  // namespace flipflop
