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

TEST_CASE("a grid of 10^9 blocks takes as many runs as one of 10^3, in every example", "[evaluator][large][effort]") {
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
            const LaunchFacts large = evaluator.evaluate(launch_of(code.facts, flat ? Dim3{1'000'000'000, 1, 1} : Dim3{32768, 32768, 1}));
            INFO(file.filename() << " " << code.facts.short_name << ": " << small.evaluated_runs << " runs of " << small.evaluated_steps << " steps, then "
                                 << large.evaluated_runs << " of " << large.evaluated_steps);
            // A 32-bit global index wraps in the large grid: that cuts a few more boxes, whatever the size.
            CHECK(large.evaluated_runs <= small.evaluated_runs + 64);
            CHECK(large.evaluated_steps <= 2 * small.evaluated_steps + 20'000);
        }
    }
}
