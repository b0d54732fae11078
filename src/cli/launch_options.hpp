// Owns: the options that describe a launch (CONTRACT.md section 4) as CLI11 sees them, and their translation to
// AnalyzeOptions. What depends on a kernel stays text; what does not is checked here, with the option in the message.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/source_options.hpp"
#include "flipflop/advise.hpp"

namespace CLI {
class App;
}

namespace flipflop::cli {

struct LaunchArguments {
    std::vector<std::string> kernels, args, data, trips, taken;
    std::vector<std::string> blocks, gpus;
    std::string grid, work, grid_x, grid_y, grid_z, current, current_grid, cluster;
    std::string assume_trips, dynamic_smem, launches, sweep;
    std::vector<std::string> cases;
    bool variants{};
    std::string variant_table;
    std::optional<double> assume_taken;
    std::optional<std::uint32_t> carveout, sms;
    std::vector<double> clocks, power_limits;
    bool cooperative{}, ignore_launch_bounds{}, experimental{};
    std::string cache_state{"warm"}, objective{"time"}, ptxas{"auto"}, ptxas_log;
    std::string detail{"summary"};
    unsigned threads{};
    SourceArguments source;
};

void add_kernel_option(CLI::App& command, std::vector<std::string>& kernels);
/// Everything but --block, whose meaning differs between commands.
void add_launch_options(CLI::App& command, LaunchArguments& arguments);

/// "16", "16,16" or "8,8,4"; each at least 1. FF0770 otherwise, naming `option`.
[[nodiscard]] Result<Dim3> parse_dim3(const std::string& text, const std::string& option);

[[nodiscard]] Result<AnalyzeOptions> to_analyze_options(const LaunchArguments& arguments);

}  // namespace flipflop::cli
