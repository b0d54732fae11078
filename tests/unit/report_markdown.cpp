#include "catch.hpp"
#include "flipflop/report.hpp"
#include "report_sample.hpp"

using namespace flipflop;

TEST_CASE("Markdown keeps its limit: details go first, then sections, and it says so", "[report][markdown]") {
    Analysis analysis = sample::analysis();
    const std::string whole = markdown_report(analysis);
    const KernelAnalysis one = analysis.kernels[0];
    for (int i = 0; i < 300; ++i) { analysis.kernels.push_back(one); }
    for (const std::size_t most : {std::size_t{3000}, std::size_t{20'000}, kCommentBytes, kSummaryBytes}) {
        const std::string text = markdown_report(analysis, most);
        INFO(most);
        CHECK(text.size() <= most);
        CHECK(text.size() > most / 4);
        const bool all = text.size() >= 300 * whole.size();
        CHECK((all || text.find("did not fit") != std::string::npos || text.find("left out") != std::string::npos));
    }
    CHECK(markdown_report(sample::analysis(), kCommentBytes) == whole);
    // The kernels that are lost are counted.
    const std::string small = markdown_report(analysis, 3000);
    CHECK(small.find("more kernels") != std::string::npos);
    CHECK(small.find("- and ") != std::string::npos);
}
