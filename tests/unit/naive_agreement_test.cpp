// Holds the evaluator against the naive one (tests/naive): the same requests, lanes, sectors, wavefronts, thread
// operations and unique bytes on kernels made at random from a seed.
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"
#include "naive/naive_evaluator.hpp"
#include "naive/random_kernel.hpp"

namespace {

using flipflop::ArgumentValue;
using flipflop::Launch;

ArgumentValue argument(std::uint64_t value, unsigned bytes) {
    ArgumentValue a;
    for (unsigned i = 0; i < bytes; ++i) a.bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return a;
}

struct Sums {
    double requests{}, lanes{}, sectors{}, wavefront_ratio{};
};

flipflop::ptx::Space space_of(flipflop::MemorySpace space) {
    switch (space) {
        case flipflop::MemorySpace::shared: return flipflop::ptx::Space::shared;
        case flipflop::MemorySpace::local: return flipflop::ptx::Space::local;
        case flipflop::MemorySpace::constant: return flipflop::ptx::Space::constant;
        default: return flipflop::ptx::Space::global;
    }
}

void compare(const flipflop::ptx::Module& module, std::uint32_t entry, const Launch& launch) {
    const naive::Outcome expected = naive::run(module, entry, launch);
    INFO(expected.why);
    REQUIRE(expected.followed);
    const flipflop::KernelCode code = flipflop::analyse_kernel(module, entry);
    const flipflop::LaunchFacts facts = flipflop::Evaluator(code).evaluate(launch);
    std::map<std::tuple<std::uint32_t, flipflop::ptx::Space>, Sums> got;
    REQUIRE(facts.accesses.size() == code.facts.accesses.size());
    for (std::size_t i = 0; i < facts.accesses.size(); ++i) {
        const auto& a = facts.accesses[i];
        INFO("PTX line " << code.facts.accesses[i].ptx_line << " " << a.why);
        REQUIRE(a.requests);
        Sums& sums = got[{code.facts.accesses[i].ptx_line, space_of(code.facts.accesses[i].space)}];
        sums.requests += *a.requests;
        sums.lanes += *a.requests * a.active_lanes;
        if (*a.requests > 0) sums.sectors += *a.requests * a.sectors_per_request.value_or(0);
        if (*a.requests > 0) sums.wavefront_ratio += *a.requests * a.wavefronts_per_request.value_or(0);
    }
    for (const auto& [where, access] : expected.accesses) {
        INFO("PTX line " << std::get<0>(where));
        const Sums& sums = got[where];
        CHECK(sums.requests == Approx(access.requests));
        CHECK(sums.lanes == Approx(access.lanes));
        const bool shared = std::get<1>(where) == flipflop::ptx::Space::shared;
        if (!access.unknown && !shared && std::get<1>(where) != flipflop::ptx::Space::constant) CHECK(sums.sectors == Approx(access.sectors));
        if (!access.unknown && shared) CHECK(sums.wavefront_ratio == Approx(access.wavefront_ratio));
    }
    for (std::size_t c = 0; c < flipflop::kClassNames.size(); ++c) {
        INFO("class " << flipflop::kClassNames[c]);
        CHECK(facts.thread_ops[c] == Approx(expected.thread_ops[c]));
    }
    CHECK(facts.warp_instructions == Approx(expected.warp_instructions));
    if (facts.footprint.unique_read_bytes && expected.unique_known) CHECK(*facts.footprint.unique_read_bytes == Approx(expected.unique_read_bytes));
    if (facts.footprint.unique_written_bytes && expected.unique_known) CHECK(*facts.footprint.unique_written_bytes == Approx(expected.unique_written_bytes));
}

}  // namespace

TEST_CASE("the evaluator agrees with the naive one on random kernels", "[evaluator][naive]") {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        const naive::RandomKernel kernel = naive::random_kernel(seed);
        INFO("seed " << seed << " block " << kernel.block_x << "," << kernel.block_y << " grid " << kernel.grid_x << "," << kernel.grid_y << "\n" << kernel.text);
        const auto parsed = flipflop::ptx::parse(std::make_shared<const std::string>(kernel.text), "made.ptx");
        REQUIRE(parsed.errors == 0);
        REQUIRE(parsed.modules.size() == 1);
        Launch launch;
        launch.block = {kernel.block_x, kernel.block_y, 1};
        launch.grid = {kernel.grid_x, kernel.grid_y, 1};
        launch.arguments = {argument(0x1000000000, 8), argument(0x2000000000, 8), argument(static_cast<std::uint32_t>(kernel.n), 4)};
        compare(parsed.modules[0], 0, launch);
    }
}
