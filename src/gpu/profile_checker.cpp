#include "gpu/profile_checker.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "gpu/names.hpp"

namespace flipflop::profile {
namespace {

bool known_basis(const std::string& basis) {
    static constexpr std::string_view all[] = {"measured", "datasheet", "fitted", "assumed", "derived"};
    return std::find(std::begin(all), std::end(all), basis) != std::end(all);
}

bool in_range(double value, const Quantity& rule) { return std::isfinite(value) && value >= rule.low && value <= rule.high; }

void check_number(Checker& check, const Json& json, const std::string& at, const Quantity& rule) {
    if (!json.is_number()) {
        check.fail(at, fmt::format("must be a number, in {}", rule.unit));
    } else if (!in_range(json.get<double>(), rule)) {
        check.fail(at, fmt::format("{} is out of range: {} is {:g} to {:g} {}", json.dump(), rule.name, rule.low, rule.high, rule.unit));
    }
}

void check_unit(Checker& check, const Json& json, const std::string& at, const Quantity& rule) {
    const auto unit = check.text(json, at, "unit", true);
    if (!check.failed() && unit != rule.unit) {
        check.fail(at + "/unit", fmt::format("{} is given in \"{}\", here it is \"{}\"", rule.name, rule.unit, unit));
    }
}

}  // namespace

std::optional<Json> Checker::parse() {
    std::vector<std::set<std::string>> seen;   // keys of the objects around the current one
    std::string twice;
    const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start) {
            seen.emplace_back();
        } else if (event == Json::parse_event_t::object_end) {
            seen.pop_back();
        } else if (event == Json::parse_event_t::key && !seen.back().insert(parsed.get<std::string>()).second && twice.empty()) {
            twice = parsed.get<std::string>();
        }
        return true;
    };
    try {
        auto json = Json::parse(text_.begin(), text_.end(), watch);
        if (!twice.empty()) {
            fail("", "the key \"" + twice + "\" stands twice in one object");
            return std::nullopt;
        }
        return json;
    } catch (const Json::exception& e) {   // not only parse_error: a number of 400 digits is an out_of_range
        const auto* syntax = dynamic_cast<const Json::parse_error*>(&e);
        const auto offset = syntax != nullptr && syntax->byte > 0 ? syntax->byte - 1 : 0;
        std::string what = e.what();   // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
        const auto colon = what.find(syntax != nullptr ? ": " : "] ");
        what = colon == std::string::npos ? what : what.substr(colon + 2);
        constexpr std::size_t kLongest = 200;   // it quotes what it read last
        if (what.size() > kLongest) what = what.substr(0, kLongest) + "...";
        std::replace_if(what.begin(), what.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
        error_ = Diagnostic{"FF0902", Severity::error, file_, position_of(text_, offset), "not JSON: " + what,
                            std::string(line_at(text_, offset).substr(0, 200)), {}};
        return std::nullopt;
    }
}

std::string Checker::text(const Json& object, const std::string& at, const char* key, bool required) {
    const auto found = object.find(key);
    if (found == object.end()) {
        if (required) {
            fail(at, fmt::format("\"{}\" is missing", key));
        }
        return {};
    }
    if (!found->is_string() || found->get_ref<const std::string&>().empty()) {
        fail(at + "/" + key, fmt::format("\"{}\" must be a text that is not empty", key));
        return {};
    }
    return found->get<std::string>();
}

void Checker::only_keys(const Json& object, const std::string& at, const std::vector<std::string>& known) {
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            fail(at + "/" + key, fmt::format("unknown key \"{}\"", key), did_you_mean_text(key, known));
        }
    }
}

bool Checker::is_object(const Json& value, const std::string& at) {
    if (!value.is_object()) {
        fail(at, "must be an object");
    }
    return value.is_object();
}

void read_provenance(Checker& check, const Json& json, const std::string& at, std::string& basis, std::string& source) {
    basis = check.text(json, at, "basis", true);
    source = check.text(json, at, "source", true);
    if (!check.failed() && !known_basis(basis)) {
        check.fail(at + "/basis", fmt::format("\"{}\" is no basis", basis), "measured, datasheet, fitted, assumed or derived");
    }
}

SourcedValue read_value(Checker& check, const Json& json, const std::string& at, const Quantity& rule) {
    SourcedValue value;
    if (!check.is_object(json, at)) {
        return value;
    }
    check.only_keys(json, at, {"value", "unit", "basis", "source", "note", "interval"});
    if (!json.contains("value")) {
        check.fail(at, "\"value\" is missing (null says that it is not known)");
        return value;
    }
    check_unit(check, json, at, rule);
    value.unit = std::string(rule.unit);
    value.note = json.contains("note") ? check.text(json, at, "note", true) : std::string();
    if (json["value"].is_null()) {
        return value;   // not known: basis and source have nothing to speak of
    }
    check_number(check, json["value"], at + "/value", rule);
    read_provenance(check, json, at, value.basis, value.source);
    if (check.failed()) {
        return value;
    }
    value.value = json["value"].get<double>();
    if (const auto interval = json.find("interval"); interval != json.end()) {
        if (!interval->is_array() || interval->size() != 2 || !(*interval)[0].is_number() || !(*interval)[1].is_number()) {
            check.fail(at + "/interval", "must be two numbers, low and high");
            return value;
        }
        value.low = (*interval)[0].get<double>();
        value.high = (*interval)[1].get<double>();
        if (!(*value.low <= *value.value && *value.value <= *value.high)) {
            check.fail(at + "/interval", fmt::format("does not hold the value {:g}", *value.value));
        }
    }
    return value;
}

void read_values(Checker& check, const Json& json, const std::string& at, std::span<const Quantity> table, Values& out) {
    if (!check.is_object(json, at)) {
        return;
    }
    for (const auto& [name, entry] : json.items()) {
        const auto* rule = find(table, name);
        if (!rule) {
            std::vector<std::string> known;
            for (const auto& quantity : table) {
                known.emplace_back(quantity.name);
            }
            check.fail(at + "/" + name, fmt::format("unknown quantity \"{}\"", name), did_you_mean_text(name, known));
            return;
        }
        out[name] = read_value(check, entry, at + "/" + name, *rule);
    }
}

SourcedCurve read_curve(Checker& check, const Json& json, const std::string& at, const Quantity& rule) {
    SourcedCurve curve;
    if (!check.is_object(json, at)) {
        return curve;
    }
    check.only_keys(json, at, {"x_unit", "unit", "basis", "source", "note", "points"});
    check_unit(check, json, at, rule);
    curve.unit = std::string(rule.unit);
    curve.x_unit = check.text(json, at, "x_unit", true);
    curve.note = json.contains("note") ? check.text(json, at, "note", true) : std::string();
    read_provenance(check, json, at, curve.basis, curve.source);
    if (!check.failed() && curve.x_unit != "MHz") {
        check.fail(at + "/x_unit", "must be \"MHz\"");
    }
    const auto points = json.find("points");
    if (points == json.end() || !points->is_array() || points->size() < 2) {
        check.fail(at + "/points", "must be a list of at least two pairs [MHz, value]");
        return curve;
    }
    for (std::size_t i = 0; i < points->size() && !check.failed(); ++i) {
        const auto& point = (*points)[i];
        const auto here = fmt::format("{}/points/{}", at, i);
        if (!point.is_array() || point.size() != 2 || !point[0].is_number()) {
            check.fail(here, "must be a pair [MHz, value]");
            return curve;
        }
        check_number(check, point[1], here + "/1", rule);
        if (!curve.points.empty() && !(point[0].get<double>() > curve.points.back().first)) {
            check.fail(here + "/0", "the clocks must rise from point to point");
        }
        if (!check.failed()) {
            curve.points.emplace_back(point[0].get<double>(), point[1].get<double>());
        }
    }
    return curve;
}

}  // namespace flipflop::profile
