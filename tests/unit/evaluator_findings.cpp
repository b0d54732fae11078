// What findings stand on: branches that part lanes, barriers that part of a block misses, shared memory overrun, addresses
// that fault, races, barriers that order nothing, roles of specialised warps, calls that are not followed.
#include <algorithm>
#include <cmath>

#include "evaluator_kernel.hpp"

using namespace flipflop;
using testing::Kernel;

namespace {

bool says(const LaunchFacts& f, const std::string& words) {
    return std::any_of(f.unknowns.begin(), f.unknowns.end(), [&](const std::string& u) { return u.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("a branch that parts lanes, with what whole warps would save", "[evaluator][findings]") {
    // Lanes alternate; each side is ten additions, so that ten of twenty executions of a warp fall away.
    std::string side;
    for (int k = 0; k < 10; ++k) side += "add.u32 %r20, %r20, 7;\n";
    const Kernel k("mov.u32 %r20, 0;\nand.b32 %r10, %r2, 1;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra EVEN;\n" + side + "bra.uni END;\nEVEN:\n" + side +
                   "END:\nst.global.u32 [%rd5], %r20;\n");
    LaunchFacts f = k.run();
    REQUIRE(f.branches.size() == 1);
    CHECK(f.branches[0].executions == 40.0);
    CHECK(f.branches[0].divergent == 40.0);
    CHECK_FALSE(f.branches[0].ends_loop);
    CHECK(f.branches[0].excess[static_cast<std::size_t>(MachineOp::int_add)] == Approx(4 * 10.0));    // four warps a block
    // By the warp's index nothing parts.
    const Kernel whole("mov.u32 %r20, 0;\nand.b32 %r10, %r2, 32;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra EVEN;\n" + side + "bra.uni END;\nEVEN:\n" + side +
                       "END:\nst.global.u32 [%rd5], %r20;\n");
    CHECK(whole.run().branches.empty());
    // Trips 1..32 by lane: a warp runs 32 passes where 16.5 would do.
    const Kernel loop("and.b32 %r10, %r2, 31;\nmov.u32 %r11, 0;\nmov.u32 %r20, 0;\nLOOP:\nadd.u32 %r20, %r20, %r11;\nadd.s32 %r11, %r11, 1;\n"
                      "setp.le.s32 %p2, %r11, %r10;\n@%p2 bra LOOP;\nst.global.u32 [%rd5], %r20;\n");
    f = loop.run();
    REQUIRE(f.branches.size() == 1);
    CHECK(f.branches[0].ends_loop);
    CHECK(f.branches[0].divergent == 40.0 * 31);
    CHECK(f.branches[0].excess[static_cast<std::size_t>(MachineOp::int_add)] == Approx(4 * 2 * (32 - 16.5)));
}

TEST_CASE("barriers that part of a block does not reach", "[evaluator][findings]") {
    const char* half_warp = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra END;\nst.global.u32 [%rd5], %r2;\nbar.sync 0;\nEND:\nst.global.u32 [%rd4], %r2;\n";
    LaunchFacts f = Kernel(half_warp).run();
    REQUIRE(f.partial_barriers.size() == 1);
    CHECK(f.partial_barriers[0].part_of_warp);
    CHECK(f.partial_barriers[0].warps_reaching == 1.0);
    CHECK(f.partial_barriers[0].warps == 4.0);
    f = Kernel("setp.ge.u32 %p1, %r2, 64;\n@%p1 bra END;\nbar.sync 0;\nEND:\nst.global.u32 [%rd4], %r2;\n").run();
    REQUIRE(f.partial_barriers.size() == 1);
    CHECK_FALSE(f.partial_barriers[0].part_of_warp);
    CHECK(f.partial_barriers[0].warps_reaching == 2.0);
    // Every thread passes it, in a loop too; and one for a named part of the block is for that part.
    CHECK(Kernel("mov.u32 %r20, 0;\nL:\nbar.sync 0;\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, 40;\n@%p1 bra L;\nst.global.u32 [%rd4], %r2;\n").run().partial_barriers.empty());
    CHECK(Kernel("setp.ge.u32 %p1, %r2, 64;\n@%p1 bra END;\nbar.sync 1, 64;\nEND:\nst.global.u32 [%rd4], %r2;\n").run().partial_barriers.empty());
    // The guard of the last block alone: seen there.
    const Kernel guarded("setp.ge.s32 %p1, %r5, %r1;\n@%p1 bra END;\nbar.sync 0;\nEND:\nst.global.u32 [%rd4], %r2;\n");
    f = Evaluator(guarded.code).evaluate(guarded.launch({128, 1, 1}, {10, 1, 1}, 1200));
    REQUIRE(f.partial_barriers.size() == 1);
    CHECK(f.partial_barriers[0].warps == 4.0);
    CHECK(f.partial_barriers[0].warps_reaching == 2.0);
    CHECK(f.partial_barriers[0].part_of_warp);                 // thread 1200 stands in the middle of a warp
    // The same where the slice reads shared memory back and warps run in turn.
    f = Kernel("mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nst.shared.u32 [%r12], %r2;\nld.shared.u32 %r13, [%r12];\n"
               "setp.ge.u32 %p1, %r13, 96;\n@%p1 bra END;\nbar.sync 0;\nEND:\nst.global.u32 [%rd4], %r2;\n").run();
    REQUIRE(f.partial_barriers.size() == 1);
    CHECK(f.partial_barriers[0].warps_reaching == 3.0);
}

TEST_CASE("shared memory overrun and addresses that fault", "[evaluator][findings]") {
    const LaunchFacts f = Kernel(R"(
mov.u32 %r10, tile;
shl.b32 %r11, %r2, 6;
add.u32 %r12, %r10, %r11;
ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r12+48];
ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r12+64];
ld.global.v2.u32 {%r20, %r21}, [%rd4];
ld.global.u32 %r20, [%rd4];
ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd1+8];
)").run();
    CHECK_FALSE(f.accesses[0].shared_overrun_bytes);            // 127 * 64 + 48 + 16 = 8192: exactly the end
    CHECK(f.accesses[1].shared_overrun_bytes == 16u);
    CHECK(f.accesses[0].unaligned_share == 0.0);
    CHECK(f.accesses[2].unaligned_share == 1.0);                // eight bytes, four apart
    CHECK(f.accesses[3].unaligned_share == 0.0);
    CHECK(f.accesses[4].unaligned_share == 1.0);
}

TEST_CASE("races and redundant barriers of one block", "[evaluator][findings][experimental]") {
    const auto hazards = [](const std::string& between, const std::string& index) {
        const Kernel k("mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nst.shared.u32 [%r12], %r5;\n" + between +
                       "xor.b32 %r13, %r2, " + index + ";\nshl.b32 %r14, %r13, 2;\nadd.u32 %r15, %r10, %r14;\nld.shared.u32 %r16, [%r15];\nst.global.u32 [%rd5], %r16;\n");
        return Evaluator(k.code).hazards(k.launch());
    };
    HazardFacts h = hazards("", "64");
    REQUIRE(h.races.size() == 1);
    CHECK(h.races[0].bytes == 512);
    CHECK(h.races[0].other_line > h.races[0].ptx_line);
    h = hazards("bar.sync 0;\n", "64");
    CHECK(h.races.empty());
    CHECK(h.redundant_barriers.empty());
    h = hazards("bar.sync 0;\n", "0");                          // each thread reads its own
    CHECK(h.races.empty());
    CHECK(h.redundant_barriers.size() == 1);
    h = hazards("bar.sync 0;\n", "1");                          // within a warp: a barrier of the block is more than it takes
    CHECK(h.redundant_barriers.size() == 1);
    h = hazards("bar.sync 0;\nbar.sync 0;\n", "64");            // one of the two is enough, but each alone stands between
    CHECK(h.races.empty());
}

TEST_CASE("producers and consumers are told apart", "[evaluator][roles]") {
    // Warp 0 copies with one elected lane, warps 1 to 3 wait and multiply.
    const Kernel k(R"(
mov.u32 %r10, tile;
shr.u32 %r11, %r2, 5;
setp.ne.u32 %p1, %r11, 0;
@%p1 bra CONSUMER;
setmaxnreg.dec.sync.aligned.u32 40;
mov.u32 %r20, 0;
PRODUCE:
elect.sync %r21|%p2, -1;
@!%p2 bra NEXT;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd20, [%r10], 4096;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1], 4096, [%r10];
NEXT:
add.u32 %r20, %r20, 1;
setp.lt.u32 %p3, %r20, 8;
@%p3 bra PRODUCE;
bra.uni END;
CONSUMER:
setmaxnreg.inc.sync.aligned.u32 232;
mov.u32 %r20, 0;
CONSUME:
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10], 0;
@!%p4 bra WAIT;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r30, %r31, %r32, %r33}, {%r34, %r35}, {%f0, %f1, %f2, %f3};
add.u32 %r20, %r20, 1;
setp.lt.u32 %p5, %r20, 8;
@%p5 bra CONSUME;
st.global.f32 [%rd5], %f0;
END:
)", {}, "sm_90a");
    const LaunchFacts f = k.run();
    REQUIRE(f.roles.size() == 2);
    const auto role = [&](const std::string& word) -> const RoleFacts& {
        return *std::find_if(f.roles.begin(), f.roles.end(), [&](const RoleFacts& r) { return std::find(r.does.begin(), r.does.end(), word) != r.does.end(); });
    };
    const RoleFacts& producer = role("copies");
    CHECK(producer.warps_per_block == 1.0);
    CHECK(producer.registers == 40u);
    CHECK(producer.warp_ops[static_cast<std::size_t>(MachineOp::bulk_copy)] == 8.0);
    CHECK(producer.does == std::vector<std::string>{"copies", "signals", "changes registers"});
    const RoleFacts& consumer = role("multiplies");
    CHECK(consumer.warps_per_block == 3.0);
    CHECK(consumer.registers == 232u);
    CHECK(consumer.warp_ops[static_cast<std::size_t>(MachineOp::mma_fp16)] == 8.0);
    CHECK(consumer.does == std::vector<std::string>{"multiplies", "waits", "changes registers"});
    for (std::size_t l = 0; l < f.loops.size(); ++l)
        CHECK(f.loops[l].trip_mean == 8.0);
    // The wait shares its header with the loop around it: one loop of eight passes, and nothing unknown.
    CHECK(f.loops.size() == 2);
    CHECK(f.unknown_branches == 0);
    // Where all warps do the same there are no roles.
    CHECK(Kernel("mov.u32 %r10, tile;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10], 0;\n@!%p4 bra WAIT;\nst.global.u32 [%rd5], %r2;\n").run().roles.empty());
}

TEST_CASE("calls that are not followed are said to be", "[evaluator][control]") {
    const char* recursive = R"(.func (.param .b32 ret) down(.param .b32 a)
{
.reg .b32 %r<6>;
.reg .pred %p<2>;
ld.param.b32 %r1, [a];
setp.eq.s32 %p1, %r1, 0;
mov.u32 %r4, 0;
@%p1 bra OUT;
sub.s32 %r2, %r1, 1;
{
.param .b32 p0;
.param .b32 r0;
st.param.b32 [p0], %r2;
call.uni (r0), down, (p0);
ld.param.b32 %r3, [r0];
}
add.s32 %r4, %r3, 4;
OUT:
st.param.b32 [ret], %r4;
ret;
}
)";
    const auto depth = [&](int n) {
        return fmt::format("{{\n.param .b32 p0;\n.param .b32 r0;\nmov.u32 %r9, {};\nst.param.b32 [p0], %r9;\ncall.uni (r0), down, (p0);\nld.param.b32 %r20, [r0];\n}}\n"
                           "mul.wide.u32 %rd10, %r20, 64;\nadd.s64 %rd11, %rd4, %rd10;\nst.global.u32 [%rd11], %r2;\n", n);
    };
    LaunchFacts f = Kernel(depth(10), recursive).run();
    CHECK(f.basis == CountBasis::exact);
    CHECK(f.accesses.back().sectors_per_request == 4.0);
    f = Kernel(depth(40), recursive).run();
    CHECK(f.basis == CountBasis::unknown);
    CHECK_FALSE(f.accesses.back().sectors_per_request);
    CHECK(says(f, "24 deep"));
    f = Kernel(R"(
mov.u64 %rd20, 0;
{
.param .b32 p0;
st.param.b32 [p0], %r5;
proto: .callprototype _ (.param .b32 _);
call %rd20, (p0), proto;
}
st.global.u32 [%rd5], %r2;
)").run();
    CHECK(f.basis == CountBasis::unknown);
    CHECK(says(f, "through a register"));
}

TEST_CASE("breaks inside nested conditions, against every thread run by itself", "[evaluator][control]") {
    const Kernel k(R"(
and.b32 %r10, %r2, 31;
mov.u32 %r11, 0;
mov.u32 %r20, 0;
OUTER:
mov.u32 %r12, 0;
INNER:
ld.global.u32 %r13, [%rd4];
add.u32 %r20, %r20, 1;
mad.lo.u32 %r14, %r11, 3, %r12;
setp.gt.u32 %p1, %r14, %r10;
@!%p1 bra ON;
and.b32 %r15, %r10, 1;
setp.eq.u32 %p2, %r15, 1;
@%p2 bra AFTER;
bra.uni DONE;
ON:
add.u32 %r12, %r12, 1;
setp.lt.u32 %p3, %r12, 5;
@%p3 bra INNER;
AFTER:
add.u32 %r11, %r11, 1;
setp.lt.u32 %p4, %r11, 6;
@%p4 bra OUTER;
DONE:
st.global.u32 [%rd5], %r20;
)");
    double lanes = 0, outer = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 6; ++i) {
            ++outer;
            bool done = false;
            for (unsigned j = 0; j < 5; ++j) {
                ++lanes;
                if (i * 3 + j > lane) { done = lane % 2 == 0; break; }
            }
            if (done) break;
        }
    const LaunchFacts f = Evaluator(k.code).evaluate(k.launch({32, 1, 1}, {1, 1, 1}));
    CHECK(f.basis == CountBasis::exact);
    CHECK(f.accesses[0].active_lanes * *f.accesses[0].requests == Approx(lanes));
    CHECK(f.accesses[1].requests == 1.0);
    REQUIRE(f.loops.size() == 2);
    CHECK(*f.loops[0].trip_mean == Approx(outer / 32));
    CHECK(*f.loops[1].trip_mean == Approx(lanes / outer));
}

TEST_CASE("the policy of branches on data holds for guarded instructions too", "[evaluator][control]") {
    const Kernel k("ld.global.u32 %r10, [%rd4];\nsetp.gt.s32 %p1, %r10, 0;\n@%p1 st.global.u32 [%rd5], %r10;\nst.global.u32 [%rd5+4096], %r10;\n");
    Launch l = k.launch();
    LaunchFacts f = Evaluator(k.code).evaluate(l);
    CHECK_FALSE(f.accesses[1].requests);
    CHECK(f.accesses[1].requests_assumed == 40.0);
    l.policy.taken_probability = 0;
    CHECK(Evaluator(k.code).evaluate(l).accesses[1].requests == 0.0);
    l.policy.taken_probability = 0.1;
    f = Evaluator(k.code).evaluate(l);
    CHECK(*f.accesses[1].requests_assumed == Approx(40 * (1 - std::pow(0.9, 32))));
    CHECK(f.accesses[1].basis == CountBasis::assumed);
    CHECK(f.accesses[2].requests == 40.0);
}
