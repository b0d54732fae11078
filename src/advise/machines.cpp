#include "machines.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "complaints.hpp"

namespace flipflop::advise {

Result<std::vector<OperatingPoint>> operating_points(const AnalyzeOptions& options) {
    const auto positive = [](double v) { return v > 0 && v < 1e6; };
    for (const double clock : options.clocks_mhz)
        if (!positive(clock)) return tl::unexpected(complain("FF0754", "--clock", fmt::format("{} is not a clock in MHz", clock)));
    for (const double limit : options.power_limits_w)
        if (!positive(limit)) return tl::unexpected(complain("FF0754", "--power-limit", fmt::format("{} is not a power in W", limit)));
    std::vector<OperatingPoint> points;
    for (std::size_t c = 0; c < std::max<std::size_t>(1, options.clocks_mhz.size()); ++c)
        for (std::size_t l = 0; l < std::max<std::size_t>(1, options.power_limits_w.size()); ++l) {
            OperatingPoint point;
            if (!options.clocks_mhz.empty()) point.clock_mhz = options.clocks_mhz[c];
            if (!options.power_limits_w.empty()) point.power_limit_w = options.power_limits_w[l];
            point.warm_cache = options.warm_cache;
            point.terms = false;
            points.push_back(point);
        }
    return points;
}

namespace {

/// An operating point that the board does not have: above what it reaches, or below what it can be set to.
Result<void> check_reach(const GpuProfile& gpu, const AnalyzeOptions& options) {
    const auto boost = gpu.value("boost_clock_mhz"), fastest = gpu.value("max_clock_mhz");
    double most_clock = std::numeric_limits<double>::infinity();
    if (boost) most_clock = 1.3 * *boost;     // where it is not known: as far as any board goes above its boost
    if (fastest) most_clock = *fastest;
    for (const double clock : options.clocks_mhz) {
        if (clock > most_clock)
            return tl::unexpected(complain("FF0754", "--clock", fmt::format("{} does not run at {} MHz", gpu.name, clock), fmt::format("its {} is {:.0f} MHz", fastest ? "highest clock" : "boost clock", fastest.value_or(boost.value_or(0)))));
        if (boost && clock < *boost / 20)
            return tl::unexpected(complain("FF0754", "--clock", fmt::format("{} does not run at {} MHz", gpu.name, clock), fmt::format("its boost clock is {:.0f} MHz", *boost)));
    }
    const auto least = gpu.value("power_limit_min_w"), idle = gpu.value("idle_power_w");
    for (const double limit : options.power_limits_w)
        if (least ? limit < *least : idle && limit <= *idle)
            return tl::unexpected(complain("FF0754", "--power-limit", fmt::format("{} cannot be limited to {} W", gpu.name, limit),
                                           least ? fmt::format("its lowest limit is {:.0f} W", *least) : fmt::format("it takes {:.0f} W when idle", *idle)));
    return {};
}

/// A limit above a board's highest never binds there; above that of every board it is a mistake.
Result<void> check_limits(const std::vector<GpuProfile>& gpus, const AnalyzeOptions& options) {
    const auto highest = [](const GpuProfile& gpu) {
        const auto most = gpu.value("power_limit_max_w"), tdp = gpu.value("tdp_w");
        return most ? *most : tdp ? 1.5 * *tdp : std::numeric_limits<double>::infinity();   // no board's highest is further above its TDP
    };
    for (const double limit : options.power_limits_w)
        if (std::all_of(gpus.begin(), gpus.end(), [&](const GpuProfile& gpu) { return limit > highest(gpu); }))
            return tl::unexpected(complain("FF0754", "--power-limit", fmt::format("{} cannot be limited to {} W", gpus.front().name, limit),
                                           fmt::format("its {} is {:.0f} W", gpus.front().value("power_limit_max_w") ? "highest limit" : "TDP", gpus.front().value("power_limit_max_w").value_or(gpus.front().value("tdp_w").value_or(0)))));
    return {};
}

}  // namespace

Result<std::vector<GpuProfile>> load_gpus(const AnalyzeOptions& options) {
    std::vector<std::string> names;
    for (const std::string& name : options.gpus) {
        if (name != "all") names.push_back(name);
        else
            for (const GpuName& known : list_gpus()) names.push_back(known.id);
    }
    if (names.empty()) return tl::unexpected(complain("FF0756", "--gpu", "no GPU was named", "flipflop gpus lists them; --gpu all takes every one"));
    std::vector<GpuProfile> gpus;
    for (const std::string& name : names) {
        auto gpu = load_gpu(name);
        if (!gpu) return tl::unexpected(gpu.error());
        if (options.sms) {
            const double all = gpu->sm_count();
            if (*options.sms == 0 || *options.sms > all)
                return tl::unexpected(complain("FF0757", "--sms", fmt::format("{} of the {} multiprocessors of {} cannot be used", *options.sms, all, gpu->name)));
            gpu->sm_override = options.sms;
        }
        if (auto reached = check_reach(*gpu, options); !reached) return tl::unexpected(reached.error());
        gpus.push_back(std::move(*gpu));
    }
    if (auto limits = check_limits(gpus, options); !limits) return tl::unexpected(limits.error());
    return gpus;
}

}  // namespace flipflop::advise
