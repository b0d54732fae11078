#include "calibrate/document.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "inputs/file.hpp"

namespace flipflop::calibrate {

Result<std::string> read_fit(const std::string& path) {
    const auto file = FileBytes::open(path, InputLimits{});
    if (!file) return tl::unexpected(file.error());
    return std::string(file->view());
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMethod = "Huber M-estimate of ln(measured / predicted), bounded, in logarithms; energies over the measured time";

Diagnostic no_fit(const std::string& path, std::string message) {
    Diagnostic error;
    error.id = "FF0794";
    error.file = path;
    error.message = std::move(message);
    error.help = "--update takes what an earlier flipflop calibrate wrote for the same GPU";
    return error;
}

/// Four significant digits for values: a coefficient is not known better. Matrices keep six.
double rounded(double value, int digits) {
    if (value == 0 || !std::isfinite(value)) return 0;
    const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - digits + 1);
    return std::stod(fmt::format("{:.{}g}", std::round(value / unit) * unit, digits));
}

Json values_of(const Outcome& outcome, const std::string& source) {
    Json values = Json::object();
    for (const Coefficient& coefficient : outcome.fitted) {
        const auto held = std::find_if(outcome.held_out.begin(), outcome.held_out.end(), [&](const HeldOut& h) { return h.quantity == coefficient.quantity; });
        Json entry{{"value", rounded(coefficient.value, 4)}, {"unit", coefficient.unit}, {"basis", "fitted"}, {"source", source},
                   {"note", coefficient.follows.empty() ? "board level" : "at a fixed ratio to " + coefficient.follows}, {"standard_error_ln", rounded(coefficient.standard_error, 2)}};
        if (held != outcome.held_out.end()) entry["rows"] = held->rows;
        values[coefficient.key] = std::move(entry);
    }
    for (const HeldOut& held : outcome.held_out) {
        // Of one or two kernels the spread says nothing of a third: operand values alone move power by up to 40 % (Gregersen 2024).
        constexpr double kPowerFloor = 0.12;
        const double sigma = held.quantity == "power" && held.kernels < 3 ? std::max(kPowerFloor, held.log_sigma) : std::max(0.03, held.log_sigma);
        if (held.quantity == "time" && held.kernels < 3) continue;
        values[held.quantity + "_log_sigma"] = {{"value", rounded(sigma, 3)}, {"unit", "ln"}, {"basis", "fitted"}, {"source", source},
                                                {"note", fmt::format("central 90 % of the residuals of rows left out, by {}{}", held.split, held.kernels < 3 ? "; at least 0.12: few kernels" : "")}, {"rows", held.rows}};
    }
    return values;
}

}  // namespace

std::optional<double> Earlier::value(const std::string& quantity, std::string_view key) const {
    const auto part = parts.find(quantity);
    if (part == parts.end()) return std::nullopt;
    for (std::size_t i = 0; i < part->second.keys.size(); ++i)
        if (part->second.keys[i] == key) return std::exp(part->second.logs[i]);
    return std::nullopt;
}

std::size_t Earlier::rows(const std::string& quantity) const {
    const auto part = parts.find(quantity);
    return part == parts.end() ? 0 : part->second.rows;
}

std::optional<Prior> Earlier::prior(const std::string& quantity, const std::vector<const Parameter*>& fitted) const {
    const auto found = parts.find(quantity);
    if (found == parts.end()) return std::nullopt;
    const Part& part = found->second;
    const auto index = [&](std::string_view key) -> std::optional<std::size_t> {
        const auto at = std::find(part.keys.begin(), part.keys.end(), key);
        return at == part.keys.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - part.keys.begin()));
    };
    Prior prior{std::vector<double>(fitted.size()), Matrix(fitted.size())};
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        const auto a = index(fitted[i]->key);
        if (!a) continue;
        prior.at[i] = part.logs[*a];
        for (std::size_t k = 0; k < fitted.size(); ++k)
            if (const auto b = index(fitted[k]->key)) prior.precision.at(i, k) = part.matrix.at(*a, *b);
    }
    return prior;
}

Result<Earlier> read_earlier(const std::string& text, const std::string& path, const std::string& gpu) {
    Earlier earlier;
    if (path.empty() && text.empty()) return earlier;
    const Json file = Json::parse(text, nullptr, false);
    if (!file.is_object() || file.value("schema", Json()) != "flipflop.coefficients/1") return tl::unexpected(no_fit(path, "this is no flipflop.coefficients/1 file"));
    if (file.value("gpu", Json()) != gpu) return tl::unexpected(no_fit(path, "it is a fit of another GPU than " + gpu));
    if (!file.contains("information") || !file["information"].is_object() || file["information"].empty())
        return tl::unexpected(no_fit(path, "it does not say how well its rows tell each coefficient (\"information\"), so rows cannot be added to it"));
    try {
        for (const auto& [quantity, entry] : file["information"].items()) {
            Earlier::Part part;
            part.rows = entry.at("rows").get<std::size_t>();
            part.keys = entry.at("coefficients").get<std::vector<std::string>>();
            const auto values = entry.at("values").get<std::vector<double>>();
            part.matrix = Matrix(part.keys.size());
            part.matrix.cells = entry.at("precision").get<std::vector<double>>();
            if (values.size() != part.keys.size() || part.matrix.cells.size() != part.keys.size() * part.keys.size()) return tl::unexpected(no_fit(path, "its information does not fit its coefficients"));
            for (const double value : values) {
                if (!(value > 0) || !std::isfinite(value)) return tl::unexpected(no_fit(path, "a coefficient of it is not positive"));
                part.logs.push_back(std::log(value));
            }
            earlier.parts[quantity] = std::move(part);
        }
        if (file.contains("data_sets")) earlier.data_sets = file["data_sets"].dump();
    } catch (const Json::exception& error) {
        return tl::unexpected(no_fit(path, std::string("its information is not laid out as expected: ") + error.what()));
    }
    return earlier;
}

std::string document(const Outcome& outcome, const std::vector<Information>& information, const Earlier& earlier, const std::vector<validate::Table>& tables) {
    Json file{{"schema", "flipflop.coefficients/1"}, {"gpu", outcome.gpu}, {"method", kMethod}, {"tool", "flipflop calibrate"}};
    Json sets = earlier.data_sets.empty() ? Json::array() : Json::parse(earlier.data_sets, nullptr, false);
    if (!sets.is_array()) sets = Json::array();
    std::string source;
    for (const validate::Table& table : tables) {
        const std::string name = table.path.substr(table.path.find_last_of('/') + 1);
        sets.push_back({{"table", name == "-" ? "standard input" : name}, {"rows_in_table", table.rows.size()}});
    }
    for (const Json& set : sets) source += fmt::format("{}{}", source.empty() ? "" : ", ", set.value("table", std::string("?")));
    file["data_sets"] = std::move(sets);
    file["rows"] = outcome.rows + outcome.updated_rows;
    Json left = Json::object();
    for (const auto& [why, n] : outcome.left_out) left[why] = n;
    file["rows_left_out"] = std::move(left);
    Json held = Json::object();
    for (const HeldOut& h : outcome.held_out) {
        Json folds = Json::object();
        for (const auto& [name, error] : h.mape) folds[name] = rounded(error, 3);
        held[h.quantity] = {{"left_out_by", h.split}, {"rows", h.rows}, {"kernels", h.kernels}, {"mape", rounded(h.mean, 3)}, {"mape_without_fit", rounded(h.before, 3)}, {"mape_by_part", std::move(folds)}};
    }
    file["held_out"] = std::move(held);
    file["values"] = values_of(outcome, source);
    Json refused = Json::object();
    for (const Refused& r : outcome.refused) refused[r.key] = r.reason;
    file["refused"] = std::move(refused);
    Json matrices = Json::object();
    for (const Information& each : information) {
        Json keys = Json::array(), values = Json::array(), cells = Json::array();
        for (const Parameter* parameter : each.parameters) {
            keys.push_back(std::string(parameter->key));
            const auto at = std::find_if(outcome.fitted.begin(), outcome.fitted.end(), [&](const Coefficient& c) { return c.key == parameter->key; });
            values.push_back(rounded(at->value, 8));
        }
        for (const double cell : each.matrix.cells) cells.push_back(rounded(cell, 6));
        matrices[each.quantity] = {{"rows", each.rows}, {"coefficients", std::move(keys)}, {"values", std::move(values)}, {"precision", std::move(cells)}};
    }
    file["information"] = std::move(matrices);
    return file.dump(1) + "\n";
}

std::string text_report(const Outcome& outcome) {
    std::string out = fmt::format("{}: {} coefficients from {} rows{}\n\n", outcome.gpu, outcome.fitted.size(), outcome.rows,
                                  outcome.updated_rows > 0 ? fmt::format(" and {} of the earlier fit", outcome.updated_rows) : "");
    for (const Coefficient& c : outcome.fitted)
        out += c.follows.empty() ? fmt::format("  {:<34}{:>10.4g} {:<8} +- {:.1f} %\n", c.key, c.value, c.unit, 164.5 * c.standard_error)
                                 : fmt::format("  {:<34}{:>10.4g} {:<8} follows {}\n", c.key, c.value, c.unit, c.follows);
    for (const HeldOut& h : outcome.held_out)
        out += fmt::format("\n{}: rows left out by {} are predicted within {:.1f} % on average ({:.1f} % without the fit), {} rows of {} kernel{}\n", h.quantity, h.split, h.mean * 100, h.before * 100, h.rows, h.kernels,
                           h.kernels == 1 ? "" : "s");
    if (!outcome.refused.empty()) {
        out += "\nnot fitted:\n";
        for (const Refused& r : outcome.refused) out += fmt::format("  {:<34}{}\n", r.key, r.reason);
    }
    if (!outcome.left_out.empty()) {
        out += "\nrows left out:\n";
        for (const auto& [why, n] : outcome.left_out) out += fmt::format("  {:>6}  {}\n", n, why);
    }
    return out;
}

}  // namespace flipflop::calibrate
