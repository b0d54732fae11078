// What lanes exchange, and where a block stands in its cluster: every lane against the formula of the PTX ISA, written here a
// second time.
#include <bit>

#include "evaluator_kernel.hpp"

using namespace flipflop;
using testing::Kernel;

namespace {

/// The lanes that store when only those do whose %r20 equals a number, for every number of 0..63: the value by lane.
std::vector<int> values(const std::string& body) {
    // %r20 becomes 4 * value as an address: with 32 lanes and one block each value is a store of its own lanes.
    std::vector<int> out(32, -1);
    for (int value = 0; value < 64; ++value) {
        const Kernel k(body + fmt::format("\nsetp.ne.u32 %p9, %r20, {};\n@%p9 bra END;\nshl.b32 %r30, %r2, 7;\ncvt.u64.u32 %rd30, %r30;\n"
                                          "add.s64 %rd31, %rd1, %rd30;\nst.global.u32 [%rd31], %r2;\nEND:\n", value));
        Launch l = k.launch({32, 1, 1}, {1, 1, 1});
        const LaunchFacts f = Evaluator(k.code).evaluate(l);
        REQUIRE(f.accesses.size() == 1);
        if (f.accesses[0].requests == 0.0) continue;
        // Which lanes: each alone, by a second guard.
        for (int lane = 0; lane < 32; ++lane) {
            if (out[static_cast<std::size_t>(lane)] >= 0) continue;
            const Kernel one(body + fmt::format("\nsetp.ne.u32 %p9, %r20, {};\nsetp.ne.or.u32 %p9, %r2, {}, %p9;\n@%p9 bra END;\nst.global.u32 [%rd1], %r2;\nEND:\n", value, lane));
            if (Evaluator(one.code).evaluate(l).accesses[0].requests == 1.0) out[static_cast<std::size_t>(lane)] = value;
        }
    }
    return out;
}

}  // namespace

TEST_CASE("shuffles, votes, matches and reductions of all lanes", "[evaluator][semantics][exchange]") {
    struct Row { const char* body; int (*want)(int); };
    static const Row rows[]{
        {"shfl.sync.up.b32 %r20, %r2, 3, 0, -1;", [](int l) { return l >= 3 ? l - 3 : l; }},
        {"shfl.sync.up.b32 %r20, %r2, 2, 0x1800, -1;", [](int l) { return l % 8 >= 2 ? l - 2 : l; }},
        {"shfl.sync.down.b32 %r20, %r2, 5, 0x101f, -1;", [](int l) { return l % 16 + 5 < 16 ? l + 5 : l; }},
        {"shfl.sync.bfly.b32 %r20, %r2, 16, 31, -1;", [](int l) { return l ^ 16; }},
        {"shfl.sync.idx.b32 %r20, %r2, %r2, 31, -1;", [](int l) { return l; }},
        {"sub.u32 %r21, 31, %r2; shfl.sync.idx.b32 %r20, %r2, %r21, 31, -1;", [](int l) { return 31 - l; }},
        {"setp.lt.u32 %p1, %r2, 9; vote.sync.ballot.b32 %r21, %p1, -1; popc.b32 %r20, %r21;", [](int) { return 9; }},
        {"setp.lt.u32 %p1, %r2, 40; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r20, 1, 0, %p2;", [](int) { return 1; }},
        {"setp.lt.u32 %p1, %r2, 4; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r20, 1, 0, %p2;", [](int) { return 0; }},
        {"setp.lt.u32 %p1, %r2, 4; vote.sync.any.pred %p2, !%p1, -1; selp.u32 %r20, 1, 0, %p2;", [](int) { return 1; }},
        {"and.b32 %r21, %r2, 7; match.any.sync.b32 %r22, %r21, -1; popc.b32 %r20, %r22;", [](int) { return 4; }},
        {"mov.u32 %r21, 5; match.all.sync.b32 %r22|%p1, %r21, -1; selp.u32 %r20, 3, 2, %p1;", [](int) { return 3; }},
        {"match.all.sync.b32 %r22|%p1, %r2, -1; selp.u32 %r23, 3, 2, %p1; add.u32 %r20, %r22, %r23;", [](int) { return 2; }},
        {"add.u32 %r21, %r2, 7; redux.sync.min.u32 %r20, %r21, -1;", [](int) { return 7; }},
        {"redux.sync.and.b32 %r20, %r2, -1;", [](int) { return 0; }},
        {"redux.sync.or.b32 %r20, %r2, -1;", [](int) { return 31; }},
        {"redux.sync.xor.b32 %r20, %r2, -1;", [](int) { return 0; }},
        {"sub.s32 %r21, %r2, 40; redux.sync.max.s32 %r22, %r21, -1; neg.s32 %r20, %r22;", [](int) { return 9; }},
        {"elect.sync %r21|%p1, -1; selp.u32 %r20, 1, 0, %p1;", [](int l) { return l == 0 ? 1 : 0; }},
        {"mov.u32 %r20, 0; setp.lt.u32 %p1, %r2, 20; @!%p1 bra SKIP; activemask.b32 %r21; popc.b32 %r20, %r21; SKIP:", [](int l) { return l < 20 ? 20 : 0; }},
        {"mov.u32 %r20, 0; setp.ge.u32 %p1, %r2, 20; @!%p1 bra SKIP; elect.sync %r20|%p2, 0xfff00000; SKIP:", [](int l) { return l >= 20 ? 20 : 0; }},
        {"mov.u32 %r21, %lanemask_ge; popc.b32 %r20, %r21;", [](int l) { return 32 - l; }},
        {"mov.u32 %r21, %lanemask_le; popc.b32 %r20, %r21;", [](int l) { return l + 1; }},
        {"mov.u32 %r21, %lanemask_gt; popc.b32 %r20, %r21;", [](int l) { return 31 - l; }},
    };
    for (const Row& row : rows) {
        INFO(row.body);
        const std::vector<int> got = values(row.body);
        for (int l = 0; l < 32; ++l) {
            INFO("lane " << l);
            CHECK(got[static_cast<std::size_t>(l)] == row.want(l));
        }
    }
}

TEST_CASE("registers of clusters: every block of a grid of clusters", "[evaluator][semantics][exchange]") {
    struct Row { const char* name; unsigned (*want)(Dim3 b); };
    // 8 x 6 x 2 blocks in clusters of 2 x 3 x 1.
    static const Row rows[]{
        {"%clusterid.x", [](Dim3 b) { return b.x / 2; }}, {"%clusterid.y", [](Dim3 b) { return b.y / 3; }}, {"%clusterid.z", [](Dim3 b) { return b.z; }},
        {"%nclusterid.x", [](Dim3) { return 4u; }}, {"%nclusterid.y", [](Dim3) { return 2u; }}, {"%nclusterid.z", [](Dim3) { return 2u; }},
        {"%cluster_ctaid.x", [](Dim3 b) { return b.x % 2; }}, {"%cluster_ctaid.y", [](Dim3 b) { return b.y % 3; }},
        {"%cluster_nctaid.x", [](Dim3) { return 2u; }}, {"%cluster_nctaid.y", [](Dim3) { return 3u; }},
        {"%cluster_ctarank", [](Dim3 b) { return b.x % 2 + 2 * (b.y % 3); }}, {"%cluster_nctarank", [](Dim3) { return 6u; }},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        for (unsigned value = 0; value < 8; ++value) {
            const Kernel k(fmt::format("mov.u32 %r20, {};\nsetp.ne.u32 %p1, %r20, {};\n@%p1 bra END;\nst.global.u32 [%rd1], %r2;\nEND:\n", row.name, value));
            Launch l = k.launch({32, 1, 1}, {8, 6, 2});
            l.cluster = Dim3{2, 3, 1};
            double want = 0;
            for (unsigned z = 0; z < 2; ++z)
                for (unsigned y = 0; y < 6; ++y)
                    for (unsigned x = 0; x < 8; ++x) want += row.want({x, y, z}) == value;
            INFO("value " << value);
            const LaunchFacts f = Evaluator(k.code).evaluate(l);
            CHECK(f.accesses[0].requests == want);
            CHECK(f.basis == CountBasis::exact);
        }
    }
}
