#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "catch.hpp"
#include "flipflop/html_report.hpp"
#include "gate_support.hpp"
#include "report/html/html_text.hpp"
#include "report/html/scale.hpp"
#include "report/text_format.hpp"
#include "report_sample.hpp"

using namespace flipflop;

namespace {

const std::string kEvil = "k\n::error::owned\r\x1b[31m</script><script>window.injected=1</script><img src=x onerror=alert(1)>\"'`**x**##[command]@all%0A\xe2\x80\xae\xff";

/// The contents of all elements <name ...>, as they stand.
std::vector<std::string> elements(const std::string& page, const std::string& name) {
    std::vector<std::string> out;
    for (std::size_t at = page.find("<" + name); at != std::string::npos; at = page.find("<" + name, at + 1)) {
        const std::size_t open = page.find('>', at) + 1;
        out.push_back(page.substr(open, page.find("</" + name + ">", open) - open));
    }
    return out;
}

bool is_data(const std::string& page, const std::string& content) { return page.find("<script type=\"application/json\"") != std::string::npos && content.starts_with("{\"kind\""); }

std::string policy_of(const std::string& page) {
    const std::size_t at = page.find("Content-Security-Policy\" content=\"");
    REQUIRE(at != std::string::npos);
    const std::size_t begin = at + std::string("Content-Security-Policy\" content=\"").size();
    return page.substr(begin, page.find('"', begin) - begin);
}

/// Every tag is well nested, as a reader without repair would need it. (Void elements and SVG's own closing ones aside.)
std::string nesting_fault(const std::string& page) {
    static const std::set<std::string> kVoid{"meta", "link", "br", "input", "img", "!doctype"};
    std::vector<std::string> open;
    for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
        if (page.compare(at, 4, "<!--") == 0) {
            at = page.find("-->", at);
            continue;
        }
        const std::size_t end = page.find('>', at);
        const std::string tag = page.substr(at + 1, end - at - 1);
        std::string name = tag.substr(tag.starts_with('/') ? 1 : 0);
        name = name.substr(0, name.find_first_of(" \n/"));
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        at = end;
        if (tag.starts_with('/')) {
            if (open.empty() || open.back() != name) { return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back()); }
            open.pop_back();
        } else if (!tag.ends_with('/') && !kVoid.contains(name)) {
            open.push_back(name);
            if (name == "script" || name == "style") { at = page.find("</" + name, end); }
        }
    }
    return open.empty() ? "" : open.back() + " stays open";
}

Analysis evil_analysis() {
    Analysis out = sample::analysis();
    KernelAnalysis& kernel = out.kernels[0];
    kernel.facts.name = kernel.facts.demangled = kernel.facts.short_name = kernel.facts.module = kernel.facts.target = kEvil;
    kernel.facts.source = SourceLine{kEvil, 3};
    kernel.listing.files = {kEvil};
    kernel.listing.instructions = {{10, 1, 3, 0, "load_global"}};
    kernel.listing.first_line = 10;
    kernel.listing.lines = {kEvil};
    for (KernelResult& result : kernel.results) {
        result.gpu = result.gpu_note = result.case_name = result.profile.name = result.no_recommendation = kEvil;
        result.reblocking.reason = kEvil;
        result.assumptions.push_back({kEvil, kEvil, kEvil, kEvil});
        Finding finding{"FF101", Severity::warning, kEvil, 10, SourceLine{kEvil, 3}, 1.0, 1.0, kEvil};
        result.findings.push_back(finding);
        result.suppressed.push_back({finding, kEvil});
        for (ConfigResult& config : result.configs) {
            config.safe_reason = config.why_not = kEvil;
            config.occupancy.limiters = {kEvil};
            if (config.facts) { config.facts->executions = {100}; }
            if (config.predicted) {
                config.predicted->time.bound_by = kEvil;
                config.predicted->time.total.source = config.predicted->time.total.parts[0].id = kEvil;
            }
        }
        if (result.recommendation) {
            result.recommendation->caveats = {kEvil};
            result.recommendation->reasons = {{kEvil, -1.0, -1.0}};
            result.recommendation->confidence_reason = kEvil;
        }
    }
    return out;
}

void check_harmless(const std::string& page) {
    CHECK(page.find("<script>window") == std::string::npos);
    CHECK(page.find("onerror=alert(1)>") == std::string::npos);
    CHECK(page.find("<img") == std::string::npos);
    CHECK(page.find('\x1b') == std::string::npos);
    CHECK(page.find("\xe2\x80\xae") == std::string::npos);
    CHECK(page.find('\xff') == std::string::npos);
    CHECK(page.find("\n::error") == std::string::npos);
    CHECK(nesting_fault(page).empty());
}

}  // namespace

TEST_CASE("base64 is that of RFC 4648", "[report][html]") {
    const std::pair<std::string, std::string> rows[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {std::string("\xff\xfe\x00", 3), "//4A"}};
    for (const auto& [bytes, text] : rows) { CHECK(report::base64(bytes) == text); }
}

TEST_CASE("A script's hash is the one that CSP Level 3 gives as its example", "[report][html]") {
    CHECK(report::csp_hash("alert('Hello, world.');") == "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='");
}

TEST_CASE("Text becomes no markup, and data ends no script", "[report][html]") {
    CHECK(report::esc("a<b>&\"'`") == "a&lt;b&gt;&amp;&quot;&#39;&#96;");
    CHECK(report::script_data("\"</script><!--\xe2\x80\xa8&\"") == "\"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\"");
}

TEST_CASE("What a CI runner or a terminal would obey is taken apart in every text", "[report]") {
    CHECK(report::printable("::error::x") == ".::error::x");
    CHECK(report::printable("a ::error::x") == "a .::error::x");
    CHECK(report::printable(":") == ".:");
    CHECK(report::printable("ns::f(int)") == "ns::f(int)");
    CHECK(report::printable("x##[group]y") == "x# #[group]y");
    CHECK(report::printable("a\x1b[31m\xc2\x9b\x7f") == "a?[31m??");
    CHECK(report::printable("a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xe2\x80\xa8") == "a?b?c?");
    CHECK(report::printable("\xc2\xb5s \xe2\x80\x93") == "\xc2\xb5s \xe2\x80\x93");
}

TEST_CASE("The page allows exactly its own scripts and style, and asks for nothing", "[report][html]") {
    const std::string page = html_report(sample::analysis());
    const std::string policy = policy_of(page);
    CHECK(policy.find("default-src 'none'") == 0);
    CHECK(policy.find("unsafe") == std::string::npos);
    std::size_t scripts = 0;
    for (const std::string& script : elements(page, "script")) {
        if (is_data(page, script)) { continue; }
        ++scripts;
        CHECK(policy.find(report::csp_hash(script)) != std::string::npos);
    }
    CHECK(scripts == (html_is_interactive() ? 2 : 1));
    REQUIRE(elements(page, "style").size() == 1);
    CHECK(policy.find(report::csp_hash(elements(page, "style")[0])) != std::string::npos);
    // What the policy would block must not be there: handlers and styles in attributes; nor anything to fetch.
    std::string markup = page;
    for (const std::string& script : elements(page, "script")) { markup.replace(markup.find(script), script.size(), ""); }
    CHECK(!std::regex_search(markup, std::regex("<[^>]*\\s(on[a-z]+|style)=")));
    CHECK(!std::regex_search(markup, std::regex("<[^>]*\\s(src|href|action|data|poster)=\"?(https?:)?//")));
    CHECK(nesting_fault(page).empty());
}

TEST_CASE("Each chart has a drawing, data for the script and a table", "[report][html]") {
    const std::string page = html_report(sample::analysis());
    const auto count = [&](const std::string& what) {
        std::size_t n = 0;
        for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) { ++n; }
        return n;
    };
    const std::size_t figures = count("<figure class=\"chart\"");
    CHECK(figures >= 4);
    CHECK(count("<svg class=\"plot\"") == figures);
    CHECK(count("<details class=\"data\">") == figures);
    CHECK(count("<script type=\"application/json\"") == figures);
    CHECK(count("role=\"img\" aria-label=\"") >= figures);
    for (const char* role : {"m recommended", "m current", "m heuristic"}) { CHECK(count(role) > 0); }
    const std::string drawn = page.substr(page.find("<body>"), page.find("<script") - page.find("<body>"));
    for (const char* broken : {"nan", "NaN", "inf\"", "inf "}) { CHECK(drawn.find(broken) == std::string::npos); }
    CHECK(page == html_report(sample::analysis()));
}

TEST_CASE("Names, paths, reasons and code are text wherever they stand", "[report][html]") {
    HtmlOptions options;
    options.sources[kEvil] = "one\ntwo\n" + kEvil + "\nfour";
    check_harmless(html_report(evil_analysis(), options));

    gate_test::Snapshot base = gate_test::snapshot({gate_test::record(kEvil)});
    gate_test::Snapshot head = gate_test::snapshot({gate_test::record(kEvil, 150, 20)});
    base.origin = kEvil;
    gate::Policy policy;
    policy.waivers.push_back({"*", "", gate::Metric::time_us, "", kEvil, kEvil, "2099-01-01", 1});
    policy.energy = gate::EnergyPolicy{1000, 300, 0.3, kEvil, {}};
    gate::CheckReport report = gate::check(&base, head, policy, {"2026-12-01", Severity::error, {}});
    report.notes.push_back({kEvil, kEvil});
    report.yearly = gate::yearly_of(report, policy);
    const std::string page = html_report(report, head);
    check_harmless(page);
    CHECK(page.find("In a year") != std::string::npos);
}

TEST_CASE("A page of many kernels stays under its limit and says what it leaves out", "[report][html]") {
    Analysis analysis = sample::analysis();
    const KernelAnalysis one = analysis.kernels[0];
    for (int i = 0; i < 400; ++i) { analysis.kernels.push_back(one); }
    const std::string page = html_report(analysis);
    CHECK(page.size() < 2'000'000);
    CHECK(page.find("in this table only") != std::string::npos);
    CHECK(nesting_fault(page).empty());
}

TEST_CASE("Axes have round ticks inside their range", "[report][html]") {
    for (const bool log : {false, true}) {
        for (const double high : {1.7, 30.0, 999.0, 1e6}) {
            const report::Scale scale(1, high, log, 0, 100);
            const std::vector<double> ticks = scale.ticks(6);
            CHECK(ticks.size() >= 2);
            CHECK(ticks.size() <= 14);
            CHECK(std::is_sorted(ticks.begin(), ticks.end()));
            for (const double tick : ticks) {
                CHECK(scale.at(tick) >= -1e-6);
                CHECK(scale.at(tick) <= 100 + 1e-6);
            }
        }
    }
    CHECK(report::Scale(32, 1024, true, 0, 1).powers_of_two() == std::vector<double>{32, 64, 128, 256, 512, 1024});
    CHECK(report::tick_text(12500) == "12.5k");
    CHECK(report::tick_text(0) == "0");
}
