#include "machines.hpp"

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
        gpus.push_back(std::move(*gpu));
    }
    return gpus;
}

}  // namespace flipflop::advise
