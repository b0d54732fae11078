// The cost of an evaluation does not grow with the launch: not in time, which a test cannot hold, but in warps run and
// operations carried out.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"

using namespace flipflop;

namespace {

Launch launch_of(const KernelFacts& kernel, Dim3 grid) {
    Launch launch;
    launch.block = kernel.dimensions == 1 ? Dim3{256, 1, 1} : Dim3{32, 8, 1};
    if (kernel.bounds.required_block) launch.block = *kernel.bounds.required_block;
    launch.grid = grid;
    launch.dynamic_shared_bytes = 16384;
    for (const ParameterFacts& p : kernel.parameters) {
        ArgumentValue a;
        const std::uint64_t value = p.kind == ParameterKind::pointer ? std::uint64_t{0x1000000000} * (p.index + 1) : 1024;
        for (std::uint32_t k = 0; k < p.bytes; ++k) a.bytes.push_back(k < 8 ? static_cast<std::uint8_t>(value >> (8 * k)) : 0);
        launch.arguments.push_back(std::move(a));
    }
    return launch;
}

}  // namespace

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
            const LaunchFacts small = evaluator.evaluate(launch_of(code.facts, flat ? Dim3{1000, 1, 1} : Dim3{32, 32, 1}));
            const LaunchFacts middle = evaluator.evaluate(launch_of(code.facts, flat ? Dim3{1'000'000, 1, 1} : Dim3{4096, 4096, 1}));
            const LaunchFacts large = evaluator.evaluate(launch_of(code.facts, flat ? Dim3{1'000'000'000, 1, 1} : Dim3{32768, 32768, 1}));
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
