// "flipflop.baseline/1": a file for reviewers and merges: sorted, one line a kernel, GPU and case, nothing in it that an
// unrelated edit changes.
#include "flipflop/gate_report.hpp"
#include "report/json_parts.hpp"

namespace flipflop {
namespace {

using report::JsonWriter;

void write_gpu(JsonWriter& json, const gate::GpuBasis& gpu) {
    json.begin_object();
    json.member("gpu", gpu.gpu);
    json.member("id", gpu.id);
    json.member("profile", gpu.profile);
    json.member("coefficients", gpu.coefficients);
    json.end_object();
}

void write_kernel(JsonWriter& json, const gate::KernelRecord& record) {
    json.begin_object();
    json.member("name", record.name);
    json.member("gpu", record.gpu);
    json.member_or_null("case", record.case_name);
    json.member("module", record.module);
    report::write_dim3(json, "block", record.block);
    report::write_dim3(json, "grid", record.grid);
    json.member("launch", record.launch_basis);
    json.member_or_null("why_not", record.launchable ? std::string() : record.why_not.empty() ? std::string("cannot launch") : record.why_not);
    for (std::size_t m = 0; m < gate::kMetrics; ++m) {
        if (static_cast<gate::Metric>(m) != gate::Metric::findings) { json.member(gate::kMetricNames[m], record.metrics[m]); }
    }
    json.key("findings");
    json.begin_object();
    for (const auto& [rule, counts] : record.findings) {
        json.key(rule);
        json.begin_object();
        for (std::size_t s = counts.size(); s-- > 0;) {
            if (counts[s] > 0) { json.member(to_string(static_cast<Severity>(s)), counts[s]); }
        }
        json.end_object();
    }
    json.end_object();
    json.member("registers_basis", record.registers_basis);
    json.member_or_null("sectors_basis", record.sectors_basis);
    json.member_or_null("producer", record.producer);
    json.member("fingerprint", record.fingerprint);
    json.end_object();
}

}  // namespace

void write_baseline(const gate::Snapshot& snapshot, const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object(true);
    json.member("schema", "flipflop.baseline/1");
    report::write_tool(json);
    json.key("used");
    json.begin_object();
    json.member("ptxas", snapshot.ptxas);
    json.end_object();
    json.member("models", snapshot.models);
    json.strings("options", snapshot.options);
    json.key("gpus");
    json.begin_array(true);
    for (const gate::GpuBasis& gpu : snapshot.gpus) { write_gpu(json, gpu); }
    json.end_array();
    json.key("kernels");
    json.begin_array(true);
    for (const gate::KernelRecord& record : snapshot.kernels) { write_kernel(json, record); }
    json.end_array();
    json.end_object();
    json.finish();
}

}  // namespace flipflop
