// A launches.toml to fill in, from what the code says of each parameter. As written it is valid and says nothing that is not
// known: every value is a comment until somebody gives it.
#include <algorithm>

#include <fmt/core.h>

#include "flipflop/report.hpp"
#include "report/text_format.hpp"

namespace flipflop {
namespace {

using namespace report;

constexpr std::size_t kNoteColumn = 34;
constexpr std::size_t kMostLoops = 8;

/// A basic string of TOML.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') { out += '\\'; }
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out + "\"";
}

/// A bare key where TOML allows one.
std::string key_text(const std::string& name) {
    const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return (c < 0x80 && std::isalnum(c) != 0) || c == '_' || c == '-'; });
    return bare ? name : quoted(name);
}

/// "# key = value      # note": a line that waits for its value.
std::string open_line(const std::string& assignment, const std::string& note) {
    std::string line = "# " + assignment;
    if (!note.empty()) { line += std::string(line.size() + 1 < kNoteColumn ? kNoteColumn - line.size() : 2, ' ') + "# " + printable(note); }
    return line + "\n";
}

std::string name_of(const ParameterFacts& parameter) {
    return !parameter.source_name.empty() ? parameter.source_name : parameter.short_name.empty() ? parameter.name : parameter.short_name;
}

std::string uses_note(const std::vector<ParameterUse>& uses, int guard_axis) {
    std::vector<std::string> said;
    for (const ParameterUse& use : uses) {
        const std::string word = use.what == "guard" && guard_axis >= 0 ? fmt::format("guard of {}", "xyz"[std::min(guard_axis, 2)]) : use.what;
        const std::string text = fmt::format("{} (line {})", word, use.ptx_line);
        if (std::find(said.begin(), said.end(), text) == said.end()) { said.push_back(text); }
    }
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(said.size(), 4); ++i) { out += (i ? ", " : "") + said[i]; }
    return out.empty() ? "not used" : out;
}

bool is_float(std::string_view type) { return type.starts_with('f') || type.starts_with(".f"); }

std::string argument_lines(const ParameterFacts& parameter) {
    const std::string name = name_of(parameter);
    if (parameter.kind == ParameterKind::pointer) { return open_line(key_text(name) + " = \"ptr\"", "pointer: " + uses_note(parameter.uses, -1)); }
    if (parameter.kind == ParameterKind::scalar) {
        const auto read_as_float = std::any_of(parameter.fields.begin(), parameter.fields.end(), [](const ParameterField& f) { return f.offset == 0 && is_float(f.type); });
        return open_line(key_text(name) + (is_float(parameter.type) || read_as_float ? " = 1.0" : " = 1024"),
                         parameter.type + ": " + uses_note(parameter.uses, parameter.guard_axis));
    }
    std::string out = fmt::format("# {}: a struct of {} bytes; its bytes from a file, or the fields that the code reads\n", printable(name), parameter.bytes);
    for (const ParameterField& field : parameter.fields) {
        std::string_view type = field.type;
        if (type.starts_with('.')) { type.remove_prefix(1); }
        const std::string key = quoted(fmt::format("{}+{}:{}", name, field.offset, type));
        const std::string value = field.kind == ParameterKind::pointer ? "\"ptr\"" : is_float(type) ? "1.0" : "1024";
        out += open_line(key + " = " + value, uses_note(field.uses, field.guard_axis));
    }
    return out;
}

/// The parameter that is compared with the global index of an axis: it tells how many threads have work.
std::string guard_of(const KernelFacts& kernel, int axis) {
    for (const ParameterFacts& parameter : kernel.parameters) {
        if (parameter.kind == ParameterKind::scalar && parameter.guard_axis == axis) { return name_of(parameter); }
    }
    return {};
}

std::string shape_lines(const KernelFacts& kernel) {
    constexpr const char* blocks[] = {"[256]", "[16, 16]", "[8, 8, 4]"};
    constexpr const char* works[] = {"[1048576]", "[1024, 1024]", "[128, 128, 128]"};
    const auto axes = static_cast<std::size_t>(std::clamp(kernel.dimensions, 1, 3));
    std::string out;
    if (kernel.bounds.required_block) {
        out += fmt::format("# the code is fixed to blocks of {}\n", dim_text(*kernel.bounds.required_block));
    } else {
        out += open_line(fmt::format("current = {}", blocks[axes - 1]), "the block in use today: the reference for gains and for what is safe");
    }
    std::string work;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::string guard = guard_of(kernel, static_cast<int>(axis));
        work += (work.empty() ? "" : ", ") + (guard.empty() ? "1" : quoted(guard));
    }
    const bool guarded = work.find('"') != std::string::npos;
    out += open_line("work = " + (guarded ? "[" + work + "]" : works[axes - 1]), "threads wanted, numbers or expressions over args; every block does the same work");
    out += open_line("grid = " + std::string(works[axes - 1]), "instead of work: the grid itself, fixed");
    out += open_line("grid_x = \"gpu.sms * blocks_per_sm\"", "or a rule: block.x, args, gpu.sms, blocks_per_sm, ceil, min, max");
    if (kernel.resources.uses_dynamic_shared) { out += open_line("dynamic_smem = \"block.x * 4\"", "bytes; without it the highest address that is touched"); }
    if (kernel.uses_cluster && !kernel.bounds.cluster) { out += open_line("cluster = [2]", "blocks of a cluster"); }
    if (kernel.grid_barrier) { out += open_line("cooperative = true", "the code waits for the whole grid"); }
    if (!kernel.loops.empty()) {
        std::string trips, places;
        for (std::size_t i = 0; i < std::min(kernel.loops.size(), kMostLoops); ++i) {
            const LoopDescription& loop = kernel.loops[i];
            trips += fmt::format("{}{} = 100", i ? ", " : "", key_text(loop.id));
            places += fmt::format("{}{} at {}", i ? ", " : "", loop.id, place_text(loop.source, loop.ptx_line));
        }
        out += open_line("trips = {" + trips + "}", "where the report says that trips are assumed: " + places);
    }
    out += open_line("calls = 1", "launches per step, for the summary over all kernels");
    return out;
}

std::string entry(const KernelFacts& kernel) {
    std::string names;
    for (const ParameterFacts& parameter : kernel.parameters) { names += (names.empty() ? "" : ", ") + quoted(name_of(parameter)); }
    std::string out = fmt::format("# {}\n[[kernel]]\nmatch = {}\n", printable(kernel_name(kernel)), quoted("=" + kernel.name));
    out += fmt::format("params = [{}]\n", names) + shape_lines(kernel);
    if (!kernel.parameters.empty()) {
        out += "[kernel.args]\n";
        for (const ParameterFacts& parameter : kernel.parameters) { out += argument_lines(parameter); }
    }
    const bool table = std::any_of(kernel.parameters.begin(), kernel.parameters.end(), [](const ParameterFacts& p) { return p.kind == ParameterKind::pointer; });
    if (table) { out += "# [kernel.data]                    # contents of arrays that decide addresses or branches: .npy, or raw with a type\n# indices = \"indices.npy\"\n"; }
    return out;
}

}  // namespace

std::string launches_scaffold(const InspectReport& report) {
    std::string out =
        "# How these kernels are launched: flipflop analyze INPUT --gpu NAME --launches THIS_FILE\n"
        "# Take the # from the lines that you can fill in. What is left out is assumed, and the report lists it.\n"
        "# Rename the params as you like: the names work in args, expressions and reports.\n"
        "# Several sizes of one launch: [[kernel.cases]] below its kernel, each with name, args and weight.\n";
    for (const InspectedInput& input : report.inputs) {
        for (const InspectedModule& module : input.modules) {
            for (const KernelFacts& kernel : module.kernels) { out += "\n" + entry(kernel); }
        }
    }
    return out;
}

}  // namespace flipflop
