// The text of `inspect`: what is inside, so that a user sees what can be asked of it and what must be given.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "report/machine_code.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

std::string counted(std::uint64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string instructions_text(std::uint64_t instructions, std::uint64_t unknown) {
    return counted(instructions, "instruction") + (unknown ? fmt::format(", {} of them unknown", unknown) : ", all known");
}

/// "address base (lines 57, 61), guard (line 33)": each use once, with the lines where it is.
std::string uses_text(const std::vector<ParameterUse>& all, int guard_axis) {
    constexpr std::size_t kLines = 4;
    struct Use { std::string what; std::vector<std::uint32_t> lines; };
    std::vector<Use> uses;
    for (const ParameterUse& use : all) {
        auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.what == use.what; });
        if (found == uses.end()) { found = uses.insert(uses.end(), Use{use.what, {}}); }
        if (std::find(found->lines.begin(), found->lines.end(), use.ptx_line) == found->lines.end()) { found->lines.push_back(use.ptx_line); }
    }
    std::string out;
    for (const Use& use : uses) {
        out += (out.empty() ? "" : ", ") + printable(use.what);
        if (guard_axis >= 0 && use.what == "guard") { out += fmt::format(" of {}", "xyz"[std::min(guard_axis, 2)]); }
        std::string lines;
        for (std::size_t i = 0; i < std::min(use.lines.size(), kLines); ++i) { lines += fmt::format("{}{}", i ? ", " : "", use.lines[i]); }
        out += fmt::format(" ({} {}{})", use.lines.size() > 1 ? "lines" : "line", lines, use.lines.size() > kLines ? ", ..." : "");
    }
    return out.empty() ? "not used" : out;
}

std::string parameters_text(const KernelFacts& facts, const TextStyle& style) {
    if (facts.parameters.empty()) { return "  no parameters\n"; }
    Table table;
    table.column("", Table::Align::right);
    for (const char* header : {"parameter", "name", "type", "kind", "used as"}) { table.column(header); }
    constexpr std::string_view kinds[] = {"pointer", "scalar", "struct"};
    for (const ParameterFacts& parameter : facts.parameters) {
        const bool aggregate = parameter.kind == ParameterKind::aggregate;
        const std::string uses = uses_text(parameter.uses, parameter.guard_axis);
        table.row({std::to_string(parameter.index), printable(parameter.short_name.empty() ? parameter.name : parameter.short_name),
                   printable(parameter.source_name), printable(parameter.type), std::string(kinds[static_cast<std::size_t>(parameter.kind)]),
                   !aggregate ? uses : parameter.fields.empty() ? "nothing of it is read" : "reads"});
        if (!aggregate) { continue; }
        // Each field as --arg takes it: PARAM+OFFSET:TYPE=VALUE.
        for (const ParameterField& field : parameter.fields) {
            table.row({"", fmt::format("+{}:{}", field.offset, printable(field.type)), "", printable(field.type), std::string(kinds[static_cast<std::size_t>(field.kind)]),
                       uses_text(field.uses, field.guard_axis)});
        }
    }
    return table.text(2, style.color);
}

std::string bounds_text(const LaunchBounds& bounds) {
    std::string out;
    const auto add = [&](const std::string& piece) { out += (out.empty() ? "" : ", ") + piece; };
    if (bounds.required_block) { add("block must be " + dim_text(*bounds.required_block)); }
    if (bounds.max_block) {
        add("block at most " + dim_text(*bounds.max_block));
    } else if (bounds.max_threads) {
        add(fmt::format("at most {} threads a block", *bounds.max_threads));
    }
    if (bounds.min_blocks_per_sm) { add(fmt::format("at least {} blocks an SM", *bounds.min_blocks_per_sm)); }
    if (bounds.max_registers) { add(fmt::format("at most {} registers", *bounds.max_registers)); }
    if (bounds.cluster) { add("cluster " + dim_text(*bounds.cluster)); }
    return out;
}

std::string mix_text(const KernelFacts& facts) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < kClassNames.size(); ++i) {
        if (facts.mix.counts[i] > 0) { order.push_back(i); }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return facts.mix.counts[a] > facts.mix.counts[b]; });
    std::string out;
    for (const std::size_t i : order) { out += fmt::format("{}{} {}", out.empty() ? "" : ", ", kClassNames[i], significant(facts.mix.counts[i], 6)); }
    return out;
}

std::string kernel_text(const KernelFacts& facts, const TextStyle& style) {
    std::string out = paint(kernel_name(facts), Mark::strong, style.color) + "  " + paint("#" + printable(facts.id), Mark::dim, style.color) + "\n";
    std::string line = place_text(facts.source, facts.ptx_line);
    const auto add = [&](const std::string& piece) { line += " · " + piece; };
    add(fmt::format("{}-D", facts.dimensions));
    add(registers_text(facts.resources, {}));
    const Resources& r = facts.resources;
    if (r.static_shared_bytes) { add(bytes_text(static_cast<double>(r.static_shared_bytes)) + " shared"); }
    if (r.uses_dynamic_shared) { add("dynamic shared memory"); }
    if (!r.static_shared_bytes && !r.uses_dynamic_shared) { add("no shared memory"); }
    if (r.local_bytes.value_or(0) > 0) { add(bytes_text(static_cast<double>(*r.local_bytes)) + " local a thread"); }
    if (r.barriers.value_or(0) > 0) { add(counted(*r.barriers, "barrier")); }
    if (!r.complete) { add("resources incomplete"); }
    if (facts.uses_cluster) { add("cluster"); }
    if (facts.grid_barrier) { add("grid barrier"); }
    out += wrap("  " + line, style.width, 4) + "\n";
    if (const std::string bounds = bounds_text(facts.bounds); !bounds.empty()) { out += wrap("  launch: " + bounds, style.width, 4) + "\n"; }
    out += parameters_text(facts, style);
    std::string mix = fmt::format("  {} ({}): {}", counted(facts.instructions, "instruction"),
                                  facts.mix.unknown_share > 0 ? percent(facts.mix.unknown_share) + " unknown" : "all known", mix_text(facts));
    out += wrap(mix, style.width, 4) + "\n";
    if (!facts.loops.empty() || facts.access_count > 0) {
        std::string loops;
        for (const LoopDescription& loop : facts.loops) {
            if (loops.size() > 200) {
                loops += ", ...";
                break;
            }
            loops += fmt::format("{}{} at {}", loops.empty() ? "" : ", ", printable(loop.id), place_text(loop.source, loop.ptx_line));
        }
        out += wrap(fmt::format("  {}{}; {}", counted(facts.loops.size(), "loop"), loops.empty() ? "" : " (" + loops + ")",
                                counted(facts.access_count, "memory instruction")), style.width, 4) + "\n";
    }
    return out;
}

std::string overview(const InspectReport& report, const TextStyle& style) {
    struct Line { const InspectedModule* module; const KernelFacts* kernel; };
    std::vector<Line> lines;
    for (const InspectedInput& input : report.inputs) {
        for (const InspectedModule& module : input.modules) {
            for (const KernelFacts& kernel : module.kernels) { lines.push_back({&module, &kernel}); }
        }
    }
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.kernel->instructions > b.kernel->instructions; });
    Table table;
    using Align = Table::Align;
    table.column("kernel");
    table.column("id");
    for (const char* header : {"instructions", "unknown", "registers", "shared", "params", "loops", "memory ops"}) { table.column(header, Align::right); }
    table.column("launch");
    const std::size_t room = style.width > 120 ? style.width - 80 : 40;
    for (const Line& line : lines) {
        const KernelFacts& k = *line.kernel;
        std::string shared = k.resources.static_shared_bytes ? bytes_text(static_cast<double>(k.resources.static_shared_bytes)) : "-";
        if (k.resources.uses_dynamic_shared) { shared = k.resources.static_shared_bytes ? shared + " + dyn" : "dynamic"; }
        table.row({brief_name(k, room), "#" + printable(k.id), grouped(k.instructions),
                   k.mix.unknown_share > 0 ? percent(k.mix.unknown_share) : "-",
                   fmt::format("{}{}", k.resources.registers_basis == RegistersBasis::estimate ? "~" : "", k.resources.registers_per_thread),
                   shared, std::to_string(k.parameters.size()), std::to_string(k.loops.size()), std::to_string(k.access_count), bounds_text(k.bounds)});
    }
    return table.text(2, style.color) + "  one of them in full: --kernel '#ID'\n";
}

/// Each cubin where there are few, else how many there are for each architecture and how large they are together.
std::string cubins_text(const InspectedInput& input, const TextStyle& style) {
    constexpr std::size_t kFew = 4;
    std::string out;
    const std::string path = elide(printable(input.path), 70);
    if (style.full_detail || input.cubins.size() <= kFew) {
        for (const CubinEntry& cubin : input.cubins) {
            out += fmt::format("{}: cubin {} for {}{}\n", path, printable(cubin.name), printable(cubin.architecture),
                               cubin.bytes ? ", " + bytes_text(static_cast<double>(*cubin.bytes)) : "");
        }
        return out;
    }
    struct Group { std::uint64_t count{}; std::optional<std::uint64_t> bytes{0}; };
    std::map<std::string, Group> groups;
    for (const CubinEntry& cubin : input.cubins) {
        Group& group = groups[cubin.architecture];
        ++group.count;
        if (group.bytes && cubin.bytes) { *group.bytes += *cubin.bytes; } else { group.bytes.reset(); }
    }
    for (const auto& [architecture, group] : groups) {
        out += fmt::format("{}{} for {}{}", out.empty() ? "" : "; ", group.count, printable(architecture),
                           group.bytes ? " (" + bytes_text(static_cast<double>(*group.bytes)) + ")" : "");
    }
    return wrap(fmt::format("{}: {} beside the PTX: {}", path, counted(input.cubins.size(), "cubin"), out), style.width, 4) + "\n";
}

std::string input_text(const InspectedInput& input, const TextStyle& style) {
    std::string out;
    for (const InspectedModule& module : input.modules) {
        std::string line = elide(printable(module.name.empty() ? input.path : module.name), 70) + ": ";
        line += module.ptx_version.empty() ? "no PTX version" : "PTX " + printable(module.ptx_version);
        if (!module.target.empty()) { line += ", " + printable(module.target); }
        line += fmt::format(", {}-bit, {}, {}", module.address_size, bytes_text(static_cast<double>(module.bytes)), counted(module.kernels.size(), "kernel"));
        if (!module.functions.empty()) { line += ", " + counted(module.functions.size(), "function"); }
        line += ", " + instructions_text(module.instructions, module.unknown_instructions);
        line += module.line_table ? ", source lines known" : ", no source lines (nvcc -lineinfo writes them)";
        out += line + "\n";
    }
    return out + cubins_text(input, style);
}

}  // namespace

std::string text_report(const InspectReport& report, const TextStyle& style) {
    std::string out;
    const InspectSummary& s = report.summary;
    const bool many = s.kernels > kOverviewAbove;
    // Containers of many modules: what is inside is in the totals; --detail full lists them all.
    if (!many || s.modules <= kOverviewAbove || style.full_detail) {
        for (const InspectedInput& input : report.inputs) {
            if (input.kind != InputKind::ptx) { out += fmt::format("{}: {}, {}\n", elide(printable(input.path), 70), to_string(input.kind), counted(input.modules.size(), "module")); }
            out += input_text(input, style);
            out += cubin_kernels_text(input.cubins, style);
        }
    }
    if (many && !style.full_detail) {
        out += overview(report, style);
    } else {
        for (const InspectedInput& input : report.inputs) {
            for (const InspectedModule& module : input.modules) {
                for (const KernelFacts& kernel : module.kernels) { out += "\n" + kernel_text(kernel, style); }
            }
        }
    }
    if (s.kernels == 0) { out += "No kernel (.entry) inside.\n"; }
    if (s.modules > 1 || many) {
        out += fmt::format("total: {}, {}, {}, {}, {}", counted(s.inputs, "input"), counted(s.modules, "module"), counted(s.kernels, "kernel"),
                           bytes_text(static_cast<double>(s.ptx_bytes)), instructions_text(s.instructions, s.unknown_instructions));
        if (s.errors || s.warnings) { out += fmt::format("; {}, {}", counted(s.errors, "error"), counted(s.warnings, "warning")); }
        out += "\n";
    }
    return out;
}

}  // namespace flipflop
