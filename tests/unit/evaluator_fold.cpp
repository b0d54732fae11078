// Grids that repeat themselves: an index of 32 bits comes round, and what it decides with it.
#include "catch.hpp"
#include "evaluator/fold.hpp"
#include "evaluator_kernel.hpp"

using namespace flipflop;
using testing::Kernel;
using u64 = std::uint64_t;

namespace {

void same(const LaunchFacts& a, const LaunchFacts& b) {
    CHECK(a.warp_instructions == Approx(b.warp_instructions));
    REQUIRE(a.accesses.size() == b.accesses.size());
    for (std::size_t k = 0; k < a.accesses.size(); ++k) {
        REQUIRE(a.accesses[k].requests);
        REQUIRE(b.accesses[k].requests);
        CHECK(*a.accesses[k].requests == Approx(*b.accesses[k].requests));
        CHECK(a.accesses[k].active_lanes == Approx(b.accesses[k].active_lanes));
        CHECK(a.accesses[k].sectors_per_request.value_or(-1) == Approx(b.accesses[k].sectors_per_request.value_or(-1)));
    }
    CHECK(a.footprint.unique_read_bytes == b.footprint.unique_read_bytes);
    CHECK(a.footprint.unique_written_bytes == b.footprint.unique_written_bytes);
    CHECK(a.footprint.grid_read_sectors == b.footprint.grid_read_sectors);
    CHECK(a.footprint.block_sectors == b.footprint.block_sectors);
    CHECK(a.footprint.overlap_x == b.footprint.overlap_x);
    for (std::size_t c = 0; c < a.thread_ops.size(); ++c) CHECK(a.thread_ops[c] == Approx(b.thread_ops[c]));
}

const std::string kTouch = "cvt.u64.u32 %rd30, %r30;\nadd.s64 %rd31, %rd1, %rd30;\nld.global.u32 %r31, [%rd31];\nadd.s64 %rd31, %rd2, %rd30;\nst.global.u32 [%rd31], %r31;\n";

}  // namespace

TEST_CASE("a grid that repeats itself is what all of its blocks written out are", "[evaluator][fold]") {
    const struct { const char* name; std::string body; } cases[]{
        {"shifted out", "shl.b32 %r30, %r3, 20;\nshr.u32 %r30, %r30, 15;\nmad.lo.u32 %r30, %r2, 4, %r30;\n" + kTouch},
        {"masked", "and.b32 %r30, %r3, 4095;\nmad.lo.u32 %r30, %r30, 128, %r2;\nshl.b32 %r30, %r30, 2;\n" + kTouch},
        {"multiplied round", "mul.lo.u32 %r30, %r3, 1048576;\nshr.u32 %r30, %r30, 16;\nmad.lo.u32 %r30, %r2, 4, %r30;\n" + kTouch},
        {"guarded", "mad.lo.u32 %r20, %r3, 1048576, %r2;\nsetp.lt.s32 %p1, %r20, 0;\n@%p1 bra SKIP;\nshr.u32 %r30, %r20, 16;\nshl.b32 %r30, %r30, 2;\n" + kTouch + "SKIP:\n"},
    };
    for (const auto& c : cases) {
        INFO(c.name);
        // The usual index of every kernel of these tests is not asked for here: what it would need is not in the slice.
        const Kernel k(c.body);
        const Launch launch = k.launch({32, 1, 1}, {9001, 1, 1});
        const LaunchFacts fast = Evaluator(k.code).evaluate(launch), slow = Evaluator(k.code, {.budget = u64{1} << 40, .whole_grid_blocks = 20000, .one_by_one = true}).evaluate(launch);
        REQUIRE(slow.basis == CountBasis::exact);
        REQUIRE(fast.basis == CountBasis::exact);
        CHECK(fast.evaluated_runs < 40);
        same(fast, slow);
    }
}

TEST_CASE("a grid of 10^9 blocks whose index comes round takes about the runs of one of 10^6", "[evaluator][fold][effort]") {
    const Kernel k("setp.ge.u32 %p1, %r5, %r1;\n@%p1 bra SKIP;\nld.global.u32 %r20, [%rd4];\n"
                   "st.global.u32 [%rd5], %r20;\nSKIP:\n");
    const LaunchFacts middle = Evaluator(k.code).evaluate(k.launch({256, 1, 1}, {1'000'000, 1, 1}, 0x7fffffff));
    const LaunchFacts large = Evaluator(k.code).evaluate(k.launch({256, 1, 1}, {1'000'000'000, 1, 1}, 0x7fffffff));
    INFO(middle.evaluated_runs << " runs, then " << large.evaluated_runs);
    CHECK(large.evaluated_runs <= 4 * middle.evaluated_runs + 8);
    CHECK(large.basis == CountBasis::exact);
    // 10^9 * 256 = 59 * 2^32 + 2596929536 indices; of each round those below 2^31 - 1 work.
    CHECK(*large.accesses[0].requests == Approx((59.0 * 0x80000000u + 0x80000000u) / 32).epsilon(1e-6));
}
