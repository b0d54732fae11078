// "flipflop.validate/1" (docs/accuracy.md).
#include "flipflop/validate_report.hpp"
#include "report/json_writer.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

void write_scores(JsonWriter& json, const validate::Scores& scores) {
    if (!scores.all) {
        json.begin_object();
        json.member("why_not", scores.why_not);
        json.end_object();
        return;
    }
    json.begin_object();
    json.member("spearman", scores.all->spearman);
    json.member("kendall", scores.all->kendall);
    json.member("first_regret", scores.all->first_regret);
    json.member("kept_holds_best", scores.all->kept_holds_best);
    json.member("kept_within_5pct", scores.all->kept_within_5pct);
    json.member("kept_regret", scores.all->kept_regret);
    json.key("block_shape");
    if (scores.by_block) {
        json.begin_object();
        json.member("groups", scores.by_block->groups);
        json.member("rows", scores.by_block->rows);
        json.member("within_5pct", scores.by_block->within_5pct);
        json.member("within_10pct", scores.by_block->within_10pct);
        json.member("regret", scores.by_block->regret);
        json.end_object();
    } else {
        json.value(nullptr);
    }
    json.end_object();
}

void write_set(JsonWriter& json, const validate::Set& set) {
    json.begin_object(true);
    json.member_or_null("gpu", set.gpu);
    json.member_or_null("kernel", set.kernel);
    json.member_or_null("problem", set.problem);
    json.member("quantity", set.quantity);
    json.member("n", set.n);
    json.member("median_over_best", set.median_over_best);
    json.member("mape", set.mape);
    json.member("mape_one_scale", set.mape_one_scale);
    json.member("scale", set.scale);
    json.member("kept", set.kept);
    json.member("kept_share", static_cast<double>(set.kept) / static_cast<double>(set.n));
    json.member("kept_basis", set.kept_basis);
    json.key("model");
    write_scores(json, set.model);
    json.key("baselines");
    json.begin_object(true);
    for (const validate::Scores& baseline : set.baselines) {
        json.key(baseline.name);
        write_scores(json, baseline);
    }
    json.end_object();
    json.key("interval");
    if (set.interval) {
        json.begin_object();
        json.member("n", set.interval->n);
        json.member("coverage", set.interval->share);
        json.member("measured_below", set.interval->below);
        json.member("measured_above", set.interval->above);
        json.end_object();
    } else {
        json.value(nullptr);
    }
    json.end_object();
}

}  // namespace

void write_json(const validate::Report& report, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.validate/1");
    json.member("predictions", report.predictions);
    json.member("measurements", report.measurements);
    json.strings("joined_on", report.joined_on);
    json.strings("block_columns", report.block_columns);
    json.member("keep_share", report.keep_share);
    json.key("rows");
    json.begin_object();
    json.member("predictions", report.prediction_rows);
    json.member("measurements", report.measurement_rows);
    json.member("joined", report.joined);
    json.member("unmatched_predictions", report.unmatched_predictions);
    json.member("unmatched_measurements", report.unmatched_measurements);
    json.member("invalid_measurements", report.invalid_measurements);
    json.member("repeats", report.repeats);
    json.end_object();
    json.key("sets");
    json.begin_array(true);
    for (const validate::Set& set : report.sets) write_set(json, set);
    json.end_array();
    json.key("overall");
    json.begin_array(true);
    for (const validate::Overall& row : report.overall) {
        json.begin_object();
        json.member("quantity", row.quantity);
        json.member("figure", row.figure);
        json.member("sets", row.sets);
        json.member("kernels", row.kernels);
        json.member("mean", row.mean);
        json.member("low", row.low);
        json.member("high", row.high);
        json.end_object();
    }
    json.end_array();
    json.strings("notes", report.notes);
    json.end_object();
    json.finish();
}

}  // namespace flipflop
