// From an Analysis to what a baseline holds: the metrics of the team's own launch, with all that they rest on.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>

#include "flipflop/gate.hpp"
#include "flipflop/inputs.hpp"
#include "gpu/embedded_data.hpp"

namespace flipflop::gate {
namespace {

/// Six digits: far finer than any threshold, and the same whatever the compiler's order of additions.
std::optional<double> rounded(std::optional<double> value) {
    if (!value) { return {}; }
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", *value);
    return std::strtod(text, nullptr);
}

std::string digest(const std::string& text) { return sha256(text).substr(0, 12); }

void append(std::string& out, const std::map<std::string, SourcedValue, std::less<>>& values) {
    for (const auto& [name, v] : values) { out += fmt::format("{}={},{},{};", name, v.value.value_or(-1), v.low.value_or(-1), v.high.value_or(-1)); }
}

/// Of the numbers of a profile; its citations and notes may change without one.
std::string profile_digest(const GpuProfile& gpu) {
    std::string text = fmt::format("{}|{}.{}|{}|{}|", gpu.id, gpu.cc.major, gpu.cc.minor, gpu.memory_type, gpu.sm_count());
    append(text, gpu.cc.limits);
    append(text, gpu.cc.throughput);
    append(text, gpu.values);
    for (const std::uint32_t size : gpu.cc.shared_carveouts_kib) { text += fmt::format("{},", size); }
    for (const auto& [name, curve] : gpu.curves) {
        text += name + ":";
        for (const auto& [x, y] : curve.points) { text += fmt::format("{},{};", x, y); }
    }
    return digest(text);
}

std::string coefficients_digest(const GpuProfile& gpu) {
    std::string text;
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path == "models/coefficients/common.json" || file.path == "models/coefficients/" + gpu.id + ".json") { text += file.content; }
    }
    return digest(text);
}

/// The last part of the path: "build/a/kernels.ptx" -> "kernels.ptx", "lib/libx.a(k.o)#2" -> "libx.a(k.o)#2".
std::string base_name(const std::string& path) {
    const std::size_t container = path.find_first_of("(#");
    const std::size_t slash = path.rfind('/', container);
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

const ConfigResult* own_launch(const KernelResult& result, bool named) {
    const auto first = [&](auto&& wanted) -> const ConfigResult* {
        const auto found = std::find_if(result.configs.begin(), result.configs.end(), wanted);
        return found == result.configs.end() ? nullptr : &*found;
    };
    if (const ConfigResult* current = first([](const ConfigResult& c) { return c.is_current; })) { return current; }
    if (named) { return result.configs.empty() ? nullptr : &result.configs.front(); }   // in the user's order
    return first([](const ConfigResult& c) { return c.is_reference; });
}

/// Sectors over requests of all global accesses whose counts are known.
void measure_sectors(const KernelFacts& facts, const ConfigResult& own, KernelRecord& record) {
    if (!own.facts) { return; }
    double sectors = 0;
    double requests = 0;
    bool sampled = false;
    bool partial = false;
    for (std::size_t i = 0; i < facts.accesses.size() && i < own.facts->accesses.size(); ++i) {
        const MemorySpace space = facts.accesses[i].space;
        if (space != MemorySpace::global && space != MemorySpace::generic) { continue; }
        const AccessFacts& access = own.facts->accesses[i];
        if (!access.requests || !access.sectors_per_request) {
            partial = true;
            continue;
        }
        sampled = sampled || access.basis != CountBasis::exact;
        sectors += *access.requests * *access.sectors_per_request;
        requests += *access.requests;
    }
    if (requests > 0) { record.metric(Metric::sectors_per_request) = sectors / requests; }
    if (requests > 0 || partial) { record.sectors_basis = partial ? "partial" : sampled ? "sampled" : "exact"; }
}

void measure(const KernelAnalysis& kernel, const KernelResult& result, KernelRecord& record) {
    const Resources& resources = result.resources;
    record.registers_basis = to_string(resources.registers_basis);
    record.metric(Metric::registers) = resources.registers_per_thread;
    if (resources.spill_store_bytes && resources.spill_load_bytes) {
        record.metric(Metric::spill_bytes) = static_cast<double>(*resources.spill_store_bytes + *resources.spill_load_bytes);
    }
    record.metric(Metric::findings) = static_cast<double>(result.findings.size());
    for (const Finding& finding : result.findings) { record.findings[finding.rule][static_cast<std::size_t>(finding.severity)] += 1; }
    const auto best = std::find_if(result.configs.begin(), result.configs.end(), [](const ConfigResult& c) { return c.recommended; });
    if (best != result.configs.end() && best->predicted) {
        record.metric(Metric::recommended_time_us) = best->predicted->time.total.value;
        if (best->predicted->power) { record.metric(Metric::recommended_energy_mj) = best->predicted->power->energy.value; }
    }
    if (record.own == nullptr) {
        record.metric(Metric::shared_bytes) = static_cast<double>(resources.static_shared_bytes);
        return;
    }
    const ConfigResult& own = *record.own;
    record.block = own.block;
    record.grid = own.grid.x > 0 ? own.grid : Dim3{};   // what cannot be launched may have none
    record.launchable = own.launchable;
    record.why_not = own.why_not;
    record.metric(Metric::shared_bytes) = static_cast<double>(resources.static_shared_bytes + own.dynamic_shared_bytes);
    record.metric(Metric::occupancy) = own.launchable ? own.occupancy.fraction : 0.0;
    if (own.predicted) {
        record.metric(Metric::time_us) = own.predicted->time.total.value;
        if (own.predicted->power) { record.metric(Metric::energy_mj) = own.predicted->power->energy.value; }
    }
    measure_sectors(kernel.facts, own, record);
}

KernelRecord record_of(const KernelAnalysis& kernel, const KernelResult& result, const std::map<std::string, std::string>& producers, bool named) {
    KernelRecord record;
    record.name = kernel.facts.name;
    record.demangled = kernel.facts.demangled;
    record.module = base_name(kernel.facts.module);
    record.module_path = kernel.facts.module;
    if (const auto found = producers.find(kernel.facts.module); found != producers.end()) { record.producer = found->second; }
    record.fingerprint = kernel.facts.fingerprint;
    record.gpu = result.gpu;
    record.case_name = result.case_name;
    record.source = kernel.facts.source;
    record.ptx_line = kernel.facts.ptx_line;
    record.kernel = &kernel;
    record.result = &result;
    record.own = own_launch(result, named);
    record.launch_basis = named ? "given" : result.reblocking.reference_basis;
    measure(kernel, result, record);
    for (std::optional<double>& value : record.metrics) { value = rounded(value); }
    return record;
}

}  // namespace

Snapshot take_snapshot(const Analysis& analysis, const std::vector<std::string>& options) {
    Snapshot snapshot;
    snapshot.tool_version = FLIPFLOP_VERSION;
    snapshot.models = model_version();
    snapshot.options = options;
    if (const auto found = analysis.used.find("ptxas"); found != analysis.used.end()) { snapshot.ptxas = found->second; }
    const bool named = std::any_of(options.begin(), options.end(), [](const std::string& o) { return o.starts_with("--block="); });
    std::map<std::string, std::string> producers;
    for (const InputSummary& input : analysis.inputs) {
        snapshot.origin += (snapshot.origin.empty() ? "" : ", ") + input.path;
        for (const ModuleSummary& module : input.modules) { producers[module.name] = module.producer; }
    }
    std::map<std::string, GpuBasis> gpus;
    for (const KernelAnalysis& kernel : analysis.kernels) {
        for (const KernelResult& result : kernel.results) {
            if (!gpus.contains(result.gpu)) {
                gpus[result.gpu] = {result.gpu, result.profile.id, profile_digest(result.profile), coefficients_digest(result.profile), paired_error(result.profile)};
            }
            snapshot.kernels.push_back(record_of(kernel, result, producers, named));
        }
    }
    for (auto& [name, gpu] : gpus) { snapshot.gpus.push_back(std::move(gpu)); }
    std::stable_sort(snapshot.kernels.begin(), snapshot.kernels.end(), [](const KernelRecord& a, const KernelRecord& b) {
        return std::tie(a.name, a.module, a.gpu, a.case_name) < std::tie(b.name, b.module, b.gpu, b.case_name);
    });
    return snapshot;
}

}  // namespace flipflop::gate
