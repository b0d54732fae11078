// One configuration, CONTRACT.md section 6: what was launched, what it does, what it costs, and the terms of that.
#include <cmath>

#include "flipflop/explain.hpp"
#include "report/json_parts.hpp"

namespace flipflop::report {
namespace {

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
    // Sums of shares end a hair beside a whole number of bytes.
    const auto whole = [](std::optional<double> bytes) { return bytes ? std::optional(std::round(*bytes)) : bytes; };
    json.member("dram_bytes", whole(traffic.dram_bytes));
    json.member("l2_bytes", whole(traffic.l2_bytes));
    json.member("l1_bytes", whole(traffic.l1_bytes));
    json.member("shared_wavefronts", traffic.shared_wavefronts);
    json.member("unique_read_bytes", footprint.unique_read_bytes);
    json.member("unique_written_bytes", footprint.unique_written_bytes);
    json.end_object();
}

void write_loops(JsonWriter& json, const ConfigResult& config) {
    if (!config.full_detail || !config.facts) {
        json.member("loops", nullptr);
        return;
    }
    json.objects("loops", config.facts->loops, [&](const LoopFacts& loop) {
        json.member("trip_count_mean", loop.trip_mean);
        json.member("trip_count_min", loop.trip_min);
        json.member("trip_count_max", loop.trip_max);
        json.member("basis", to_string(loop.basis));
        json.member_or_null("why", loop.why);
    }, false);
}

/// The contract's words for how well an access is known: exact, sampled, unknown.
std::string_view access_basis(const AccessFacts& access) {
    return access.basis == CountBasis::assumed || access.basis == CountBasis::wait ? "unknown" : to_string(access.basis);
}

void write_accesses(JsonWriter& json, const ConfigResult& config) {
    if (!config.full_detail || !config.facts) {
        json.member("accesses", nullptr);
        return;
    }
    json.objects("accesses", config.facts->accesses, [&](const AccessFacts& access) {
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
    }, false);
}

/// Beside the contract's keys: what the warps of a specialised kernel do. Null where all do the same.
void write_roles(JsonWriter& json, const ConfigResult& config) {
    json.key("roles");
    if (!config.full_detail || !config.facts || config.facts->roles.empty()) {
        json.value(nullptr);
        return;
    }
    json.begin_array();
    for (const RoleFacts& role : config.facts->roles) {
        json.begin_object();
        json.member("warps_per_block", role.warps_per_block);
        json.key("does");
        json.begin_array();
        for (const std::string& word : role.does) { json.value(word); }
        json.end_array();
        json.member("registers", role.registers);
        json.member("ptx_line", role.ptx_line);
        json.member("warp_instructions", role.warp_instructions);
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

void write_config(JsonWriter& json, const ConfigResult& config) {
    // A configuration that was not asked for at a clock still has one: what the board runs at.
    std::optional<double> clock = config.clock_mhz;
    if (!clock && config.predicted) {
        clock = config.predicted->power ? config.predicted->power->clock_mhz : config.predicted->time.clock_mhz;
    }
    const bool doubtful = config.launchable && config.safe != std::optional(true);
    json.begin_object(true);
    write_dim3(json, "block", config.block);
    json.key("grid");
    write_dim3_or_null(json, config.grid.x > 0 ? std::optional(config.grid) : std::nullopt);
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
    write_roles(json, config);
    write_predicted(json, config.predicted);
    json.key("terms");
    if (const std::optional<Term> root = config.full_detail ? whole_term(config) : std::nullopt) {
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
