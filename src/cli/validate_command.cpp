// flipflop validate PREDICTIONS MEASUREMENTS: how good predictions are (CONTRACT.md section 11).
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "flipflop/validate_report.hpp"

namespace flipflop::cli {
namespace {

struct ValidateArguments {
    std::string predictions, measurements;
    validate::Options options;
    double keep{6.6};
    OutputArguments output;
};

int run(const ValidateArguments& arguments) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) {
        complaints.say(diagnostic);
        complaints.finish();
        return code;
    };
    const auto plan = plan_output(arguments.output, {Format::text, Format::json, Format::csv});
    if (!plan) { return stop(plan.error(), kUsageError); }
    const std::vector<std::string> inputs{arguments.predictions, arguments.measurements};
    if (const Result<void> kept = keep_inputs(*plan, inputs); !kept) { return stop(kept.error(), kUsageError); }
    if (!(arguments.keep > 0 && arguments.keep <= 100)) {
        Diagnostic error;
        error.id = "FF0784";
        error.file = "--keep";
        error.message = fmt::format("{} is not a share of a set in per cent", arguments.keep);
        return stop(error, kUsageError);
    }
    const auto predictions = validate::read_table_file(arguments.predictions);
    if (!predictions) { return stop(predictions.error(), kInputError); }
    const auto measurements = validate::read_table_file(arguments.measurements);
    if (!measurements) { return stop(measurements.error(), kInputError); }
    validate::Options options = arguments.options;
    options.keep_share = arguments.keep / 100;
    const auto report = validate::compare(*predictions, *measurements, options);
    if (!report) { return stop(report.error(), kUsageError); }
    for (const Destination& destination : *plan) {
        const Result<void> written = write_report(destination, [&](const TextSink& sink) {
            if (destination.format == Format::json) {
                write_json(*report, sink);
            } else if (destination.format == Format::csv) {
                sink(csv_report(*report));
            } else {
                TextStyle style;
                style.color = use_color(arguments.output, destination);
                style.width = text_width(destination);
                sink(text_report(*report, style));
            }
        });
        if (!written) { return stop(written.error(), kUsageError); }
    }
    return kDone;
}

}  // namespace

void add_validate_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("validate", "how good predictions are against measurements, beside what anyone could have guessed");
    const auto arguments = std::make_shared<ValidateArguments>();
    command->add_option("PREDICTIONS", arguments->predictions, "CSV or JSON of analyze or tune; - for standard input")->required();
    command->add_option("MEASUREMENTS", arguments->measurements, "CSV, a Kernel Tuner cache, a T4 file; - for standard input")->required();
    command->add_option("--on", arguments->options.on, "columns to join by; without it all that the tables share")->delimiter(',')->allow_extra_args(false)->type_name("a,b,c")->group("Join");
    command->add_option("--block-columns", arguments->options.block_columns, "the columns that are the block's shape, where they are not called block_*")
        ->delimiter(',')->allow_extra_args(false)->type_name("a,b")->group("Join");
    command->add_option("--keep", arguments->keep, "per cent of a set that is kept, where the predictions do not say (6.6)")->type_name("SHARE")->group("Join");
    add_output_options(*command, arguments->output, "text, json or csv");
    command->callback([arguments, &result] { result.exit_code = run(*arguments); });
}

}  // namespace flipflop::cli
