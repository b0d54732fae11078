#include "report/json_parts.hpp"

#include <charconv>
#include <cmath>

#include "flipflop/explain.hpp"

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

void write_occupancy(JsonWriter& json, const ConfigResult& config) {
    json.key("occupancy");
    json.begin_object();
    json.member("active_blocks_per_sm", config.occupancy.active_blocks_per_sm);
    json.member("active_warps_per_sm", config.occupancy.active_warps_per_sm);
    json.member("fraction", config.occupancy.fraction);
    json.strings("limiters", config.occupancy.limiters);
    const TimeEstimate* time = config.predicted ? &config.predicted->time : nullptr;
    json.member("waves", time ? std::optional(time->waves) : std::nullopt);
    json.member("tail_idle_share", time ? std::optional(time->tail_idle_share) : std::nullopt);
    json.end_object();
}

void write_dynamic(JsonWriter& json, const std::optional<LaunchFacts>& facts) {
    json.key("dynamic");
    json.begin_object();
    json.member("warp_instructions", facts ? std::optional(facts->warp_instructions) : std::nullopt);
    if (facts) {
        write_class_counts(json, "by_class", facts->thread_ops);
    } else {
        json.member("by_class", nullptr);
    }
    json.member("barriers_per_thread", facts ? facts->barriers_per_thread : std::nullopt);
    json.member("active_lane_share", facts ? facts->active_lane_share : std::nullopt);
    json.end_object();
}

void write_traffic(JsonWriter& json, const ConfigResult& config) {
    const Traffic traffic = config.predicted ? config.predicted->time.traffic : Traffic{};
    const Footprint footprint = config.facts ? config.facts->footprint : Footprint{};
    json.key("traffic");
    json.begin_object();
    json.member("dram_bytes", traffic.dram_bytes);
    json.member("l2_bytes", traffic.l2_bytes);
    json.member("l1_bytes", traffic.l1_bytes);
    json.member("shared_wavefronts", traffic.shared_wavefronts);
    json.member("unique_read_bytes", footprint.unique_read_bytes);
    json.member("unique_written_bytes", footprint.unique_written_bytes);
    json.end_object();
}

void write_loops(JsonWriter& json, const ConfigResult& config) {
    json.key("loops");
    if (!config.full_detail || !config.facts) {
        json.value(nullptr);
        return;
    }
    json.begin_array();
    for (const LoopFacts& loop : config.facts->loops) {
        json.begin_object();
        json.member("trip_count_mean", loop.trip_mean);
        json.member("trip_count_min", loop.trip_min);
        json.member("trip_count_max", loop.trip_max);
        json.member("basis", to_string(loop.basis));
        json.member_or_null("why", loop.why);
        json.end_object();
    }
    json.end_array();
}

/// The contract's words for how well an access is known: exact, sampled, unknown.
std::string_view access_basis(const AccessFacts& access) {
    return access.basis == CountBasis::assumed || access.basis == CountBasis::wait ? "unknown" : to_string(access.basis);
}

void write_accesses(JsonWriter& json, const ConfigResult& config) {
    json.key("accesses");
    if (!config.full_detail || !config.facts) {
        json.value(nullptr);
        return;
    }
    json.begin_array();
    for (const AccessFacts& access : config.facts->accesses) {
        json.begin_object();
        json.member("requests", access.requests);
        json.member("requests_assumed", access.requests_assumed);
        json.member("sectors_per_request", access.sectors_per_request);
        json.member("ideal_sectors_per_request", access.ideal_sectors_per_request);
        json.member("wavefronts_per_request", access.wavefronts_per_request);
        json.member("active_lanes", access.active_lanes);
        json.member("pattern", to_string(access.pattern));
        json.member("stride_bytes", access.stride_bytes);
        json.member("basis", access_basis(access));
        json.member_or_null("why", access.why);
        json.end_object();
    }
    json.end_array();
}

void write_predicted(JsonWriter& json, const std::optional<Prediction>& predicted) {
    json.key("predicted");
    json.begin_object();
    const TimeEstimate* time = predicted ? &predicted->time : nullptr;
    const PowerEstimate* power = predicted && predicted->power ? &*predicted->power : nullptr;
    const auto of_time = [&](double number) { return time ? std::optional(number) : std::nullopt; };
    const auto of_power = [&](double number) { return power ? std::optional(number) : std::nullopt; };
    json.member("time_us", of_time(time ? time->total.value : 0));
    json.member("time_low_us", of_time(time ? time->interval.low : 0));
    json.member("time_high_us", of_time(time ? time->interval.high : 0));
    json.member("power_w", of_power(power ? power->power.value : 0));
    json.member("power_low_w", of_power(power ? power->power_interval.low : 0));
    json.member("power_high_w", of_power(power ? power->power_interval.high : 0));
    json.member("energy_mj", of_power(power ? power->energy.value : 0));
    json.member("energy_low_mj", of_power(power ? power->energy_interval.low : 0));
    json.member("energy_high_mj", of_power(power ? power->energy_interval.high : 0));
    json.member("idle_mj", of_power(power ? power->idle_mj : 0));
    json.member("above_idle_mj", of_power(power ? power->above_idle_mj : 0));
    json.member("edp", of_power(power ? power->energy.value * time->total.value : 0));
    json.member_or_null("bound_by", time ? std::string_view(time->bound_by) : std::string_view());
    json.member("floor_time_us", of_time(time ? time->floor.value : 0));
    json.member("p_within_5pct", predicted ? predicted->p_within_5pct : std::nullopt);
    json.member("clock_mhz", of_time(time ? (power ? power->clock_mhz : time->clock_mhz) : 0));
    json.member_or_null("power_unknown", predicted ? std::string_view(predicted->power_unknown) : std::string_view());
    json.end_object();
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
    json.begin_array();
    json.value(dim.x);
    json.value(dim.y);
    json.value(dim.z);
    json.end_array();
}

void write_diagnostics(JsonWriter& json, const std::vector<Diagnostic>& diagnostics) {
    json.key("diagnostics");
    json.begin_array(true);
    for (const Diagnostic& diagnostic : diagnostics) {
        json.begin_object();
        json.member("id", diagnostic.id);
        json.member("severity", to_string(diagnostic.severity));
        json.member("line", diagnostic.at.line ? std::optional(diagnostic.at.line) : std::nullopt);
        json.member("column", diagnostic.at.column ? std::optional(diagnostic.at.column) : std::nullopt);
        json.member("message", diagnostic.message);
        json.member_or_null("help", diagnostic.help);
        json.end_object();
    }
    json.end_array();
}

void write_bounds(JsonWriter& json, const LaunchBounds& bounds) {
    const auto dim_or_null = [&](std::string_view name, const std::optional<Dim3>& dim) {
        if (dim) {
            write_dim3(json, name, *dim);
        } else {
            json.member(name, nullptr);
        }
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
        json.key("fields");
        json.begin_array();
        for (const ParameterField& field : parameter.fields) {
            json.begin_object();
            json.member("offset", field.offset);
            json.member("type", field.type);
            json.member("kind", kinds[static_cast<std::size_t>(field.kind)]);
            json.end_object();
        }
        json.end_array();
        json.key("uses");
        json.begin_array();
        for (const ParameterUse& use : parameter.uses) {
            json.begin_object();
            json.member("what", use.what);
            json.member("ptx_line", use.ptx_line);
            json.end_object();
        }
        json.end_array();
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
    json.key("assumptions");
    json.begin_array(true);
    for (const Assumption& assumption : assumptions) {
        json.begin_object();
        json.member("name", assumption.name);
        write_scalar(json, "value", assumption.value);
        json.member("reason", assumption.reason);
        json.member("could_change", assumption.could_change);
        json.end_object();
    }
    json.end_array();
}

void write_findings(JsonWriter& json, const std::vector<Finding>& findings) {
    json.key("findings");
    json.begin_array(true);
    for (const Finding& finding : findings) {
        json.begin_object();
        json.member("rule", finding.rule);
        json.member("severity", to_string(finding.severity));
        json.member("message", finding.message);
        json.member("ptx_line", finding.ptx_line ? std::optional(finding.ptx_line) : std::nullopt);
        write_source(json, finding.source);
        json.member("cost_us", finding.cost_us);
        json.member("cost_mj", finding.cost_mj);
        json.member_or_null("help", finding.help);
        json.end_object();
    }
    json.end_array();
}

void write_config(JsonWriter& json, const ConfigResult& config) {
    // A configuration that was not asked for at a clock still has one: what the board runs at.
    std::optional<double> clock = config.clock_mhz;
    if (!clock && config.predicted) {
        clock = config.predicted->power ? config.predicted->power->clock_mhz : config.predicted->time.clock_mhz;
    }
    const bool doubtful = config.launchable && config.safe != std::optional(true);
    json.begin_object(true);
    write_dim3(json, "block", config.block);
    write_dim3(json, "grid", config.grid);
    json.member("dynamic_shared_bytes", config.dynamic_shared_bytes);
    json.member("clock_mhz", clock);
    json.member("power_limit_w", config.power_limit_w);
    json.member("detail", config.full_detail ? "full" : "summary");
    json.member("launchable", config.launchable);
    json.member_or_null("why_not", config.why_not.empty() && doubtful ? config.safe_reason : config.why_not);
    json.member("safe", config.safe);
    json.member_or_null("safe_reason", config.safe_reason);
    write_occupancy(json, config);
    write_dynamic(json, config.facts);
    write_traffic(json, config);
    write_loops(json, config);
    write_accesses(json, config);
    write_predicted(json, config.predicted);
    json.key("terms");
    const Term* const root = config.full_detail ? root_term(config) : nullptr;
    if (root) {
        write_term(json, *root);
    } else {
        json.value(nullptr);
    }
    json.member("pareto", config.pareto);
    json.member("kept", config.kept);
    json.member("recommended", config.recommended);
    json.member("rank", config.rank);
    json.member("current", config.is_current);
    json.member("heuristic", config.is_heuristic);
    json.end_object();
}

void write_term(JsonWriter& json, const Term& term) {
    json.begin_object();
    json.member("id", term.id);
    json.member("value", term.value);
    json.member("unit", term.unit);
    json.member("fold", to_string(term.fold));
    json.member("p", term.fold == Fold::norm ? std::optional(term.p) : std::nullopt);
    json.member("basis", to_string(term.basis));
    json.member_or_null("source", term.source);
    json.key("parts");
    json.begin_array();
    for (const Term& part : term.parts) { write_term(json, part); }
    json.end_array();
    json.end_object();
}

}  // namespace flipflop::report
