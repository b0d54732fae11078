// flipflop accuracy: the card that `make accuracy` measured, as shipped.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "flipflop/validate.hpp"

namespace flipflop::cli {
namespace {

using Json = nlohmann::json;

std::string figure_text(const Json& value, bool correlation) {
    if (!value.is_number()) { return "-"; }
    return correlation ? fmt::format("{:.3f}", value.get<double>()) : fmt::format("{:.1f} %", value.get<double>() * 100);
}

bool is_correlation(const std::string& figure) { return figure.find("correlation") != std::string::npos || figure.find("same") != std::string::npos; }

std::string figures_text(const Json& figures) {
    std::string out = fmt::format("{:<66}{:>10}{:>10}{:>11}{:>11}{:>11}  n\n", "figure", "must", "aim", "no kernel", "no GPU", "in sample");
    for (const Json& row : figures.at("leave_one_kernel_out")) {
        const auto name = row.at("figure").get<std::string>();
        const bool correlation = is_correlation(name);
        const auto other = [&](const char* list) {
            for (const Json& candidate : figures.at(list)) {
                if (candidate.at("figure") == name) { return figure_text(candidate.at("value"), correlation); }
            }
            return std::string("-");
        };
        out += fmt::format("{:<66}{:>10}{:>10}{:>11}{:>11}{:>11}  {}{}\n", name, figure_text(row.at("must"), correlation), figure_text(row.at("aim"), correlation),
                           figure_text(row.at("value"), correlation), other("leave_one_gpu_out"), other("in_sample"), row.at("n").get<std::string>(),
                           row.at("met").get<bool>() ? "" : "  not reached");
    }
    return out;
}

std::string sets_text(const Json& sets) {
    std::string out = fmt::format("{:<44}{:<8}{:>6}{:>8}{:>11}{:>12}{:>10}{:>11}\n", "set", "of", "rows", "spread", "rank corr", "first pick", "error", "one scale");
    for (const Json& set : sets) {
        auto name = set.at("set").get<std::string>();
        if (set.at("family") == "streams") { name += " " + set.at("kernel").get<std::string>().substr(7); }
        out += fmt::format("{:<44}{:<8}{:>6}{:>8.2f}{:>11}{:>12}{:>10}{:>11}\n", name, set.at("quantity").get<std::string>(), set.at("n").get<int>(), set.at("median_over_best").get<double>(),
                           figure_text(set.at("model").at("spearman"), true), figure_text(set.at("model").at("first_regret"), false), figure_text(set.at("mape"), false),
                           figure_text(set.at("mape_one_scale"), false));
    }
    return out;
}

std::string text_of(const Json& card) {
    std::string out = "How far predictions are from published measurements (docs/accuracy.md says how, and why what is not reached is not)\n\n";
    out += figures_text(card.at("figures"));
    out += "\n\"no kernel\" leaves the kernel's family out of every choice, \"no GPU\" the board; rank correlations are Spearman's, errors means of abs(predicted / measured - 1)\n\n";
    return out + sets_text(card.at("sets"));
}

int run(const OutputArguments& output) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic) {
        complaints.say(diagnostic);
        complaints.finish();
        return kUsageError;
    };
    const auto plan = plan_output(output, {Format::text, Format::json});
    if (!plan) { return stop(plan.error()); }
    const std::string_view card = validate::accuracy_card();
    for (const Destination& destination : *plan) {
        const auto written = write_report(destination, [&](const TextSink& sink) { sink(destination.format == Format::json ? std::string(card) : text_of(Json::parse(card))); });
        if (!written) { return stop(written.error()); }
    }
    return kDone;
}

}  // namespace

void add_accuracy_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("accuracy", "the accuracy card: predictions against published measurements, as shipped");
    const auto output = std::make_shared<OutputArguments>();
    add_output_options(*command, *output, "text or json");
    command->callback([output, &result] { result.exit_code = run(*output); });
}

}  // namespace flipflop::cli
