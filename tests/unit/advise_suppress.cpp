#include "advise/suppress.hpp"
#include "catch.hpp"

using namespace flipflop;
using advise::suppression_of;

namespace {

Analysis with_finding(std::uint32_t line, const std::string& rule = "FF101") {
    Analysis analysis;
    KernelAnalysis kernel;
    kernel.facts.module = "a.ptx";
    KernelResult result;
    Finding finding;
    finding.rule = rule;
    finding.source = SourceLine{"a.cu", line};
    Finding unplaced = finding;
    unplaced.source.reset();
    result.findings = {finding, unplaced};
    kernel.results = {result};
    analysis.kernels = {kernel};
    return analysis;
}

}  // namespace

TEST_CASE("What a comment asks to ignore", "[advise][suppress]") {
    struct Row { const char* line; std::vector<std::string> rules; const char* reason; };
    const Row rows[] = {
        {"out[i] = x;  // flipflop: ignore FF101 the array is small", {"FF101"}, "the array is small"},
        {"// flipflop: ignore FF101, FF102: both are known", {"FF101", "FF102"}, "both are known"},
        {"/* flipflop: ignore FF101 - see #412 */ out[i] = x;", {"FF101"}, "see #412 */ out[i] = x;"},
        {"/* flipflop: ignore FF101 see #412 */", {"FF101"}, "see #412"},
        {"//flipflop:ignore FF101", {"FF101"}, ""},
        {"// flipflop: ignore everything", {}, ""},
        {"flipflop: ignore FF101 no comment", {}, ""},
        {"x = \"flipflop: ignore FF101\"; // y", {}, ""},
        {"// FF101", {}, ""},
        {"", {}, ""},
    };
    for (const Row& row : rows) {
        INFO(row.line);
        const auto found = suppression_of(row.line);
        CHECK(found.has_value() == !row.rules.empty());
        if (found) {
            CHECK(found->rules == row.rules);
            CHECK(found->reason == row.reason);
        }
    }
}

TEST_CASE("A comment answers findings of its line and of the line below it, of its rules alone", "[advise][suppress]") {
    const auto left = [](const std::string& text, std::uint32_t line, std::size_t* notes = nullptr, const std::string& rule = "FF101") {
        Analysis analysis = with_finding(line, rule);
        advise::suppress(analysis, [&](const std::string& file, const std::string& module) { return file == "a.cu" && module == "a.ptx" ? std::optional(text) : std::nullopt; });
        if (notes != nullptr) { *notes = analysis.notes.size(); }
        CHECK(analysis.kernels[0].results[0].suppressed.size() + analysis.kernels[0].results[0].findings.size() == 2);
        return analysis.kernels[0].results[0].suppressed.empty() ? std::string("left") : analysis.kernels[0].results[0].suppressed[0].reason;
    };
    CHECK(left("a\nb // flipflop: ignore FF101 why\nc\n", 2) == "why");
    CHECK(left("a\nb // flipflop: ignore FF101 why\nc\n", 3) == "left");
    CHECK(left("  // flipflop: ignore FF101 why\n  // more words\nc\n", 3) == "why");
    CHECK(left("// flipflop: ignore FF102 why\nc\n", 2) == "left");
    CHECK(left("// flipflop: ignore FF102 why\nc\n", 2, nullptr, "FF102") == "why");
    CHECK(left("a\n", 99) == "left");
    std::size_t notes = 0;
    CHECK(left("a // flipflop: ignore FF101\n", 1, &notes) == "left");
    CHECK(notes == 1);
}
