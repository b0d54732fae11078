// The gate's verdicts on snapshots made by hand: what fails, what cannot be compared, what is waived.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "gate_support.hpp"

using namespace gate_test;

namespace {

gate::CheckReport run(const Snapshot& base, const Snapshot& head, const gate::Policy& policy = {}, const std::string& today = "2026-12-01") {
    gate::CheckOptions options;
    options.today = today;
    return gate::check(&base, head, policy, options);
}

gate::Policy policy_of(const std::string& text) {
    auto policy = gate::parse_policy(text, "flipflop.toml");
    INFO((policy ? "" : policy.error().message));
    REQUIRE(policy);
    return *policy;
}

bool notes_say(const gate::CheckReport& report, const std::string& kind, const std::string& word) {
    return std::any_of(report.notes.begin(), report.notes.end(), [&](const gate::Note& n) { return n.kind == kind && n.message.find(word) != std::string::npos; });
}

Verdict time_verdict(double head_us) {
    const Snapshot base = snapshot({record("k")});
    const Snapshot head = snapshot({record("k", head_us)});
    const gate::CheckReport report = run(base, head);
    const gate::Change* change = change_of(report, Metric::time_us);
    return change == nullptr ? Verdict::ok : change->verdict;
}

}  // namespace

TEST_CASE("Time fails beyond 5 % with the near end of its interval beyond it", "[gate]") {
    // sigma 0.05: the near end of a growth of x is (1 + x) * exp(-1.645 * 0.05) - 1.
    const double sure = 105 * std::exp(1.6448536269514722 * 0.05);
    CHECK(time_verdict(100) == Verdict::ok);
    CHECK(time_verdict(104.9) == Verdict::ok);
    CHECK(time_verdict(105.1) == Verdict::uncertain);
    CHECK(time_verdict(sure - 0.01) == Verdict::uncertain);
    CHECK(time_verdict(sure + 0.01) == Verdict::regressed);
    CHECK(time_verdict(99) == Verdict::ok);
    CHECK(time_verdict(80) == Verdict::improved);

    const Snapshot base = snapshot({record("k")});
    const Snapshot head = snapshot({record("k", 110)});
    const gate::CheckReport report = run(base, head);
    CHECK_FALSE(report.fail);
    const gate::Change* change = change_of(report, Metric::time_us);
    REQUIRE(change != nullptr);
    CHECK(change->relative);
    CHECK(*change->change == Approx(0.10));
    CHECK(*change->low == Approx(1.10 * std::exp(-1.6448536269514722 * 0.05) - 1));
    CHECK(*change->high == Approx(1.10 * std::exp(1.6448536269514722 * 0.05) - 1));
    CHECK(*change->threshold == Approx(0.05));
}

TEST_CASE("Spills fail when they grow, from nothing too; registers do not without a threshold", "[gate]") {
    Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record("k")});
    head.kernels[0].metric(Metric::spill_bytes) = 8;
    head.kernels[0].metric(Metric::registers) = 64;
    gate::CheckReport report = run(base, head);
    CHECK(report.fail);
    CHECK(change_of(report, Metric::spill_bytes)->verdict == Verdict::regressed);
    CHECK(*change_of(report, Metric::spill_bytes)->change == 8);
    CHECK(change_of(report, Metric::registers)->verdict == Verdict::ok);
    CHECK(report.kernels[0].status == gate::Status::changed);

    std::swap(base.kernels[0].metric(Metric::spill_bytes), head.kernels[0].metric(Metric::spill_bytes));
    report = run(base, head);
    CHECK_FALSE(report.fail);
    CHECK(change_of(report, Metric::spill_bytes)->verdict == Verdict::improved);
}

TEST_CASE("What rests on something else is incomparable and never fails; counts still gate", "[gate]") {
    const Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record("k", 1000, 1000)});
    head.kernels[0].metric(Metric::registers) = 255;
    head.kernels[0].metric(Metric::spill_bytes) = 400;
    SECTION("another ptxas") {
        head.ptxas = "12.4.99";
        head.kernels[0].metric(Metric::sectors_per_request) = 32;
        const gate::CheckReport report = run(base, head);
        CHECK_FALSE(report.fail);
        for (const Metric m : {Metric::time_us, Metric::energy_mj, Metric::registers, Metric::spill_bytes, Metric::occupancy}) {
            INFO(to_string(m));
            const gate::Change* change = change_of(report, m);
            REQUIRE(change != nullptr);
            CHECK(change->verdict == Verdict::incomparable);
            CHECK_FALSE(change->why.empty());
        }
        CHECK(notes_say(report, "ptxas", "12.4.99"));
        CHECK(run(base, head, policy_of("[[thresholds]]\nmetric = \"sectors_per_request\"\nrelative = \"50%\"\n")).fail);
    }
    SECTION("other models, another profile, other coefficients: predictions only") {
        for (int which = 0; which < 3; ++which) {
            Snapshot other = head;
            other.kernels[0].metric(Metric::spill_bytes) = 0;
            if (which == 0) { other.models = "m2"; }
            if (which == 1) { other.gpus[0].profile = "p2"; }
            if (which == 2) { other.gpus[0].coefficients = "c2"; }
            const gate::CheckReport report = run(base, other);
            CHECK_FALSE(report.fail);
            CHECK(change_of(report, Metric::time_us)->verdict == Verdict::incomparable);
            CHECK(change_of(report, Metric::registers)->verdict == Verdict::ok);
            CHECK_FALSE(report.notes.empty());
        }
    }
    SECTION("another launch") {
        head.options = {"--work=4096"};
        head.kernels[0].metric(Metric::spill_bytes) = 0;
        const gate::CheckReport report = run(base, head);
        CHECK_FALSE(report.fail);
        CHECK(change_of(report, Metric::time_us)->verdict == Verdict::incomparable);
        CHECK(notes_say(report, "launch", "--work=4096"));
    }
    SECTION("a value that is not known") {
        head.kernels[0].metric(Metric::spill_bytes).reset();
        head.kernels[0].metric(Metric::time_us).reset();
        head.kernels[0].metric(Metric::energy_mj).reset();
        const gate::CheckReport report = run(base, head);
        CHECK_FALSE(report.fail);
        CHECK(change_of(report, Metric::time_us)->verdict == Verdict::incomparable);
        CHECK_FALSE(change_of(report, Metric::time_us)->head);
    }
}

TEST_CASE("A launch that is not possible any more fails", "[gate]") {
    const Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record("k")});
    head.kernels[0].launchable = false;
    head.kernels[0].why_not = "registers";
    head.kernels[0].metric(Metric::time_us).reset();
    CHECK(run(base, head).fail);
    head.ptxas = "12.4";
    CHECK_FALSE(run(base, head).fail);
}

TEST_CASE("New findings fail from the severity asked for", "[gate]") {
    const Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record("k")});
    head.kernels[0].findings["FF101"] = {0, 1, 0};
    head.kernels[0].metric(Metric::findings) = 1;
    gate::CheckOptions options;
    CHECK_FALSE(gate::check(&base, head, {}, options).fail);
    options.fail_on = Severity::warning;
    const gate::CheckReport report = gate::check(&base, head, {}, options);
    CHECK(report.fail);
    REQUIRE(report.kernels[0].new_findings.size() == 1);
    CHECK(report.kernels[0].new_findings[0].rule == "FF101");
    options.fail_on.reset();
    CHECK_FALSE(gate::check(&base, head, {}, options).fail);
    options.fail_on = Severity::error;
    CHECK(gate::check(&base, head, policy_of("[rules]\nFF101 = \"error\"\n"), options).fail);
    CHECK_FALSE(gate::check(&base, head, policy_of("[rules]\nFF101 = \"off\"\n"), options).fail);
    // What the base has too is not new, whatever its severity is made.
    CHECK_FALSE(gate::check(&head, head, policy_of("[rules]\nFF101 = \"error\"\n"), options).fail);
    // Without a base every finding counts.
    CHECK(gate::check(nullptr, head, policy_of("[rules]\nFF101 = \"error\"\n"), options).fail);
    const gate::CheckReport waived = gate::check(&base, head, policy_of("[rules]\nFF101 = \"error\"\n[[waivers]]\nmatch = \"k\"\nrule = \"FF101\"\nreason = \"r\"\n"), options);
    CHECK_FALSE(waived.fail);
    CHECK(waived.waivers[0].used);
}

TEST_CASE("Thresholds of the policy: the last that matches, either direction, both limits", "[gate]") {
    const Snapshot base = snapshot({record("gemm"), record("other")});
    Snapshot head = snapshot({record("gemm"), record("other")});
    head.kernels[0].metric(Metric::registers) = 40;
    head.kernels[1].metric(Metric::registers) = 40;
    const auto fails = [&](const std::string& text) { return run(base, head, policy_of(text)).fail; };
    CHECK(fails("[[thresholds]]\nmetric = \"registers\"\nabsolute = 7\n"));
    CHECK_FALSE(fails("[[thresholds]]\nmetric = \"registers\"\nabsolute = 8\n"));
    CHECK(fails("[[thresholds]]\nmetric = \"registers\"\nrelative = 0.24\n"));
    CHECK_FALSE(fails("[[thresholds]]\nmetric = \"registers\"\nrelative = \"25%\"\n"));
    CHECK_FALSE(fails("[[thresholds]]\nmetric = \"registers\"\nrelative = \"1%\"\nabsolute = 10\n"));
    CHECK(fails("[[thresholds]]\nmetric = [\"occupancy\", \"registers\"]\nrelative = \"1%\"\nabsolute = 1\n"));
    CHECK_FALSE(fails("[[thresholds]]\nmetric = \"registers\"\nabsolute = 1\ndirection = \"down\"\n"));
    CHECK_FALSE(fails("[[thresholds]]\nmetric = \"registers\"\nabsolute = 1\n[[thresholds]]\nmetric = \"registers\"\noff = true\n"));
    CHECK_FALSE(fails("[[thresholds]]\nmatch = \"none*\"\nmetric = \"registers\"\nabsolute = 1\n"));
    CHECK(fails("[[thresholds]]\nmatch = \"gem*\"\nmetric = \"registers\"\nabsolute = 1\n"));
    CHECK_FALSE(fails("[[thresholds]]\ngpu = \"h100\"\nmetric = \"registers\"\nabsolute = 1\n"));
    CHECK(fails("[[thresholds]]\ngpu = \"a100\"\nmetric = \"registers\"\nabsolute = 1\n"));

    head.kernels[0].metric(Metric::occupancy) = 0.25;
    CHECK(fails("[[thresholds]]\nmetric = \"occupancy\"\nabsolute = 0.2\n"));   // less is worse
    head.kernels[0].metric(Metric::occupancy) = 1;
    CHECK_FALSE(fails("[[thresholds]]\nmetric = \"occupancy\"\nabsolute = 0.2\n"));
    CHECK(fails("[[thresholds]]\nmetric = \"occupancy\"\nabsolute = 0.2\ndirection = \"both\"\n"));

    head.kernels[0].metric(Metric::occupancy) = 0.5;
    head.kernels[0].metric(Metric::time_us) = 106;
    CHECK_FALSE(fails(""));
    CHECK(fails("[[thresholds]]\nmetric = \"time_us\"\nrelative = \"5%\"\nuncertain = \"fail\"\n"));
}

TEST_CASE("Budgets hold without a base", "[gate]") {
    const Snapshot head = snapshot({record("k")});
    const auto report = [&](const std::string& text) { return gate::check(nullptr, head, policy_of(text), {}); };
    CHECK(report("[[budgets]]\nmetric = \"registers\"\nmax = 31\n").fail);
    CHECK_FALSE(report("[[budgets]]\nmetric = \"registers\"\nmax = 32\n").fail);
    CHECK(report("[[budgets]]\nmetric = \"occupancy\"\nmin = 0.6\n").fail);
    CHECK_FALSE(report("[[budgets]]\nmatch = \"other\"\nmetric = \"registers\"\nmax = 1\n").fail);
    const auto unknown = report("[[budgets]]\nmetric = \"recommended_time_us\"\nmax = 1\n");
    CHECK_FALSE(unknown.fail);
    CHECK(unknown.kernels[0].changes[0].verdict == Verdict::incomparable);
    const auto waived = report("[[budgets]]\nmetric = \"registers\"\nmax = 31\n[[waivers]]\nmatch = \"k\"\nmetric = \"registers\"\nreason = \"r\"\n");
    CHECK_FALSE(waived.fail);
    CHECK(waived.kernels[0].changes[0].verdict == Verdict::waived);
}

TEST_CASE("Waivers: used, unused, expired", "[gate]") {
    const Snapshot base = snapshot({record("k")});
    const Snapshot head = snapshot({record("k", 200)});
    const std::string waiver = "[[waivers]]\nmatch = \"k\"\nmetric = \"time_us\"\nreason = \"new algorithm\"\nowner = \"me\"\nexpires = ";
    gate::CheckReport report = run(base, head, policy_of(waiver + "2026-12-01\n"));
    CHECK_FALSE(report.fail);
    CHECK(change_of(report, Metric::time_us)->verdict == Verdict::waived);
    CHECK(change_of(report, Metric::time_us)->why == "new algorithm");
    CHECK(report.waivers.at(0).used);
    CHECK(report.warnings.empty());

    report = run(base, head, policy_of(waiver + "\"2026-11-30\"\n"));
    CHECK(report.fail);
    CHECK(report.waivers.at(0).expired);
    REQUIRE(report.warnings.size() == 1);
    CHECK(report.warnings[0].message.find("expired on 2026-11-30") != std::string::npos);

    report = run(base, base, policy_of(waiver + "2030-01-01\n"));
    CHECK_FALSE(report.fail);
    CHECK_FALSE(report.waivers.at(0).used);
    REQUIRE(report.warnings.size() == 1);
    CHECK(report.warnings[0].message.find("not used") != std::string::npos);
}

TEST_CASE("Added, removed and renamed kernels are notes", "[gate]") {
    const Snapshot base = snapshot({record("gone"), record("old"), record("stays")});
    Snapshot head = snapshot({record("fresh"), record("new_name", 200), record("stays")});
    head.kernels[1].fingerprint = base.kernels[1].fingerprint;
    const gate::CheckReport report = run(base, head);
    REQUIRE(report.kernels.size() == 4);
    CHECK(report.kernels[0].status == gate::Status::added);      // fresh
    CHECK(report.kernels[1].status == gate::Status::removed);    // gone
    CHECK(report.kernels[2].status == gate::Status::renamed);    // new_name
    CHECK(report.kernels[2].renamed_from == "old");
    CHECK(report.kernels[3].status == gate::Status::same);
    CHECK(report.fail);                                           // a rename does not hide a regression
    CHECK(notes_say(report, "added", "fresh"));
    CHECK(notes_say(report, "removed", "gone"));
    CHECK(notes_say(report, "renamed", "old"));

    gate::CheckOptions options;
    options.kernels = {"stays"};
    const Snapshot selected = snapshot({record("stays")});
    CHECK(gate::check(&base, selected, {}, options).kernels.size() == 1);
}

TEST_CASE("A change of toolchain is told apart", "[gate]") {
    const Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record("k")});
    head.kernels[0].producer = "CUDA 14.0.1";
    const gate::CheckReport report = run(base, head);
    CHECK_FALSE(report.fail);
    CHECK(report.kernels[0].toolchain_changed);
    CHECK(notes_say(report, "toolchain", "CUDA 14.0.1"));
}

TEST_CASE("A GPU that the base has not is a note", "[gate]") {
    const Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record("k")});
    head.gpus[0].gpu = head.kernels[0].gpu = "H100";
    const gate::CheckReport report = run(base, head);
    CHECK_FALSE(report.fail);
    REQUIRE(report.kernels.size() == 1);
    CHECK(report.kernels[0].status == gate::Status::added);
    CHECK(notes_say(report, "gpu", "H100"));
}
