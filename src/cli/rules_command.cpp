// flipflop rules [ID]: what findings mean, and when to ignore them. The pages are docs/rules, compiled in.
#include <algorithm>
#include <cctype>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/suggest.hpp"
#include "flipflop/gate.hpp"

namespace flipflop::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RulesArguments {
    std::string id;
    OutputArguments output;
};

std::string json_of(const std::vector<gate::RulePage>& pages) {
    Json json;
    json["schema"] = "flipflop.rules/1";
    json["rules"] = Json::array();
    for (const gate::RulePage& page : pages) {
        Json rule;
        rule["id"] = page.id;
        rule["family"] = page.family;
        rule["title"] = page.title;
        rule["help"] = page.text;
        json["rules"].push_back(std::move(rule));
    }
    return json.dump(2) + "\n";
}

std::string list_of(const std::vector<gate::RulePage>& pages) {
    std::string out;
    for (const gate::RulePage& page : pages) { out += fmt::format("{:<7}{:<14}{}\n", page.id, page.family, page.title); }
    return out + "\nflipflop rules ID explains one; [rules] in flipflop.toml turns one off\n";
}

int run(const RulesArguments& arguments) {
    Complaints complaints;
    const auto plan = plan_output(arguments.output, {Format::text, Format::json, Format::markdown});
    if (!plan) { return complaints.say(plan.error()), kUsageError; }
    std::vector<gate::RulePage> pages = gate::rule_pages();
    if (!arguments.id.empty()) {
        std::string id = arguments.id;
        std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        std::vector<std::string> known;
        for (const gate::RulePage& page : pages) { known.push_back(page.id); }
        std::erase_if(pages, [&](const gate::RulePage& page) { return page.id != id; });
        if (pages.empty()) {
            Diagnostic d;
            d.id = "FF0784";
            d.file = "flipflop rules";
            d.message = fmt::format("there is no rule '{}'", arguments.id);
            d.help = did_you_mean(id, known);
            if (d.help.empty()) { d.help = "flipflop rules lists them"; }
            return complaints.say(d), kUsageError;
        }
    }
    for (const Destination& destination : *plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) {
            sink(destination.format == Format::json ? json_of(pages) : arguments.id.empty() ? list_of(pages) : pages.front().text);
        });
        if (!written) { return complaints.say(written.error()), kUsageError; }
    }
    return kDone;
}

}  // namespace

void add_rules_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("rules", "the rules that findings come from, each with its help");
    const auto arguments = std::make_shared<RulesArguments>();
    command->add_option("ID", arguments->id, "one of them: FF101");
    add_output_options(*command, arguments->output, "text, json or markdown");
    command->callback([arguments, &result] { result.exit_code = run(*arguments); });
}

}  // namespace flipflop::cli
