// CONTRACT.md section 7, "flipflop.inspect/1".
#include "report/json_parts.hpp"
#include "report/machine_code.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

void write_kernel(JsonWriter& json, const KernelFacts& facts) {
    json.begin_object(true);
    json.member("id", facts.id);
    json.member("name", facts.name);
    json.member_or_null("demangled", facts.demangled);
    json.member_or_null("short_name", facts.short_name);
    report::write_source(json, facts.source);
    json.member("ptx_line", facts.ptx_line);
    json.member("dimensions", facts.dimensions);
    json.member("instructions", facts.instructions);
    report::write_resources(json, facts.resources);
    report::write_bounds(json, facts.bounds);
    report::write_parameters(json, facts.parameters, nullptr);
    report::write_mix(json, facts.mix);
    json.member("unknown_share", facts.mix.unknown_share);
    json.member("loops", facts.loops.size());
    json.member("accesses", facts.access_count);
    json.end_object();
}

void write_cubins(JsonWriter& json, const std::vector<CubinEntry>& cubins) {
    json.key("cubins");
    json.begin_array(true);
    for (const CubinEntry& cubin : cubins) {
        json.begin_object();
        json.member("name", cubin.name);
        json.member_or_null("architecture", cubin.architecture);
        json.member("bytes", cubin.bytes);
        json.key("kernels");
        if (!cubin.kernels) json.value(nullptr);
        else {
            json.begin_array();
            for (const CubinKernel& kernel : *cubin.kernels) {
                json.begin_object();
                report::write_cubin_kernel(json, kernel);
                json.end_object();
            }
            json.end_array();
        }
        json.end_object();
    }
    json.end_array();
}

void write_module(JsonWriter& json, const InspectedModule& module, const std::vector<CubinEntry>& cubins) {
    json.begin_object(true);
    json.member("name", module.name);
    json.member_or_null("ptx_version", module.ptx_version);
    json.member_or_null("target", module.target);
    json.member("address_size", module.address_size);
    json.member("bytes", module.bytes);
    json.member("lines", module.lines);
    json.member("line_table", module.line_table);
    json.member("instructions", module.instructions);
    json.member("unknown_instructions", module.unknown_instructions);
    json.key("kernels");
    json.begin_array(true);
    for (const KernelFacts& kernel : module.kernels) { write_kernel(json, kernel); }
    json.end_array();
    json.key("functions");
    json.begin_array(true);
    for (const InspectedFunction& function : module.functions) {
        json.begin_object();
        json.member("name", function.name);
        json.member_or_null("demangled", function.demangled);
        json.member("has_body", function.has_body);
        json.member("instructions", function.instructions);
        json.member("ptx_line", function.ptx_line);
        json.end_object();
    }
    json.end_array();
    write_cubins(json, cubins);
    report::write_diagnostics(json, module.diagnostics);
    json.end_object();
}

void write_summary(JsonWriter& json, const InspectSummary& summary) {
    json.key("summary");
    json.begin_object();
    json.member("inputs", summary.inputs);
    json.member("modules", summary.modules);
    json.member("kernels", summary.kernels);
    json.member("ptx_bytes", summary.ptx_bytes);
    json.member("instructions", summary.instructions);
    json.member("unknown_instructions", summary.unknown_instructions);
    json.member("errors", summary.errors);
    json.member("warnings", summary.warnings);
    json.end_object();
}

}  // namespace

void write_json(const InspectReport& report, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.inspect/1");
    report::write_tool(json);
    json.key("inputs");
    json.begin_array(true);
    for (const InspectedInput& input : report.inputs) {
        json.begin_object(true);
        json.member("path", input.path);
        json.member("kind", to_string(input.kind));
        json.member_or_null("sha256", input.sha256);
        json.key("modules");
        json.begin_array(true);
        for (const InspectedModule& module : input.modules) {
            // Cubins belong to the container; those compiled from the module carry its name.
            std::vector<CubinEntry> own;
            for (const CubinEntry& cubin : input.cubins) {
                if (cubin.name == module.name) { own.push_back(cubin); }
            }
            write_module(json, module, own);
        }
        json.end_array();
        write_cubins(json, input.cubins);
        report::write_diagnostics(json, input.diagnostics);
        json.end_object();
    }
    json.end_array();
    write_summary(json, report.summary);
    json.end_object();
    json.finish();
}

}  // namespace flipflop
