// `flipflop occupancy`: the calculator alone (CONTRACT.md section 8). A block that cannot launch is an answer, not an error.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "flipflop/models.hpp"

namespace flipflop::cli {
namespace {

struct Options {
    std::string gpu, capability, block;
    OutputArguments output;
    OccupancyInput in;
    std::int64_t static_shared{}, dynamic_shared{};   ///< signed, so that a negative size is seen as one
    std::uint32_t carveout{}, max_threads{};
    bool no_opt_in{};
    CLI::Option *carveout_option{}, *max_threads_option{};
};

struct Question {
    std::string board, alias_note;      ///< empty with --cc
    ComputeCapability cc;
    OccupancyInput in;
};

/// "256" or "32,8" or "8,8,4" -> threads; empty where it is none of these.
std::optional<std::uint32_t> threads_of(const std::string& text) {
    std::uint64_t product = 1;
    std::size_t axes = 0, begin = 0;
    while (begin <= text.size()) {
        const auto end = std::min(text.find(',', begin), text.size());
        const auto part = text.substr(begin, end - begin);
        if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos || ++axes > 3) {
            return std::nullopt;
        }
        product *= std::stoul(part);
        if (product == 0 || product > 1'000'000'000) {
            return std::nullopt;
        }
        begin = end + 1;
    }
    return static_cast<std::uint32_t>(product);
}

/// "8.0", "80" and "sm_80" alike.
std::string capability_version(std::string text) {
    if (text.rfind("sm_", 0) == 0) {
        text.erase(0, 3);
    }
    if (text.find('.') == std::string::npos && text.size() >= 2) {
        text.insert(text.size() - 1, ".");
    }
    return text;
}

Diagnostic usage(std::string message, std::string help = {}) {
    return {"FF0905", Severity::error, {}, {}, std::move(message), {}, std::move(help)};
}

Result<Question> question(const Options& options) {
    if (options.gpu.empty() == options.capability.empty()) {
        return tl::unexpected(usage("exactly one of --gpu and --cc says which limits hold"));
    }
    Question out{{}, {}, {}, options.in};
    if (!options.gpu.empty()) {
        auto gpu = load_gpu(options.gpu);
        if (!gpu) {
            return tl::unexpected(std::move(gpu.error()));
        }
        out.board = gpu->name;
        out.alias_note = gpu->alias_note;
        out.cc = std::move(gpu->cc);
    } else {
        auto cc = load_compute_capability(capability_version(options.capability));
        if (!cc) {
            return tl::unexpected(std::move(cc.error()));
        }
        out.cc = std::move(*cc);
    }
    const auto threads = threads_of(options.block);
    if (!threads) {
        return tl::unexpected(usage("--block '" + options.block + "' is no block", "threads as X, X,Y or X,Y,Z, each at least 1"));
    }
    out.in.block_threads = *threads;
    out.in.static_shared_bytes = static_cast<std::uint64_t>(options.static_shared);
    out.in.dynamic_shared_bytes = static_cast<std::uint64_t>(options.dynamic_shared);
    out.in.opt_in = !options.no_opt_in;
    if (options.carveout_option->count() > 0) {
        out.in.carveout_percent = options.carveout;
    }
    if (options.max_threads_option->count() > 0) {
        out.in.kernel_max_threads = options.max_threads;
    }
    return out;
}

nlohmann::ordered_json or_null(const std::optional<std::uint32_t>& limit) {
    return limit ? nlohmann::ordered_json(*limit) : nlohmann::ordered_json();
}

std::string as_json(const Question& asked, const Occupancy& got, const std::vector<OccupancyCliff>& cliffs, std::uint32_t heuristic) {
    const auto& in = asked.in;
    nlohmann::ordered_json json;
    json["schema"] = "flipflop.occupancy/1";
    json["gpu"] = asked.board.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(asked.board);
    json["compute_capability"] = asked.cc.version();
    json["input"] = {{"block_threads", in.block_threads},
                     {"registers_per_thread", in.registers_per_thread},
                     {"static_shared_bytes", in.static_shared_bytes},
                     {"dynamic_shared_bytes", in.dynamic_shared_bytes},
                     {"barriers", in.barriers},
                     {"carveout_percent", or_null(in.carveout_percent)},
                     {"opt_in", in.opt_in},
                     {"cluster_blocks", in.cluster_blocks},
                     {"max_threads", or_null(in.kernel_max_threads)}};
    json["active_blocks_per_sm"] = got.active_blocks_per_sm;
    json["active_warps_per_sm"] = got.active_warps_per_sm;
    json["max_warps_per_sm"] = static_cast<std::uint32_t>(asked.cc.limit("max_warps_per_sm"));
    json["fraction"] = got.fraction;
    json["limits"] = {{"warps", or_null(got.limits.warps)},
                      {"blocks", or_null(got.limits.blocks)},
                      {"registers", or_null(got.limits.registers)},
                      {"shared", or_null(got.limits.shared)},
                      {"barriers", or_null(got.limits.barriers)}};
    json["limiters"] = got.limiters;
    json["why_not"] = got.why_not.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(got.why_not);
    json["allocated"] = {{"registers_per_block", got.allocated_registers_per_block},
                         {"shared_bytes_per_block", got.allocated_shared_per_block},
                         {"shared_capacity_bytes_per_sm", got.shared_capacity_bytes}};
    json["heuristic_block_threads"] = heuristic == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(heuristic);
    json["cliffs"] = nlohmann::ordered_json::array();
    for (const auto& cliff : cliffs) {
        json["cliffs"].push_back({{"change", cliff.change}, {"becomes", cliff.becomes}});
    }
    return json.dump(2) + "\n";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

void add_row(std::string& out, const Occupancy& got, const char* name, const std::string& takes, double holds,
             const std::optional<std::uint32_t>& blocks) {
    const bool limits = std::find(got.limiters.begin(), got.limiters.end(), name) != got.limiters.end();
    out += fmt::format("  {:<10}{:>16}{:>14.0f}{:>12}{}\n", name, takes, holds, blocks ? std::to_string(*blocks) : "no limit",
                       limits ? "   limits" : "");
}

std::string as_text(const Question& asked, const Occupancy& got, const std::vector<OccupancyCliff>& cliffs, std::uint32_t heuristic) {
    const auto& in = asked.in;
    const auto& cc = asked.cc;
    const auto warps = (in.block_threads + 31) / 32;
    auto out = fmt::format("Occupancy on {}compute capability {} ({})\n", asked.board.empty() ? "" : asked.board + ", ", cc.version(),
                           cc.architecture);
    if (!asked.alias_note.empty()) {
        out += "  " + asked.alias_note + "\n";
    }
    out += fmt::format("  block of {} threads ({} warps), {} registers a thread, {} + {} bytes of static and dynamic shared memory\n\n",
                       in.block_threads, warps, in.registers_per_thread, in.static_shared_bytes, in.dynamic_shared_bytes);
    if (got.active_blocks_per_sm == 0) {
        out += fmt::format("  cannot launch: {} (limited by {})\n", got.why_not, joined(got.limiters));
    } else {
        out += fmt::format("  {} resident block{} an SM, {} of {:.0f} warps, {:.1f} %, limited by {}\n", got.active_blocks_per_sm,
                           got.active_blocks_per_sm == 1 ? "" : "s", got.active_warps_per_sm, cc.limit("max_warps_per_sm"),
                           got.fraction * 100, joined(got.limiters));
    }
    if (got.limits.warps) {   // the launch was not refused before anything was counted
        out += fmt::format("\n  {:<10}{:>16}{:>14}{:>12}\n", "", "a block takes", "an SM holds", "blocks");
        add_row(out, got, "warps", std::to_string(warps), cc.limit("max_warps_per_sm"), got.limits.warps);
        add_row(out, got, "blocks", "1", cc.limit("max_blocks_per_sm"), got.limits.blocks);
        add_row(out, got, "registers", std::to_string(got.allocated_registers_per_block), cc.limit("registers_per_sm"), got.limits.registers);
        add_row(out, got, "shared", std::to_string(got.allocated_shared_per_block), static_cast<double>(got.shared_capacity_bytes), got.limits.shared);
        add_row(out, got, "barriers", std::to_string(in.barriers), cc.limit("block_barriers_per_sm"), got.limits.barriers);
    }
    if (!cliffs.empty()) {
        out += "\n  nearest cliffs\n";
        for (const auto& cliff : cliffs) {
            out += fmt::format("    {:<32} {}\n", cliff.change, cliff.becomes);
        }
    }
    if (heuristic > 0) {
        out += fmt::format("\n  cudaOccupancyMaxPotentialBlockSize would pick {} threads (most resident warps, not least time)\n", heuristic);
    }
    return out;
}

Result<void> run(const Options& options) {
    const auto asked = question(options);
    if (!asked) {
        return tl::unexpected(asked.error());
    }
    const auto plan = plan_output(options.output, {Format::text, Format::json});
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    const auto got = occupancy(asked->cc, asked->in);
    const auto cliffs = nearest_cliffs(asked->cc, asked->in);
    const auto heuristic = max_potential_block_size(asked->cc, asked->in);
    for (const auto& destination : *plan) {
        const bool json = destination.format == Format::json;
        const auto text = json ? as_json(*asked, got, cliffs, heuristic) : as_text(*asked, got, cliffs, heuristic);
        if (auto written = write_report(destination, [&](const TextSink& sink) { sink(text); }); !written) {
            return written;
        }
    }
    return {};
}

}  // namespace

void add_occupancy_command(CLI::App& app, CommandResult& result) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("occupancy", "resident blocks and warps of a launch, what limits them, and the nearest cliffs");
    command->add_option("--gpu", options->gpu, "board by name, alias or profile file")->type_name("NAME");
    command->add_option("--cc", options->capability, "compute capability, such as 8.0")->type_name("X.Y");
    command->add_option("--regs", options->in.registers_per_thread, "registers a thread, 0 to 255")->check(CLI::Range(0U, 255U))->type_name("N")->required();
    command->add_option("--block", options->block, "threads a block")->type_name("X[,Y[,Z]]")->required();
    const CLI::Range bytes(std::int64_t{0}, std::int64_t{1} << 40);
    command->add_option("--smem", options->static_shared, "static shared memory")->check(bytes)->type_name("BYTES");
    command->add_option("--dynamic-smem", options->dynamic_shared, "dynamic shared memory")->check(bytes)->type_name("BYTES");
    command->add_option("--barriers", options->in.barriers, "barriers that a block uses, 0 to 16; default 1")->check(CLI::Range(0U, 16U))->type_name("N");
    options->carveout_option =
        command->add_option("--carveout", options->carveout, "preferred share of shared memory, 0 to 100; default all")->check(CLI::Range(0U, 100U))->type_name("PERCENT");
    command->add_flag("--no-opt-in", options->no_opt_in, "the kernel has not asked for more dynamic shared memory than the default");
    command->add_option("--cluster", options->in.cluster_blocks, "blocks a cluster")->check(CLI::Range(1U, 1024U))->type_name("N");
    options->max_threads_option =
        command->add_option("--max-threads", options->max_threads, "the most threads that the kernel is compiled for (.maxntid)")->check(CLI::Range(1U, 1024U))->type_name("N");
    add_output_options(*command, options->output, "text or json");
    command->callback([options, &result] {
        if (auto done = run(*options); !done) {
            if (done.error().file.empty()) {
                done.error().file = "flipflop occupancy";
            }
            std::fputs(render(done.error()).c_str(), stderr);
            result.exit_code = kUsageError;   // a bad value, or a place that cannot be written
        }
    });
}

}  // namespace flipflop::cli
