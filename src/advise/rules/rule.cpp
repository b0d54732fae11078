#include "rule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flipflop::advise {

namespace {

constexpr double kWarningShare = 0.03;

Cost difference(const Prediction& now, const Prediction& ideal) {
    Cost cost;
    cost.us = std::max(0.0, now.time.total.value - ideal.time.total.value);
    if (now.power && ideal.power) cost.mj = std::max(0.0, now.power->energy.value - ideal.power->energy.value);
    return cost;
}

/// Takes `amount` a block out of one total of all phases, from each in proportion.
void take_from_phases(LaunchFacts& facts, double PhaseFacts::* total, double amount) {
    double sum = 0;
    for (const PhaseFacts& phase : facts.phases) sum += phase.*total;
    if (sum <= 0) return;
    const double kept = std::max(0.0, 1 - amount / sum);
    for (PhaseFacts& phase : facts.phases) phase.*total *= kept;
}


}  // namespace

Cost cost_against(const RuleContext& context, const LaunchFacts& ideal) {
    return difference(context.now, predict(context.stage, context.trial, ideal, context.point));
}

Cost cost_against(const RuleContext& context, const Resources& ideal) {
    Stage stage = context.stage;
    stage.resources = ideal;
    Trial trial = context.trial;
    trial.occupancy = occupancy(stage.gpu->cc, occupancy_input(stage, trial.block, trial.dynamic_shared_bytes));
    if (trial.occupancy.active_blocks_per_sm == 0) return {};
    return difference(context.now, predict(stage, trial, *trial.facts, context.point));
}

Finding make_finding(const RuleContext& context, const char* rule, std::string message, Cost cost, std::string help) {
    Finding finding;
    finding.rule = rule;
    finding.message = std::move(message);
    finding.help = std::move(help);
    finding.cost_us = cost.us;
    finding.cost_mj = cost.mj;
    finding.ptx_line = context.kernel().ptx_line;
    finding.source = context.kernel().source;
    const double time = context.now.time.total.value;
    finding.severity = cost.us && *cost.us >= kWarningShare * time ? Severity::warning : Severity::note;
    return finding;
}

Finding make_finding(const RuleContext& context, const char* rule, std::size_t access, std::string message, Cost cost, std::string help) {
    Finding finding = make_finding(context, rule, std::move(message), cost, std::move(help));
    finding.ptx_line = context.kernel().accesses[access].ptx_line;
    finding.source = context.kernel().accesses[access].source;
    return finding;
}

Finding make_finding_at(const RuleContext& context, const char* rule, std::uint32_t ptx_line, const std::optional<SourceLine>& source,
                        std::string message, Cost cost, std::string help) {
    Finding finding = make_finding(context, rule, std::move(message), cost, std::move(help));
    finding.ptx_line = ptx_line;
    finding.source = source;
    return finding;
}

std::string_view kind_of(const AccessDescription& access) {
    if (access.atomic) return "atomic";
    if (access.reads && access.writes) return "copy";
    return access.writes ? "store" : "load";
}

std::string place_of(std::uint32_t ptx_line, const std::optional<SourceLine>& source) {
    if (!source) return fmt::format("PTX line {}", ptx_line);
    const std::size_t slash = source->file.find_last_of('/');
    return fmt::format("{}:{}", slash == std::string::npos ? source->file : source->file.substr(slash + 1), source->line);
}

std::string place_of(const AccessDescription& access) { return place_of(access.ptx_line, access.source); }

std::string short_number(double value) {
    if (value == std::round(value) && std::abs(value) < 1e6) return fmt::format("{:.0f}", value);
    return std::abs(value) >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

double requests_per_block(const LaunchFacts& facts, const AccessFacts& access) {
    return facts.blocks > 0 ? access.requests.value_or(access.requests_assumed.value_or(0)) / facts.blocks : 0;
}

LaunchFacts with_ideal_sectors(const LaunchFacts& facts, const KernelFacts& kernel, std::size_t index) {
    LaunchFacts ideal = facts;
    AccessFacts& access = ideal.accesses[index];
    const double requests = requests_per_block(facts, access);
    const double wanted = std::min(*access.sectors_per_request, *access.ideal_sectors_per_request);
    const double sectors = requests * (*access.sectors_per_request - wanted);
    take_from_phases(ideal, kernel.accesses[index].writes && !kernel.accesses[index].reads ? &PhaseFacts::global_store_sectors : &PhaseFacts::global_load_sectors, sectors);
    if (access.lines_per_request) {
        const double lines = std::min(*access.lines_per_request, std::ceil(wanted / 4));   // 4 sectors a line
        take_from_phases(ideal, &PhaseFacts::global_lines, requests * (*access.lines_per_request - lines));
        access.lines_per_request = lines;
    }
    access.sectors_per_request = wanted;
    return ideal;
}

LaunchFacts without_conflicts(const LaunchFacts& facts, std::size_t index) {
    LaunchFacts ideal = facts;
    AccessFacts& access = ideal.accesses[index];
    const double factor = *access.wavefronts_per_request;
    const double total = access.wavefront_total ? *access.wavefront_total / std::max(1.0, facts.blocks) : factor * requests_per_block(facts, access);
    take_from_phases(ideal, &PhaseFacts::shared_wavefronts, total * (1 - 1 / factor));
    access.wavefronts_per_request = 1;
    if (access.wavefront_total) *access.wavefront_total /= factor;
    return ideal;
}

std::vector<Finding> find_all(const RuleContext& context) {
    std::vector<Finding> all;
    const auto add = [&](std::vector<Finding> found) { all.insert(all.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end())); };
#define RULE(id, function, family, title) add(function(context));
#include "advise/rules/rules.def"
#undef RULE
    std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
        if (a.severity != b.severity) return a.severity > b.severity;
        return a.cost_us.value_or(0) > b.cost_us.value_or(0) * (1 + 1e-9);
    });
    return all;
}

}  // namespace flipflop::advise
