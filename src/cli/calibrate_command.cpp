// flipflop calibrate MEASUREMENTS --gpu NAME -o FILE: fits a GPU's coefficients (CONTRACT.md section 3).
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/source_options.hpp"
#include "flipflop/calibrate.hpp"

namespace flipflop::cli {
namespace {

struct CalibrateArguments {
    std::vector<std::string> tables, kernels, where;
    std::string gpu, update, output;
    calibrate::Options options;
    SourceArguments source;
};

std::optional<Diagnostic> split_where(const std::vector<std::string>& texts, std::vector<std::pair<std::string, std::string>>& where) {
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            Diagnostic error;
            error.id = "FF0795";
            error.file = "--where";
            error.message = fmt::format("'{}' is not COLUMN=VALUE", text);
            return error;
        }
        where.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return std::nullopt;
}

int code_of(const Diagnostic& diagnostic) { return diagnostic.id == "FF0795" ? kUsageError : kInputError; }

int run(const CalibrateArguments& arguments) {
    Complaints complaints;
    const auto stop = [&](const Diagnostic& diagnostic, int code) { return give_up(diagnostic, code, complaints); };
    calibrate::Options options = arguments.options;
    if (const auto wrong = split_where(arguments.where, options.where)) { return stop(*wrong, kUsageError); }
    const auto gpu = load_gpu(arguments.gpu);
    if (!gpu) { return stop(gpu.error(), kUsageError); }
    const OutputArguments output{{"json"}, arguments.output, "never"};
    const auto plan = plan_output(output, {Format::json});
    if (!plan) { return stop(plan.error(), kUsageError); }
    std::vector<std::string> read = arguments.tables;
    read.insert(read.end(), arguments.kernels.begin(), arguments.kernels.end());
    if (const Result<void> kept = keep_inputs(*plan, read); !kept) { return stop(kept.error(), kUsageError); }
    std::vector<validate::Table> tables;
    for (const std::string& path : arguments.tables) {
        auto table = validate::read_table_file(path);
        if (!table) { return stop(table.error(), kInputError); }
        tables.push_back(std::move(*table));
    }
    if (!arguments.update.empty()) {
        auto earlier = calibrate::read_fit(arguments.update);
        if (!earlier) { return stop(earlier.error(), kInputError); }
        options.update = std::move(*earlier);
        options.update_path = arguments.update;
    }
    const std::vector<Input> kernels = read_inputs(arguments.kernels, to_source_options(arguments.source, {}), complaints);
    if (complaints.errors() > 0) { return complaints.finish(), complaints.input_failure(); }
    const auto outcome = calibrate::calibrate(tables, kernels, *gpu, options);
    if (!outcome) { return stop(outcome.error(), code_of(outcome.error())); }
    const Result<void> written = write_report(plan->front(), [&](const TextSink& sink) { sink(outcome->json); });
    if (!written) { return stop(written.error(), kUsageError); }
    std::fputs(calibrate::text_report(*outcome).c_str(), plan->front().file.empty() || plan->front().file == "-" ? stderr : stdout);
    complaints.finish();
    return kDone;
}

}  // namespace

void add_calibrate_command(CLI::App& app, CommandResult& result) {
    CLI::App* const command = app.add_subcommand("calibrate", "fit a GPU's coefficients from measurements");
    const auto arguments = std::make_shared<CalibrateArguments>();
    command->add_option("MEASUREMENTS", arguments->tables, "tables of measured launches: CSV, a Kernel Tuner cache, a T4 file; - for standard input")->required();
    command->add_option("--gpu", arguments->gpu, "the board: a name (flipflop gpus) or a profile")->required()->type_name("NAME");
    command->add_option("-o,--output", arguments->output, "where the coefficients go; --gpu takes that file afterwards (standard output)")->type_name("FILE");
    command->add_option("--kernels", arguments->kernels, "the code that the rows ran: PTX, or what analyze takes; repeatable")->allow_extra_args(false)->type_name("INPUT")->group("Rows");
    command->add_option("--arg", arguments->options.arguments, "a kernel argument of every row; columns arg.NAME give those of one row; repeatable")->allow_extra_args(false)->type_name("NAME=VALUE")->group("Rows");
    command->add_option("--assume-taken", arguments->options.taken, "probability that a branch on data is taken")->type_name("P")->check(CLI::Range(0.0, 1.0))->group("Rows");
    command->add_option("--where", arguments->where, "only rows whose column has this value; repeatable")->allow_extra_args(false)->type_name("COLUMN=VALUE")->group("Rows");
    command->add_option("--fit", arguments->options.coefficients, "power, time, or coefficients by name; one that the rows do not tell is then an error")
        ->delimiter(',')->allow_extra_args(false)->type_name("a,b,c")->group("Fit");
    command->add_option("--update", arguments->update, "an earlier fit whose rows count as well")->type_name("FILE")->group("Fit");
    add_source_options(*command, arguments->source);
    command->callback([arguments, &result] {
        arguments->source.flags = result.compiler_flags;
        result.exit_code = run(*arguments);
    });
}

}  // namespace flipflop::cli
