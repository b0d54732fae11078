// Matrix loads, bulk and tensor copies, wmma fragments, vectors and atomics: sectors and passes worked out by hand.
#include "evaluator_kernel.hpp"

using namespace flipflop;
using testing::Kernel;

namespace {

/// One warp, one block.
LaunchFacts one_warp(const Kernel& k) { return Evaluator(k.code).evaluate(k.launch({32, 1, 1}, {1, 1, 1})); }

}  // namespace

TEST_CASE("ldmatrix and stmatrix: eight rows of 16 bytes a matrix, one pass where no two rows share a bank", "[evaluator][memory]") {
    // Rows of 16 bytes one after the other: 8 rows fill the 128 bytes of a pass.
    const auto passes = [](const char* instruction, unsigned pitch) {
        const Kernel k(fmt::format(R"(
mov.u32 %r10, tile;
and.b32 %r11, %r2, 31;
mul.lo.u32 %r12, %r11, {};
add.u32 %r13, %r10, %r12;
{};
)", pitch, instruction));
        const LaunchFacts f = one_warp(k);
        REQUIRE(f.accesses.size() == 1);
        REQUIRE(f.accesses[0].wavefront_total);
        CHECK(f.accesses[0].requests == 1.0);
        return std::pair{*f.accesses[0].wavefronts_per_request, *f.accesses[0].wavefront_total};
    };
    const char* x4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r13]";
    const char* x2 = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r20, %r21}, [%r13]";
    const char* x1 = "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r20}, [%r13]";
    CHECK(passes(x4, 16) == std::pair{1.0, 4.0});
    CHECK(passes(x2, 16) == std::pair{1.0, 2.0});
    CHECK(passes(x1, 16) == std::pair{1.0, 1.0});
    CHECK(passes(x4, 128) == std::pair{8.0, 32.0});       // rows of 128 bytes all begin at bank 0
    CHECK(passes(x4, 144) == std::pair{1.0, 4.0});        // padded by 16 bytes: rows move on by four banks
    CHECK(passes(x4, 32) == std::pair{2.0, 8.0});         // rows 0 and 4, 1 and 5 ... meet
    CHECK(passes("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r13], {%r2, %r2, %r2, %r2}", 128) == std::pair{8.0, 32.0});
}

TEST_CASE("vectors and atomics: sectors, passes, and lanes on one address", "[evaluator][memory]") {
    const Kernel k(R"(
mul.wide.u32 %rd10, %r2, 16;
add.s64 %rd11, %rd1, %rd10;
ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd11];
ld.global.v2.u32 {%r10, %r11}, [%rd11+8];
mov.u32 %r20, tile;
shl.b32 %r21, %r2, 4;
add.u32 %r22, %r20, %r21;
ld.shared.v4.u32 {%r14, %r15, %r16, %r17}, [%r22];
ld.shared.u32 %r18, [%r22];
atom.global.add.u32 %r19, [%rd1], 1;
and.b32 %r23, %r2, 3;
mul.wide.u32 %rd12, %r23, 4;
add.s64 %rd13, %rd1, %rd12;
red.global.add.u32 [%rd13], 1;
shl.b32 %r24, %r2, 7;
add.u32 %r25, %r20, %r24;
atom.shared.add.u32 %r26, [%r25], 1;
st.global.u8 [%rd4], %rs0;
)");
    const LaunchFacts f = one_warp(k);
    REQUIRE(f.accesses.size() == 8);
    CHECK(f.accesses[0].sectors_per_request == 16.0);              // 512 bytes
    CHECK(f.accesses[0].ideal_sectors_per_request == 16.0);
    CHECK(f.accesses[1].sectors_per_request == 16.0);              // 8 bytes of each 16: every sector, half of it
    CHECK(f.accesses[1].ideal_sectors_per_request == 8.0);
    CHECK(f.accesses[2].wavefront_total == 4.0);                   // 512 bytes in quarter warps
    CHECK(f.accesses[2].wavefronts_per_request == 1.0);
    CHECK(f.accesses[3].wavefronts_per_request == 4.0);            // 4 bytes of each 16: lanes 0, 8, 16 and 24 meet
    CHECK(f.accesses[4].sectors_per_request == 1.0);
    CHECK(f.accesses[5].sectors_per_request == 1.0);
    CHECK(f.phases[0].atomic_serial_max == 32 + 8 + 1.0);          // 32 on one address, 8 on each of four, none in shared memory
    CHECK(f.accesses[6].wavefronts_per_request == 32.0);           // all in bank 0
    CHECK(f.accesses[7].sectors_per_request == 4.0);               // a byte every four
}

TEST_CASE("wmma fragments: rows of the matrix at their pitch", "[evaluator][memory]") {
    const Kernel k(R"(
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd1], 64;
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%rd1], 16;
mov.u32 %r20, 40;
wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %r20;
)");
    const LaunchFacts f = one_warp(k);
    REQUIRE(f.accesses.size() == 3);
    CHECK(f.accesses[0].sectors_per_request == 16.0);              // 16 rows of 32 bytes, 128 bytes apart
    CHECK(f.accesses[0].lines_per_request == 16.0);
    CHECK(f.accesses[1].sectors_per_request == 16.0);              // the same without gaps
    CHECK(f.accesses[1].lines_per_request == 4.0);
    CHECK(f.accesses[2].sectors_per_request == 32.0);              // 16 rows of 64 bytes, 160 apart: two sectors each
}

TEST_CASE("asynchronous copies have two sides; a tensor copy's bytes are what its barrier expects", "[evaluator][memory]") {
    const Kernel k(R"(
mov.u32 %r10, tile;
mov.u32 %r11, 4096;
shl.b32 %r12, %r2, 4;
add.u32 %r13, %r10, %r12;
mul.wide.u32 %rd10, %r2, 16;
add.s64 %rd11, %rd1, %rd10;
cp.async.cg.shared.global [%r13], [%rd11], 16;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra END;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd20, [%r10], 12288;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1], %r11, [%r10];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {%r2, %r2}], [%r10];
END:
)");
    LaunchFacts f = one_warp(k);
    REQUIRE(f.accesses.size() == 6);
    CHECK(f.accesses[0].sectors_per_request == 16.0);
    CHECK(f.accesses[1].wavefront_total == 4.0);
    CHECK(f.accesses[1].wavefronts_per_request == 1.0);
    CHECK(f.accesses[2].sectors_per_request == 128.0);             // 4096 bytes from one lane
    CHECK(f.accesses[3].wavefront_total == 32.0);
    CHECK(k.code.facts.accesses[4].bytes_per_lane == 0);           // the bulk copy's size is a register here: what is left is not known
    const Kernel plain(R"(
mov.u32 %r10, tile;
mov.u32 %r11, 16384;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra END;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd20, [%r10], %r11;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {%r2, %r2}], [%r10];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd1, {%r2, %r2}], [%r10];
END:
)");
    f = one_warp(plain);
    REQUIRE(f.accesses.size() == 4);
    CHECK(plain.code.facts.accesses[0].bytes_per_lane == 8192);
    CHECK(plain.code.facts.accesses[3].bytes_per_lane == 8192);
    CHECK_FALSE(f.accesses[0].sectors_per_request);
    CHECK(f.accesses[0].requests == 1.0);
    CHECK(f.phases[0].global_load_sectors == 16384.0 / 32);
    CHECK(f.phases[0].shared_wavefronts == 16384.0 / 128);
    CHECK_FALSE(f.footprint.unique_read_bytes);
}
