#include "report/json_parts.hpp"

#include <charconv>
#include <cmath>

namespace flipflop::report {
namespace {

/// A parameter's value as a JSON number where it reads as one in full, else as the text it is ("ptr", "@2").
void write_scalar(JsonWriter& json, std::string_view name, const std::string& text) {
    json.key(name);
    const char* const end = text.data() + text.size();
    std::int64_t integer{};
    if (const auto [at, error] = std::from_chars(text.data(), end, integer); error == std::errc{} && at == end) {
        json.value(integer);
        return;
    }
    std::uint64_t natural{};
    if (const auto [at, error] = std::from_chars(text.data(), end, natural); error == std::errc{} && at == end) {
        json.value(natural);
        return;
    }
    double real{};
    if (const auto [at, error] = std::from_chars(text.data(), end, real);
        error == std::errc{} && at == end && std::isfinite(real)) {
        json.value(real);
        return;
    }
    if (text.empty()) {
        json.value(nullptr);
    } else {
        json.value(text);
    }
}

}  // namespace

void write_tool(JsonWriter& json) {
    json.key("tool");
    json.begin_object();
    json.member("name", "flipflop");
    json.member("version", FLIPFLOP_VERSION);
    json.end_object();
}

void write_used(JsonWriter& json, const std::map<std::string, std::optional<std::string>>& used) {
    json.key("used");
    json.begin_object();
    if (!used.contains("ptxas")) { json.member("ptxas", nullptr); }
    for (const auto& [tool, version] : used) { json.member(tool, version); }
    json.end_object();
}

void write_inputs(JsonWriter& json, const std::vector<InputSummary>& inputs) {
    json.key("inputs");
    json.begin_array(true);
    for (const InputSummary& input : inputs) {
        json.begin_object(true);
        json.member("path", input.path);
        json.member("kind", to_string(input.kind));
        json.member_or_null("sha256", input.sha256);
        write_diagnostics(json, input.diagnostics);
        json.key("modules");
        json.begin_array(true);
        for (const ModuleSummary& module : input.modules) {
            json.begin_object(true);
            json.member("name", module.name);
            json.member_or_null("ptx_version", module.ptx_version);
            json.member_or_null("target", module.target);
            json.member("address_size", module.address_size);
            json.member("lines", module.lines);
            json.member("line_table", module.line_table);
            write_diagnostics(json, module.diagnostics);
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
}

void write_source(JsonWriter& json, const std::optional<SourceLine>& source) {
    json.key("source");
    if (!source) {
        json.value(nullptr);
        return;
    }
    json.begin_object();
    json.member("file", source->file);
    json.member("line", source->line);
    json.end_object();
}

void write_dim3(JsonWriter& json, std::string_view name, const Dim3& dim) {
    json.key(name);
    write_dim3_or_null(json, dim);
}

void write_dim3_or_null(JsonWriter& json, const std::optional<Dim3>& dim) {
    if (!dim) {
        json.value(nullptr);
        return;
    }
    json.begin_array();
    json.value(dim->x);
    json.value(dim->y);
    json.value(dim->z);
    json.end_array();
}

void write_diagnostics(JsonWriter& json, const std::vector<Diagnostic>& diagnostics, std::string_view name) {
    json.objects(name, diagnostics, [&](const Diagnostic& diagnostic) {
        json.member("id", diagnostic.id);
        json.member("severity", to_string(diagnostic.severity));
        json.member("line", diagnostic.at.line ? std::optional(diagnostic.at.line) : std::nullopt);
        json.member("column", diagnostic.at.column ? std::optional(diagnostic.at.column) : std::nullopt);
        json.member("message", diagnostic.message);
        json.member_or_null("help", diagnostic.help);
    });
}

void write_bounds(JsonWriter& json, const LaunchBounds& bounds) {
    const auto dim_or_null = [&](std::string_view name, const std::optional<Dim3>& dim) {
        json.key(name);
        write_dim3_or_null(json, dim);
    };
    json.key("bounds");
    json.begin_object();
    json.member("max_threads", bounds.max_threads);
    dim_or_null("max_block", bounds.max_block);
    dim_or_null("required_block", bounds.required_block);
    json.member("min_blocks_per_sm", bounds.min_blocks_per_sm);
    json.member("max_registers", bounds.max_registers);
    dim_or_null("cluster", bounds.cluster);
    json.end_object();
}

void write_resources(JsonWriter& json, const Resources& resources) {
    json.key("resources");
    json.begin_object();
    json.member("registers_per_thread", resources.registers_per_thread);
    json.member("registers_basis", to_string(resources.registers_basis));
    json.member("registers_low", resources.registers_low);
    json.member("registers_high", resources.registers_high);
    json.member("static_shared_bytes", resources.static_shared_bytes);
    json.member("uses_dynamic_shared", resources.uses_dynamic_shared);
    json.member("local_bytes", resources.local_bytes);
    json.member("spill_store_bytes", resources.spill_store_bytes);
    json.member("spill_load_bytes", resources.spill_load_bytes);
    json.member("barriers", resources.barriers);
    json.member("complete", resources.complete);
    json.end_object();
}

void write_parameters(JsonWriter& json, const std::vector<ParameterFacts>& parameters, const std::vector<ParameterValue>* values) {
    constexpr std::string_view kinds[] = {"pointer", "scalar", "aggregate"};
    json.key("parameters");
    json.begin_array(true);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const ParameterFacts& parameter = parameters[i];
        json.begin_object();
        json.member("index", parameter.index);
        json.member("name", parameter.name);
        json.member_or_null("short_name", parameter.short_name);
        json.member_or_null("source_name", parameter.source_name);
        json.member("type", parameter.type);
        json.member("bytes", parameter.bytes);
        json.member("kind", kinds[static_cast<std::size_t>(parameter.kind)]);
        json.objects("fields", parameter.fields, [&](const ParameterField& field) {
            json.member("offset", field.offset);
            json.member("type", field.type);
            json.member("kind", kinds[static_cast<std::size_t>(field.kind)]);
        }, false);
        json.objects("uses", parameter.uses, [&](const ParameterUse& use) {
            json.member("what", use.what);
            json.member("ptx_line", use.ptx_line);
        }, false);
        if (values) {
            const bool known = i < values->size();
            write_scalar(json, "value", known ? (*values)[i].value : std::string());
            json.member("basis", known && (*values)[i].given ? "given" : "assumed");
        }
        json.end_object();
    }
    json.end_array();
}

void write_class_counts(JsonWriter& json, std::string_view name, const ClassCounts& counts) {
    json.key(name);
    json.begin_object();
    for (std::size_t i = 0; i < counts.size(); ++i) { json.member(kClassNames[i], counts[i]); }
    json.end_object();
}

void write_mix(JsonWriter& json, const StaticMix& mix) {
    json.key("instruction_mix");
    json.begin_object();
    write_class_counts(json, "static", mix.counts);
    json.member("unknown_share", mix.unknown_share);
    json.end_object();
}

void write_assumptions(JsonWriter& json, const std::vector<Assumption>& assumptions) {
    json.objects("assumptions", assumptions, [&](const Assumption& assumption) {
        json.member("name", assumption.name);
        write_scalar(json, "value", assumption.value);
        json.member("reason", assumption.reason);
        json.member("could_change", assumption.could_change);
    });
}

void write_reasons(JsonWriter& json, const std::vector<Reason>& reasons) {
    json.objects("reasons", reasons, [&](const Reason& reason) {
        json.member("what", reason.what);
        json.member("delta_us", reason.delta_us);
        json.member("delta_mj", reason.delta_mj);
    });
}

void write_finding(JsonWriter& json, const Finding& finding) {
    json.member("rule", finding.rule);
    json.member("severity", to_string(finding.severity));
    json.member("message", finding.message);
    json.member("ptx_line", finding.ptx_line ? std::optional(finding.ptx_line) : std::nullopt);
    write_source(json, finding.source);
    json.member("cost_us", finding.cost_us);
    json.member("cost_mj", finding.cost_mj);
    json.member_or_null("help", finding.help);
}

void write_findings(JsonWriter& json, const std::vector<Finding>& findings) {
    json.objects("findings", findings, [&](const Finding& finding) {
        write_finding(json, finding);
    });
}

void write_suppressed(JsonWriter& json, const std::vector<SuppressedFinding>& findings) {
    json.objects("suppressed", findings, [&](const SuppressedFinding& suppressed) {
        write_finding(json, suppressed.finding);
        json.member("reason", suppressed.reason);
    });
}

}  // namespace flipflop::report
