// The two files of the gate: a baseline goes out and comes back, a bad one says where; a policy with a typo is an error.
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "catch.hpp"
#include "flipflop/gate_report.hpp"
#include "gate_support.hpp"

using namespace gate_test;

namespace {

namespace fs = std::filesystem;

std::string text_of(const Snapshot& snapshot) {
    std::string out;
    write_baseline(snapshot, [&](std::string_view piece) { out += piece; });
    return out;
}

Snapshot rich() {
    Snapshot s = snapshot({record("a"), record("b\nstrange \"name\"", 12.5, 0.25)});
    s.options = {"--block=64", "--work=4096"};
    s.kernels[0].case_name = "small";
    s.kernels[0].findings["FF101"] = {2, 1, 0};
    s.kernels[0].metric(Metric::findings) = 3;
    s.kernels[0].metric(Metric::recommended_time_us).reset();
    s.kernels[1].launchable = false;
    s.kernels[1].why_not = "too many registers";
    s.kernels[1].sectors_basis.clear();
    return s;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

Diagnostic refused(const std::string& text) {
    const auto read = gate::parse_baseline(text, "base.json");
    REQUIRE_FALSE(read);
    CHECK(read.error().id == "FF0780");
    CHECK(read.error().file == "base.json");
    CHECK_FALSE(read.error().help.empty());
    return read.error();
}

Diagnostic policy_error(const std::string& text) {
    const auto policy = gate::parse_policy(text, "flipflop.toml");
    INFO(text);
    REQUIRE_FALSE(policy);
    CHECK(policy.error().id == "FF0781");
    CHECK(policy.error().at.line > 0);
    CHECK(policy.error().at.column > 0);
    return policy.error();
}

}  // namespace

TEST_CASE("A baseline comes back as it went out", "[gate]") {
    const Snapshot before = rich();
    const std::string text = text_of(before);
    const auto after = gate::parse_baseline(text, "base.json");
    REQUIRE(after);
    CHECK(text_of(*after) == text);
    CHECK(after->kernels.size() == 2);
    CHECK(after->kernels[0].metrics == before.kernels[0].metrics);
    CHECK(after->kernels[0].findings == before.kernels[0].findings);
    CHECK(after->kernels[1].name == before.kernels[1].name);
    CHECK_FALSE(after->kernels[1].launchable);
    // One line a kernel.
    std::size_t lines = 0;
    for (std::size_t at = text.find("{\"name\": "); at != std::string::npos; at = text.find("{\"name\": ", at + 1)) {
        const std::size_t begin = text.rfind('\n', at) + 1;
        lines += text.find_first_not_of(' ', begin) == at;
    }
    CHECK(lines == 2);
}

TEST_CASE("A bad baseline says what is wrong and where", "[gate]") {
    const std::string good = text_of(rich());
    CHECK(refused("").message.find("empty") != std::string::npos);
    CHECK(refused(good.substr(0, good.size() / 2)).at.line > 1);
    CHECK(refused("not json").at.line == 1);
    CHECK(refused("[1]").message.find("no baseline") != std::string::npos);
    CHECK(refused(replaced(good, "flipflop.baseline/1", "flipflop.baseline/2")).message.find("flipflop.baseline/2") != std::string::npos);
    CHECK(refused(replaced(good, "flipflop.baseline/1", "flipflop.analysis/1")).message.find("no baseline") != std::string::npos);
    const Diagnostic conflict = refused(replaced(good, "  \"kernels\"", "<<<<<<< HEAD\n  \"kernels\""));
    CHECK(conflict.message.find("merge conflict") != std::string::npos);
    CHECK(conflict.at.line > 5);
    CHECK(refused(replaced(good, "\"time_us\": 100", "\"time_us\": \"fast\"")).message.find("time_us") != std::string::npos);
    CHECK(refused(replaced(good, "\"time_us\": 100", "\"time_us\": -1")).message.find("time_us") != std::string::npos);
    CHECK(refused(replaced(good, "\"registers\"", "\"registerz\"")).message.find("registers") != std::string::npos);
    CHECK(refused(replaced(good, "[256, 1, 1]", "[256, 1]")).message.find("block") != std::string::npos);
    CHECK_FALSE(gate::read_baseline("/nonexistent/base.json"));
    // A key of a later flipflop is passed over.
    CHECK(gate::parse_baseline(replaced(good, "\"kernels\"", "\"news\": {\"a\": 1},\n  \"kernels\""), "base.json"));
}

TEST_CASE("A policy with a typo is an error with its place", "[gate]") {
    CHECK(gate::parse_policy("", "flipflop.toml"));
    const Diagnostic key = policy_error("gpu = \"a100\"\n\n[[waiver]]\nmatch = \"*\"\n");
    CHECK(key.at.line == 3);
    CHECK(key.help.find("waivers") != std::string::npos);
    const Diagnostic inner = policy_error("[[thresholds]]\nmetric = \"time_us\"\nrelativ = 0.1\n");
    CHECK(inner.at.line == 3);
    CHECK(inner.at.column == 1);
    CHECK(inner.help.find("relative") != std::string::npos);
    CHECK(policy_error("[[thresholds]]\nmetric = \"tme_us\"\nrelative = 0.1\n").help.find("time_us") != std::string::npos);
    CHECK(policy_error("[[thresholds]]\nmetric = \"time_us\"\n").message.find("no limit") != std::string::npos);
    CHECK(policy_error("[[thresholds]]\nmetric = \"time_us\"\nrelative = \"5\"\n").at.line == 3);
    CHECK(policy_error("[[thresholds]]\nmetric = \"time_us\"\nrelative = -0.1\n").at.line == 3);
    CHECK(policy_error("[[thresholds]]\nmetric = \"time_us\"\nrelative = inf\n").at.line == 3);
    CHECK(policy_error("[[thresholds]]\nmatch = \"/(/\"\nmetric = \"time_us\"\nrelative = 0.1\n").at.line == 2);
    CHECK(policy_error("[[thresholds]]\ngpu = \"a10O\"\nmetric = \"time_us\"\nrelative = 0.1\n").at.line == 2);
    CHECK(policy_error("[[budgets]]\nmetric = \"registers\"\n").message.find("no limit") != std::string::npos);
    CHECK(policy_error("[[waivers]]\nmatch = \"k\"\nmetric = \"time_us\"\n").message.find("no reason") != std::string::npos);
    CHECK(policy_error("[[waivers]]\nmatch = \"k\"\nmetric = \"time_us\"\nreason = \"  \"\n").message.find("no reason") != std::string::npos);
    CHECK(policy_error("[[waivers]]\nmatch = \"k\"\nreason = \"r\"\n").message.find("one metric or one rule") != std::string::npos);
    CHECK(policy_error("[[waivers]]\nmatch = \"k\"\nrule = \"FF1O1\"\nreason = \"r\"\n").help.find("FF101") != std::string::npos);
    CHECK(policy_error("[[waivers]]\nmatch = \"k\"\nrule = \"FF101\"\nreason = \"r\"\nexpires = \"soon\"\n").at.line == 5);
    CHECK(policy_error("[rules]\nFF101 = \"of\"\n").help.find("off") != std::string::npos);
    CHECK(policy_error("fail_on = \"errors\"\n").help.find("error") != std::string::npos);
    CHECK(policy_error("gpu = [1]\n").at.line == 1);
    CHECK(policy_error("thresholds = 3\n").at.line == 1);
    CHECK(policy_error("a = \n").at.line == 1);
}

TEST_CASE("A waiver without owner or end is a warning", "[gate]") {
    const auto policy = gate::parse_policy("[[waivers]]\nmatch = \"k\"\nmetric = \"time_us\"\nreason = \"r\"\n", "flipflop.toml");
    REQUIRE(policy);
    REQUIRE(policy->warnings.size() == 1);
    CHECK(policy->warnings[0].severity == Severity::warning);
}

TEST_CASE("The policy is looked for up to the root of the repository", "[gate]") {
    const fs::path root = fs::temp_directory_path() / ("flipflop-gate-" + std::to_string(static_cast<unsigned long>(getpid())));
    fs::remove_all(root);
    const fs::path inner = root / "repo" / "kernels" / "deep";
    fs::create_directories(inner);
    const auto write = [](const fs::path& path) { std::ofstream(path) << "\n"; };
    const auto found = [&](const fs::path& input, const fs::path& here) { return gate::find_policy(input.string(), here.string(), (root / "config").string()); };
    write(inner / "a.ptx");
    write(root / "flipflop.toml");
    CHECK(found(inner / "a.ptx", inner).empty());                    // no repository: the folder alone
    fs::create_directories(root / "repo" / ".git");
    CHECK(found(inner / "a.ptx", inner).empty());                    // never above the repository
    fs::create_directories(root / "config" / "flipflop");
    write(root / "config" / "flipflop" / "flipflop.toml");
    CHECK(found(inner / "a.ptx", inner) == (root / "config" / "flipflop" / "flipflop.toml").string());
    write(root / "repo" / "flipflop.toml");
    CHECK(found(inner / "a.ptx", root) == "repo/flipflop.toml");   // as people would write it from there
    write(root / "repo" / "kernels" / "flipflop.toml");
    CHECK(found(inner / "a.ptx", root) == "repo/kernels/flipflop.toml");
    CHECK(found("-", root / "repo" / "kernels") == "flipflop.toml");
    fs::remove_all(root);
}
