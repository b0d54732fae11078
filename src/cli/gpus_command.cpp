// `flipflop gpus`: what is known of each board, and how it is known.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "flipflop/gpu.hpp"

namespace flipflop::cli {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::map<std::string, SourcedValue, std::less<>>;

struct Options {
    std::string name;
    OutputArguments output;
};

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string shown(const std::optional<double>& value) { return value ? number(*value) : "?"; }

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// Whole numbers without a fraction, as the profile writes them.
Json plain(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}
Json plain(const std::optional<double>& value) { return value ? plain(*value) : Json(); }

// ---- the list -------------------------------------------------------------------------------------------------------
std::string list_text(const std::vector<GpuProfile>& gpus) {
    auto out = fmt::format("{:<30}{:>5}{:>6}{:>8}{:>9}{:>9}{:>7}{:>9}  {}\n", "GPU", "cc", "SMs", "MHz", "GB/s", "L2 MiB", "TDP W", "idle W", "aliases");
    for (const auto& gpu : gpus) {
        const auto* idle = gpu.sourced("idle_power_w");
        std::string aliases;
        for (const auto& alias : gpu.aliases) {
            aliases += (aliases.empty() ? "" : ", ") + alias;
        }
        auto line = fmt::format("{:<30}{:>5}{:>6}{:>8}{:>9}{:>9}{:>7}{:>9}  {}", gpu.name, gpu.cc.version(), number(gpu.sm_count()),
                           shown(gpu.value("boost_clock_mhz")), shown(gpu.value("dram_bandwidth_gbs")), shown(gpu.value("l2_mib")),
                           shown(gpu.value("tdp_w")), idle && idle->value ? number(*idle->value) + (idle->basis == "assumed" ? "*" : " ") : "? ",
                           aliases);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out + "\n? not known    * assumed: `flipflop gpus NAME` says from what\n";
}

std::string list_json(const std::vector<GpuProfile>& gpus) {
    Json json;
    json["schema"] = "flipflop.gpus/1";
    json["gpus"] = Json::array();
    for (const auto& gpu : gpus) {
        json["gpus"].push_back({{"id", gpu.id},
                                {"name", gpu.name},
                                {"aliases", gpu.aliases},
                                {"compute_capability", gpu.cc.version()},
                                {"sm_count", plain(gpu.value("sm_count"))},
                                {"boost_clock_mhz", plain(gpu.value("boost_clock_mhz"))},
                                {"dram_bandwidth_gbs", plain(gpu.value("dram_bandwidth_gbs"))},
                                {"l2_mib", plain(gpu.value("l2_mib"))},
                                {"tdp_w", plain(gpu.value("tdp_w"))},
                                {"idle_power_w", plain(gpu.value("idle_power_w"))}});
    }
    return json.dump(2) + "\n";
}

// ---- one profile ----------------------------------------------------------------------------------------------------
void add_values(std::string& out, const char* title, const Values& values) {
    out += fmt::format("\n{}\n", title);
    for (const auto& [name, value] : values) {
        const auto interval = value.low && value.high ? fmt::format(" [{} .. {}]", number(*value.low), number(*value.high)) : std::string();
        out += fmt::format("  {:<40}{:>10} {:<24} {}\n", name, value.value ? number(*value.value) : "unknown", value.unit + interval,
                           value.value ? value.basis + ": " + value.source : std::string());
        if (!value.note.empty()) {
            out += fmt::format("  {:<40}{:>10} {}\n", "", "", "(" + value.note + ")");
        }
    }
}

std::string profile_text(const GpuProfile& gpu) {
    auto out = fmt::format("{} (id {}, {}compute capability {}, {})\n", gpu.name, gpu.id, gpu.chip.empty() ? "" : "chip " + gpu.chip + ", ",
                           gpu.cc.version(), gpu.cc.architecture);
    for (const auto& alias : gpu.aliases) {
        out += (alias == gpu.aliases.front() ? "also: " : ", ") + alias;
    }
    out += gpu.aliases.empty() ? "" : "\n";
    for (const auto& [what, text] : {std::pair{"note: ", gpu.alias_note}, {"inherits: ", gpu.inherits}, {"file: ", gpu.origin}}) {
        out += text.empty() ? "" : what + text + "\n";
    }
    out += "memory: " + gpu.memory_type + (gpu.memory_type_note.empty() ? "" : " (" + gpu.memory_type_note + ")") + "\n";
    add_values(out, "The board", gpu.values);
    for (const auto& [name, curve] : gpu.curves) {
        out += fmt::format("\n{} by clock, {}: {}{}\n", name, curve.basis, curve.source, curve.note.empty() ? "" : " (" + curve.note + ")");
        std::string line = " ";
        for (const auto& [clock, value] : curve.points) {
            const auto point = fmt::format(" {}:{}", number(clock), number(value));
            if (line.size() + point.size() > 100) {
                out += line + "\n";
                line = " ";
            }
            line += point;
        }
        out += fmt::format("{}   ({}:{})\n", line, curve.x_unit, curve.unit);
    }
    add_values(out, "Limits of the compute capability", gpu.cc.limits);
    std::string sizes;
    for (const auto kib : gpu.cc.shared_carveouts_kib) {
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(kib);
    }
    out += fmt::format("  {:<40}{} ({})\n", "shared_carveouts_kib", sizes.empty() ? "none to choose" : sizes, gpu.cc.shared_carveouts_source);
    add_values(out, "Rates of the compute capability, per clock and SM", gpu.cc.throughput);
    return out;
}

Json values_json(const Values& values) {
    Json json = Json::object();
    for (const auto& [name, value] : values) {
        Json entry{{"value", plain(value.value)}, {"unit", value.unit}, {"basis", or_null(value.basis)}, {"source", or_null(value.source)}};
        if (!value.note.empty()) {
            entry["note"] = value.note;
        }
        if (value.low && value.high) {
            entry["interval"] = {plain(*value.low), plain(*value.high)};
        }
        json[name] = std::move(entry);
    }
    return json;
}

std::string profile_json(const GpuProfile& gpu) {
    Json json;
    json["schema"] = "flipflop.gpu/1";
    json["id"] = gpu.id;
    json["name"] = gpu.name;
    json["aliases"] = gpu.aliases;
    json["compute_capability"] = gpu.cc.version();
    if (!gpu.chip.empty()) {
        json["chip"] = gpu.chip;
    }
    json["memory_type"] = gpu.memory_type;
    if (!gpu.memory_type_note.empty()) {
        json["memory_type_note"] = gpu.memory_type_note;
    }
    json["values"] = values_json(gpu.values);
    json["throughput"] = values_json(gpu.cc.throughput);
    json["limits"] = values_json(gpu.cc.limits);
    json["shared_carveouts_kib"] = {{"values", gpu.cc.shared_carveouts_kib},
                                    {"unit", "KiB"},
                                    {"basis", or_null(gpu.cc.shared_carveouts_basis)},
                                    {"source", or_null(gpu.cc.shared_carveouts_source)}};
    json["curves"] = Json::object();
    for (const auto& [name, curve] : gpu.curves) {
        Json entry{{"x_unit", curve.x_unit}, {"unit", curve.unit}, {"basis", curve.basis}, {"source", curve.source}};
        if (!curve.note.empty()) {
            entry["note"] = curve.note;
        }
        entry["points"] = Json::array();
        for (const auto& [clock, value] : curve.points) {
            entry["points"].push_back({plain(clock), plain(value)});
        }
        json["curves"][name] = std::move(entry);
    }
    return json.dump(2) + "\n";
}

Result<void> write(const Options& options, const std::function<std::string(Format)>& make) {
    const auto plan = plan_output(options.output, {Format::text, Format::json});
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    for (const auto& destination : *plan) {
        const auto text = make(destination.format);
        if (auto written = write_report(destination, [&](const TextSink& sink) { sink(text); }); !written) {
            return written;
        }
    }
    return {};
}

Result<void> run(const Options& options) {
    if (!options.name.empty()) {
        const auto gpu = load_gpu(options.name);
        if (!gpu) {
            return tl::unexpected(gpu.error());
        }
        return write(options, [&](Format format) { return format == Format::json ? profile_json(*gpu) : profile_text(*gpu); });
    }
    std::vector<GpuProfile> gpus;
    for (const auto& name : list_gpus()) {
        auto gpu = load_gpu(name.id);
        if (!gpu) {
            return tl::unexpected(gpu.error());
        }
        gpus.push_back(std::move(*gpu));
    }
    return write(options, [&](Format format) { return format == Format::json ? list_json(gpus) : list_text(gpus); });
}

}  // namespace

void add_gpus_command(CLI::App& app, CommandResult& result) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("gpus", "the boards that are known, or one profile with unit, basis and source of every value");
    command->add_option("NAME", options->name, "board by name, alias or profile file")->type_name("");
    add_output_options(*command, options->output, "text or json");
    command->callback([options, &result] {
        if (auto done = run(*options); !done) {
            if (done.error().file.empty()) {
                done.error().file = "flipflop gpus";
            }
            std::fputs(render(done.error()).c_str(), stderr);
            result.exit_code = kUsageError;
        }
    });
}

}  // namespace flipflop::cli
