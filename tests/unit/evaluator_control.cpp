// Branches, loops, calls, waiting, memory read back: what a launch does, in numbers worked out by hand.
#include "evaluator_kernel.hpp"

using namespace flipflop;
using testing::Kernel;

namespace {

}  // namespace

TEST_CASE("an undecided branch goes both ways and says so; what follows it is exact again", "[evaluator][control]") {
    const Kernel k(R"(
ld.global.u32 %r10, [%rd4];
setp.gt.s32 %p1, %r10, 0;
mov.u32 %r11, 4;
@%p1 bra POS;
st.global.u32 [%rd5], %r10;
mov.u32 %r11, 8;
bra.uni END;
POS:
st.global.u32 [%rd5+4096], %r10;
END:
st.global.u32 [%rd5+8192], %r2;
mul.wide.u32 %rd10, %r11, 4;
add.s64 %rd11, %rd5, %rd10;
st.global.u32 [%rd11], %r2;
)");
    const LaunchFacts f = k.run();
    REQUIRE(f.accesses.size() == 5);
    CHECK(f.accesses[0].requests == 40.0);
    for (const int arm : {1, 2}) {
        CHECK_FALSE(f.accesses[arm].requests);
        CHECK(f.accesses[arm].requests_assumed == 40.0);
        CHECK(f.accesses[arm].basis == CountBasis::unknown);
        CHECK(f.accesses[arm].sectors_per_request == 4.0);     // where it goes is known all the same
    }
    CHECK(f.accesses[3].requests == 40.0);
    CHECK(f.accesses[3].basis == CountBasis::exact);
    CHECK(f.accesses[4].basis == CountBasis::unknown);          // its address depends on the way taken
    CHECK_FALSE(f.accesses[4].sectors_per_request);
    CHECK(f.unknown_branches == 1);
    CHECK_FALSE(f.unknowns.empty());
}

TEST_CASE("a policy weighs the ways of an undecided branch", "[evaluator][control]") {
    const Kernel k(R"(
ld.global.u32 %r10, [%rd4];
setp.gt.s32 %p1, %r10, 0;
@%p1 bra END;
st.global.u32 [%rd5], %r10;
END:
)");
    Launch l = k.launch();
    l.policy.taken_probability = 1.0;
    LaunchFacts f = Evaluator(k.code).evaluate(l);
    CHECK(f.accesses[1].requests.value_or(0) + f.accesses[1].requests_assumed.value_or(0) == 0);
    l.policy.taken_probability = 0.0;
    f = Evaluator(k.code).evaluate(l);
    CHECK(f.accesses[1].requests_assumed == 40.0);
    CHECK(f.accesses[1].basis == CountBasis::assumed);
    l.policy.taken_probability = 0.9;      // a warp stores when one of 32 lanes does: 1 - 0.9^32
    f = Evaluator(k.code).evaluate(l);
    CHECK(*f.accesses[1].requests_assumed == Approx(40 * (1 - std::pow(0.9, 32))).epsilon(1e-4));
}

TEST_CASE("loops that end on data run once, or as often as they are said to", "[evaluator][control]") {
    const Kernel k(R"(
mov.u64 %rd10, %rd4;
LOOP:
ld.global.u32 %r10, [%rd10];
add.s64 %rd10, %rd10, 128;
setp.ne.s32 %p1, %r10, 0;
@%p1 bra LOOP;
st.global.u32 [%rd5], %r10;
st.global.u32 [%rd10], %r10;
)");
    LaunchFacts f = k.run();
    CHECK(f.loops[0].basis == CountBasis::unknown);
    CHECK_FALSE(f.loops[0].trip_mean);                          // one pass is followed; that is no trip count
    CHECK_FALSE(f.loops[0].trip_max);
    CHECK(f.unknown_branches == 0);
    CHECK_FALSE(f.accesses[0].requests);
    CHECK(f.accesses[0].requests_assumed == 40.0);
    CHECK(f.accesses[1].requests == 40.0);
    CHECK(f.accesses[1].basis == CountBasis::exact);
    CHECK_FALSE(f.accesses[2].sectors_per_request);             // how far the pointer went is not known
    Launch l = k.launch();
    l.policy.assumed_trips = BranchPolicy::Trips{250, {}};
    f = Evaluator(k.code).evaluate(l);
    CHECK(f.loops[0].basis == CountBasis::assumed);
    CHECK(f.loops[0].trip_mean == 250.0);
    CHECK(f.accesses[0].requests_assumed == 40.0 * 250);
    l.policy.trips["L0"] = {7, {}};
    f = Evaluator(k.code).evaluate(l);
    CHECK(f.loops[0].trip_mean == 7.0);
    CHECK(f.loops[0].trip_max == 7.0);
    l.policy.trips["L0"] = {12, 400};
    f = Evaluator(k.code).evaluate(l);
    CHECK(f.loops[0].trip_mean == 12.0);
    CHECK(f.loops[0].trip_max == 400.0);
    CHECK(f.loops[0].basis == CountBasis::assumed);
}

TEST_CASE("a search that may stop early is bounded by its counted exit", "[evaluator][control]") {
    const Kernel k(R"(
mov.u32 %r10, 0;
LOOP:
mul.wide.u32 %rd10, %r10, 4;
add.s64 %rd11, %rd1, %rd10;
ld.global.u32 %r11, [%rd11];
setp.eq.s32 %p1, %r11, %r2;
@%p1 bra DONE;
add.s32 %r10, %r10, 1;
setp.lt.s32 %p2, %r10, %r1;
@%p2 bra LOOP;
DONE:
st.global.u32 [%rd5], %r10;
)");
    const LaunchFacts f = k.run();
    CHECK(f.accesses[0].requests_assumed == 40.0 * 1000);
    CHECK(f.loops[0].trip_max == 1000.0);
    CHECK_FALSE(f.loops[0].trip_mean);
    CHECK(f.accesses[0].basis == CountBasis::unknown);
    CHECK(f.accesses[1].requests == 40.0);
    CHECK(f.accesses[1].basis == CountBasis::exact);
}

TEST_CASE("waiting is one pass and no work", "[evaluator][control]") {
    const Kernel barrier(R"(
mov.u32 %r10, tile;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], 0;
@!%p1 bra WAIT;
st.global.u32 [%rd5], %r2;
)");
    LaunchFacts f = barrier.run();
    CHECK(f.loops[0].basis == CountBasis::wait);
    CHECK(f.loops[0].trip_mean == 1.0);
    CHECK(f.accesses.back().requests == 40.0);
    CHECK(f.accesses.back().basis == CountBasis::exact);
    const Kernel flag(R"(
SPIN:
ld.acquire.gpu.global.u32 %r10, [%rd1];
setp.ne.s32 %p1, %r10, 1;
@%p1 bra SPIN;
st.global.u32 [%rd5], %r2;
)");
    CHECK(f.unknown_branches == 0);   // its branch is the loop's end: said of the loop, not followed both ways
    f = flag.run();
    CHECK(f.loops[0].basis == CountBasis::wait);
    CHECK(f.accesses[1].requests == 40.0);
    CHECK(f.unknown_branches == 0);
}

TEST_CASE("early exits, divergent trips, and lanes that meet again", "[evaluator][control]") {
    const Kernel k(R"(
setp.ge.s32 %p1, %r5, %r1;
@%p1 exit;
and.b32 %r10, %r2, 31;
mov.u32 %r11, 0;
LOOP:
ld.global.u32 %r12, [%rd4];
add.s32 %r11, %r11, 1;
setp.le.s32 %p2, %r11, %r10;
@%p2 bra LOOP;
st.global.u32 [%rd5], %r11;
)");
    const LaunchFacts f = k.run();      // 1000 threads: 31 whole warps and 8 lanes
    CHECK(f.accesses[0].requests == 31.0 * 32 + 8);
    CHECK(f.accesses[1].requests == 32.0);
    CHECK(f.accesses[1].active_lanes == Approx(1000.0 / 32));
    CHECK(f.loops[0].trip_min == 1.0);
    CHECK(f.loops[0].trip_max == 32.0);
    CHECK(f.loops[0].trip_mean == Approx((31 * 32 * 16.5 + 8 * 4.5) / 1000));
    CHECK(f.basis == CountBasis::exact);
}

TEST_CASE("indexed branches and calls with results", "[evaluator][control]") {
    const Kernel k(R"(
and.b32 %r10, %r2, 3;
ts: .branchtargets A, B, C, C;
brx.idx %r10, ts;
A: st.global.u32 [%rd5], %r2; bra.uni END;
B: st.global.u32 [%rd5], %r2; bra.uni END;
C: st.global.u32 [%rd5], %r2;
END:
{
.param .b32 p0;
.param .b32 r0;
st.param.b32 [p0], %r5;
call.uni (r0), scale, (p0);
ld.param.b32 %r20, [r0];
}
mul.wide.u32 %rd10, %r20, 1;
add.s64 %rd11, %rd1, %rd10;
st.global.u32 [%rd11], %r2;
)", R"(.func (.param .b32 ret) scale(.param .b32 a)
{
.reg .b32 %r<4>;
ld.param.b32 %r1, [a];
shl.b32 %r2, %r1, 3;
st.param.b32 [ret], %r2;
ret;
}
)");
    const LaunchFacts f = k.run();
    for (const int arm : {0, 1, 2}) CHECK(f.accesses[arm].requests == 40.0);
    CHECK(f.accesses[0].active_lanes == 8.0);
    CHECK(f.accesses[2].active_lanes == 16.0);
    CHECK(f.accesses[3].requests == 40.0);
    CHECK(f.accesses[3].sectors_per_request == 8.0);            // eight bytes apart
    CHECK(f.accesses[3].stride_bytes == 8);
    CHECK(f.basis == CountBasis::exact);
}

TEST_CASE("values read back from shared and local memory, constants and given data", "[evaluator][memory]") {
    const Kernel k(R"(
mov.u32 %r10, tile;
shl.b32 %r11, %r2, 2;
add.s32 %r12, %r10, %r11;
sub.s32 %r13, 127, %r2;
st.shared.u32 [%r12], %r13;
bar.sync 0;
xor.b32 %r14, %r11, 256;
add.s32 %r15, %r10, %r14;
ld.shared.u32 %r16, [%r15];
mul.wide.u32 %rd10, %r16, 4;
add.s64 %rd11, %rd1, %rd10;
ld.global.u32 %r17, [%rd11];
mov.u64 %rd12, depot;
st.local.u32 [%rd12+8], %r5;
ld.local.u32 %r18, [%rd12+8];
mul.wide.u32 %rd13, %r18, 8;
add.s64 %rd14, %rd1, %rd13;
st.global.u32 [%rd14], %r17;
and.b32 %r19, %r2, 3;
mul.wide.u32 %rd15, %r19, 4;
mov.u64 %rd16, table;
add.s64 %rd17, %rd16, %rd15;
ld.const.u32 %r20, [%rd17];
mul.wide.u32 %rd18, %r20, 4;
add.s64 %rd19, %rd1, %rd18;
st.global.u32 [%rd19], %r17;
ld.global.u32 %r21, [%rd5];
mul.wide.u32 %rd20, %r21, 4;
add.s64 %rd21, %rd1, %rd20;
ld.global.u32 %r22, [%rd21];
)", ".const .align 4 .u32 table[4] = {0, 100, 200, 300};");
    Launch l = k.launch();
    LaunchFacts f = Evaluator(k.code).evaluate(l);
    const auto access = [&](std::size_t n) { return f.accesses[n]; };
    CHECK(access(2).stride_bytes == -4);                         // 127 - (tid ^ 64), in words
    CHECK(access(2).sectors_per_request == 4.0);
    CHECK(access(5).sectors_per_request == 8.0);                 // through local memory
    CHECK(access(7).sectors_per_request == 4.0);                 // four entries of the table
    CHECK(access(9).basis == CountBasis::unknown);
    CHECK(access(9).pattern == Pattern::gather);
    ArrayData data;                                              // every thread's index is 16 times its own
    for (std::uint32_t i = 0; i < 1280; ++i)
        for (int b = 0; b < 4; ++b) data.bytes.push_back(static_cast<std::uint8_t>((i * 16) >> (8 * b)));
    l.parameter_data[1] = data;
    f = Evaluator(k.code).evaluate(l);
    CHECK(access(9).basis == CountBasis::exact);
    CHECK(access(9).sectors_per_request == 32.0);
}

TEST_CASE("phases are what lies between barriers", "[evaluator][phases]") {
    const Kernel k(R"(
mov.u32 %r10, tile;
shl.b32 %r11, %r2, 2;
add.s32 %r12, %r10, %r11;
mov.u32 %r20, 0;
LOOP:
ld.global.u32 %r13, [%rd4];
st.shared.u32 [%r12], %r13;
bar.sync 0;
ld.shared.u32 %r14, [%r12];
ld.shared.u32 %r15, [%r12];
bar.sync 0;
add.s64 %rd4, %rd4, 65536;
add.s32 %r20, %r20, 1;
setp.lt.s32 %p1, %r20, 50;
@%p1 bra LOOP;
st.global.u32 [%rd5], %r14;
)");
    const LaunchFacts f = k.run();
    CHECK(f.barriers_per_thread == 100.0);
    REQUIRE(f.phases.size() == 3);
    CHECK(f.phases[0].global_load_sectors == 4 * 4.0);          // the first iteration, four warps
    CHECK(f.phases[1].executions == 50.0);
    CHECK(f.phases[1].shared_requests == 4 * 2 * 50.0);
    CHECK(f.phases[2].global_load_sectors == 4 * 4 * 49.0);     // around the loop's back edge
    CHECK(f.phases[2].global_store_sectors == 4 * 4.0);
    CHECK(f.phases[1].chain.ops[static_cast<std::size_t>(MachineOp::load_shared)] == 50.0);
}

TEST_CASE("a grid of 10^9 blocks costs what one of 10^3 does and is exact", "[evaluator][large]") {
    const Kernel k(R"(
cvt.u64.u32 %rd10, %r3;
cvt.u64.u32 %rd11, %r4;
mul.lo.u64 %rd12, %rd10, %rd11;
cvt.u64.u32 %rd13, %r2;
add.u64 %rd14, %rd12, %rd13;
setp.ge.u64 %p1, %rd14, 255999999990;
@%p1 bra END;
shl.b64 %rd15, %rd14, 2;
add.u64 %rd16, %rd1, %rd15;
ld.global.u32 %r10, [%rd16];
END:
)");
    Launch l = k.launch({256, 1, 1}, {1'000'000'000, 1, 1});
    const LaunchFacts f = Evaluator(k.code).evaluate(l);
    CHECK(f.basis == CountBasis::exact);
    CHECK(f.accesses[0].requests == 8e9);
    CHECK(f.accesses[0].active_lanes == Approx(255999999990.0 / 8e9).epsilon(1e-12));
    CHECK(f.footprint.unique_read_bytes == 4 * 255999999990.0);
    CHECK(f.footprint.block_sectors == 32.0);
    CHECK(f.footprint.overlap_x == 0.0);
}

TEST_CASE("nothing makes the evaluator throw or hang", "[evaluator][robust]") {
    for (const char* body : {"L: bra.uni L;", "L: add.s32 %r2, %r2, 1; mul.lo.s32 %r2, %r2, %r2; setp.ne.s32 %p1, %r2, 77; @%p1 bra L;",
                             "mov.u32 %r9, 0; ld.shared.u32 %r8, [%r9]; st.shared.u32 [%r8], %r8;", "@%p3 bra X; X: trap;",
                             "st.global.u32 [%rd30], %r2;", "ld.param.u32 %r9, [k_param_2+2];"}) {
        INFO(body);
        const Kernel k(body);
        const LaunchFacts f = Evaluator(k.code, {.budget = 200'000}).evaluate(k.launch({1024, 1, 1}, {1u << 20, 7, 3}));
        CHECK(f.phases.size() >= 1);
    }
}
