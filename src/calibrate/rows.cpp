// Tables to rows that can be fitted; each row that cannot is counted under its reason.
#include "calibrate/rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "advise/complaints.hpp"
#include "advise/subject.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop::calibrate {
namespace {

using advise::complain;

constexpr double kCapped = 0.96;             // NVML's mean at the cap lies within 4 % of it (A100, RTX 5000 Ada)
constexpr std::size_t kMostKernels = 4096;   // kept analysed at a time

/// Boards are called many names; profiles know them.
bool names_board(const std::string& cell, const GpuProfile& gpu, std::map<std::string, bool>& known) {
    if (const auto found = known.find(cell); found != known.end()) return found->second;
    std::string name = cell.substr(0, cell.find(" ("));
    for (const std::string_view prefix : {"NVIDIA ", "GeForce ", "Tesla "})
        if (name.starts_with(prefix)) name.erase(0, prefix.size());
    bool same = false;
    for (const std::string& candidate : {cell, name})
        if (const auto loaded = candidate.find('/') == std::string::npos ? load_gpu(candidate) : Result<GpuProfile>(tl::unexpected(Diagnostic{})))
            same = same || loaded->id == gpu.id || (!gpu.inherits.empty() && loaded->id == gpu.inherits);
    return known[cell] = same;
}

/// The kernels of the inputs, and one launch of each described row.
class Kernels {
public:
    Kernels(const std::vector<Input>& inputs, const Options& options, const GpuProfile& gpu) : options_(options), gpu_(gpu) {
        for (const Input& input : inputs)
            for (const PtxText& text : input.texts) parsed_.push_back({text.name, std::make_unique<ptx::ParseResult>(ptx::parse(text.text, text.name))});
    }

    [[nodiscard]] bool none() const { return parsed_.empty(); }

    /// The row's launch, or why there is none.
    Result<Row> row(const Cells& cells) {
        const auto* code = find(cells.text("input"), cells.text("kernel"));
        if (!code) return tl::unexpected(complain("FF0792", kSubject, fmt::format("no kernel {} in the inputs", cells.text("kernel"))));
        LaunchOptions options;
        options.args = options_.arguments;
        options.assume_taken = cells.number("taken") ? cells.number("taken") : options_.taken;
        for (const std::string& column : cells.table().columns)
            if (column.starts_with("arg.") && !cells.text(column).empty()) options.args.push_back(column.substr(4) + "=" + cells.text(column));
        const auto requests = advise::read_requests(options);
        if (!requests) return tl::unexpected(requests.error());
        const advise::Subject subject = advise::make_subject(*code, *requests);
        for (const std::string& misfit : subject.arguments.misfits)
            if (!misfit.empty()) return tl::unexpected(complain("FF0792", kSubject, misfit));
        const auto dim = [&](const std::string& name) {
            const auto axis = [&](const char* letter) { return static_cast<std::uint32_t>(std::clamp(cells.number(name + letter).value_or(1), 1.0, 4e9)); };
            return Dim3{axis("_x"), axis("_y"), axis("_z")};
        };
        Row row;
        const Dim3 block = dim("block"), grid = dim("grid");
        if (block.count() > 1024) return tl::unexpected(complain("FF0792", kSubject, fmt::format("a block of {} threads", block.count())));
        const auto dynamic = static_cast<std::uint64_t>(std::max(0.0, cells.number("dynamic_shared_bytes").value_or(0)));
        const Evaluator evaluator(*code);
        advise::FactsBook book(*code, evaluator, subject);
        row.launch = *book.facts(block, grid, dynamic);
        row.kernel.bounds = code->facts.bounds;
        row.kernel.instructions = code->facts.instructions;
        row.kernel.accesses = code->facts.accesses;
        row.use = use_of(*code, cells, block, dynamic);
        if (row.use.occupancy.active_blocks_per_sm == 0) return tl::unexpected(complain("FF0792", kSubject, "the launch does not fit on " + gpu_.name));
        return row;
    }

private:
    const KernelCode* find(const std::string& input, const std::string& name) {
        const auto key = std::pair(input, name);
        if (const auto found = known_.find(key); found != known_.end()) return found->second.get();
        if (known_.size() >= kMostKernels) known_.clear();
        const ptx::Module* module = nullptr;
        std::uint32_t entry = 0, entries = 0;
        for (const auto& [file, parsed] : parsed_) {
            const bool same = input.empty() || file == input || file.ends_with("/" + input);
            if (!same) continue;
            for (const ptx::Module& each : parsed->modules) {
                for (std::uint32_t f = 0; f < each.functions.size(); ++f) {
                    if (!each.functions[f].is_entry || !each.functions[f].has_body) continue;
                    const std::string_view mangled = each.functions[f].name;
                    const std::string plain = demangle(std::string(mangled));
                    if (!name.empty() && mangled != name && plain != name && plain.substr(0, plain.find_first_of("(<")) != name) continue;
                    module = &each;
                    entry = f;
                    ++entries;
                }
            }
        }
        if (entries != 1) return nullptr;
        return (known_[key] = std::make_unique<KernelCode>(analyse_kernel(*module, entry))).get();
    }

    ResourceUse use_of(const KernelCode& code, const Cells& cells, Dim3 block, std::uint64_t dynamic) const {
        ResourceUse use{code.facts.resources, dynamic, {}};
        estimate_registers(code, static_cast<std::uint32_t>(gpu_.cc.major * 10 + gpu_.cc.minor), use.resources);
        for (const char* column : {"registers", "num_regs"})
            if (const auto registers = cells.number(column); registers && *registers >= 1 && *registers <= 255) use.resources.registers_per_thread = static_cast<std::uint32_t>(*registers);
        OccupancyInput input;
        input.block_threads = static_cast<std::uint32_t>(block.count());
        input.registers_per_thread = use.resources.registers_per_thread;
        input.static_shared_bytes = use.resources.static_shared_bytes;
        input.dynamic_shared_bytes = dynamic;
        input.barriers = use.resources.barriers.value_or(1);
        input.kernel_max_threads = code.facts.bounds.max_threads;
        use.occupancy = occupancy(gpu_.cc, input);
        if (const auto resident = cells.number("blocks_per_sm"); resident && *resident >= 1 && use.occupancy.active_blocks_per_sm > 0)
            use.occupancy.active_blocks_per_sm = std::min(use.occupancy.active_blocks_per_sm, static_cast<std::uint32_t>(*resident));
        return use;
    }

    const Options& options_;
    const GpuProfile& gpu_;
    std::vector<std::pair<std::string, std::unique_ptr<ptx::ParseResult>>> parsed_;
    std::map<std::pair<std::string, std::string>, std::unique_ptr<KernelCode>> known_;
};

std::optional<double> first_of(const Cells& cells, std::initializer_list<std::pair<const char*, double>> columns) {
    for (const auto& [name, factor] : columns)
        if (const auto value = cells.number(name)) return *value * factor;
    return std::nullopt;
}

/// What the row says; empty with the reason it is not used.
std::optional<Reading> reading_of(const Cells& cells, const GpuProfile& gpu, std::string& why) {
    Reading reading;
    reading.kernel = cells.text("kernel");
    reading.time_us = first_of(cells, {{"time_us", 1}, {"time_ms", 1e3}, {"time_s", 1e6}, {"time", 1e3}});
    reading.power_w = cells.number("power_w");
    const auto flag = [&](const char* name) { return cells.text(name) == "0" || cells.text(name) == "false"; };
    if (flag("valid") || (cells.text("valid").empty() && !cells.text("error").empty())) return why = "marked as not valid", std::nullopt;
    if (flag("time_ok")) reading.time_us.reset();
    if (flag("power_ok")) reading.power_w.reset();
    if (!reading.time_us && !reading.power_w) return why = "no time and no power", std::nullopt;
    if ((reading.time_us && *reading.time_us <= 0) || (reading.power_w && *reading.power_w <= 0)) return why = "a reading of zero", std::nullopt;
    std::optional<double> limit = cells.number("power_limit_w");
    if (!limit) limit = gpu.value("power_limit_default_w") ? gpu.value("power_limit_default_w") : gpu.value("tdp_w");
    const auto clock = first_of(cells, {{"clock_mhz", 1}, {"nvml_gr_clock", 1}});
    // At the limit the power says what the limit is, and the time belongs to a clock that only a reading of it tells.
    if (reading.power_w && limit && *reading.power_w >= kCapped * *limit) {
        reading.power_w.reset();
        if (!reading.time_us || !cells.number("clock_mhz")) return why = "power at the limit", std::nullopt;
    }
    reading.clock_mhz = clock.value_or(gpu.value("boost_clock_mhz").value_or(1500));
    if (reading.clock_mhz < 50) return why = "no clock", std::nullopt;
    for (std::size_t i = 0; i < cells.table().columns.size(); ++i) {
        const std::string& column = cells.table().columns[i];
        const bool result = column.starts_with("time") || column.starts_with("power") || column.starts_with("energy") || column.starts_with("temperature") || column.ends_with("clock_mhz") ||
                            column.ends_with("_reported") || column == "nvml_gr_clock" || column == "device_index" || column == "n_samples" || column == "error" || column == "pwr_core_freq_mhz";
        if (!result) reading.configuration += cells.all()[i] + "\x1f";
    }
    return reading;
}

}  // namespace

std::string Cells::text(std::string_view column) const {
    const auto at = table_.column(column);
    return at ? table_.rows[row_][*at] : std::string();
}

std::optional<double> Cells::number(std::string_view column) const {
    const std::string cell = text(column);
    double value{};
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (cell.empty() || error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

Result<Rows> read_rows(const std::vector<validate::Table>& tables, const std::vector<Input>& inputs, const GpuProfile& gpu, const Options& options) {
    Rows result;
    Kernels kernels(inputs, options, gpu);
    std::map<std::string, bool> boards;
    std::map<std::string, std::optional<Row>> launches;   // a configuration at many clocks is evaluated once
    for (const validate::Table& table : tables) {
        for (const auto& [column, value] : options.where)
            if (!table.column(column)) return tl::unexpected(complain("FF0795", kSubject, fmt::format("--where {}={}: {} has no such column", column, value, table.path)));
        const bool asked_board = std::any_of(options.where.begin(), options.where.end(), [](const auto& w) { return w.first == "gpu"; });
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            const Cells cells(table, i);
            const auto out = [&](const std::string& why) { ++result.left_out[why]; };
            if (std::any_of(options.where.begin(), options.where.end(), [&](const auto& w) { return cells.text(w.first) != w.second; })) { out("not asked for (--where)"); continue; }
            const std::string board = cells.text("gpu");
            if (!board.empty() && !asked_board && !names_board(board, gpu, boards)) { out("of another GPU: " + board); continue; }
            std::string why;
            const auto reading = reading_of(cells, gpu, why);
            if (!reading) { out(why); continue; }
            auto [at, fresh] = launches.try_emplace(table.path + "\x1f" + reading->configuration);
            if (fresh) {
                at->second = described_launch(cells, gpu);
                if (!at->second) {
                    auto row = kernels.none() ? Result<Row>(tl::unexpected(complain("FF0792", kSubject, "no description of " + cells.text("kernel")))) : kernels.row(cells);
                    if (row) at->second = std::move(*row);
                    else if (result.first_problem.empty()) result.first_problem = fmt::format("row {}: {}", i + 2, row.error().message);
                }
            }
            if (!at->second) { out("what its kernel does is not known"); continue; }
            result.rows.push_back(*at->second);
            result.rows.back().reading = *reading;
        }
    }
    return result;
}

}  // namespace flipflop::calibrate
