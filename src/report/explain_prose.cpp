// The first paragraphs of `explain`: what bounds the launch, why, what to change and what that would gain, in sentences made
// of the numbers that stand in the tree below them.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "flipflop/charts.hpp"
#include "report/explain_prose.hpp"
#include "report/text_format.hpp"

namespace flipflop::report {
namespace {

constexpr double kTellingShare = 0.05;       ///< of the time: smaller parts are no news
constexpr std::size_t kMostChanges = 3;

std::string bound_sentence(const ConfigResult& config) {
    const TimeEstimate& time = config.predicted->time;
    std::string parts;
    std::size_t told = 0;
    for (const Share& share : time_shares(config)) {
        if (share.value < kTellingShare * time.total.value || told++ == 4) { break; }
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", percent(share.value / time.total.value), share_words(share.id));
    }
    std::string out = fmt::format("Bound by {}.", bound_words(time.bound_by));
    if (!parts.empty()) { out += fmt::format(" Of {}: {}.", time_text(time.total.value), parts); }
    return out;
}

/// What the launch could take at best, and which resource sets that.
std::string light_sentence(const ConfigResult& config) {
    const std::vector<SpeedOfLight> speeds = speeds_of_light(config);
    if (speeds.empty()) { return {}; }
    const SpeedOfLight& slowest = *std::max_element(speeds.begin(), speeds.end(), [](const SpeedOfLight& a, const SpeedOfLight& b) { return a.floor_us < b.floor_us; });
    const double factor = config.predicted->time.total.value / std::max(slowest.floor_us, 1e-9);
    const std::string what = bound_words(slowest.resource);
    if (factor < 1.25) { return fmt::format("That is close to the speed of light: {} alone needs {}.", what, time_text(slowest.floor_us)); }
    return fmt::format("{} alone needs {}; the launch takes {} times as long.", what.starts_with("the ") ? "T" + what.substr(1) : what, time_text(slowest.floor_us), significant(factor, 2));
}

std::string fill_sentence(const ConfigResult& config) {
    const TimeEstimate& time = config.predicted->time;
    double waiting = 0;
    double launching = 0;
    double issuing = 0;
    for (const Share& share : time_shares(config)) {
        if (share.id == "chains" || share.id == "start") { waiting += share.value; }
        if (share.id == "launch") { launching += share.value; }
        if (share.id.starts_with("block_issue")) { issuing += share.value; }
    }
    std::string limiters;
    for (const std::string& limiter : config.occupancy.limiters) { limiters += (limiters.empty() ? "" : " and ") + (limiter == "shared" ? "shared memory" : printable(limiter)); }
    std::string out;
    if (waiting > 0.2 * time.total.value) {
        out = config.occupancy.fraction < 0.9 && !limiters.empty()
                  ? fmt::format("{} warps an SM cannot hide that latency; their limit is {}.", config.occupancy.active_warps_per_sm, limiters)
                  : fmt::format("{} warps an SM are all it takes, and still wait: shorten the dependence chain, or give each thread more independent work.", config.occupancy.active_warps_per_sm);
    }
    const auto add = [&](const std::string& more) { out += (out.empty() ? "" : " ") + more; };
    if (issuing > 0.3 * time.total.value) { add("Blocks end faster than they can be started: fewer of them that each do more (a larger block, or a loop over the grid's stride) would take less."); }
    if (launching > 0.25 * time.total.value) { add(fmt::format("At this size {} is the launch itself: more work a launch, or fusing kernels, gains more than any block.", percent(launching / time.total.value))); }
    if (time.waves < 1) { return out + fmt::format("{}The grid fills {} of a wave: part of the GPU has nothing to do.", out.empty() ? "" : " ", percent(time.waves)); }
    if (time.tail_idle_share > 0.1 && time.waves < 10) {
        out += fmt::format("{}{} waves: as the last is partly filled, {} of all places stay empty.", out.empty() ? "" : " ", significant(time.waves), percent(time.tail_idle_share));
    }
    return out;
}

/// "To change" with what each would gain: the findings that cost, dearest first.
std::string changes_text(const ExplainedKernel& kernel, const ConfigResult& config, const TextStyle& style) {
    std::vector<const Finding*> dear;
    for (const Finding& finding : kernel.findings) {
        // An unrolled loop says the same of each copy: once is enough.
        const bool said = std::any_of(dear.begin(), dear.end(), [&](const Finding* f) { return f->rule == finding.rule && f->message == finding.message; });
        if (!said && finding.cost_us.value_or(0) > 0.01 * config.predicted->time.total.value) { dear.push_back(&finding); }
    }
    std::stable_sort(dear.begin(), dear.end(), [](const Finding* a, const Finding* b) { return *a->cost_us > *b->cost_us; });
    if (dear.empty()) { return wrap("  No rule sees a change of the code that would gain more than 1 %.", style.width, 4) + "\n"; }
    std::string out;
    for (std::size_t i = 0; i < std::min(dear.size(), kMostChanges); ++i) {
        const Finding& finding = *dear[i];
        const double share = *finding.cost_us / config.predicted->time.total.value;
        out += wrap(fmt::format("  - {} {}: would gain {} ({}){}", finding.rule, printable(finding.message), time_text(*finding.cost_us, 2), percent(share), finding.cost_mj ? ", " + energy_text(*finding.cost_mj, 2) : ""), style.width, 4) + "\n";
        if (!finding.help.empty()) { out += wrap("    " + printable(finding.help), style.width, 4) + "\n"; }
    }
    if (dear.size() > kMostChanges) { out += fmt::format("    {} more: flipflop analyze --findings\n", dear.size() - kMostChanges); }
    return out;
}

}  // namespace

std::string explain_prose(const ExplainedKernel& kernel, const TextStyle& style) {
    if (kernel.configs.empty() || !kernel.configs.front().config.predicted) { return {}; }
    const ConfigResult& config = kernel.configs.front().config;
    std::string sentence = bound_sentence(config);
    for (const std::string& more : {light_sentence(config), fill_sentence(config)}) {
        if (!more.empty()) { sentence += " " + more; }
    }
    return "Why\n" + wrap("  " + sentence, style.width, 2) + "\nWhat to change\n" + changes_text(kernel, config, style);
}

}  // namespace flipflop::report
