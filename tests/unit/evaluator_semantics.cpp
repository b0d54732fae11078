// What single instructions compute, against values worked out by hand from the PTX ISA. The value is read off as the
// address of a store.
#include <fmt/format.h>

#include "catch.hpp"
#include "evaluator/machine.hpp"
#include "flipflop/evaluator.hpp"

using namespace flipflop;
using namespace flipflop::eval;

namespace {

struct Answer {
    bool known{};
    std::vector<u64> lanes;      ///< the store's address by lane, while affine or not
};

/// Runs `body`, which leaves its answer in %rd0, for the first warp of a block of 32 x 4.
Answer run(const std::string& body) {
    const std::string text = fmt::format(R"(.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{{
.reg .pred %p<10>;
.reg .b16 %rs<10>;
.reg .b32 %r<20>;
.reg .f32 %f<10>;
.reg .f64 %fd<10>;
.reg .b64 %rd<20>;
{}
st.global.u8 [%rd0], %rs9;
ret;
}}
)", body);
    const auto parsed = ptx::parse(std::make_shared<const std::string>(text), "semantics");
    for (const Diagnostic& d : parsed.diagnostics) UNSCOPED_INFO(render(d));
    REQUIRE(parsed.errors == 0);
    const KernelCode code = analyse_kernel(parsed.modules[0], 0);
    const Program program = prepare(code);
    Launch launch;
    launch.block = {32, 4, 1};
    launch.grid = {3, 1, 1};
    launch.arguments.resize(2);
    launch.arguments[0].bytes = {0, 0, 0, 0, 1, 0, 0, 0};
    launch.arguments[1].bytes = {7, 0, 0, 0};
    Session session(program, launch);
    session.budget = 1'000'000;
    Machine machine(session);
    machine.start({}, group_warps(launch.block, true).front());
    while (machine.run() != Machine::Status::done) {}
    Answer answer;
    REQUIRE_FALSE(session.trace.records.empty());
    const AccessRecord& r = session.trace.records.back();
    answer.known = r.shape != kNone;
    if (!answer.known) return answer;
    for (unsigned l = 0; l < kLanes; ++l) answer.lanes.push_back(r.base + static_cast<u64>(session.shapes.shape(r.shape).offset[l]));
    return answer;
}

struct Row { const char* body; u64 value; };

}  // namespace

TEST_CASE("integer, logic, bit-field and conversion instructions", "[evaluator][semantics]") {
    static const Row rows[]{
        // Addition, subtraction, negation wrap in their width.
        {"mov.u32 %r0, 0xffffffff; add.u32 %r1, %r0, 2; cvt.u64.u32 %rd0, %r1;", 1},
        {"mov.u32 %r0, 3; sub.u32 %r1, %r0, 5; cvt.s64.s32 %rd0, %r1;", 0xfffffffffffffffe},
        {"mov.b16 %rs0, 0xffff; add.u16 %rs1, %rs0, 2; cvt.u64.u16 %rd0, %rs1;", 1},
        {"mov.u32 %r0, 0x80000000; abs.s32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 0x80000000},
        {"mov.u32 %r0, 9; neg.s32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 0xfffffff7},
        {"mov.u32 %r0, 0x7ffffffe; add.sat.s32 %r1, %r0, 5; cvt.u64.u32 %rd0, %r1;", 0x7fffffff},
        {"mov.u32 %r0, 0x80000001; sub.sat.s32 %r1, %r0, 5; cvt.u64.u32 %rd0, %r1;", 0x80000000},
        {"mov.u32 %r0, 0x7fffffff; mad.hi.sat.s32 %r1, %r0, 8, 0x7fffffff; cvt.u64.u32 %rd0, %r1;", 0x7fffffff},
        // Multiplication in all its widths.
        {"mov.u32 %r0, 0xfffffffd; mul.lo.s32 %r1, %r0, 7; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-21)},
        {"mov.u32 %r0, 0xfffffffd; mul.hi.s32 %r1, %r0, 7; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, 0xfffffffd; mul.hi.u32 %r1, %r0, 7; cvt.u64.u32 %rd0, %r1;", 6},
        {"mov.u32 %r0, 0xfffffffd; mul.wide.s32 %rd0, %r0, 7;", static_cast<u64>(-21)},
        {"mov.u32 %r0, 0xfffffffd; mul.wide.u32 %rd0, %r0, 7;", 30064771051},
        {"mov.b16 %rs0, 0xfffd; mul.wide.s16 %r1, %rs0, 7; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-21)},
        {"mov.u64 %rd1, 0x123456789abcdef0; mul.hi.u64 %rd0, %rd1, 16;", 1},
        {"mov.u64 %rd1, -2; mul.hi.s64 %rd0, %rd1, 3;", ~u64{0}},
        {"mov.u32 %r0, 5; mad.lo.s32 %r1, %r0, %r0, 100; cvt.u64.u32 %rd0, %r1;", 125},
        {"mov.u32 %r0, 0x80000000; mad.hi.u32 %r1, %r0, 6, 10; cvt.u64.u32 %rd0, %r1;", 13},
        {"mov.u32 %r0, -4; mov.u64 %rd1, 1000; mad.wide.s32 %rd0, %r0, 5, %rd1;", 980},
        // 24-bit forms take the low 24 bits; .hi is bits 47..16 of the product.
        {"mov.u32 %r0, 0xff000003; mul24.lo.u32 %r1, %r0, 5; cvt.u64.u32 %rd0, %r1;", 15},
        {"mov.u32 %r0, 0x800000; mul24.hi.u32 %r1, %r0, 0x10000; cvt.u64.u32 %rd0, %r1;", 0x800000},
        {"mov.u32 %r0, 0xffffff; mul24.lo.s32 %r1, %r0, 5; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-5)},
        {"mov.u32 %r0, 10; mad24.lo.u32 %r1, %r0, 3, 4; cvt.u64.u32 %rd0, %r1;", 34},
        // Carries: 0xffffffff_ffffffff + 1, and 0x1_00000000 - 1, in halves.
        {"mov.u32 %r0, -1; add.cc.u32 %r1, %r0, 1; addc.u32 %r2, %r0, 1; mov.b64 %rd0, {%r1, %r2};", 0x100000000},
        {"mov.u32 %r0, 0; mov.u32 %r3, 1; sub.cc.u32 %r1, %r0, 1; subc.u32 %r2, %r3, 0; mov.b64 %rd0, {%r1, %r2};", 0xffffffff},
        {"mov.u32 %r0, -1; mad.lo.cc.u32 %r1, %r0, 2, 3; madc.hi.u32 %r2, %r0, 2, 0; mov.b64 %rd0, {%r1, %r2};", 0x200000001},
        // Division truncates; the remainder has the dividend's sign.
        {"mov.u32 %r0, -7; div.s32 %r1, %r0, 2; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-3)},
        {"mov.u32 %r0, -7; rem.s32 %r1, %r0, 2; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-1)},
        {"mov.u32 %r0, -7; div.u32 %r1, %r0, 2; cvt.u64.u32 %rd0, %r1;", 2147483644},
        {"mov.u64 %rd1, 1000000000007; rem.u64 %rd0, %rd1, 10;", 7},
        {"mov.u32 %r0, -5; min.s32 %r1, %r0, 3; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-5)},
        {"mov.u32 %r0, -5; min.u32 %r1, %r0, 3; cvt.u64.u32 %rd0, %r1;", 3},
        {"mov.u32 %r0, -5; max.s32 %r1, %r0, 3; cvt.u64.u32 %rd0, %r1;", 3},
        {"mov.u32 %r0, 3; mov.u32 %r1, 10; sad.u32 %r2, %r0, %r1, 5; cvt.u64.u32 %rd0, %r2;", 12},
        // Shifts clamp at the width.
        {"mov.u32 %r0, 1; shl.b32 %r1, %r0, 31; cvt.u64.u32 %rd0, %r1;", 0x80000000},
        {"mov.u32 %r0, 1; shl.b32 %r1, %r0, 32; cvt.u64.u32 %rd0, %r1;", 0},
        {"mov.u32 %r0, 0x80000000; shr.s32 %r1, %r0, 40; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, 0x80000000; shr.u32 %r1, %r0, 4; cvt.u64.u32 %rd0, %r1;", 0x8000000},
        {"mov.u64 %rd1, -16; shr.s64 %rd0, %rd1, 2;", static_cast<u64>(-4)},
        {"mov.u32 %r0, 0x11111111; mov.u32 %r1, 0x22222222; shf.l.wrap.b32 %r2, %r0, %r1, 36; cvt.u64.u32 %rd0, %r2;", 0x22222221},
        {"mov.u32 %r0, 0x11111111; mov.u32 %r1, 0x22222222; shf.r.clamp.b32 %r2, %r0, %r1, 8; cvt.u64.u32 %rd0, %r2;", 0x22111111},
        {"mov.u32 %r0, 0x11111111; mov.u32 %r1, 0x22222222; shf.r.clamp.b32 %r2, %r0, %r1, 50; cvt.u64.u32 %rd0, %r2;", 0x22222222},
        // Bits.
        {"mov.u32 %r0, 0xf0f0; popc.b32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 8},
        {"mov.u64 %rd1, 0xf0000000000000f0; popc.b64 %r1, %rd1; cvt.u64.u32 %rd0, %r1;", 8},
        {"mov.u32 %r0, 0x00800000; clz.b32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 8},
        {"mov.u32 %r0, 0; clz.b32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 32},
        {"mov.u32 %r0, 0x00800000; bfind.u32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 23},
        {"mov.u32 %r0, 0xfffffff0; bfind.s32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 3},
        {"mov.u32 %r0, 0x00800000; bfind.shiftamt.u32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 8},
        {"mov.u32 %r0, 0; bfind.u32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, 0x00000003; brev.b32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 0xc0000000},
        {"mov.u32 %r0, 0x12345678; bfe.u32 %r1, %r0, 8, 12; cvt.u64.u32 %rd0, %r1;", 0x456},
        {"mov.u32 %r0, 0x00000f00; bfe.s32 %r1, %r0, 8, 4; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, 0x80000000; bfe.s32 %r1, %r0, 28, 8; cvt.u64.u32 %rd0, %r1;", 0xfffffff8},
        {"mov.u32 %r0, 0x12345678; bfe.u32 %r1, %r0, 40, 8; cvt.u64.u32 %rd0, %r1;", 0},
        {"mov.u32 %r0, 0xab; mov.u32 %r1, 0x11111111; bfi.b32 %r2, %r0, %r1, 12, 8; cvt.u64.u32 %rd0, %r2;", 0x111ab111},
        {"mov.u32 %r0, 0xab; mov.u32 %r1, 0x11111111; bfi.b32 %r2, %r0, %r1, 28, 8; cvt.u64.u32 %rd0, %r2;", 0xb1111111},
        {"mov.u32 %r0, 0x1ff; szext.wrap.s32 %r1, %r0, 8; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, 4; bmsk.clamp.b32 %r1, %r0, 8; cvt.u64.u32 %rd0, %r1;", 0xff0},
        {"mov.u32 %r0, 0xb6; fns.b32 %r1, %r0, 3, 1; cvt.u64.u32 %rd0, %r1;", 4},
        // lop3 tables: 0x80 is a & b & c, 0x96 is a ^ b ^ c, 0xca selects b where a is set and c elsewhere.
        {"mov.u32 %r0, 0xff0; mov.u32 %r1, 0xf0f; mov.u32 %r2, 0x3ff; lop3.b32 %r3, %r0, %r1, %r2, 0x80; cvt.u64.u32 %rd0, %r3;", 0x300},
        {"mov.u32 %r0, 0xff0; mov.u32 %r1, 0xf0f; mov.u32 %r2, 0x3ff; lop3.b32 %r3, %r0, %r1, %r2, 0x96; cvt.u64.u32 %rd0, %r3;", 0x300},
        {"mov.u32 %r0, 0xff0; mov.u32 %r1, 0xabc; mov.u32 %r2, 0x12345; lop3.b32 %r3, %r0, %r1, %r2, 0xca; cvt.u64.u32 %rd0, %r3;", 0x12ab5},
        // prmt: bytes 3 2 1 0 of a are numbers 3..0, those of b 7..4; 8 replicates the sign.
        {"mov.u32 %r0, 0x33221100; mov.u32 %r1, 0x77665544; prmt.b32 %r2, %r0, %r1, 0x5410; cvt.u64.u32 %rd0, %r2;", 0x55441100},
        {"mov.u32 %r0, 0x00008000; mov.u32 %r1, 0; prmt.b32 %r2, %r0, %r1, 0x4449; cvt.u64.u32 %rd0, %r2;", 0xff},
        {"mov.u32 %r0, 0x33221100; mov.u32 %r1, 0x77665544; prmt.b32.f4e %r2, %r0, %r1, 1; cvt.u64.u32 %rd0, %r2;", 0x44332211},
        {"mov.u32 %r0, 0x33221100; mov.u32 %r1, 0x77665544; prmt.b32.b4e %r2, %r0, %r1, 1; cvt.u64.u32 %rd0, %r2;", 0x66770011},
        {"mov.u32 %r0, 0x33221100; mov.u32 %r1, 0; prmt.b32.rc16 %r2, %r0, %r1, 1; cvt.u64.u32 %rd0, %r2;", 0x33223322},
        // dp4a: 1*1 + 2*1 + 3*1 + (-1)*1 + 10 with signed bytes, 1 + 2 + 3 + 255 + 10 with unsigned ones.
        {"mov.u32 %r0, 0xff030201; mov.u32 %r1, 0x01010101; dp4a.s32.s32 %r2, %r0, %r1, 10; cvt.u64.u32 %rd0, %r2;", 15},
        {"mov.u32 %r0, 0xff030201; mov.u32 %r1, 0x01010101; dp4a.u32.u32 %r2, %r0, %r1, 10; cvt.u64.u32 %rd0, %r2;", 271},
        {"mov.u32 %r0, 0x00020003; mov.u32 %r1, 0x05040302; dp2a.lo.u32.u32 %r2, %r0, %r1, 1; cvt.u64.u32 %rd0, %r2;", 13},
        {"mov.u32 %r0, 0x00020003; mov.u32 %r1, 0x05040302; dp2a.hi.u32.u32 %r2, %r0, %r1, 1; cvt.u64.u32 %rd0, %r2;", 23},
        // Predicates and selection.
        {"mov.u32 %r0, -1; setp.lt.s32 %p0, %r0, 0; selp.b32 %r1, 5, 6, %p0; cvt.u64.u32 %rd0, %r1;", 5},
        {"mov.u32 %r0, -1; setp.lt.u32 %p0, %r0, 0; selp.b32 %r1, 5, 6, %p0; cvt.u64.u32 %rd0, %r1;", 6},
        {"mov.u32 %r0, 4; setp.hi.u32 %p0, %r0, 3; setp.eq.and.u32 %p1|%p2, %r0, 4, %p0; selp.b32 %r1, 1, 2, %p1; selp.b32 %r2, 10, 20, %p2; "
         "add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd0, %r3;", 21},
        {"mov.u32 %r0, 4; setp.ne.u32 %p0, %r0, 4; setp.eq.xor.u32 %p1, %r0, 4, !%p0; selp.b32 %r1, 1, 2, %p1; cvt.u64.u32 %rd0, %r1;", 2},
        {"mov.u32 %r0, 4; set.ge.u32.s32 %r1, %r0, 4; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, -1; slct.s32.s32 %r1, 7, 8, %r0; cvt.u64.u32 %rd0, %r1;", 8},
        {"mov.u32 %r0, 5; setp.eq.u32 %p0, %r0, 5; not.pred %p1, %p0; mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; @!%p1 add.u32 %r1, %r1, 8; cvt.u64.u32 %rd0, %r1;", 9},
        {"mov.u32 %r0, 0; cnot.b32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 1},
        // Conversions: truncation, extension into wider registers, saturation, all roundings.
        {"mov.u32 %r0, 0x1ff; cvt.u8.u32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 0xff},
        {"mov.u32 %r0, 0x1ff; cvt.s8.s32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 0xffffffff},
        {"mov.u32 %r0, 300; cvt.sat.u8.s32 %r1, %r0; cvt.u64.u32 %rd0, %r1;", 255},
        {"mov.u32 %r0, -300; cvt.sat.s8.s32 %r1, %r0; cvt.s64.s32 %rd0, %r1;", static_cast<u64>(-128)},
        {"mov.u32 %r0, -1; cvt.u64.u32 %rd0, %r0;", 0xffffffff},
        {"mov.u32 %r0, -1; cvt.s64.s32 %rd0, %r0;", ~u64{0}},
        {"mov.f32 %f0, 0f40200000; cvt.rni.s32.f32 %r0, %f0; cvt.u64.u32 %rd0, %r0;", 2},     // 2.5 to even
        {"mov.f32 %f0, 0fC0200000; cvt.rzi.s32.f32 %r0, %f0; cvt.s64.s32 %rd0, %r0;", static_cast<u64>(-2)},
        {"mov.f32 %f0, 0fC0200000; cvt.rmi.s32.f32 %r0, %f0; cvt.s64.s32 %rd0, %r0;", static_cast<u64>(-3)},
        {"mov.f32 %f0, 0f40200000; cvt.rpi.s32.f32 %r0, %f0; cvt.u64.u32 %rd0, %r0;", 3},
        {"mov.f32 %f0, 0f4F800000; cvt.rzi.s32.f32 %r0, %f0; cvt.u64.u32 %rd0, %r0;", 0x7fffffff},   // 2^32 clamps
        {"mov.f32 %f0, 0fBF800000; cvt.rzi.u32.f32 %r0, %f0; cvt.u64.u32 %rd0, %r0;", 0},
        {"mov.f32 %f0, 0f7FC00000; cvt.rzi.s32.f32 %r0, %f0; cvt.u64.u32 %rd0, %r0;", 0},            // NaN
        {"mov.u32 %r0, 16777217; cvt.rn.f32.u32 %f0, %r0; mov.b32 %r1, %f0; cvt.u64.u32 %rd0, %r1;", 0x4b800000},
        {"mov.u32 %r0, 16777217; cvt.rp.f32.u32 %f0, %r0; mov.b32 %r1, %f0; cvt.u64.u32 %rd0, %r1;", 0x4b800001},
        {"mov.u32 %r0, -3; cvt.rn.f64.s32 %fd0, %r0; cvt.rzi.s64.f64 %rd0, %fd0;", static_cast<u64>(-3)},
        // Index arithmetic in float: 1000 * 0.125 + 0.5, in one rounding.
        {"mov.u32 %r0, 1000; cvt.rn.f32.u32 %f0, %r0; fma.rn.f32 %f1, %f0, 0f3E000000, 0f3F000000; cvt.rzi.u32.f32 %r1, %f1; cvt.u64.u32 %rd0, %r1;", 125},
        {"mov.f64 %fd0, 0d4024000000000000; div.rn.f64 %fd1, %fd0, 0d4008000000000000; cvt.rmi.s64.f64 %rd0, %fd1;", 3},
        {"mov.f32 %f0, 0f41100000; sqrt.rn.f32 %f1, %f0; cvt.rzi.u32.f32 %r1, %f1; cvt.u64.u32 %rd0, %r1;", 3},
        {"mov.f32 %f0, 0f7FC00000; setp.ltu.f32 %p0, %f0, 0f00000000; selp.b32 %r1, 5, 6, %p0; cvt.u64.u32 %rd0, %r1;", 5},
        {"mov.f32 %f0, 0f7FC00000; setp.lt.f32 %p0, %f0, 0f00000000; selp.b32 %r1, 5, 6, %p0; cvt.u64.u32 %rd0, %r1;", 6},
        // Packing.
        {"mov.b32 %r0, {%rs0, %rs1}; mov.b16 %rs0, 0x1234; mov.b16 %rs1, 0x5678; mov.b32 %r0, {%rs0, %rs1}; cvt.u64.u32 %rd0, %r0;", 0x56781234},
        {"mov.u64 %rd1, 0x1122334455667788; mov.b64 {%r0, %r1}, %rd1; cvt.u64.u32 %rd0, %r1;", 0x11223344},
        // Parameters and special registers.
        {"ld.param.u32 %r0, [k_param_1]; cvt.u64.u32 %rd0, %r0;", 7},
        {"ld.param.u16 %r0, [k_param_0+4]; cvt.u64.u32 %rd0, %r0;", 1},
        {"mov.u32 %r0, %ntid.x; mov.u32 %r1, %nctaid.x; mad.lo.u32 %r2, %r0, 100, %r1; cvt.u64.u32 %rd0, %r2;", 3203},
        {"activemask.b32 %r0; cvt.u64.u32 %rd0, %r0;", 0xffffffff},
        {"mov.u32 %r1, %laneid; redux.sync.add.s32 %r0, %r1, 0xffffffff; cvt.u64.u32 %rd0, %r0;", 496},
        {"mov.u32 %r1, %laneid; redux.sync.max.u32 %r0, %r1, 0xffffffff; cvt.u64.u32 %rd0, %r0;", 31},
        {"mov.u32 %r1, %laneid; setp.lt.u32 %p0, %r1, 4; vote.sync.ballot.b32 %r0, %p0, 0xffffffff; cvt.u64.u32 %rd0, %r0;", 15},
        {"mov.u32 %r1, %laneid; setp.lt.u32 %p0, %r1, 4; vote.sync.any.pred %p1, %p0, 0xffffffff; selp.b32 %r0, 1, 2, %p1; cvt.u64.u32 %rd0, %r0;", 1},
        {"mov.u32 %r1, %laneid; setp.lt.u32 %p0, %r1, 4; vote.sync.all.pred %p1, %p0, 0xffffffff; selp.b32 %r0, 1, 2, %p1; cvt.u64.u32 %rd0, %r0;", 2},
        {"mov.u32 %r1, %laneid; shr.u32 %r2, %r1, 4; match.any.sync.b32 %r0, %r2, 0xffffffff; cvt.u64.u32 %rd0, %r0;", 0xffff},
        // What is not known but decided: anything and 0, a selection by a known predicate.
        {"mov.u32 %r0, %clock; and.b32 %r1, %r0, 0; cvt.u64.u32 %rd0, %r1;", 0},
        {"mov.u32 %r0, %clock; mov.u32 %r2, 3; setp.eq.u32 %p0, %r2, 3; selp.b32 %r1, 8, %r0, %p0; cvt.u64.u32 %rd0, %r1;", 8},
    };
    for (const Row& row : rows) {
        INFO(row.body);
        const Answer a = run(row.body);
        REQUIRE(a.known);
        REQUIRE(a.lanes[0] == row.value);
    }
}

TEST_CASE("values that depend on the lane", "[evaluator][semantics]") {
    const auto lanes = [](const std::string& body) {
        INFO(body);
        const Answer a = run("mov.u32 %r1, %laneid; " + body + " cvt.u64.u32 %rd0, %r0;");
        REQUIRE(a.known);
        return a.lanes;
    };
    // shfl: c packs the clamp and the segment mask (PTX ISA 9.7.9.6).
    auto v = lanes("shfl.sync.down.b32 %r0, %r1, 4, 31, -1;");
    CHECK(v[0] == 4);
    CHECK(v[27] == 31);
    CHECK(v[28] == 28);
    v = lanes("shfl.sync.up.b32 %r0, %r1, 1, 0, -1;");
    CHECK(v[0] == 0);
    CHECK(v[9] == 8);
    v = lanes("shfl.sync.bfly.b32 %r0, %r1, 3, 31, -1;");
    CHECK(v[5] == 6);
    v = lanes("shfl.sync.idx.b32 %r0, %r1, 2, 0x181f, -1;");       // segments of 8
    CHECK(v[3] == 2);
    CHECK(v[13] == 10);
    v = lanes("shfl.sync.down.b32 %r2|%p1, %r1, 4, 0x181f, -1; selp.b32 %r0, %r2, 99, %p1;");
    CHECK(v[3] == 7);
    CHECK(v[4] == 99);
    v = lanes("mov.u32 %r2, %lanemask_lt; popc.b32 %r0, %r2;");
    CHECK(v[17] == 17);
    v = lanes("setp.ge.u32 %p0, %r1, 16; mov.u32 %r0, 1; @%p0 add.u32 %r0, %r0, %r1;");
    CHECK(v[15] == 1);
    CHECK(v[20] == 21);
}

TEST_CASE("what cannot be known stays unknown", "[evaluator][semantics]") {
    for (const char* body : {"mov.u32 %r0, %clock; cvt.u64.u32 %rd0, %r0;", "mov.u32 %r0, %smid; cvt.u64.u32 %rd0, %r0;",
                             "mov.u64 %rd1, 4096; ld.global.u64 %rd0, [%rd1];", "mov.u32 %r0, %clock; add.u32 %r1, %r0, 0; cvt.u64.u32 %rd0, %r1;",
                             "mov.u32 %r0, %clock; setp.eq.u32 %p0, %r0, 0; mov.u64 %rd0, 8; @%p0 mov.u64 %rd0, 16;"}) {
        INFO(body);
        CHECK_FALSE(run(body).known);
    }
}
