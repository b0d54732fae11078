#include "cli/launch_options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace flipflop::cli {
namespace {

Diagnostic usage(std::string id, const std::string& option, std::string message, std::string help = {}) {
    Diagnostic d;
    d.id = std::move(id);
    d.file = option;
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

std::size_t axes_of(const std::string& text) {
    return text.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
}

Result<void> set_dim(const std::string& text, const char* option, std::optional<Dim3>& out) {
    if (text.empty()) { return {}; }
    Result<Dim3> dim = parse_dim3(text, option);
    if (!dim) { return tl::unexpected(dim.error()); }
    out = *dim;
    return {};
}

/// --work: whole numbers, or expressions over the arguments ("rows * cols").
Result<void> set_work(const std::string& text, LaunchOptions& launch) {
    const bool words = std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '*' || c == '('; });
    if (!words) { return set_dim(text, "--work", launch.work); }
    std::size_t axis = 0;
    int depth = 0;
    std::string piece;
    for (const char c : text + ",") {
        depth += (c == '(') - (c == ')');
        if (c != ',' || depth > 0) {
            piece += c;
            continue;
        }
        if (axis == 3) { return tl::unexpected(usage("FF0770", "--work", fmt::format("'{}' has more than three axes", text))); }
        launch.work_expression[axis++] = piece;
        piece.clear();
    }
    return {};
}

/// Where outside tools are looked for. The library reads no environment; this is the one place that does for it.
Environment surroundings() {
    const auto variable = [](const char* name) { const char* const value = std::getenv(name); return std::string(value ? value : ""); };
    Environment out;
    out.path = variable("PATH");
    out.cuda_home = variable("CUDA_HOME");
    if (const std::string folder = variable("TMPDIR"); !folder.empty()) { out.temporary_directory = folder; }
    return out;
}

/// One rule an axis: --grid, --work or --grid-x/y/z (CONTRACT.md section 4: two are exit 2).
Result<void> check_grid_rules(const LaunchArguments& a) {
    const std::size_t grid = axes_of(a.grid);
    const std::size_t work = axes_of(a.work);
    const std::string* const expressions[] = {&a.grid_x, &a.grid_y, &a.grid_z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::vector<std::string> rules;
        if (axis < grid) { rules.emplace_back("--grid"); }
        if (axis < work) { rules.emplace_back("--work"); }
        if (!expressions[axis]->empty()) { rules.push_back(fmt::format("--grid-{}", "xyz"[axis])); }
        if (rules.size() > 1) {
            return tl::unexpected(usage("FF0772", rules[1], fmt::format("two rules for the grid's {} axis: {} and {}", "xyz"[axis], rules[0], rules[1]),
                                        "give one of --grid, --work and --grid-x/-y/-z for each axis"));
        }
    }
    return {};
}

/// Read only where a source is compiled; a name that leads nowhere is a mistake anyhow.
Result<void> check_compile_commands(const std::string& path) {
    if (path.empty()) { return {}; }
    std::error_code ignored;
    const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? std::filesystem::path(path) / "compile_commands.json" : std::filesystem::path(path);
    std::ifstream in(file);
    char first = '\0';
    if (std::filesystem::is_directory(file, ignored) || !in.is_open()) { return tl::unexpected(usage("FF0786", "--compile-commands", fmt::format("'{}' cannot be read", file.string()))); }
    if (!(in >> first) || first != '[') { return tl::unexpected(usage("FF0786", "--compile-commands", fmt::format("'{}' is not a list of compile commands", file.string()))); }
    return {};
}

Result<void> check_positive(const std::vector<double>& values, const char* option) {
    for (const double value : values) {
        if (!std::isfinite(value) || value <= 0) { return tl::unexpected(usage("FF0771", option, fmt::format("{} is not a positive number", value))); }
    }
    return {};
}

}  // namespace

void add_kernel_option(CLI::App& command, std::vector<std::string>& kernels) {
    command.add_option("--kernel", kernels, "GLOB, =EXACT, /REGEX/ or #ID against mangled and demangled names; repeatable, default all")
        ->allow_extra_args(false)->type_name("PATTERN");
}

void add_launch_options(CLI::App& command, LaunchArguments& a) {
    const auto list = [&](const char* name, auto& target, const char* help, const char* type, const char* group) {
        command.add_option(name, target, help)->allow_extra_args(false)->type_name(type)->group(group);
    };
    const auto one = [&](const char* name, auto& target, const char* help, const char* type, const char* group) {
        return command.add_option(name, target, help)->type_name(type)->group(group);
    };
    constexpr const char* launch = "Launch";
    constexpr const char* board = "GPU";
    constexpr const char* data = "Data";
    add_kernel_option(command, a.kernels);
    list("--gpu", a.gpus, "name, alias, profile file or 'all'; repeatable (flipflop gpus lists them)", "NAME", board);
    one("--sms", a.sms, "use a part of the GPU (MIG)", "N", board);
    list("--clock", a.clocks, "operating point; repeatable", "MHZ", board);
    list("--power-limit", a.power_limits, "operating point; repeatable", "W", board);
    one("--cache-state", a.cache_state, "warm (launched again and again) or cold", "STATE", board)->check(CLI::IsMember({"warm", "cold"}));
    one("--ptxas", a.ptxas, "auto, require or off", "USE", board)->check(CLI::IsMember({"auto", "require", "off"}));
    one("--ptxas-log", a.ptxas_log, "registers and memory from a saved 'ptxas -v' output", "FILE", board);

    one("--grid", a.grid, "fixed grid", "X[,Y[,Z]]", launch);
    one("--work", a.work, "threads wanted, numbers or expressions over arguments: every candidate's grid is ceil(work / block)", "X[,Y[,Z]]", launch);
    one("--grid-x", a.grid_x, "grid rule: block.x, work.x, gpu.sms, blocks_per_sm, arguments, fields (p+16:u32), ceil, min, max; a persistent grid is 'gpu.sms*blocks_per_sm'", "EXPR", launch);
    one("--grid-y", a.grid_y, "the same for y", "EXPR", launch);
    one("--grid-z", a.grid_z, "the same for z", "EXPR", launch);
    one("--current", a.current, "the block in use today: reference for gains and for what is safe", "X[,Y[,Z]]", launch);
    one("--current-grid", a.current_grid, "its grid, where the rule does not give it", "X[,Y[,Z]]", launch);
    one("--dynamic-smem", a.dynamic_smem, "dynamic shared memory in bytes, or an expression", "EXPR", launch);
    one("--carveout", a.carveout, "preferred share of shared memory", "PERCENT", launch)->check(CLI::Range(0, 100));
    one("--cluster", a.cluster, "thread-block cluster", "X[,Y[,Z]]", launch);
    command.add_flag("--cooperative", a.cooperative, "cooperative launch: the whole grid must be resident")->group(launch);
    command.add_flag("--ignore-launch-bounds", a.ignore_launch_bounds, "what if .maxntid and .reqntid were not there (marked)")->group(launch);
    one("--objective", a.objective, "time, energy, edp or energy@95", "WHAT", launch)->check(CLI::IsMember({"time", "energy", "edp", "energy@95"}));

    one("--launches", a.launches, "launches.toml: arguments, grid rules and cases per kernel (flipflop inspect --scaffold writes one)", "FILE", launch);
    list("--case", a.cases, "one problem size of several, NAME:PARAM=VALUE,...,weight=W; work=X or grid=XxY too", "NAME:...", launch);
    one("--sweep", a.sweep, "problem sizes as a series, PARAM=FROM:TO:xFACTOR or :+STEP", "PARAM=...", launch);
    command.add_flag("--variants", a.variants, "the inputs are variants of one computation (a Triton cache): rank them against each other")->group(launch);
    one("--variant-table", a.variant_table, "what the variants were compiled with: a column that names them, then their parameters", "FILE.csv", launch);
    list("--arg", a.args, "a parameter's value, by index, PTX name, param_N or source name; PARAM+OFFSET:TYPE=VALUE in a struct; inspect lists them", "PARAM=VALUE", data);
    list("--data", a.data, "contents of an array that decides addresses (.npy or raw)", "NAME=FILE[:TYPE]", data);
    list("--trips", a.trips, "trips of a loop that depends on data, by file:line or loop id", "LOC=N", data);
    list("--taken", a.taken, "probability of a branch that depends on data", "LOC=P", data);
    one("--assume-trips", a.assume_trips, "for all other such loops", "N", data);
    one("--assume-taken", a.assume_taken, "for all other such branches", "P", data)->check(CLI::Range(0.0, 1.0));
    command.add_flag("--experimental", a.experimental, "also rules whose findings are often wrong: races, barriers that order nothing")->group("Output");
    one("--detail", a.detail, "summary or full: accesses, loops and terms of every configuration", "LEVEL", "Output")
        ->check(CLI::IsMember({"summary", "full"}));
    add_source_options(command, a.source);
    one("-j,--threads", a.threads, "threads to use (the result does not depend on it); default all", "N", "Output");
}

Result<Dim3> parse_dim3(const std::string& text, const std::string& option) {
    std::uint32_t values[3] = {1, 1, 1};
    const auto wrong = [&](const std::string& why) {
        return tl::unexpected(usage("FF0770", option, fmt::format("'{}' {}", text, why), "one to three whole numbers, such as 256, 16,16 or 8,8,4"));
    };
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (std::size_t axis = 0;; ++axis) {
        if (axis == 3) { return wrong("has more than three axes"); }
        const auto [next, error] = std::from_chars(at, end, values[axis]);
        if (error == std::errc::result_out_of_range) { return wrong("is larger than 4294967295"); }
        if (error != std::errc{}) { return wrong("is not X[,Y[,Z]]"); }
        if (values[axis] == 0) { return wrong("has an axis of 0"); }
        at = next;
        if (at == end) { break; }
        if (*at != ',') { return wrong("is not X[,Y[,Z]]"); }
        ++at;
    }
    return Dim3{values[0], values[1], values[2]};
}

Result<AnalyzeOptions> to_analyze_options(const LaunchArguments& a) {
    AnalyzeOptions out;
    LaunchOptions& launch = out.launch;
    launch.kernels = a.kernels;
    launch.args = a.args;
    launch.data = a.data;
    launch.trips = a.trips;
    launch.taken = a.taken;
    if (!a.assume_trips.empty()) { launch.assume_trips = a.assume_trips; }
    launch.assume_taken = a.assume_taken;
    launch.case_texts = a.cases;
    out.variants = a.variants || !a.variant_table.empty();
    out.variant_table = a.variant_table;
    if (!a.sweep.empty()) { launch.sweep = a.sweep; }
    if (!a.launches.empty()) {
        Result<LaunchesFile> file = read_launches(a.launches);
        if (!file) { return tl::unexpected(file.error()); }
        out.launches = std::move(*file);
    }
    for (const std::string& text : a.blocks) {
        Result<Dim3> block = parse_dim3(text, "--block");
        if (!block) { return tl::unexpected(block.error()); }
        launch.blocks.push_back(*block);
    }
    const Result<void> checks[] = {
        check_grid_rules(a),
        set_dim(a.grid, "--grid", launch.grid),
        set_work(a.work, launch),
        set_dim(a.current, "--current", launch.current),
        set_dim(a.current_grid, "--current-grid", launch.current_grid),
        set_dim(a.cluster, "--cluster", launch.cluster),
        check_compile_commands(a.source.compile_commands),
        check_positive(a.clocks, "--clock"),
        check_positive(a.power_limits, "--power-limit"),
    };
    for (const Result<void>& check : checks) {
        if (!check) { return tl::unexpected(check.error()); }
    }
    if (launch.current_grid && !launch.current) {
        return tl::unexpected(usage("FF0772", "--current-grid", "a grid of today's launch without its block", "give --current X[,Y[,Z]] too"));
    }
    launch.grid_axes = static_cast<int>(axes_of(a.grid));
    launch.work_axes = static_cast<int>(axes_of(a.work));
    if (a.sms && *a.sms == 0) { return tl::unexpected(usage("FF0771", "--sms", "0 is not a number of SMs")); }
    const std::string* const expressions[] = {&a.grid_x, &a.grid_y, &a.grid_z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!expressions[axis]->empty()) { launch.grid_expression[axis] = *expressions[axis]; }
    }
    if (!a.dynamic_smem.empty()) { launch.dynamic_smem = a.dynamic_smem; }
    launch.carveout_percent = a.carveout;
    launch.cooperative = a.cooperative;
    launch.ignore_launch_bounds = a.ignore_launch_bounds;
    launch.experimental = a.experimental;
    out.gpus = a.gpus;
    out.sms = a.sms;
    out.clocks_mhz = a.clocks;
    out.power_limits_w = a.power_limits;
    out.warm_cache = a.cache_state != "cold";
    out.objective = a.objective == "energy" ? Objective::energy : a.objective == "edp" ? Objective::edp
                  : a.objective == "energy@95" ? Objective::energy_at_95 : Objective::time;
    out.ptxas = a.ptxas == "require" ? PtxasUse::require : a.ptxas == "off" ? PtxasUse::off : PtxasUse::automatic;
    out.ptxas_log = a.ptxas_log;
    out.full_detail = a.detail == "full";
    out.environment = surroundings();
    out.source = to_source_options(a.source, a.gpus);
    out.threads = a.threads != 0 ? a.threads : std::max(1U, std::thread::hardware_concurrency());
    return out;
}

}  // namespace flipflop::cli
