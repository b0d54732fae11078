// The cost of an evaluation does not grow with the launch: not in time, which a test cannot hold, but in warps run and
// operations carried out.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"
#include "tests/example_launch.hpp"

using namespace flipflop;

TEST_CASE("a grid of 10^6 blocks takes about as many runs as one of 10^3, and one of 10^9 no more than its wrapping indices, in every example", "[evaluator][large][effort]") {
    std::vector<std::filesystem::path> files;
    for (const auto& e : std::filesystem::directory_iterator(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "examples"))
        if (e.path().extension() == ".ptx") files.push_back(e.path());
    std::sort(files.begin(), files.end());
    REQUIRE(files.size() >= 10);
    for (const auto& file : files) {
        std::ifstream in(file);
        std::stringstream text;
        text << in.rdbuf();
        const auto parsed = ptx::parse(std::make_shared<const std::string>(text.str()), file.filename().string());
        for (std::uint32_t f = 0; f < parsed.modules[0].functions.size(); ++f) {
            if (!parsed.modules[0].functions[f].is_entry) continue;
            const KernelCode code = analyse_kernel(parsed.modules[0], f);
            const bool flat = code.facts.dimensions == 1;
            const Evaluator evaluator(code);
            const LaunchFacts small = evaluator.evaluate(example_launch(code.facts, flat ? Dim3{1000, 1, 1} : Dim3{32, 32, 1}));
            const LaunchFacts middle = evaluator.evaluate(example_launch(code.facts, flat ? Dim3{1'000'000, 1, 1} : Dim3{4096, 4096, 1}));
            const LaunchFacts large = evaluator.evaluate(example_launch(code.facts, flat ? Dim3{1'000'000'000, 1, 1} : Dim3{32768, 32768, 1}));
            INFO(file.filename() << " " << code.facts.short_name << ": " << small.evaluated_runs << " runs of " << small.evaluated_steps << " steps, then "
                                 << middle.evaluated_runs << " of " << middle.evaluated_steps << ", then " << large.evaluated_runs << " of " << large.evaluated_steps);
            CHECK(middle.evaluated_runs <= 4 * small.evaluated_runs + 8);
            CHECK(middle.evaluated_steps <= 4 * small.evaluated_steps + 2'000);
            // A 32-bit index wraps 60 times in 10^9 blocks of 256 threads, and changes its sign as often: each cuts every box
            // of every access. What that takes is bounded by the code and not by the grid.
            CHECK(large.evaluated_runs <= 4'000);
            CHECK(large.evaluated_steps <= 2'000'000);
        }
    }
}
