// What a change comes to in a year, in words and as JSON.
#include <cmath>

#include <fmt/core.h>

#include "report/check_parts.hpp"

namespace flipflop::report {
namespace {

std::string signed_amount(double value, std::string_view unit) { return fmt::format("{}{} {}", value < 0 ? "-" : "+", significant(std::abs(value)), unit); }

void write_amount(JsonWriter& json, const gate::YearlyAmount& amount) {
    json.member("kwh", amount.kwh);
    json.member("cost", amount.cost);
    json.member("co2e_kg", amount.co2e_kg);
}

}  // namespace

std::string kwh_text(const gate::YearlyChange& entry) {
    std::string out = signed_amount(entry.change.kwh, "kWh");
    if (entry.low.kwh != entry.high.kwh) { out += fmt::format(" ({} to {})", signed_amount(entry.low.kwh, "kWh"), signed_amount(entry.high.kwh, "kWh")); }
    return out;
}

std::string cost_text(const gate::YearlyAmount& amount, std::string_view currency) { return amount.cost ? signed_amount(*amount.cost, printable(currency)) : ""; }

std::string co2e_text(const gate::YearlyAmount& amount) { return amount.co2e_kg ? signed_amount(*amount.co2e_kg, "kg CO2e") : ""; }

std::string yearly_sentence(const gate::Yearly& yearly) {
    if (yearly.kernels.empty()) { return "In a year: no change in energy that can be compared."; }
    if (!yearly.total) { return "In a year, by GPU and case:"; }
    std::string out = "In a year: " + signed_amount(yearly.total->kwh, "kWh");
    for (const std::string& more : {cost_text(*yearly.total, yearly.currency), co2e_text(*yearly.total)}) {
        if (!more.empty()) { out += ", " + more; }
    }
    return out + ".";
}

std::string yearly_text(const gate::CheckReport& report, const TextStyle& style) {
    if (!report.yearly) { return {}; }
    const gate::Yearly& yearly = *report.yearly;
    std::string out = wrap(yearly_sentence(yearly), style.width, 2) + "\n";
    Table table;
    for (int i = 0; i < 4; ++i) { table.column(""); }
    for (const gate::YearlyChange& entry : yearly.kernels) {
        table.row({where_text(*entry.kernel, several_gpus(report)), kwh_text(entry), cost_text(entry.change, yearly.currency), co2e_text(entry.change)}, entry.change.kwh > 0 ? Mark::bad : Mark::good);
    }
    out += table.text(2, style.color);
    std::string assumed;
    for (const std::string& assumption : yearly.assumptions) { assumed += (assumed.empty() ? "" : "; ") + printable(assumption); }
    return out + wrap("  assumed: " + assumed + ".", style.width, 4) + "\n\n";
}

void write_yearly(JsonWriter& json, const std::optional<gate::Yearly>& yearly) {
    json.key("energy_per_year");
    if (!yearly) {
        json.value(nullptr);
        return;
    }
    json.begin_object(true);
    json.member("currency", yearly->currency);
    json.key("total");
    if (yearly->total) {
        json.begin_object();
        write_amount(json, *yearly->total);
        json.end_object();
    } else {
        json.value(nullptr);
    }
    json.objects("kernels", yearly->kernels, [&](const gate::YearlyChange& entry) {
        json.member("name", entry.kernel->name);
        json.member("gpu", entry.kernel->gpu);
        json.member_or_null("case", entry.kernel->case_name);
        json.member("calls", entry.calls);
        write_amount(json, entry.change);
        json.member("kwh_low", entry.low.kwh);
        json.member("kwh_high", entry.high.kwh);
    });
    json.strings("assumptions", yearly->assumptions);
    json.end_object();
}

}  // namespace flipflop::report
