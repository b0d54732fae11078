#include "report/machine_code.hpp"

#include <fmt/format.h>

#include "flipflop/passes.hpp"
#include "passes/names.hpp"
#include "report/json_parts.hpp"

namespace flipflop::report {

namespace {

constexpr std::size_t kMostRows = 40;

std::string known(const std::optional<std::uint32_t>& value) { return value ? std::to_string(*value) : "-"; }
std::string known_bytes(const std::optional<std::uint64_t>& value) { return value ? *value == 0 ? "-" : bytes_text(static_cast<double>(*value)) : "?"; }

void write_three(JsonWriter& json, std::string_view name, const std::optional<std::array<std::uint32_t, 3>>& three) {
    json.key(name);
    write_dim3_or_null(json, three ? std::optional(Dim3{(*three)[0], (*three)[1], (*three)[2]}) : std::nullopt);
}

void needs_columns(Table& table) {
    for (const char* header : {"registers", "shared", "stack", "barriers"}) table.column(header, Table::Align::right);
}

void add_needs(std::vector<std::string>& cells, const CubinKernel& kernel) {
    for (std::string& cell : std::vector<std::string>{known(kernel.registers), known_bytes(kernel.shared_bytes), known_bytes(kernel.stack_frame_bytes), known(kernel.barriers)}) cells.push_back(std::move(cell));
}

std::string left_out(std::size_t rows, const char* where) {
    return rows > kMostRows ? fmt::format("  and {} more: {}\n", rows - kMostRows, where) : std::string{};
}

std::string name_for(const std::string& name, const std::string& demangled, std::size_t width) {
    return elide(printable(demangled.empty() ? name : short_name_of(demangled)), width);
}

}  // namespace

void write_cubin_kernel(JsonWriter& json, const CubinKernel& kernel) {
    json.member("name", kernel.name);
    json.member("code_bytes", kernel.code_bytes);
    json.member("registers_per_thread", kernel.registers);
    json.member("static_shared_bytes", kernel.shared_bytes);
    json.member("local_bytes", kernel.stack_frame_bytes);
    json.member("barriers", kernel.barriers);
    json.member("max_registers", kernel.max_registers);
    write_three(json, "max_block", kernel.max_block);
    write_three(json, "required_block", kernel.required_block);
    write_three(json, "cluster", kernel.cluster);
    json.member("linked", kernel.linked);
}

void write_machine_kernels(JsonWriter& json, const std::vector<MachineKernel>& kernels) {
    json.key("machine_kernels");
    json.begin_array(true);
    for (const MachineKernel& k : kernels) {
        json.begin_object();
        write_cubin_kernel(json, k.needs);
        json.member_or_null("demangled", k.demangled);
        json.member("input", k.input);
        json.member("cubin", k.cubin);
        json.member("gpu", k.gpu);
        json.member("runs", "cubin " + k.architecture);
        json.member("block_threads", k.block_threads);
        json.member("block_basis", k.block_is_required ? "required" : "assumed");
        const bool known = k.needs.registers.has_value();
        json.key("occupancy");
        if (!known) json.value(nullptr);
        else {
            json.begin_object();
            json.member("active_blocks_per_sm", k.occupancy.active_blocks_per_sm);
            json.member("active_warps_per_sm", k.occupancy.active_warps_per_sm);
            json.member("fraction", k.occupancy.fraction);
            json.key("limiters");
            json.begin_array();
            for (const std::string& limiter : k.occupancy.limiters) json.value(limiter);
            json.end_array();
            json.end_object();
        }
        json.end_object();
    }
    json.end_array();
}

std::string machine_kernels_text(const std::vector<MachineKernel>& kernels, const TextStyle& style) {
    if (kernels.empty()) return {};
    Table table;
    table.column("kernel");
    table.column("GPU");
    table.column("code");
    needs_columns(table);
    for (const char* header : {"block", "occupancy"}) table.column(header, Table::Align::right);
    table.column("limited by");
    bool assumed = false;
    for (std::size_t i = 0; i < std::min(kernels.size(), kMostRows); ++i) {
        const MachineKernel& k = kernels[i];
        std::vector<std::string> cells{name_for(k.needs.name, k.demangled, 32), printable(k.gpu), printable(k.architecture)};
        add_needs(cells, k.needs);
        assumed |= !k.block_is_required;
        cells.push_back(fmt::format("{}{}", k.block_is_required ? "" : "~", k.block_threads));
        cells.push_back(k.needs.registers ? percent(k.occupancy.fraction) : "?");
        std::string limiters;
        for (const std::string& limiter : k.occupancy.limiters) limiters += (limiters.empty() ? "" : ", ") + limiter;
        cells.push_back(limiters);
        table.row(std::move(cells));
    }
    std::string out = wrap("Machine code without PTX: what its kernels need and what fits on a multiprocessor. Time and energy are predicted from PTX only.", style.width, 0) + "\n";
    out += table.text(2, style.color) + left_out(kernels.size(), "the JSON report has all");
    if (assumed) out += "  ~ an assumed block; flipflop occupancy answers for others\n";
    return out;
}

std::string cubin_kernels_text(const std::vector<CubinEntry>& cubins, const TextStyle& style) {
    Table table;
    table.column("kernel");
    table.column("code");
    needs_columns(table);
    table.column("launch");
    std::size_t rows = 0;
    for (const CubinEntry& cubin : cubins) {
        for (const CubinKernel& kernel : cubin.kernels.value_or(std::vector<CubinKernel>{})) {
            if (++rows > kMostRows) continue;
            std::vector<std::string> cells{name_for(kernel.name, demangle(kernel.name), 40), printable(cubin.architecture)};
            add_needs(cells, kernel);
            std::string launch;
            const auto dim = [](const std::array<std::uint32_t, 3>& d) { return dim_text(Dim3{d[0], d[1], d[2]}); };
            if (kernel.required_block) launch = "block must be " + dim(*kernel.required_block);
            else if (kernel.max_block) launch = "block at most " + dim(*kernel.max_block);
            if (kernel.cluster) launch += (launch.empty() ? "cluster " : ", cluster ") + dim(*kernel.cluster);
            if (!kernel.linked) launch += (launch.empty() ? "" : ", ") + std::string("not linked yet");
            cells.push_back(std::move(launch));
            table.row(std::move(cells));
        }
    }
    if (rows == 0) return {};
    return "machine code:\n" + table.text(2, style.color) + left_out(rows, "--format json has all");
}

}  // namespace flipflop::report
