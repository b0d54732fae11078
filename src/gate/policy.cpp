// flipflop.toml: thresholds, budgets, waivers and rules that a team keeps beside its code. Every key is known or an error:
// a typo in a gate's configuration must not quietly open the gate.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "advise/toml_reader.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/gate.hpp"
#include "gpu/names.hpp"

namespace flipflop::gate {
namespace {

using namespace toml_reader;

/// 0.05 or "5%".
double share_of(const toml::node& node, std::string_view key) {
    if (const auto text = node.value_exact<std::string>()) {
        double value{};
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
        std::string_view rest(end, static_cast<std::size_t>(text->data() + text->size() - end));
        if (rest.starts_with(' ')) { rest.remove_prefix(1); }
        if (error == std::errc{} && rest == "%" && std::isfinite(value) && value >= 0) { return value / 100; }
        throw Wrong{place(node), fmt::format("'{}' is a share, such as 0.05 or \"5%\"", key), {}};
    }
    return number_of(node, key);
}

Metric metric_of(const toml::node& node) {
    const std::string name = text_of(node, "metric");
    const auto found = std::find(kMetricNames.begin(), kMetricNames.end(), name);
    if (found == kMetricNames.end()) {
        unknown_word(place(node), fmt::format("there is no metric '{}'", name), name, std::vector<std::string>(kMetricNames.begin(), kMetricNames.end()));
    }
    return static_cast<Metric>(found - kMetricNames.begin());
}

/// "a100" as --gpu knows it, turned into the board's name; else a glob against names.
std::string gpu_of(const toml::node& node) {
    std::string name = text_of(node, "gpu");
    if (name.find_first_of("*?[") != std::string::npos) { return name; }
    const Result<GpuProfile> gpu = load_gpu(name);
    if (!gpu) { throw Wrong{place(node), gpu.error().message, gpu.error().help}; }
    return gpu->name;
}

ThresholdRule threshold_of(const toml::table& table) {
    only_known_keys(table, "in [[thresholds]]", {"match", "gpu", "metric", "relative", "absolute", "direction", "off", "uncertain"});
    ThresholdRule rule;
    if (const auto* node = table.get("match")) { rule.match = pattern_of(*node); }
    if (const auto* node = table.get("gpu")) { rule.gpu = gpu_of(*node); }
    const toml::node* const metric = table.get("metric");
    if (metric == nullptr) { throw Wrong{place(table), "a threshold names no metric", "metric = \"time_us\", or a list of them"}; }
    if (const toml::array* const list = metric->as_array()) {
        for (const toml::node& item : *list) { rule.metrics.push_back(metric_of(item)); }
    } else {
        rule.metrics.push_back(metric_of(*metric));
    }
    if (const auto* node = table.get("relative")) { rule.relative = share_of(*node, "relative"); }
    if (const auto* node = table.get("absolute")) { rule.absolute = number_of(*node, "absolute"); }
    if (const auto* node = table.get("direction")) {
        const std::string word = text_of(*node, "direction");
        if (word != "up" && word != "down" && word != "both") { unknown_word(place(*node), fmt::format("there is no direction '{}'", word), word, {"up", "down", "both"}); }
        rule.direction = word == "up" ? Direction::up : word == "down" ? Direction::down : Direction::both;
    }
    if (const auto* node = table.get("off")) {
        rule.off = truth_of(*node, "off");
    }
    if (const auto* node = table.get("uncertain")) {
        const std::string word = text_of(*node, "uncertain");
        if (word != "warn" && word != "fail") { unknown_word(place(*node), fmt::format("'uncertain' is not '{}'", word), word, {"warn", "fail"}); }
        rule.uncertain_fails = word == "fail";
    }
    if (!rule.off && !rule.relative && !rule.absolute) {
        throw Wrong{place(table), "a threshold sets no limit", "relative = \"5%\", absolute = 2.0 (in the metric's unit), or off = true"};
    }
    return rule;
}

BudgetRule budget_of(const toml::table& table) {
    only_known_keys(table, "in [[budgets]]", {"match", "gpu", "metric", "max", "min"});
    BudgetRule rule;
    rule.line = place(table).line;
    if (const auto* node = table.get("match")) { rule.match = pattern_of(*node); }
    if (const auto* node = table.get("gpu")) { rule.gpu = gpu_of(*node); }
    const toml::node* const metric = table.get("metric");
    if (metric == nullptr) { throw Wrong{place(table), "a budget names no metric", "metric = \"registers\""}; }
    rule.metric = metric_of(*metric);
    if (const auto* node = table.get("max")) { rule.max = number_of(*node, "max"); }
    if (const auto* node = table.get("min")) { rule.min = number_of(*node, "min"); }
    if (!rule.max && !rule.min) { throw Wrong{place(table), "a budget sets no limit", "max = 64, or min = 0.5"}; }
    return rule;
}

/// A TOML date, or the same as a text.
std::string day_of(const toml::node& node) {
    toml::date date{};
    if (const auto whole = node.value_exact<toml::date>()) {
        date = *whole;
    } else if (const auto moment = node.value_exact<toml::date_time>()) {
        date = moment->date;
    } else {
        const std::string text = node.value_exact<std::string>().value_or("");
        unsigned year{}, month{}, day{};
        char rest{};
        if (std::sscanf(text.c_str(), "%4u-%2u-%2u%c", &year, &month, &day, &rest) != 3 || month < 1 || month > 12 || day < 1 || day > 31) {
            throw Wrong{place(node), "'expires' is a date", "expires = 2027-01-31"};
        }
        date = toml::date{year, month, day};
    }
    return fmt::format("{:04}-{:02}-{:02}", static_cast<unsigned>(date.year), static_cast<unsigned>(date.month), static_cast<unsigned>(date.day));
}

std::string rule_id_of(const std::string& id, toml::source_position at) {
    std::vector<std::string> known;
    for (const RuleInfo& rule : list_rules()) { known.push_back(rule.id); }
    if (std::find(known.begin(), known.end(), id) == known.end()) {
        const std::string near = profile::did_you_mean_text(id, known);
        throw Wrong{at, fmt::format("there is no rule '{}'", id), near.empty() ? "flipflop rules lists them" : near};
    }
    return id;
}

Waiver waiver_of(const toml::table& table, std::vector<Diagnostic>& warnings, const std::string& file) {
    only_known_keys(table, "in [[waivers]]", {"match", "gpu", "rule", "metric", "reason", "owner", "expires"});
    Waiver waiver;
    const auto at = place(table);
    waiver.line = at.line;
    const toml::node* const match = table.get("match");
    if (match == nullptr) { throw Wrong{at, "a waiver names no kernel", "match = \"gemm*\""}; }
    waiver.match = pattern_of(*match);
    if (const auto* node = table.get("gpu")) { waiver.gpu = gpu_of(*node); }
    if (const auto* node = table.get("metric")) { waiver.metric = metric_of(*node); }
    if (const auto* node = table.get("rule")) { waiver.rule = rule_id_of(text_of(*node, "rule"), place(*node)); }
    if (waiver.metric.has_value() == !waiver.rule.empty()) { throw Wrong{at, "a waiver is for one metric or one rule", "metric = \"time_us\", or rule = \"FF101\""}; }
    if (const auto* node = table.get("reason")) { waiver.reason = text_of(*node, "reason"); }
    if (waiver.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
        throw Wrong{at, "a waiver gives no reason", "reason = \"why this is accepted\""};
    }
    if (const auto* node = table.get("owner")) { waiver.owner = text_of(*node, "owner"); }
    if (const auto* node = table.get("expires")) { waiver.expires = day_of(*node); }
    if (waiver.owner.empty() || waiver.expires.empty()) {
        Diagnostic d;
        d.id = "FF0782";
        d.severity = Severity::warning;
        d.file = file;
        d.at = {at.line, at.column};
        d.message = fmt::format("a waiver {}", waiver.owner.empty() ? (waiver.expires.empty() ? "has no owner and never expires" : "has no owner") : "never expires");
        d.help = waiver.owner.empty() ? "owner = \"who answers for it\"" : "expires = 2027-01-31";
        warnings.push_back(std::move(d));
    }
    return waiver;
}

void read_rules(const toml::table& root, Policy& policy) {
    const toml::node* const node = root.get("rules");
    if (node == nullptr) { return; }
    const toml::table* const table = node->as_table();
    if (table == nullptr) { throw Wrong{place(*node), "'rules' is a table", "[rules] and below it FF101 = \"off\""}; }
    for (const auto& [key, value] : *table) {
        const std::string id = rule_id_of(std::string(key.str()), key.source().begin);
        const std::string word = text_of(value, id);
        const std::vector<std::string> known{"note", "warning", "error", "off"};
        const auto found = std::find(known.begin(), known.end(), word);
        if (found == known.end()) { unknown_word(place(value), fmt::format("a rule is not '{}'", word), word, known); }
        policy.rules[id] = static_cast<RuleSetting>(found - known.begin());
    }
}

EnergyPolicy energy_of(const toml::table& table) {
    only_known_keys(table, "in [energy]", {"launches_per_day", "grams_co2e_per_kwh", "price_per_kwh", "currency", "calls"});
    EnergyPolicy energy;
    const toml::node* const launches = table.get("launches_per_day");
    if (launches == nullptr) { throw Wrong{place(table), "[energy] says nothing of how often kernels run", "launches_per_day = 1000000"}; }
    energy.launches_per_day = number_of(*launches, "launches_per_day");
    if (const auto* node = table.get("grams_co2e_per_kwh")) { energy.grams_co2e_per_kwh = number_of(*node, "grams_co2e_per_kwh"); }
    if (const auto* node = table.get("price_per_kwh")) { energy.price_per_kwh = number_of(*node, "price_per_kwh"); }
    if (const auto* node = table.get("currency")) { energy.currency = text_of(*node, "currency"); }
    each_table(table, "calls", [&](const toml::table& entry) {
        only_known_keys(entry, "in [[energy.calls]]", {"match", "calls"});
        EnergyPolicy::Calls calls;
        if (const auto* node = entry.get("match")) { calls.match = pattern_of(*node); }
        const toml::node* const count = entry.get("calls");
        if (count == nullptr) { throw Wrong{place(entry), "'calls' is missing", "calls = 12"}; }
        calls.calls = number_of(*count, "calls");
        energy.calls.push_back(std::move(calls));
    });
    return energy;
}

Policy policy_of(const toml::table& root, const std::string& name) {
    Policy policy;
    policy.file = name;
    only_known_keys(root, "in a policy", {"gpu", "fail_on", "thresholds", "budgets", "waivers", "rules", "energy"});
    if (const auto* node = root.get("gpu")) { policy.gpus = texts_of(*node, "gpu"); }
    if (const auto* node = root.get("fail_on")) {
        const std::string word = text_of(*node, "fail_on");
        const std::vector<std::string> known{"error", "warning", "note", "never"};
        if (std::find(known.begin(), known.end(), word) == known.end()) { unknown_word(place(*node), fmt::format("'fail_on' is not '{}'", word), word, known); }
        policy.fail_on = word;
    }
    each_table(root, "thresholds", [&](const toml::table& t) { policy.thresholds.push_back(threshold_of(t)); });
    each_table(root, "budgets", [&](const toml::table& t) { policy.budgets.push_back(budget_of(t)); });
    each_table(root, "waivers", [&](const toml::table& t) { policy.waivers.push_back(waiver_of(t, policy.warnings, name)); });
    read_rules(root, policy);
    if (const auto* node = root.get("energy")) {
        const toml::table* const table = node->as_table();
        if (table == nullptr) { throw Wrong{place(*node), "'energy' is a table", "[energy] and below it launches_per_day = 1000000"}; }
        policy.energy = energy_of(*table);
    }
    return policy;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, const std::string& name) {
    try {
        return policy_of(parsed(text, name), name);
    } catch (const toml::parse_error& error) {
        return tl::unexpected(complaint_at("FF0781", name, text, error.source().begin, std::string(error.description()), {}));
    } catch (const Wrong& wrong) {
        return tl::unexpected(complaint_at("FF0781", name, text, wrong.at, wrong.message, wrong.help));
    }
}

Result<Policy> read_policy(const std::string& path) {
    const auto text = read_whole(path);
    if (!text) { return tl::unexpected(complaint_at("FF0781", path, {}, {}, "the policy cannot be read", {})); }
    return parse_policy(*text, path);
}

}  // namespace flipflop::gate
