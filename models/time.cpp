// estimate_time: the time model of docs/models/time.md, as terms that re-fold to the total.
#include <algorithm>
#include <cmath>

#include "models/time_numbers.hpp"

namespace flipflop {
namespace {

constexpr std::array<std::string_view, kLoads> kLoadNames{"issue", "fp32", "int_mul", "int32", "fp16", "sfu", "fp64",
                                                          "tensor", "lsu", "const", "uniform"};

std::string text(std::string_view view) { return std::string(view); }
Term known(std::string_view id, const Quantity& quantity, std::string_view unit) {
    return leaf(text(id), quantity.value, text(unit), quantity.basis, quantity.source);
}
Term counted(std::string_view id, double value, std::string_view unit, std::string_view source) {
    return leaf(text(id), value, text(unit), Basis::derived, text(source));
}

/// The busiest part of the memory queue, for `bound_by`.
std::string_view queue_name(const BlockWork& work) {
    double shared = 0, l1 = 0, shuffle = 0, texture = 0;
    for (const PhaseWork& phase : work.phases) {
        shared += phase.shared_cycles;
        l1 += phase.l1_cycles;
        shuffle += phase.shuffle_cycles;
        texture += phase.texture_cycles;
    }
    const double most = std::max({shared, l1, shuffle, texture});
    if (most <= 0) return "lsu";
    return most == shared ? "shared" : most == l1 ? "l1" : most == shuffle ? "shuffle" : "texture";
}

std::string bound_of(const BlockWork& work, const TimeNumbers& n) {
    if (n.launch_us >= n.execution_us) return "launch";
    if (n.dram_us >= n.sm_us && n.dram_us >= n.atomic_us) return "dram";
    if (n.atomic_us >= n.sm_us) return "atomic";
    if (n.issue_cycles > n.sm_cycles) return "block_issue";
    const Wave& wave = n.full_waves > 0 ? n.full : n.rest;
    if (wave.unhidden > wave.blocks * wave.block) return "latency";
    if (wave.l2 >= wave.block) return "l2";
    std::size_t most = 0;
    double largest = -1;
    for (std::size_t k = 0; k < kLoads; ++k) {
        const double cycles = work.total[k] * (per_scheduler(static_cast<Load>(k)) ? wave.imbalance : 1);
        if (cycles > largest) {
            largest = cycles;
            most = k;
        }
    }
    if (static_cast<Load>(most) == Load::fma && work.total[static_cast<std::size_t>(Load::imad)] >= largest * 0.5) return "int_mul";
    return text(static_cast<Load>(most) == Load::lsu ? queue_name(work) : kLoadNames[most]);
}

// ---- the tree -----------------------------------------------------------------------------------------------------
class Tree {
public:
    Tree(const BlockWork& work, const TimeNumbers& n, const Machine& gpu, bool warm) : work_(work), n_(n), gpu_(gpu), warm_(warm) {}

    [[nodiscard]] Term total() const {
        std::vector<Term> parts;
        parts.push_back(known("launch", gpu_.launch_us, "us"));
        parts.push_back(execution());
        return fold("time", "us", Fold::sum, std::move(parts));
    }

private:
    [[nodiscard]] Term clock() const { return counted("clock", n_.clock_mhz, "MHz", "operating point"); }

    [[nodiscard]] Term execution() const {
        std::vector<Term> parts;
        parts.push_back(sm());
        if (n_.dram_us > 0) parts.push_back(dram());
        if (n_.atomic_us > 0) parts.push_back(atomic());
        return fold("execution", "us", Fold::norm, std::move(parts), gpu_.q_memory.value);
    }

    [[nodiscard]] Term sm() const {
        std::vector<Term> cycles;
        if (n_.full_waves > 0) {
            std::vector<Term> full;
            full.push_back(counted("waves.full", n_.full_waves, "1", "blocks over resident blocks of all SMs, rounded down"));
            full.push_back(wave("wave", n_.full));
            cycles.push_back(fold("waves", "cycles", Fold::product, std::move(full)));
        }
        if (n_.rest_blocks > 0) cycles.push_back(wave("wave.tail", n_.rest));
        if (cycles.empty()) cycles.push_back(counted("waves", 0, "cycles", "no block"));
        std::vector<Term> both;
        both.push_back(per_clock("sm", fold("sm.cycles", "cycles", Fold::sum, std::move(cycles))));
        std::vector<Term> issue;
        issue.push_back(known("block_issue.cycles_each", gpu_.block_issue, "cycles"));
        issue.push_back(counted("blocks", work_.blocks, "blocks", "grid"));
        both.push_back(per_clock("block_issue", fold("block_issue.cycles", "cycles", Fold::product, std::move(issue))));
        return fold("sms", "us", Fold::max, std::move(both));
    }

    [[nodiscard]] Term per_clock(std::string_view id, Term cycles) const {
        std::vector<Term> parts;
        parts.push_back(std::move(cycles));
        parts.push_back(clock());
        return fold(text(id), "us", Fold::ratio, std::move(parts));
    }

    [[nodiscard]] Term dram() const {
        const Memory& memory = work_.memory;
        const std::string source = memory.known ? (warm_ ? "footprint, caches warm from the launch before" : "footprint, caches cold")
                                                : "requests times sectors: the footprint is not known (" + memory.why + ")";
        const Basis basis = memory.known ? Basis::derived : Basis::assumed;
        std::vector<Term> bytes;
        bytes.push_back(leaf("dram.read", memory.dram_read * 1e-3, "kB", basis, source));
        bytes.push_back(leaf("dram.write", memory.dram_write * 1e-3, "kB", basis, source));
        if (memory.spill_bytes > 0) bytes.push_back(leaf("dram.spill", memory.spill_bytes * 1e-3, "kB", Basis::derived, "spilled bytes that overflow L2"));
        std::vector<Term> parts;
        parts.push_back(fold("dram.bytes", "kB", Fold::sum, std::move(bytes)));
        parts.push_back(bandwidth());
        return fold("dram", "us", Fold::ratio, std::move(parts));
    }

    [[nodiscard]] Term bandwidth() const {
        std::vector<Term> parts;
        parts.push_back(known("dram.one_direction", gpu_.dram_pure, "GB/s"));
        parts.push_back(counted("dram.turnaround", gpu_.dram_pure.value - n_.dram_gbs, "GB/s", "4 w (1 - w) of what a copy loses, w the written share"));
        return fold("dram.bandwidth", "GB/s", Fold::difference, std::move(parts));
    }

    [[nodiscard]] Term atomic() const {
        std::vector<Term> parts;
        parts.push_back(counted("atomic.spread", work_.memory.atomic_cycles, "cycles", "sectors over " + gpu_.atomic_sectors_per_clk.source));
        parts.push_back(counted("atomic.same_address", work_.memory.atomic_serial_cycles, "cycles", gpu_.atomic_same_per_clk.source));
        return per_clock("atomic", fold("atomic.cycles", "cycles", Fold::max, std::move(parts)));
    }

    /// A block's own cycles, then those of its neighbours against what its chains and start leave idle.
    [[nodiscard]] Term wave(const std::string& id, const Wave& wave) const {
        Term block = block_cycles(id, wave);
        const Term again = counted(id + ".block", block.value, "cycles", "as above");
        std::vector<Term> others;
        others.push_back(counted("other_blocks", wave.blocks - 1, "blocks", "resident beside it: occupancy and grid"));
        others.push_back(again);
        std::vector<Term> rest;
        rest.push_back(alone(id, wave));
        rest.push_back(again);
        std::vector<Term> positive;
        positive.push_back(fold(id + ".not_busy", "cycles", Fold::difference, std::move(rest)));
        positive.push_back(counted("zero", 0, "cycles", "a block does not take less than its busiest resource"));
        std::vector<Term> joined;
        joined.push_back(fold(id + ".others", "cycles", Fold::product, std::move(others)));
        joined.push_back(fold(id + ".latency", "cycles", Fold::max, std::move(positive)));
        std::vector<Term> parts;
        parts.push_back(std::move(block));
        parts.push_back(fold(id + ".others_or_waiting", "cycles", Fold::norm, std::move(joined), gpu_.q_latency.value));
        return fold(id, "cycles", Fold::sum, std::move(parts));
    }

    [[nodiscard]] Term block_cycles(const std::string& id, const Wave& wave) const {
        std::vector<Term> resources;
        resources.push_back(pipes(id + ".pipes", wave.imbalance));
        resources.push_back(counted(id + ".l2", wave.l2, "cycles", "sectors beyond L1 over the SM's port and its share of L2: " + gpu_.l2_bytes_per_clk.source));
        return fold(id + ".block", "cycles", Fold::max, std::move(resources));
    }

    [[nodiscard]] Term pipes(const std::string& id, double imbalance) const {
        const auto& cycles = work_.total;
        std::vector<Term> parts;
        for (std::size_t k = 0; k < kLoads; ++k) {
            if (cycles[k] <= 0) continue;
            const double factor = per_scheduler(static_cast<Load>(k)) ? imbalance : 1;
            const std::string name = "pipe." + text(kLoadNames[k]);
            if (static_cast<Load>(k) == Load::lsu || static_cast<Load>(k) == Load::tensor) {
                parts.push_back(counted(name, cycles[k] * factor, "cycles", gpu_.rate[k].source));
                continue;
            }
            std::vector<Term> both;
            both.push_back(counted(name + ".instructions", cycles[k] * factor * gpu_.rate[k].value, "warp instructions",
                                   factor > 1 ? "a block's, times the uneven share of sub-partitions" : "a block's"));
            both.push_back(known(name + ".rate", gpu_.rate[k], "per clock and SM"));
            parts.push_back(fold(name, "cycles", Fold::ratio, std::move(both)));
        }
        if (parts.empty()) return counted(id, 0, "cycles", "no instruction");
        return fold(id, "cycles", Fold::norm, std::move(parts), gpu_.q_pipes.value);
    }

    /// A block that has the SM to itself.
    [[nodiscard]] Term alone(const std::string& id, const Wave& wave) const {
        const double start = gpu_.block_cycles.value + gpu_.warp_cycles.value * (work_.warps - 1);
        std::vector<Term> parts;
        parts.push_back(leaf("block.start", start, "cycles", gpu_.block_cycles.basis, gpu_.block_cycles.source));
        parts.push_back(counted(id + ".chains", wave.alone - start, "cycles",
                                "each phase: longest dependence chain of a warp, with the latencies of the levels that serve it, joined with the block's own pipes"));
        return fold(id + ".alone", "cycles", Fold::sum, std::move(parts));
    }

    const BlockWork& work_;
    const TimeNumbers& n_;
    const Machine& gpu_;
    bool warm_;
};

// ---- floor and interval -------------------------------------------------------------------------------------------
struct FloorPart { std::string_view id; double amount{}, rate{}; std::string_view what, unit; const Quantity* source{}; };

/// The speed of light of each resource: amount over rate is its time in us.
std::array<FloorPart, 7> floor_parts(const LaunchFacts& launch, const BlockWork& work, const Machine& gpu, double clock_mhz) {
    const Memory& memory = work.memory;
    const double bytes = memory.compulsory_bytes, missed = memory.dram_read + memory.dram_write;
    std::array<double, kPipes> sums{};
    for (std::size_t i = 0; i < kMachineOps; ++i)
        for (std::size_t pipe = 0; pipe < kPipes && launch.thread_machine_ops[i] > 0; ++pipe)
            sums[pipe] += launch.thread_machine_ops[i] * static_cast<double>(gpu.expansion.by_op[i][pipe]);
    const double lanes = 32 * gpu.sms.value * clock_mhz;
    const auto pipe = [&](std::string_view id, Pipe kind, Load load) {
        const Quantity& rate = gpu.rate[static_cast<std::size_t>(load)];
        return FloorPart{id, sums[static_cast<std::size_t>(kind)], rate.value * lanes, "thread operations", "per us", &rate};
    };
    return {FloorPart{"floor.dram", std::min(bytes, missed) * 1e-3, gpu.dram_peak.value, "kB", "GB/s", &gpu.dram_peak},
            FloorPart{"floor.l2", std::min(bytes, memory.l2_bytes), gpu.l2_bytes_per_clk.value * clock_mhz, "B", "B/us", &gpu.l2_bytes_per_clk},
            pipe("floor.fp32", Pipe::fma, Load::fma), pipe("floor.fp64", Pipe::fp64, Load::fp64), pipe("floor.fp16", Pipe::half, Load::half), pipe("floor.sfu", Pipe::xu, Load::xu),
            FloorPart{"floor.tensor", work.total[static_cast<std::size_t>(Load::tensor)] * work.blocks / gpu.sms.value, clock_mhz, "cycles", "MHz", nullptr}};
}

Term floor_term(const LaunchFacts& launch, const BlockWork& work, const Machine& gpu, double clock_mhz, bool terms) {
    double most = 0;
    std::vector<Term> parts;
    for (const FloorPart& part : floor_parts(launch, work, gpu, clock_mhz)) {
        if (part.amount <= 0 || part.rate <= 0) continue;
        most = std::max(most, part.amount / part.rate);
        if (!terms) continue;
        if (!part.source) {
            parts.push_back(counted(part.id, part.amount / part.rate, "us", "multiply-adds over the dense tensor rate of all SMs"));
            continue;
        }
        std::vector<Term> both;
        both.push_back(counted(text(part.id) + ".amount", part.amount, part.what, "distinct bytes, or operations of active lanes"));
        both.push_back(leaf(text(part.id) + ".peak", part.rate, text(part.unit), part.source->basis, part.source->source));
        parts.push_back(fold(text(part.id), "us", Fold::ratio, std::move(both)));
    }
    if (!terms) return leaf("floor", most > 0 ? most : gpu.launch_us.value, "us", Basis::derived, {});
    if (parts.empty()) parts.push_back(counted("floor.launch", gpu.launch_us.value, "us", gpu.launch_us.source));
    return fold("floor", "us", Fold::max, std::move(parts));
}

struct Width { double sigma{}; std::string basis; };

const Quantity& sigma_within_sm(const Machine& gpu, std::string_view bound) {
    if (bound == "shared") return gpu.time_sigma.shared;
    if (bound == "l1") return gpu.time_sigma.l1;
    if (bound == "l2") return gpu.time_sigma.l2;
    return bound == "latency" ? gpu.time_sigma.latency : gpu.time_sigma.compute;
}

Width width_of(const LaunchFacts& launch, const BlockWork& work, const TimeNumbers& n, const Machine& gpu, std::string_view bound, bool explain) {
    const double execution = std::max(n.execution_us, 1e-9);
    auto share = [&](double us) { return std::clamp(us / execution, 0.0, 1.0); };
    // The two studies behind the widths: pipes (cached kernels) and DRAM (streams); mixed as the norm mixes their times.
    const double dram = std::pow(share(n.dram_us), gpu.q_memory.value);
    const Quantity& within = sigma_within_sm(gpu, bound);
    double variance = (1 - dram) * within.value * within.value + dram * gpu.dram_sigma.value * gpu.dram_sigma.value;
    Width width;
    if (explain) width.basis = dram > 0.5 ? gpu.dram_sigma.source : within.source;
    auto widen = [&](double sigma, double weight, std::string_view why) {
        if (weight <= 0.02) return;
        variance += sigma * sigma * weight;
        if (explain) (width.basis += "; wider: ") += why;
    };
    const double busiest = *std::max_element(work.total.begin(), work.total.end());
    const double tensor = busiest > 0 ? work.total[static_cast<std::size_t>(Load::tensor)] / busiest : 0;
    widen(0.35, work.memory.known ? 0 : 1, "footprint not known");
    widen(0.25, tensor, "tensor timing not validated");
    widen(0.50, share(n.atomic_us), "atomics not validated");
    if (gpu.block_issue.basis == Basis::assumed)
        widen(0.35, (1 - dram) * std::pow(std::clamp(n.issue_cycles / std::max(n.sm_cycles, 1e-9), 0.0, 1.0), 4), "the rate at which blocks are handed out is not measured on this board");
    widen(0.20, n.full_waves < 1 ? 1 : 0, "less than one wave of blocks");
    widen(0.30, n.launch_us / std::max(n.total_us, 1e-9), "launch overhead of this board not measured");
    const double unknown = std::clamp(launch.unknown_share, 0.0, 1.0);
    widen(0.7 * unknown, unknown > 0 ? 1 : 0, "instructions that depend on something assumed");
    width.sigma = std::sqrt(variance);
    return width;
}

}  // namespace

TimeEstimate describe_time(const LaunchFacts& launch, const BlockWork& work, const TimeNumbers& n, const Machine& gpu, const OperatingPoint& point) {
    const double clock = n.clock_mhz;
    TimeEstimate out;
    out.total = point.terms ? Tree(work, n, gpu, point.warm_cache).total()
                            : leaf("time", n.total_us, "us", Basis::derived, "");
    out.bound_by = bound_of(work, n);
    const Width width = width_of(launch, work, n, gpu, out.bound_by, point.terms);
    constexpr double kNinety = 1.645;  // standard deviations that hold 90 % of a normal distribution
    out.interval = {out.total.value * std::exp(-kNinety * width.sigma), out.total.value * std::exp(kNinety * width.sigma)};
    out.interval_basis = width.basis;
    out.floor = floor_term(launch, work, gpu, clock, point.terms);
    out.interval.low = std::max(out.interval.low, std::min(out.floor.value, out.total.value));   // no launch beats the floor
    const Memory& memory = work.memory;
    out.traffic.l1_bytes = memory.l1_bytes;
    if (memory.known) {
        out.traffic.l2_bytes = memory.l2_bytes;
        out.traffic.dram_bytes = memory.dram_read + memory.dram_write + memory.spill_bytes;
    }
    double wavefronts = 0;
    for (const PhaseFacts& phase : launch.phases) wavefronts += phase.shared_wavefronts;
    out.traffic.shared_wavefronts = wavefronts * launch.blocks;
    out.waves = n.waves;
    out.tail_idle_share = n.tail_idle_share;
    out.active_sms = n.active_sms;
    out.clock_mhz = clock;
    out.calibrated = gpu.time_calibrated && out.bound_by == "dram";   // what was fitted for this board is its streams
    return out;
}

TimeEstimate estimate_time(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const GpuModel& model, const OperatingPoint& point) {
    const Machine& gpu = model.prepared().machine;
    const double clock = std::max(1.0, point.clock_mhz.value_or(gpu.boost_mhz.value));
    const BlockWork work = block_work(kernel, launch, use, gpu, point.warm_cache, clock);
    return describe_time(launch, work, time_numbers(work, use, gpu, clock), gpu, point);
}

TimeEstimate estimate_time(const KernelFacts& kernel, const LaunchFacts& launch, const ResourceUse& use, const GpuProfile& gpu,
                           const OperatingPoint& point) {
    return estimate_time(kernel, launch, use, GpuModel(gpu), point);
}

}  // namespace flipflop
