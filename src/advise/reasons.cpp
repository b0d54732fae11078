#include "reasons.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "attribution.hpp"
#include "rules/rule.hpp"

namespace flipflop::advise {

namespace {

struct Worth { double us{}, mj{}; bool has_mj{}; };

Worth worth_of(const Prediction& p) {
    return {p.time.total.value, p.power ? p.power->energy.value : 0, p.power.has_value()};
}

double total_of(const LaunchFacts& facts, double PhaseFacts::* member) {
    double sum = 0;
    for (const PhaseFacts& phase : facts.phases) sum += phase.*member;
    return sum * facts.blocks;
}

/// Gives `facts` the grid-wide total that `other` has, spread over its phases as its own is.
void take_total(LaunchFacts& facts, const LaunchFacts& other, double PhaseFacts::* member) {
    const double mine = total_of(facts, member), theirs = total_of(other, member);
    if (mine > 0) {
        for (PhaseFacts& phase : facts.phases) phase.*member *= theirs / mine;
    } else if (facts.blocks > 0) {
        facts.phases.front().*member = theirs / facts.blocks;
    }
}

double changed(const LaunchFacts& a, const LaunchFacts& b, double PhaseFacts::* member) { return std::abs(total_of(a, member) - total_of(b, member)); }

double executions_of(const LaunchFacts& facts) {
    double sum = 0;
    for (const PhaseFacts& phase : facts.phases)
        for (const double count : phase.warp_ops) sum += count;
    return sum * facts.blocks;
}

/// Sectors (or wavefronts) a request, averaged over the accesses of a kind, as the sentence of a reason.
std::string per_request(const KernelFacts& kernel, const LaunchFacts& from, const LaunchFacts& to, const char* what, const std::function<bool(const AccessDescription&)>& is,
                        std::optional<double> AccessFacts::* member) {
    const auto mean = [&](const LaunchFacts& facts) -> std::optional<double> {
        double requests = 0, total = 0;
        for (std::size_t i = 0; i < facts.accesses.size() && i < kernel.accesses.size(); ++i) {
            const AccessFacts& access = facts.accesses[i];
            if (!is(kernel.accesses[i]) || !(access.*member)) continue;
            const double n = access.requests.value_or(access.requests_assumed.value_or(0));
            requests += n;
            total += n * *(access.*member);
        }
        return requests > 0 ? std::optional(total / requests) : std::nullopt;
    };
    const auto a = mean(from), b = mean(to);
    if (!a || !b || std::abs(*a - *b) < 0.005 * *a) return {};
    return fmt::format("{} a request {} -> {}", what, short_number(*a), short_number(*b));
}

/// Totals in the unit that the larger one asks for: "113 -> 70.3 million".
std::string total_words(const char* what, double from, double to) {
    const double most = std::max(std::abs(from), std::abs(to));
    const double unit = most >= 1e9 ? 1e9 : most >= 1e6 ? 1e6 : most >= 1e4 ? 1e3 : 1;
    return fmt::format("{} {} -> {}{}", what, short_number(from / unit), short_number(to / unit), unit == 1e9 ? " billion" : unit == 1e6 ? " million" : unit == 1e3 ? " thousand" : "");
}

/// One demand: how to set it to the baseline's, and how to say it.
struct Demand {
    std::function<void(LaunchFacts&, const LaunchFacts&)> take;
    std::function<std::string(const KernelFacts&, const LaunchFacts&, const LaunchFacts&)> words;
};

std::string sector_words(const KernelFacts& k, const LaunchFacts& from, const LaunchFacts& to, bool stores) {
    const auto is = [stores](const AccessDescription& a) {
        return (a.space == MemorySpace::global || a.space == MemorySpace::generic) && (stores ? a.writes && !a.reads : a.reads);
    };
    std::string words = per_request(k, from, to, stores ? "store sectors" : "load sectors", is, &AccessFacts::sectors_per_request);
    if (!words.empty()) return words;
    const auto member = stores ? &PhaseFacts::global_store_sectors : &PhaseFacts::global_load_sectors;
    return total_words(stores ? "store sectors of the grid" : "load sectors of the grid", total_of(from, member), total_of(to, member));
}

std::vector<Demand> demands() {
    return {
        {[](LaunchFacts& f, const LaunchFacts& o) {
             // Lines and requests are counted of loads and stores together: they go with whose sectors change more.
             const bool stores_lead = changed(f, o, &PhaseFacts::global_store_sectors) > changed(f, o, &PhaseFacts::global_load_sectors);
             take_total(f, o, &PhaseFacts::global_store_sectors);
             if (!stores_lead) return;
             for (auto member : {&PhaseFacts::global_lines, &PhaseFacts::global_requests}) take_total(f, o, member);
         },
         [](const KernelFacts& k, const LaunchFacts& a, const LaunchFacts& b) { return sector_words(k, a, b, true); }},
        {[](LaunchFacts& f, const LaunchFacts& o) {
             for (auto member : {&PhaseFacts::global_load_sectors, &PhaseFacts::global_lines, &PhaseFacts::global_requests}) take_total(f, o, member);
         },
         [](const KernelFacts& k, const LaunchFacts& a, const LaunchFacts& b) { return sector_words(k, a, b, false); }},
        {[](LaunchFacts& f, const LaunchFacts& o) {
             for (auto member : {&PhaseFacts::shared_wavefronts, &PhaseFacts::shared_requests}) take_total(f, o, member);
         },
         [](const KernelFacts& k, const LaunchFacts& a, const LaunchFacts& b) {
             const auto is = [](const AccessDescription& d) { return d.space == MemorySpace::shared; };
             std::string words = per_request(k, a, b, "shared-memory passes", is, &AccessFacts::wavefronts_per_request);
             if (!words.empty()) return words;
             return total_words("shared-memory passes", total_of(a, &PhaseFacts::shared_wavefronts), total_of(b, &PhaseFacts::shared_wavefronts));
         }},
        {[](LaunchFacts& f, const LaunchFacts& o) {
             for (auto member : {&PhaseFacts::atomic_sectors, &PhaseFacts::atomic_serial_max, &PhaseFacts::local_sectors}) take_total(f, o, member);
         },
         [](const KernelFacts&, const LaunchFacts& a, const LaunchFacts& b) {
             return total_words("atomic and local sectors", total_of(a, &PhaseFacts::atomic_sectors) + total_of(a, &PhaseFacts::local_sectors),
                                total_of(b, &PhaseFacts::atomic_sectors) + total_of(b, &PhaseFacts::local_sectors));
         }},
        {[](LaunchFacts& f, const LaunchFacts& o) {
             const double mine = executions_of(f), theirs = executions_of(o);
             if (mine <= 0) return;
             for (PhaseFacts& phase : f.phases)
                 for (double& count : phase.warp_ops) count *= theirs / mine;
             f.warp_instructions = o.warp_instructions;
             f.thread_machine_ops = o.thread_machine_ops;
             f.thread_ops = o.thread_ops;
         },
         [](const KernelFacts&, const LaunchFacts& a, const LaunchFacts& b) {
             return total_words("warp instructions", executions_of(a), executions_of(b));
         }},
        {[](LaunchFacts& f, const LaunchFacts& o) {
             const double share = f.blocks > 0 ? o.blocks / f.blocks : 1;   // a footprint of the block, per block of this grid
             f.footprint = o.footprint;
             for (auto* sectors : {&f.footprint.block_sectors, &f.footprint.block_instruction_sectors, &f.footprint.block_store_sectors})
                 if (*sectors) **sectors *= share;
         },
         [](const KernelFacts&, const LaunchFacts& a, const LaunchFacts& b) {
             if (!a.footprint.block_sectors || !b.footprint.block_sectors) return std::string("bytes read by the blocks, which are not known of both");
             const auto megabytes = [](const LaunchFacts& f) { return *f.footprint.block_sectors * 32 * f.blocks / 1e6; };
             return fmt::format("bytes read, summed over the blocks, {} -> {} MB", short_number(megabytes(a)), short_number(megabytes(b)));
         }},
    };
}

/// Which part of filling the GPU a term of the time belongs to.
const char* category_of(const std::string& id) {
    const auto has = [&](const char* word) { return id.find(word) != std::string::npos; };
    if (has("latency") || has("one_block") || has("chains")) return "latency";
    if (has("block.start") || has("block_issue")) return "start";
    if (has("dram")) return "dram";
    return "filling";     // waves, resident blocks and a block's own cycles: factors of one product, told apart they cancel
}

void gather(const Attribution& node, const std::string& inherited, std::map<std::string, double>& shares) {
    // A chain's leaves stand below "latency"; the block's start is told apart by its own name.
    const std::string own = category_of(node.id);
    const std::string category = own == "filling" ? inherited : own;
    if (node.parts.empty()) shares[category] += node.delta;
    for (const Attribution& part : node.parts) gather(part, category, shares);
}

/// Shares that outweigh what they add up to tell nothing one by one: fewer waves of blocks that each wait longer.
bool cancels(const std::map<std::string, double>& shares, double sum) {
    return std::any_of(shares.begin(), shares.end(), [&](const auto& share) { return std::abs(share.second) > 1.5 * std::abs(sum); });
}

std::string category_words(const std::string& category, const Trial& from, const Trial& to, const Prediction& a, const Prediction& b, double us) {
    const auto resident = [](const Trial& t) { return fmt::format("{}", t.occupancy.active_warps_per_sm); };
    const auto blocks = [](const Trial& t) { return t.grid.count(); };
    const bool less_than_a_wave = a.time.waves < 1 && b.time.waves < 1 && blocks(from) != blocks(to);
    if (category == "whole" && less_than_a_wave) return fmt::format("spread over the multiprocessors, {} -> {} blocks", blocks(from), blocks(to));
    if (category == "whole") {
        std::string words = "how the GPU is filled";
        if (std::abs(a.time.waves - b.time.waves) > 0.005) words += fmt::format(", {:.2f} -> {:.2f} waves", a.time.waves, b.time.waves);
        if (resident(from) != resident(to)) words += fmt::format(", {} -> {} warps an SM", resident(from), resident(to));
        return words;
    }
    if (category == "latency") return resident(from) == resident(to) ? "waiting for latency" : fmt::format("waiting for latency, {} -> {} warps an SM", resident(from), resident(to));
    if (category == "start") return fmt::format("starting blocks, {} -> {} threads each", from.block.count(), to.block.count());
    if (category == "dram") return "traffic with DRAM";
    const double emptier = b.time.tail_idle_share - a.time.tail_idle_share;
    if (std::abs(emptier) > 0.02 && emptier * us > 0)
        return fmt::format("waves and tail, {:.2f} -> {:.2f} waves, {:.0f} % -> {:.0f} % of their places empty", a.time.waves, b.time.waves, 100 * a.time.tail_idle_share, 100 * b.time.tail_idle_share);
    return blocks(from) == blocks(to) ? "how evenly the multiprocessors are loaded"
                                      : fmt::format("how evenly the multiprocessors are loaded, {} -> {} blocks", blocks(from), blocks(to));
}

/// Two reasons that take back each other's most are one: what the order of the steps put into the first and out of the next
/// is no gain and no loss.
void join_opposites(std::vector<Reason>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = i + 1; j < all.size(); ++j) {
            const double a = *all[i].delta_us, b = *all[j].delta_us;
            if (a * b >= 0 || std::abs(a + b) > 0.25 * std::min(std::abs(a), std::abs(b))) continue;
            all[i].what += "; " + all[j].what;
            all[i].delta_us = a + b;
            if (all[i].delta_mj && all[j].delta_mj) *all[i].delta_mj += *all[j].delta_mj;
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
            j = i;
        }
}

}  // namespace

std::vector<Reason> reasons_for(const Stage& stage, const Trial& baseline, const Trial& recommended, OperatingPoint point, ReasonOptions options) {
    point.terms = false;
    const KernelFacts& kernel = stage.facts->code().facts;
    const LaunchFacts& theirs = *baseline.facts;
    std::vector<Reason> all;
    LaunchFacts facts = *recommended.facts;
    if (facts.phases.empty() || theirs.phases.empty()) return all;
    Worth last = worth_of(predict(stage, recommended, facts, point));
    for (const Demand& demand : demands()) {
        demand.take(facts, theirs);
        const Worth next = worth_of(predict(stage, recommended, facts, point));
        Reason reason{demand.words(kernel, theirs, *recommended.facts), last.us - next.us, std::nullopt};
        if (last.has_mj && next.has_mj) reason.delta_mj = last.mj - next.mj;
        all.push_back(std::move(reason));
        last = next;
    }
    // The rest: the same demands, but the baseline's way of filling the GPU.
    point.terms = true;
    const Prediction shaped = predict(stage, recommended, facts, point), base = predict(stage, baseline, theirs, point);
    const Prediction now = predict(stage, recommended, *recommended.facts, point);
    std::map<std::string, double> shares;
    gather(attribute(base.time.total, shaped.time.total), "filling", shares);
    const Worth from = worth_of(base), to = worth_of(shaped);
    if (cancels(shares, to.us - from.us)) shares = {{"whole", to.us - from.us}};
    for (const auto& [category, us] : shares) {
        Reason reason{category_words(category, baseline, recommended, base, now, us), us, std::nullopt};
        // Energy of the rest goes with its time: what is drawn while the GPU is not full.
        if (from.has_mj && to.has_mj && to.us != from.us) reason.delta_mj = (to.mj - from.mj) * us / (to.us - from.us);
        all.push_back(std::move(reason));
    }
    join_opposites(all);
    std::stable_sort(all.begin(), all.end(), [](const Reason& a, const Reason& b) { return std::abs(*a.delta_us) > std::abs(*b.delta_us); });
    std::erase_if(all, [&](const Reason& r) { return std::abs(*r.delta_us) < options.least_share * from.us; });
    if (all.size() > options.most) all.resize(options.most);
    return all;
}

}  // namespace flipflop::advise
