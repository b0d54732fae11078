// "flipflop.check/1" (CONTRACT.md section 9).
#include "flipflop/gate_report.hpp"
#include "report/check_parts.hpp"

namespace flipflop {

using report::JsonWriter;

namespace report {

void write_change(JsonWriter& json, const gate::Change& change) {
    json.begin_object();
    json.member("metric", to_string(change.metric));
    json.member("base", change.base);
    json.member("head", change.head);
    json.member("change", change.change);
    json.member("change_low", change.low);
    json.member("change_high", change.high);
    json.member("relative", change.relative);
    json.member("threshold", change.threshold);
    json.member("threshold_absolute", change.threshold_absolute);
    json.member("budget", change.budget);
    json.member("verdict", to_string(change.verdict));
    json.member_or_null("why", change.why);
    json.end_object();
}

void write_kernel_head(JsonWriter& json, const gate::KernelCheck& kernel) {
    json.member("name", kernel.name);
    json.member_or_null("demangled", kernel.demangled);
    json.member("gpu", kernel.gpu);
    json.member_or_null("case", kernel.case_name);
    json.member("status", to_string(kernel.status));
    json.member_or_null("renamed_from", kernel.renamed_from);
    json.member("toolchain_changed", kernel.toolchain_changed);
    json.key("changes");
    json.begin_array(true);
    for (const gate::Change& change : kernel.changes) { write_change(json, change); }
    json.end_array();
    json.objects("new_findings", kernel.new_findings, [&](const gate::NewFinding& finding) {
        json.member("rule", finding.rule);
        json.member("severity", to_string(finding.severity));
        json.member("count", finding.count);
        json.member("verdict", to_string(finding.verdict));
    });
}

void write_notes(JsonWriter& json, const std::vector<gate::Note>& notes) {
    json.objects("notes", notes, [&](const gate::Note& note) {
        json.member("kind", note.kind);
        json.member("message", note.message);
    });
}

}  // namespace report

void write_json(const gate::CheckReport& check, const gate::Snapshot& head, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.check/1");
    report::write_tool(json);
    report::write_used(json, {{"ptxas", head.ptxas}});
    json.member_or_null("base", check.base_origin);
    json.member("verdict", check.fail || !check.incomplete.empty() ? "fail" : "pass");
    json.member_or_null("incomplete", check.incomplete);
    json.key("kernels");
    json.begin_array(true);
    for (const gate::KernelCheck& kernel : check.kernels) {
        json.begin_object(true);
        report::write_kernel_head(json, kernel);
        json.end_object();
    }
    json.end_array();
    json.objects("waivers", check.waivers, [&](const gate::WaiverUse& use) {
        const gate::Waiver& waiver = *use.waiver;
        json.member("match", waiver.match);
        json.member_or_null("gpu", waiver.gpu);
        json.member_or_null("metric", waiver.metric ? to_string(*waiver.metric) : std::string_view());
        json.member_or_null("rule", waiver.rule);
        json.member("reason", waiver.reason);
        json.member_or_null("owner", waiver.owner);
        json.member_or_null("expires", waiver.expires);
        json.member("used", use.used);
        json.member("expired", use.expired);
    });
    report::write_notes(json, check.notes);
    report::write_yearly(json, check.yearly);
    json.end_object();
    json.finish();
}

}  // namespace flipflop
