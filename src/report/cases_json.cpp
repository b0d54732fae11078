// "across_cases" and "steps" of CONTRACT.md section 6's document.
#include "report/analysis_cases.hpp"
#include "report/json_parts.hpp"

namespace flipflop::report {
namespace {

template <class Launch>
void write_launch(JsonWriter& json, const Launch& launch) {
    write_dim3(json, "block", launch.block);
    json.member("clock_mhz", launch.clock_mhz);
    json.member("power_limit_w", launch.power_limit_w);
    json.member("safe", launch.safe);
}

void write_common(JsonWriter& json, std::string_view name, const std::optional<CommonLaunch>& launch) {
    json.key(name);
    if (!launch) {
        json.value(nullptr);
        return;
    }
    json.begin_object();
    write_launch(json, *launch);
    json.member("weighted_cost", launch->weighted_cost);
    json.member("worst_regret", launch->worst_regret);
    json.member("worst_case", launch->worst_case);
    json.key("regrets");
    json.begin_array();
    for (const double regret : launch->regrets) { json.value(regret); }
    json.end_array();
    json.end_object();
}

void write_second(JsonWriter& json, const std::optional<AcrossCases::Second>& second) {
    json.key("second_launch");
    if (!second) {
        json.value(nullptr);
        return;
    }
    json.begin_object();
    json.key("blocks");
    json.begin_array();
    write_dim3_or_null(json, second->first);
    write_dim3_or_null(json, second->second);
    json.end_array();
    json.member("cost_ratio", second->cost_ratio);
    json.member("cost_ratio_low", second->cost_ratio_low);
    json.member("cost_ratio_high", second->cost_ratio_high);
    json.member("pays", second->pays);
    json.end_object();
}

std::string name_of(const Analysis& analysis, std::size_t kernel) { return analysis.kernels[kernel].facts.name; }

void write_names(JsonWriter& json, std::string_view key, const Analysis& analysis, const std::vector<std::size_t>& kernels) {
    std::vector<std::string> names;
    for (const std::size_t kernel : kernels) { names.push_back(name_of(analysis, kernel)); }
    json.strings(key, names);
}

}  // namespace

void write_across(JsonWriter& json, const AcrossCases* across) {
    json.key("across_cases");
    if (across == nullptr) {
        json.value(nullptr);
        return;
    }
    json.begin_object(true);
    json.member("objective", across->objective);
    json.member("unit", across->unit);
    json.member_or_null("swept", across->swept);
    json.key("cases");
    json.begin_array(true);
    for (const CaseLine& line : across->cases) {
        json.begin_object();
        json.member("case", line.name);
        json.member("weight", line.weight);
        json.member("swept", line.swept);
        write_dim3(json, "block", line.best_block);
        write_dim3(json, "grid", line.best_grid);
        json.member("cost", line.best_cost);
        json.member("safe", line.safe);
        json.end_object();
    }
    json.end_array();
    write_common(json, "least_worst_regret", across->least_worst_regret);
    write_common(json, "least_weighted_cost", across->least_weighted_cost);
    json.member_or_null("none_because", across->none_because);
    write_second(json, across->second_launch);
    json.key("dispatch");
    json.begin_array(true);
    for (const DispatchRow& row : across->dispatch) {
        json.begin_object();
        write_launch(json, row);
        json.strings("cases", row.cases);
        json.member("from", row.from);
        json.member("to", row.to);
        json.member("crossing", row.crossing);
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

void write_steps(JsonWriter& json, const Analysis& analysis) {
    json.key("steps");
    json.begin_array(true);
    for (const StepSummary& step : analysis.steps) {
        json.begin_object(true);
        json.member("gpu", step.gpu);
        json.member("time_us", step.time_us);
        json.member("energy_mj", step.energy_mj);
        json.member("recommended_time_us", step.recommended_time_us);
        json.member("recommended_energy_mj", step.recommended_energy_mj);
        json.member_or_null("dominant", step.lines.empty() ? std::string() : name_of(analysis, step.lines.front().kernel));
        json.key("kernels");
        json.begin_array(true);
        for (const StepLine& line : step.lines) {
            json.begin_object();
            json.member("name", name_of(analysis, line.kernel));
            json.member("id", analysis.kernels[line.kernel].facts.id);
            json.member("calls", line.calls);
            write_dim3(json, "block", line.block);
            json.member("launch", line.launch);
            json.member("time_us", line.time_us);
            json.member("time_share", line.time_share);
            json.member("energy_mj", line.energy_mj);
            json.member("energy_share", line.energy_share);
            json.member("recommended_time_us", line.recommended_time_us);
            json.member("recommended_energy_mj", line.recommended_energy_mj);
            json.end_object();
        }
        json.end_array();
        write_names(json, "uncounted", analysis, step.uncounted);
        write_names(json, "unpredicted", analysis, step.unpredicted);
        json.end_object();
    }
    json.end_array();
}

}  // namespace flipflop::report
