// Snapshots for tests of the gate, made by hand.
#pragma once

#include <string>
#include <utility>

#include "flipflop/gate.hpp"

namespace gate_test {

using namespace flipflop;
using gate::KernelRecord;
using gate::Metric;
using gate::Snapshot;
using gate::Verdict;

inline KernelRecord record(std::string name, double time_us = 100, double energy_mj = 10) {
    KernelRecord r;
    r.name = std::move(name);
    r.demangled = r.name;
    r.module = "a.ptx";
    r.producer = "CUDA 13.0.88";
    r.fingerprint = "code of " + r.name;
    r.gpu = "A100-SXM4-80GB";
    r.block = {256, 1, 1};
    r.grid = {4096, 1, 1};
    r.launch_basis = "given";
    r.registers_basis = "ptxas";
    r.sectors_basis = "exact";
    r.metric(Metric::time_us) = time_us;
    r.metric(Metric::energy_mj) = energy_mj;
    r.metric(Metric::registers) = 32;
    r.metric(Metric::spill_bytes) = 0;
    r.metric(Metric::shared_bytes) = 1024;
    r.metric(Metric::occupancy) = 0.5;
    r.metric(Metric::sectors_per_request) = 4;
    r.metric(Metric::findings) = 0;
    return r;
}

inline Snapshot snapshot(std::vector<KernelRecord> kernels) {
    Snapshot s;
    s.origin = "base.json";
    s.tool_version = "1.0";
    s.models = "m1";
    s.ptxas = "13.0.88";
    s.gpus = {{"A100-SXM4-80GB", "a100-sxm4-80gb", "p1", "c1", {0.05, 0.08, "made up"}}};
    s.kernels = std::move(kernels);
    return s;
}

inline const gate::Change* change_of(const gate::CheckReport& report, Metric metric, std::size_t kernel = 0) {
    for (const gate::Change& change : report.kernels.at(kernel).changes) {
        if (change.metric == metric && !change.budget) { return &change; }
    }
    return nullptr;
}

}  // namespace gate_test
