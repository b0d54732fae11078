// Alerts: where they point, that they survive edits, that limits hold and that no name becomes a command or markup.
#include <filesystem>
#include <fstream>
#include <memory>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/gate_report.hpp"
#include "gate_support.hpp"

using namespace gate_test;

namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
struct Folder {
    fs::path path = fs::weakly_canonical(fs::temp_directory_path()) / ("flipflop-alerts-" + std::to_string(static_cast<unsigned long>(getpid())));
    Folder() { fs::remove_all(path); fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const std::string& name) const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name) << "x\n";
        return (path / name).string();
    }
};

std::string sarif_of(const std::vector<gate::Alert>& alerts, std::size_t most = 5000) {
    std::string out;
    write_sarif(alerts, {"a100"}, [&](std::string_view piece) { out += piece; }, most);
    return out;
}

gate::Alert alert(Severity severity, const std::string& message = "m") {
    gate::Alert a;
    a.rule = "FF101";
    a.severity = severity;
    a.message = message;
    a.kernel = "k";
    a.gpu = "A100";
    a.file = "src/a b:c.cu";
    a.line = 3;
    a.fingerprint = "f";
    return a;
}

const std::string kEvil = "k\n::error::owned\r\x1b[31m<script>x</script>|`**x**##[command]@all%0A";

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) { ++n; }
    return n;
}

}  // namespace

TEST_CASE("Places: the source where it is in the repository, else the PTX, else the fallback; never outside", "[gate]") {
    const Folder folder;
    fs::create_directories(folder.path / "repo" / ".git");
    const std::string source = folder.file("repo/src/k.cu");
    folder.file("repo/build/k.ptx");
    folder.file("repo/flipflop.toml");
    folder.file("secret.cu");
    fs::create_symlink(folder.path / "secret.cu", folder.path / "repo" / "link.cu");
    const gate::Repository repo = gate::find_repository((folder.path / "repo" / "build").string(), "../flipflop.toml");
    CHECK(repo.root == (folder.path / "repo").string());
    const auto place = [&](const std::string& file, const std::string& module = "k.ptx") { return gate::locate(repo, SourceLine{file, 12}, module, 40); };
    CHECK(place("src/k.cu").file == "src/k.cu");
    CHECK(place("src/k.cu").line == 12);
    CHECK(place(source).file == "src/k.cu");
    CHECK(place("../src/k.cu").file == "src/k.cu");
    for (const std::string outside : {"../../secret.cu", "/etc/passwd", "link.cu", "../link.cu", "nowhere.cu", "", "../.."}) {
        INFO(outside);
        CHECK(place(outside).file == "build/k.ptx");
        CHECK(!gate::source_text(repo, outside, "k.ptx"));   // nor is it read
        CHECK(place(outside).line == 40);
    }
    CHECK(place((folder.path / "secret.cu").string(), "/elsewhere/lib.a(k.o)#2").file == "flipflop.toml");
    CHECK(place("nowhere.cu", "/elsewhere/lib.a(k.o)#2").line == 1);
    const gate::Repository bare = gate::find_repository((folder.path / "repo" / "build").string(), "/elsewhere/x");
    CHECK(gate::locate(bare, {}, "/elsewhere/lib.a(k.o)#2", 7).file == "lib.a");
    CHECK(gate::locate(bare, SourceLine{"src/k.cu", 0}, "k.ptx", 0).line == 1);
}

TEST_CASE("Failures and findings become alerts; templates at one line are one", "[gate]") {
    const Folder folder;
    KernelResult result;
    Finding finding;
    finding.rule = "FF101";
    finding.severity = Severity::warning;
    finding.message = "uncoalesced";
    finding.ptx_line = 20;
    result.findings = {finding};
    const auto with = [&](const std::string& name, double time, std::uint32_t line) {
        KernelRecord r = record(name, time);
        r.module_path = "k.ptx";
        r.ptx_line = line;
        r.result = &result;
        r.findings["FF101"] = {0, 1, 0};
        r.metric(Metric::findings) = 1;
        return r;
    };
    const gate::Repository repo = gate::find_repository(folder.path.string(), "");
    Snapshot head = snapshot({with("_Z1kILi1EEvPf", 200, 5), with("_Z1kILi2EEvPf", 100, 5)});
    Snapshot base = snapshot({record("_Z1kILi1EEvPf"), record("_Z1kILi2EEvPf")});
    const gate::CheckReport report = gate::check(&base, head, {}, {});
    const auto alerts = gate::alerts_of(report, {}, repo);
    REQUIRE(alerts.size() == 2);
    CHECK(alerts[0].rule == "FF501");
    CHECK(alerts[0].severity == Severity::error);
    CHECK(alerts[1].rule == "FF101");
    CHECK(alerts[1].state == "new");
    CHECK(alerts[1].more_kernels == 1);
    // Another line, the same fingerprint.
    Snapshot moved = head;
    moved.kernels[0].ptx_line = 99;
    KernelResult later = result;
    later.findings[0].ptx_line = 120;
    for (KernelRecord& r : moved.kernels) { r.result = &later; }
    const gate::CheckReport moved_report = gate::check(&base, moved, {}, {});
    const auto again = gate::alerts_of(moved_report, {}, repo);
    REQUIRE(again.size() == 2);
    CHECK(again[0].fingerprint == alerts[0].fingerprint);
    CHECK(again[1].fingerprint == alerts[1].fingerprint);
    CHECK(again[1].line != alerts[1].line);
    // What the base has too is unchanged; a rule that is off is gone.
    base.kernels[0].findings = base.kernels[1].findings = head.kernels[0].findings;
    const gate::CheckReport unchanged = gate::check(&base, head, {}, {});
    CHECK(gate::alerts_of(unchanged, {}, repo).back().state == "unchanged");
    gate::Policy off;
    off.rules["FF101"] = gate::RuleSetting::off;
    CHECK(gate::alerts_of(head, off, repo).empty());
}

TEST_CASE("SARIF: one run, relative URIs, limits said", "[gate]") {
    std::vector<gate::Alert> alerts(30, alert(Severity::warning));
    alerts[0].suppressed = "accepted";
    alerts[1].severity = Severity::note;
    const auto document = nlohmann::json::parse(sarif_of(alerts, 20));
    CHECK(document["version"] == "2.1.0");
    REQUIRE(document["runs"].size() == 1);
    const auto& run = document["runs"][0];
    CHECK(run["results"].size() == 20);
    CHECK(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>().find("10 of 30") != std::string::npos);
    const auto& first = run["results"][0];
    CHECK(first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/a%20b%3Ac.cu");
    CHECK(first["suppressions"][0]["justification"] == "accepted");
    CHECK(run["results"][1]["level"] == "note");
    CHECK(run["tool"]["driver"]["rules"][first["ruleIndex"].get<std::size_t>()]["id"] == "FF101");
    CHECK(nlohmann::json::parse(sarif_of({}))["runs"][0]["results"].empty());
    for (const auto& rule : run["tool"]["driver"]["rules"]) { CHECK(rule["help"]["text"].get<std::string>().find("## When to ignore it") != std::string::npos); }
}

TEST_CASE("Annotations: ten a severity, the rest counted; escapes as GitHub wants them", "[gate]") {
    std::vector<gate::Alert> alerts;
    for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) { alerts.insert(alerts.end(), 15, alert(severity)); }
    const std::string text = github_annotations(alerts);
    CHECK(count(text, "::error ") == 10);
    CHECK(count(text, "::warning ") == 10);
    CHECK(count(text, "::notice ") == 10);
    CHECK(text.find("16 more") != std::string::npos);
    CHECK(text.find("file=src/a b%3Ac.cu,line=3") != std::string::npos);
    CHECK(github_annotations({}).empty());
    gate::Alert waived = alert(Severity::error);
    waived.suppressed = "r";
    CHECK(github_annotations({waived}).empty());
}

TEST_CASE("No name, path or reason becomes a command or markup", "[gate]") {
    gate::Alert evil = alert(Severity::error, kEvil);
    evil.kernel = evil.gpu = evil.file = kEvil;
    const std::string annotation = github_annotations({evil});
    CHECK(count(annotation, "\n") == 1);
    CHECK(annotation.rfind("::error file=", 0) == 0);
    CHECK(annotation.find("##[") == std::string::npos);
    CHECK(annotation.find('\x1b') == std::string::npos);
    CHECK(nlohmann::json::parse(sarif_of({evil}))["runs"][0]["results"].size() == 1);

    const Snapshot base = snapshot({record("k")});
    Snapshot head = snapshot({record(kEvil, 200)});
    head.kernels[0].fingerprint = base.kernels[0].fingerprint;
    const gate::CheckReport report = gate::check(&base, head, {}, {});
    REQUIRE(report.fail);
    const std::string markdown = markdown_report(report);
    for (std::size_t at = markdown.find("<script>"); at != std::string::npos; at = markdown.find("<script>", at + 1)) {
        const std::string before = markdown.substr(markdown.rfind('\n', at) + 1, at - markdown.rfind('\n', at) - 1);
        CHECK(count(before, "`") % 2 == 1);   // inside a code span, where GitHub shows it as it is
    }
    for (const std::string& text : {markdown, text_report(report, TextStyle{})}) {
        CHECK(text.find('\x1b') == std::string::npos);
        CHECK(text.find("##[") == std::string::npos);
        CHECK(text.find("\n::") == std::string::npos);
    }
    // In a table row every '|' is ours: eight a row.
    for (std::size_t at = 0; at < markdown.size();) {
        const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
        const std::string line = markdown.substr(at, end - at);
        if (line.starts_with("| `")) { CHECK(count(line, "|") == 8); }
        at = end + 1;
    }
}

TEST_CASE("Markdown stays within a comment and says what is left out", "[gate]") {
    std::vector<KernelRecord> before;
    std::vector<KernelRecord> after;
    for (int i = 0; i < 2000; ++i) {
        before.push_back(record("kernel_with_a_long_name_" + std::to_string(i)));
        after.push_back(record("kernel_with_a_long_name_" + std::to_string(i), i % 2 == 0 ? 300 : 101));
    }
    const Snapshot base = snapshot(std::move(before));
    const Snapshot head = snapshot(std::move(after));
    const std::string text = markdown_report(gate::check(&base, head, {}, {}));
    CHECK(text.size() <= 65'000);
    CHECK(text.find("more kernels did not fit") != std::string::npos);
    const std::string quiet = markdown_report(gate::check(&base, base, {}, {}));
    CHECK(count(quiet, "\n") <= 5);
    CHECK(quiet.find("Nothing changed") != std::string::npos);
}

TEST_CASE("Every page of the rules is compiled in", "[gate]") {
    CHECK(gate::rule_pages().size() > gate::kGateRules.size());
    for (const gate::RulePage& page : gate::rule_pages()) {
        std::ifstream file(fs::path(FLIPFLOP_SOURCE_DIR) / "docs" / "rules" / (page.id + ".md"), std::ios::binary);
        CHECK(std::string{std::istreambuf_iterator<char>(file), {}} == page.text);
        CHECK_FALSE(page.family.empty());
        CHECK_FALSE(page.title.empty());
    }
}
