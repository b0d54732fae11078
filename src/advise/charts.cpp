#include "flipflop/charts.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace flipflop {

namespace {

using Named = std::map<std::string, const Term*>;

/// Terms with parts by id, for leaves that only repeat a value ("as above").
void name_all(const Term& term, Named& named) {
    if (!term.parts.empty()) named.emplace(term.id, &term);
    for (const Term& part : term.parts) name_all(part, named);
}

/// "wave.tail.pipe.fp32" and "wave.pipe.fp32" are one thing to a reader.
std::string plain_id(std::string id) {
    for (const char* prefix : {"wave.tail.", "wave.", "power.", "energy.", "block."})
        if (id.starts_with(prefix)) id.erase(0, std::string_view(prefix).size());
    return id;
}

class Sharing {
public:
    explicit Sharing(const Term& root) { name_all(root, named_); }

    void add(const Term& term, double amount) {
        const Term& whole = resolved(term);
        const auto dominant = [&](auto better) { return std::max_element(whole.parts.begin(), whole.parts.end(), better); };
        const auto by_value = [](const Term& a, const Term& b) { return a.value < b.value; };
        switch (whole.fold) {
            case Fold::sum: spread(whole, amount, 1); return;
            case Fold::norm: spread(whole, amount, whole.p); return;
            case Fold::max: add(*dominant(by_value), amount); return;
            case Fold::min: add(smallest(whole), amount); return;
            case Fold::product:
            case Fold::ratio:
            case Fold::difference:
                if (const Term* inner = inside(whole)) return add(*inner, amount);
                break;
            case Fold::leaf: break;
        }
        shares_[plain_id(whole.id)] += amount;
    }

    [[nodiscard]] std::vector<Share> finish() const {
        std::vector<Share> out;
        for (const auto& [id, value] : shares_)
            if (value > 0) out.push_back({id, value});
        std::stable_sort(out.begin(), out.end(), [](const Share& a, const Share& b) { return a.value > b.value; });
        return out;
    }

private:
    [[nodiscard]] const Term& resolved(const Term& term) const {
        const auto found = term.parts.empty() ? named_.find(term.id) : named_.end();
        return found == named_.end() ? term : *found->second;
    }

    void spread(const Term& term, double amount, double p) {
        double all = 0;
        for (const Term& part : term.parts) all += std::pow(std::max(part.value, 0.0), p);
        if (all <= 0) {
            shares_[plain_id(term.id)] += amount;
            return;
        }
        for (const Term& part : term.parts)
            if (part.value > 0) add(part, amount * std::pow(part.value, p) / all);
    }

    /// Of a demand that a limit cuts, the demand: the limit is no part of it.
    [[nodiscard]] const Term& smallest(const Term& term) const {
        for (const Term& part : term.parts)
            if (!resolved(part).parts.empty()) return part;
        return *std::min_element(term.parts.begin(), term.parts.end(), [](const Term& a, const Term& b) { return a.value < b.value; });
    }

    /// The part that carries a product, ratio or difference on: the one in cycles, microseconds, watts or microjoules.
    [[nodiscard]] const Term* inside(const Term& term) const {
        for (const Term& part : term.parts) {
            const bool kindred = part.unit == term.unit || part.unit == "cycles" || part.unit == "uJ";
            if (kindred && !resolved(part).parts.empty()) return &part;
        }
        return nullptr;
    }

    Named named_;
    std::map<std::string, double> shares_;
};

std::vector<Share> shares_of(const Term& term, double amount) {
    if (term.parts.empty()) return {};
    Sharing sharing(term);
    sharing.add(term, amount);
    return sharing.finish();
}

/// Counts of one access, spread over the instructions' lines: an access belongs to one instruction.
void add_access(LineCost& cost, const AccessFacts& access) {
    const double requests = access.requests.value_or(access.requests_assumed.value_or(0));
    const auto add = [](std::optional<double>& sum, double more) { sum = sum.value_or(0) + more; };
    if (access.sectors_per_request) add(cost.sectors, requests * *access.sectors_per_request);
    if (access.ideal_sectors_per_request) add(cost.sectors_ideal, requests * *access.ideal_sectors_per_request);
    if (access.wavefront_total) add(cost.wavefronts, *access.wavefront_total);
}

std::vector<LineCost> costs(const Listing& listing, const ConfigResult& config, bool of_source) {
    if (!config.facts || config.facts->executions.size() != listing.instructions.size()) return {};
    std::map<std::pair<std::uint32_t, std::uint32_t>, LineCost> by_line;
    double all = 0;
    for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
        const Listing::Instruction& at = listing.instructions[i];
        all += config.facts->executions[i];
        if (of_source && at.file == 0) continue;
        const std::pair key = of_source ? std::pair(at.file, at.line) : std::pair(std::uint32_t{0}, at.ptx_line);
        LineCost& cost = by_line[key];
        cost.file = key.first;
        cost.line = key.second;
        cost.executed += config.facts->executions[i];
        if (at.access >= 0 && static_cast<std::size_t>(at.access) < config.facts->accesses.size()) add_access(cost, config.facts->accesses[static_cast<std::size_t>(at.access)]);
    }
    std::vector<LineCost> out;
    for (auto& [key, cost] : by_line) {
        cost.executed_share = all > 0 ? cost.executed / all : 0;
        out.push_back(cost);
    }
    return out;
}

}  // namespace

std::vector<Share> time_shares(const ConfigResult& config) {
    return config.predicted ? shares_of(config.predicted->time.total, config.predicted->time.total.value) : std::vector<Share>{};
}

std::vector<Share> energy_shares(const ConfigResult& config) {
    if (!config.predicted || !config.predicted->power) return {};
    return shares_of(config.predicted->power->power, config.predicted->power->energy.value);
}

std::vector<SpeedOfLight> speeds_of_light(const ConfigResult& config) {
    std::vector<SpeedOfLight> out;
    if (!config.predicted || config.predicted->time.total.value <= 0) return out;
    for (const Term& part : config.predicted->time.floor.parts) {
        if (!part.id.starts_with("floor.") || part.id == "floor.launch") continue;
        SpeedOfLight speed;
        speed.resource = part.id.substr(6);
        speed.floor_us = part.value;
        speed.reached = part.value / config.predicted->time.total.value;
        if (part.fold == Fold::ratio) {
            // kB over GB/s and B over B/us are both microseconds; bytes over bytes a microsecond are asked for.
            const bool kilobytes = part.parts[0].unit == "kB";
            speed.amount = part.parts[0].value * (kilobytes ? 1e3 : 1);
            speed.peak_per_us = part.parts[1].value * (kilobytes ? 1e3 : 1);
        }
        out.push_back(speed);
    }
    return out;
}

std::optional<Roofline> roofline_of(const ConfigResult& config) {
    const std::vector<SpeedOfLight> speeds = speeds_of_light(config);
    const SpeedOfLight* memory = nullptr;
    const SpeedOfLight* compute = nullptr;
    for (const SpeedOfLight& speed : speeds) {
        if (speed.peak_per_us <= 0 || speed.amount <= 0) continue;
        if (speed.resource == "dram" || speed.resource == "l2") {
            if (memory == nullptr || speed.floor_us > memory->floor_us) memory = &speed;
        } else if (compute == nullptr || speed.floor_us > compute->floor_us) {
            compute = &speed;
        }
    }
    if (memory == nullptr || compute == nullptr) return std::nullopt;
    const double time = config.predicted->time.total.value;
    return Roofline{memory->resource, compute->resource, memory->peak_per_us, compute->peak_per_us, compute->amount / memory->amount, compute->amount / time};
}

std::vector<LineCost> cost_of_ptx_lines(const Listing& listing, const ConfigResult& config) { return costs(listing, config, false); }

std::vector<LineCost> cost_of_source_lines(const Listing& listing, const ConfigResult& config) { return costs(listing, config, true); }

}  // namespace flipflop
