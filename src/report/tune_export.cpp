// What other tuners read: a Kernel Tuner script that measures the short list, and T4 results (schema 1.0.0).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "flipflop/tune_report.hpp"
#include "report/json_parts.hpp"
#include "report/json_writer.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

/// Any text as a Python string, whatever is in it.
std::string python_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : report::valid_utf8(text)) {
        const auto u = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') { out += '\\'; out += c; }
        else if (u < 32 || u == 127) { out += fmt::format("\\x{:02x}", u); }
        else { out += c; }
    }
    return out + "\"";
}

/// On one line of a comment.
std::string comment_text(std::string_view text) {
    std::string out = report::valid_utf8(text);
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 32) { c = ' '; }
    }
    return out;
}

bool numeric(const TuneReport& report, const TuneRow& row, std::size_t p) { return report.parameters[p].numeric[choice_of(report, row.configuration, p)]; }
std::string python_value(const TuneReport& report, const TuneRow& row, std::size_t p) {
    const std::string& value = value_of(report, row.configuration, p);
    return numeric(report, row, p) ? value : python_text(value);
}

bool is_parameter(const TuneReport& report, const std::string& name) {
    return std::any_of(report.parameters.begin(), report.parameters.end(), [&](const TuneParameter& p) { return p.name == name; });
}

std::vector<const TuneRow*> kept_rows(const TuneReport& report) {
    std::vector<const TuneRow*> rows;
    if (report.results.empty()) { return rows; }
    for (const TuneRow& row : report.results.front().rows) {
        if (row.kept || row.reference) { rows.push_back(&row); }
    }
    return rows;
}

/// How the script tells Kernel Tuner of blocks: by names of parameters, with one more where the block is no parameter.
struct BlockNames {
    std::string names[3];
    bool added[3]{};
};
BlockNames block_names(const TuneReport& report) {
    BlockNames out;
    static constexpr const char* kDefaults[]{"block_size_x", "block_size_y", "block_size_z"};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::string& rule = report.launch.block[axis];
        out.added[axis] = !is_parameter(report, rule);
        out.names[axis] = out.added[axis] ? kDefaults[axis] : rule;
        // 1 is what Kernel Tuner takes for y and z by itself.
        if (out.added[axis] && axis > 0 && (rule == "1" || rule.empty())) { out.added[axis] = false; }
        if (out.added[axis] && is_parameter(report, out.names[axis])) { out.names[axis] = fmt::format("flipflop_block_{}", "xyz"[axis]); }
    }
    return out;
}

std::uint32_t axis_of(const Dim3& d, std::size_t axis) { return axis == 0 ? d.x : axis == 1 ? d.y : d.z; }

std::string parameters_text(const TuneReport& report, const std::vector<const TuneRow*>& rows, const BlockNames& blocks) {
    std::string out = "tune_params = {\n";
    for (std::size_t p = 0; p < report.parameters.size(); ++p) {
        std::string values;
        for (std::size_t v = 0; v < report.parameters[p].values.size(); ++v) {
            const auto user = std::find_if(rows.begin(), rows.end(), [&](const TuneRow* r) { return choice_of(report, r->configuration, p) == v; });
            if (user != rows.end()) { values += (values.empty() ? "" : ", ") + python_value(report, **user, p); }
        }
        out += fmt::format("    {}: [{}],\n", python_text(report.parameters[p].name), values);
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!blocks.added[axis]) { continue; }
        std::set<std::uint32_t> sizes;
        for (const TuneRow* r : rows) { sizes.insert(axis_of(r->block, axis)); }
        out += fmt::format("    {}: [{}],\n", python_text(blocks.names[axis]), fmt::join(sizes, ", "));
    }
    return out + "}\n";
}

std::string kept_text(const TuneReport& report, const std::vector<const TuneRow*>& rows, const BlockNames& blocks) {
    std::string out = "# Best first: the configuration, then the grid, the predicted time in ms and energy in J.\nKEPT = {\n";
    for (const TuneRow* r : rows) {
        std::string values;
        for (std::size_t p = 0; p < report.parameters.size(); ++p) { values += python_value(report, *r, p) + ", "; }
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (blocks.added[axis]) { values += fmt::format("{}, ", axis_of(r->block, axis)); }
        }
        values.pop_back();
        const auto number = [](const std::optional<double>& v) { return v ? fmt::format("{:.6g}", *v / 1000) : std::string("None"); };
        out += fmt::format("    ({}): (({}, {}, {}), {}, {}),\n", values, r->grid.x, r->grid.y, r->grid.z, number(r->time_us), number(r->energy_mj));
    }
    return out + "}\n";
}

std::string_view numpy_type(const std::string& type) {
    static constexpr std::pair<std::string_view, std::string_view> kTypes[]{
        {"bool", "bool_"}, {"int8", "int8"}, {"uint8", "uint8"}, {"int16", "int16"}, {"uint16", "uint16"}, {"int32", "int32"}, {"int", "int32"}, {"uint32", "uint32"}, {"uint", "uint32"},
        {"int64", "int64"}, {"uint64", "uint64"}, {"half", "float16"}, {"float", "float32"}, {"double", "float64"}};
    for (const auto& [name, numpy] : kTypes) {
        if (type == name) { return numpy; }
    }
    return {};
}

std::string arguments_text(const TuneReport& report) {
    std::string out = "def arguments():\n    rng = numpy.random.default_rng(0)\n    args, constant = [], {}\n";
    if (report.arguments.empty()) {
        return out + "    # No arguments are described: add what the kernel takes, in its order, as numpy scalars and arrays.\n    return args, constant\n";
    }
    // The kernel's own number of parameters tells whether what lies in constant memory is one of them too.
    const auto positional = std::count_if(report.arguments.begin(), report.arguments.end(), [](const auto& a) { return a.memory == "scalar" || a.memory == "vector"; });
    const bool constants_too = report.kernel_parameters == static_cast<std::size_t>(positional);
    for (const TuneReport::Argument& a : report.arguments) {
        if (a.memory == "local") { continue; }
        const std::string_view type = numpy_type(a.type);
        std::string made;
        if (type.empty()) { made = fmt::format("None  # type {} is not known here: make it yourself", comment_text(a.type)); }
        else if (a.memory == "scalar") { made = fmt::format("numpy.{}({})", type, a.value); }
        else if (a.fill == "Random") {
            const std::string count = std::to_string(a.elements.value_or(1));
            made = type.starts_with("float") ? fmt::format("rng.standard_normal({}).astype(numpy.{})", count, type) : fmt::format("rng.integers(0, 100, {}).astype(numpy.{})", count, type);
        } else { made = fmt::format("numpy.full({}, {}, dtype=numpy.{})", a.elements.value_or(1), a.value.empty() ? "0" : a.value, type); }
        if (a.constant) {
            out += fmt::format("    constant[{}] = {}\n", python_text(a.name), made);
            if (a.memory != "symbol" && constants_too) { out += fmt::format("    args.append(constant[{}])\n", python_text(a.name)); }
        } else {
            out += fmt::format("    args.append({})  # {}\n", made, comment_text(a.name));
        }
    }
    return out + "    return args, constant\n";
}

std::string divisors_text(const TuneReport& report) {
    std::string out;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!report.launch.has_divisors[axis]) { continue; }
        std::string list;
        for (const std::string& d : report.launch.divisors[axis]) { list += (list.empty() ? "" : ", ") + python_text(d); }
        out += fmt::format("        grid_div_{}=[{}],\n", "xyz"[axis], list);
    }
    return out;
}

std::string problem_text(const TuneReport& report) {
    std::string list;
    for (const std::string& size : report.launch.problem_size) {
        const bool number = !size.empty() && size.find_first_not_of("0123456789") == std::string::npos;
        list += (number ? size : python_text(size)) + ", ";
    }
    return "(" + list + ")";
}

}  // namespace

std::string kernel_tuner_script(const TuneReport& report) {
    const std::vector<const TuneRow*> rows = kept_rows(report);
    const BlockNames blocks = block_names(report);
    const bool by_problem = !report.launch.problem_size.empty();
    const std::string source = report.t1 ? (std::filesystem::path(report.spec).parent_path() / report.source).string() : report.source;
    std::string out = "#!/usr/bin/env python3\n";
    const std::string gpu = report.results.empty() ? "" : report.results.front().gpu;
    out += fmt::format("# Made by flipflop tune from {}: the {} configurations of {} that are worth measuring on {}.\n", comment_text(report.spec), rows.size(), report.considered, comment_text(gpu));
    out += "# Measures them with Kernel Tuner; --simulate CACHE replays measurements that were made before, without a GPU.\n";
    out += "import argparse\n\nimport numpy\nimport kernel_tuner\n\n";
    out += parameters_text(report, rows, blocks) + "\n" + kept_text(report, rows, blocks) + "\n";
    out += "\ndef kept(p):\n    return tuple(p[name] for name in tune_params) in KEPT\n\n\n" + arguments_text(report) + "\n\n";
    const std::string kernel = report.kernel_demangled.empty() ? report.kernel : report.kernel_demangled.substr(0, report.kernel_demangled.find_first_of("(<"));
    const std::size_t space = kernel.rfind(' ');
    out += "def tune(kernel_file, cache=None, simulate=False, **options):\n    args, constant = arguments()\n    return kernel_tuner.tune_kernel(\n";
    out += fmt::format("        {},\n        kernel_file,\n", python_text(space == std::string::npos ? kernel : kernel.substr(space + 1)));
    if (by_problem) { out += "        " + problem_text(report) + ",\n"; }
    else { out += "        lambda p: KEPT[tuple(p[name] for name in tune_params)][0],\n"; }
    out += "        args,\n        tune_params,\n";
    if (by_problem) { out += divisors_text(report); }
    else { out += "        grid_div_x=[],\n        grid_div_y=[],\n        grid_div_z=[],\n"; }
    // Kernel Tuner warns of names that are no parameters; those at the end it knows by itself.
    std::size_t axes = 3;
    while (axes > 1 && !blocks.added[axes - 1] && !is_parameter(report, blocks.names[axes - 1])) { --axes; }
    std::string names;
    for (std::size_t axis = 0; axis < axes; ++axis) { names += (axis == 0 ? "" : ", ") + python_text(blocks.names[axis]); }
    out += fmt::format("        block_size_names=[{}],\n", names);
    out += "        restrictions=kept,\n        cmem_args=constant or None,\n        lang=\"CUDA\",\n";
    std::string flags;
    for (const std::string& flag : report.compiler_options) { flags += (flags.empty() ? "" : ", ") + python_text(flag); }
    out += fmt::format("        compiler_options=[{}],\n        cache=cache,\n        simulation_mode=simulate,\n        **options,\n    )\n\n\n", flags);
    out += "def main():\n    parser = argparse.ArgumentParser(description=\"measure what flipflop kept\")\n";
    out += fmt::format("    parser.add_argument(\"--kernel-file\", default={})\n", python_text(source));
    out += "    parser.add_argument(\"--cache\", help=\"where Kernel Tuner keeps what it measured\")\n"
           "    parser.add_argument(\"--simulate\", metavar=\"CACHE\", help=\"replay this cache\")\n"
           "    options = parser.parse_args()\n"
           "    results, _ = tune(options.kernel_file, options.simulate or options.cache, bool(options.simulate), verbose=True)\n"
           "    print(len(results), \"configurations measured\")\n\n\n"
           "if __name__ == \"__main__\":\n    main()\n";
    return out;
}

void write_t4(const TuneReport& report, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema_version", "1.0.0");
    json.key("metadata");
    json.begin_object();
    json.member("timeunit", "milliseconds");
    json.member("source", "predicted by flipflop, not measured");
    json.member("kernel", report.kernel);
    json.member("device", report.results.empty() ? "" : report.results.front().gpu);
    json.end_object();
    json.key("results");
    json.begin_array(true);
    const std::vector<TuneRow> none;
    for (const TuneRow& row : report.results.empty() ? none : report.results.front().rows) {
        json.begin_object();
        json.key("configuration");
        json.begin_object();
        for (std::size_t p = 0; p < report.parameters.size(); ++p) {
            json.key(report.parameters[p].name);
            const std::string& value = value_of(report, row.configuration, p);
            if (!numeric(report, row, p)) { json.value(value); }
            else if (value == "True" || value == "False") { json.value(value == "True"); }
            else if (value.find_first_of(".en") == std::string::npos) { json.value(std::strtoll(value.c_str(), nullptr, 10)); }
            else { json.value(std::strtod(value.c_str(), nullptr)); }
        }
        json.end_object();
        json.strings("objectives", {report.objective == "time" ? "time" : "energy"});
        json.key("times");
        json.begin_object();
        json.key("runtimes");
        json.begin_array();
        if (row.time_us) { json.value(*row.time_us / 1000); }
        json.end_array();
        json.end_object();
        json.member("invalidity", row.error.empty() ? "correct" : row.error_stage == "compile" ? "compile" : row.error_stage == "launch" ? "runtime" : "constraints");
        json.member("correctness", row.safe == std::optional(false) ? 0 : 1);
        json.key("measurements");
        json.begin_array();
        const auto measurement = [&](const char* name, const std::optional<double>& value, double scale, const char* unit) {
            if (!value) { return; }
            json.begin_object();
            json.member("name", name);
            json.member("value", *value * scale);
            json.member("unit", unit);
            json.end_object();
        };
        measurement("time", row.time_us, 1e-3, "ms");
        measurement("power", row.power_w, 1, "W");
        measurement("energy", row.energy_mj, 1e-3, "J");
        measurement("occupancy", row.occupancy, 1, "");
        if (row.registers) { measurement("registers", static_cast<double>(*row.registers), 1, ""); }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    json.end_object();
    json.finish();
}

}  // namespace flipflop
