// analyze as CSV (RFC 4180): one row a configuration, empty where a value is not known.
#include "flipflop/report.hpp"
#include "report/csv_row.hpp"

namespace flipflop {
namespace {

using Row = report::CsvRow;

constexpr std::string_view kHeader =
    "kernel,id,module,gpu,case,block_x,block_y,block_z,grid_x,grid_y,grid_z,dynamic_shared_bytes,clock_mhz,power_limit_w,"
    "registers,launchable,why_not,safe,occupancy,time_us,time_low_us,time_high_us,power_w,power_low_w,power_high_w,"
    "energy_mj,energy_low_mj,energy_high_mj,bound_by,floor_time_us,dram_bytes,l2_bytes,pareto,kept,recommended,rank,current,heuristic,regret,chosen_for\n";

std::string row(const KernelAnalysis& kernel, const KernelResult& result, const ConfigResult& config) {
    Row out;
    out.text(kernel.facts.name).text(kernel.facts.id).text(kernel.facts.module).text(result.gpu).text(result.case_name);
    for (const Dim3& dim : {config.block, config.grid}) {
        for (const std::uint32_t extent : {dim.x, dim.y, dim.z}) { out.number(extent > 0 ? std::optional<double>(extent) : std::nullopt); }
    }
    out.number(static_cast<double>(config.dynamic_shared_bytes)).number(config.clock_mhz).number(config.power_limit_w);
    out.number(result.resources.registers_per_thread).truth(config.launchable);
    out.text(config.why_not.empty() && config.safe != std::optional(true) ? config.safe_reason : config.why_not).truth(config.safe);
    out.number(config.occupancy.fraction);
    const auto& predicted = config.predicted;
    const auto interval = [&](const std::optional<double>& value, const std::optional<Interval>& bounds) {
        out.number(value).number(bounds ? std::optional(bounds->low) : std::nullopt).number(bounds ? std::optional(bounds->high) : std::nullopt);
    };
    using Value = std::optional<double>;
    using Bounds = std::optional<Interval>;
    const PowerEstimate* power = predicted && predicted->power ? &*predicted->power : nullptr;
    interval(predicted ? Value(predicted->time.total.value) : Value(), predicted ? Bounds(predicted->time.interval) : Bounds());
    interval(power ? Value(power->power.value) : Value(), power ? Bounds(power->power_interval) : Bounds());
    interval(power ? Value(power->energy.value) : Value(), power ? Bounds(power->energy_interval) : Bounds());
    out.text(predicted ? predicted->time.bound_by : "").number(predicted ? Value(predicted->time.floor.value) : Value());
    out.number(predicted ? predicted->time.traffic.dram_bytes : Value()).number(predicted ? predicted->time.traffic.l2_bytes : Value());
    out.truth(config.pareto).truth(config.kept).truth(config.recommended);
    out.number(config.rank ? Value(*config.rank) : Value()).truth(config.is_current).truth(config.is_heuristic);
    out.number(config.regret).text(config.chosen_for);
    return std::move(out).finish();
}

}  // namespace

std::string csv_report(const Analysis& analysis) {
    std::string out(kHeader);
    for (const KernelAnalysis& kernel : analysis.kernels) {
        for (const KernelResult& result : kernel.results) {
            for (const ConfigResult& config : result.configs) { out += row(kernel, result, config); }
        }
    }
    return out;
}

}  // namespace flipflop
