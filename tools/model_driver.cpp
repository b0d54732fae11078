// Answers, line by line on standard input, what the models say of launches that a fit or a validation describes by hand.
// Built by the Python tools beside it against libflipflop_core; not part of the product.
//
// fitted=1 takes the board's coefficients too.
//   stream gpu=a40 elements=1e8 block=128 resident=2 reads=1 writes=1 stencil=0 bytes=8 fp64=1 [clock=..] [limit=..] [KEY=VALUE of the profile]
//   roofline gpu=a40 fma=16 steps=4000
//   fma gpu=a100-pcie-40gb blocks=6912
//   gemm gpu=titan-v n=1024 bx=16 by=16 block=256
//   empty gpu=a40 blocks=1000 block=256
// Answer: time_us power_w energy_mj clock_mhz bound low_us high_us low_w high_w
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "flipflop/models.hpp"
#include "tests/unit/models_facts.hpp"

using namespace flipflop;

namespace {

using Fields = std::map<std::string, std::string>;

double number(Fields& fields, const char* key, double otherwise) {
    const auto found = fields.find(key);
    if (found == fields.end()) return otherwise;
    const double value = std::stod(found->second);
    fields.erase(found);
    return value;
}

/// gpu-benches gpu-roofline: each thread takes one float of each of two arrays a step, with `fma` steps of v = v * a - b on it.
LaunchFacts roofline(double sms, double resident, double fma, double steps) {
    LaunchFacts launch = facts::stream(sms * resident * 256, 256, 0, 0, 4, false);
    PhaseFacts& phase = launch.phases[0];
    launch.thread_machine_ops = {};
    launch.warp_instructions = 0;
    const double warps = 8;
    facts::put(phase, MachineOp::load_global, 2 * steps * warps);
    facts::put(phase, MachineOp::fp32_fma, (fma + 1) * steps * warps);
    facts::put(phase, MachineOp::int_add64, steps * warps);
    facts::put(phase, MachineOp::int_add, steps * warps);
    facts::put(phase, MachineOp::int_compare, steps * warps);
    facts::put(phase, MachineOp::branch, steps * warps);
    facts::chain(phase, MachineOp::load_global, steps);   // the loop is not unrolled: a step waits for its load
    facts::chain(phase, MachineOp::fp32_fma, fma / 2 * steps);
    phase.global_load_sectors = 2 * steps * warps * 4;
    phase.global_requests = phase.global_lines = 2 * steps * warps;
    launch.footprint.block_sectors = launch.footprint.block_instruction_sectors = phase.global_load_sectors;
    launch.footprint.grid_read_sectors = phase.global_load_sectors * launch.blocks;
    facts::finish(launch);
    return launch;
}

/// Kernel Tuner's fp32_kernel: 64 x 1024 times four FMAs in two dependent pairs a thread, and one store.
LaunchFacts fma_loop(double blocks) {
    LaunchFacts launch = facts::stream(blocks * 1024, 1024, 0, 1, 8, false);
    launch.thread_machine_ops = {};
    launch.warp_instructions = 0;
    constexpr double kSteps = 64 * 1024;
    PhaseFacts& phase = launch.phases[0];
    facts::put(phase, MachineOp::fp32_fma, 4 * kSteps * 32);
    facts::put(phase, MachineOp::int_add, kSteps / 4 * 32);
    facts::put(phase, MachineOp::branch, kSteps / 4 * 32);
    facts::chain(phase, MachineOp::fp32_fma, 2 * kSteps);
    facts::finish(launch);
    return launch;
}

LaunchFacts empty(double blocks, double block) {
    LaunchFacts launch = facts::stream(blocks * block, static_cast<std::uint32_t>(block), 0, 0, 4, false);
    return launch;
}

void answer(const std::string& line) {
    std::istringstream words(line);
    std::string kind, word;
    words >> kind;
    Fields fields;
    while (words >> word) {
        const auto at = word.find('=');
        if (at != std::string::npos) fields[word.substr(0, at)] = word.substr(at + 1);
    }
    static std::map<std::string, GpuProfile> profiles;
    const std::string name = fields["gpu"];
    if (!profiles.contains(name)) {
        auto loaded = load_gpu(name);
        if (!loaded) {
            std::puts("unknown-gpu");
            return;
        }
        profiles.emplace(name, *loaded);
    }
    GpuProfile gpu = profiles.at(name);
    if (number(fields, "fitted", 0) == 0) gpu.id += " as described";   // a board's coefficients do not count while they are fitted
    fields.erase("gpu");
    OperatingPoint point;
    point.terms = false;
    if (fields.contains("clock")) point.clock_mhz = number(fields, "clock", 0);
    if (fields.contains("limit")) point.power_limit_w = number(fields, "limit", 0);
    point.warm_cache = number(fields, "warm", 1) != 0;
    const double block = number(fields, "block", 256), resident = number(fields, "resident", 0);
    ResourceUse use = facts::resources(gpu.cc, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(number(fields, "registers", 32)));
    if (resident > 0) use.occupancy.active_blocks_per_sm = static_cast<std::uint32_t>(resident);
    LaunchFacts launch;
    if (kind == "stream") {
        const double elements = number(fields, "elements", 1e8), reads = number(fields, "reads", 1), writes = number(fields, "writes", 1);
        const double bytes = number(fields, "bytes", 4), fp64 = number(fields, "fp64", 0), stencil = number(fields, "stencil", 0);
        launch = facts::stream(elements, static_cast<std::uint32_t>(block), static_cast<int>(reads), static_cast<int>(writes), bytes, fp64 != 0, static_cast<int>(stencil));
    } else if (kind == "roofline") {
        const double fma = number(fields, "fma", 0), steps = number(fields, "steps", 4000);
        launch = roofline(gpu.sm_count(), use.occupancy.active_blocks_per_sm, fma, steps);
    } else if (kind == "gemm") {
        const double bx = number(fields, "bx", 16), by = number(fields, "by", 16);
        launch = facts::naive_gemm(number(fields, "n", 1024), static_cast<std::uint32_t>(bx), static_cast<std::uint32_t>(by));
    } else if (kind == "fma") {
        launch = fma_loop(number(fields, "blocks", 1));
    } else {
        launch = empty(number(fields, "blocks", 1), block);
    }
    for (const auto& [key, value] : fields) {   // what is left are values of the profile
        auto& entry = gpu.cc.throughput.contains(key) ? gpu.cc.throughput[key] : gpu.values[key];
        entry.value = std::stod(value);
        entry.basis = "measured";
    }
    const KernelFacts kernel;
    const TimeEstimate time = estimate_time(kernel, launch, use, gpu, point);
    const PowerResult power = estimate_power(kernel, launch, use, gpu, point);
    const PowerEstimate* p = power.estimate ? &*power.estimate : nullptr;
    const TimeEstimate& t = p ? p->time : time;
    std::printf("%.9g %.9g %.9g %.9g %s %.9g %.9g %.9g %.9g\n", t.total.value, p ? p->power.value : 0, p ? p->energy.value : 0, p ? p->clock_mhz : t.clock_mhz,
                t.bound_by.c_str(), t.interval.low, t.interval.high, p ? p->power_interval.low : 0, p ? p->power_interval.high : 0);
}

}  // namespace

int main() {
    std::string line;
    while (std::getline(std::cin, line)) answer(line);
}
