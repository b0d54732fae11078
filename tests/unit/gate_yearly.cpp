#include "catch.hpp"
#include "gate_support.hpp"

using namespace gate_test;

namespace {

gate::Policy policy_of(const std::string& text) {
    const auto policy = gate::parse_policy(text, "flipflop.toml");
    if (!policy) { FAIL(policy.error().message); }
    return *policy;
}

}  // namespace

TEST_CASE("Millijoules a launch become kWh, cost and CO2e a year, with every assumption said", "[gate][yearly]") {
    const gate::Policy policy = policy_of("[energy]\nlaunches_per_day = 1_000_000\ngrams_co2e_per_kwh = 350\nprice_per_kwh = 0.25\ncurrency = \"CHF\"\n[[energy.calls]]\nmatch = \"gemm*\"\ncalls = 12\n");
    const Snapshot base = snapshot({record("axpy", 100, 10), record("gemm", 100, 10), record("same", 100, 10)});
    const Snapshot head = snapshot({record("axpy", 100, 8), record("gemm", 100, 13), record("same", 100, 10)});
    gate::CheckReport report = gate::check(&base, head, policy, {});
    const auto yearly = gate::yearly_of(report, policy);
    REQUIRE(yearly);
    REQUIRE(yearly->kernels.size() == 2);
    // -2 mJ * 1e6 * 365 = -7.3e8 mJ = -0.2027... kWh
    CHECK(yearly->kernels[0].change.kwh == Approx(-2e-3 * 1e6 * 365 / 3.6e6));
    CHECK(yearly->kernels[0].low.kwh < yearly->kernels[0].change.kwh);
    CHECK(yearly->kernels[0].high.kwh > yearly->kernels[0].change.kwh);
    CHECK(yearly->kernels[1].calls == 12);
    CHECK(yearly->kernels[1].change.kwh == Approx(12 * 3e-3 * 1e6 * 365 / 3.6e6));
    REQUIRE(yearly->total);
    CHECK(yearly->total->kwh == Approx(yearly->kernels[0].change.kwh + yearly->kernels[1].change.kwh));
    CHECK(*yearly->total->cost == Approx(0.25 * yearly->total->kwh));
    CHECK(*yearly->total->co2e_kg == Approx(0.35 * yearly->total->kwh));
    std::string all;
    for (const std::string& assumption : yearly->assumptions) { all += assumption + "\n"; }
    for (const char* said : {"1,000,000 launches", "365 days", "350 g CO2e", "0.25 CHF"}) { CHECK(all.find(said) != std::string::npos); }
}

TEST_CASE("A year is told only where it was asked for and can be known", "[gate][yearly]") {
    const Snapshot base = snapshot({record("axpy", 100, 10)});
    Snapshot head = snapshot({record("axpy", 100, 20)});
    const gate::Policy off;
    gate::CheckReport report = gate::check(&base, head, off, {});
    CHECK(!gate::yearly_of(report, off));

    const gate::Policy on = policy_of("[energy]\nlaunches_per_day = 10\n");
    report = gate::check(&base, head, on, {});
    REQUIRE(gate::yearly_of(report, on));
    CHECK(!gate::yearly_of(report, on)->total->cost);
    CHECK(!gate::yearly_of(report, on)->total->co2e_kg);
    head.models = "m2";   // incomparable: nothing is claimed
    report = gate::check(&base, head, on, {});
    CHECK(gate::yearly_of(report, on)->kernels.empty());
    report = gate::check(nullptr, head, on, {});
    CHECK(!gate::yearly_of(report, on));
}

TEST_CASE("Two GPUs are alternatives: their years are not added up", "[gate][yearly]") {
    const gate::Policy on = policy_of("[energy]\nlaunches_per_day = 10\n");
    const auto both = [](double energy) {
        KernelRecord other = record("axpy", 100, energy);
        other.gpu = "T4";
        Snapshot s = snapshot({record("axpy", 100, energy), other});
        s.gpus.push_back({"T4", "t4", "p", "c", {0.05, 0.05, ""}});
        return s;
    };
    const Snapshot base = both(10), head = both(20);
    gate::CheckReport report = gate::check(&base, head, on, {});
    const auto yearly = gate::yearly_of(report, on);
    REQUIRE(yearly);
    CHECK(yearly->kernels.size() == 2);
    CHECK(!yearly->total);
}

TEST_CASE("A policy's energy section is checked like the rest", "[gate][yearly]") {
    const std::pair<const char*, const char*> rows[] = {
        {"[energy]\n", "how often"},
        {"[energy]\nlaunches_per_day = -1\n", "number"},
        {"[energy]\nlaunches_per_day = 1\nprice = 2\n", "no key 'price'"},
        {"energy = 3\n", "table"},
        {"[energy]\nlaunches_per_day = 1\n[[energy.calls]]\nmatch = \"a\"\n", "calls"},
    };
    for (const auto& [text, words] : rows) {
        INFO(text);
        const auto policy = gate::parse_policy(text, "flipflop.toml");
        REQUIRE(!policy);
        CHECK(policy.error().message.find(words) != std::string::npos);
        CHECK(policy.error().at.line > 0);
    }
}
