// Facts from small pieces of PTX: what an instruction costs by, what it touches, what a parameter is for, what things are called.
#include "catch.hpp"
#include "flipflop/passes.hpp"
#include "passes/names.hpp"

using namespace flipflop;

namespace {

struct Parsed {
    ptx::ParseResult result;
    [[nodiscard]] const ptx::Module& module() const { return result.modules.at(0); }
    [[nodiscard]] KernelCode analyse() const {
        for (std::uint32_t f = 0; f < module().functions.size(); ++f)
            if (module().functions[f].is_entry) return analyse_kernel(module(), f);
        FAIL("no entry");
        return {};
    }
};

Parsed parse_text(const std::string& text) {
    Parsed p{ptx::parse(std::make_shared<std::string>(text), "test.ptx")};
    for (const Diagnostic& d : p.result.diagnostics) UNSCOPED_INFO(render(d));
    REQUIRE(p.result.errors == 0);
    return p;
}

Parsed kernel(const std::string& parameters, const std::string& body, const std::string& target = "sm_90a", const std::string& before = "") {
    return parse_text(".version 8.7\n.target " + target + "\n.address_size 64\n" + before + ".visible .entry k(" + parameters + ")\n{\n"
        ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<40>;\n.reg .f64 %d<9>;\n" + body + "\nret;\n}\n");
}

}  // namespace

TEST_CASE("what an instruction's cost is looked up by", "[passes]") {
    const std::pair<const char*, MachineOp> rows[] = {
        {"add.f32 %f1, %f2, %f3;", MachineOp::fp32_add}, {"add.s64 %rd1, %rd2, %rd3;", MachineOp::int_add64},
        {"mul.wide.u32 %rd1, %r1, 4;", MachineOp::int_mul_wide}, {"mul.lo.s32 %r1, %r2, 8;", MachineOp::shift},
        {"mul.lo.s32 %r1, %r2, 12;", MachineOp::int_mul}, {"mad.lo.s32 %r1, %r2, %r3, %r4;", MachineOp::int_mad},
        {"mul.hi.u32 %r1, %r2, %r3;", MachineOp::int_mul_hi}, {"mul.lo.s64 %rd1, %rd2, %rd3;", MachineOp::int_mul64},
        {"fma.rn.f64 %d1, %d2, %d3, %d4;", MachineOp::fp64_fma}, {"div.rn.f32 %f1, %f2, %f3;", MachineOp::fp32_div_rn},
        {"div.approx.f32 %f1, %f2, %f3;", MachineOp::fp32_div_approx}, {"div.full.f32 %f1, %f2, %f3;", MachineOp::fp32_div_full},
        {"div.s32 %r1, %r2, %r3;", MachineOp::int_div_s32}, {"div.u32 %r1, %r2, 7;", MachineOp::int_mul_hi},
        {"rem.u32 %r1, %r2, 8;", MachineOp::logic}, {"div.u64 %rd1, %rd2, %rd3;", MachineOp::int_div64},
        {"sqrt.approx.f32 %f1, %f2;", MachineOp::fp32_sqrt_approx}, {"rcp.rn.f64 %d1, %d2;", MachineOp::fp64_rcp},
        {"cvt.u64.u32 %rd1, %r1;", MachineOp::nothing}, {"cvt.s64.s32 %rd1, %r1;", MachineOp::convert_int_int64},
        {"cvt.u32.u64 %r1, %rd1;", MachineOp::nothing}, {"cvt.rn.f32.s32 %f1, %r1;", MachineOp::convert_int_fp32},
        {"cvt.rzi.s32.f32 %r1, %f1;", MachineOp::convert_fp32_int}, {"cvt.f64.f32 %d1, %f1;", MachineOp::convert_fp64_any},
        {"cvt.rn.f16.f32 %h1, %f1;", MachineOp::convert_fp32_fp16}, {"cvt.rmi.f32.f32 %f1, %f2;", MachineOp::convert_fp32_round},
        {"mov.u32 %r1, %tid.x;", MachineOp::read_special}, {"mov.u32 %r1, %r2;", MachineOp::move},
        {"mov.b64 %rd1, {%r1, %r2};", MachineOp::nothing}, {"and.pred %p1, %p2, %p3;", MachineOp::predicate_op},
        {"xor.b64 %rd1, %rd2, %rd3;", MachineOp::logic64}, {"setp.lt.s32 %p1, %r1, %r2;", MachineOp::int_compare},
        {"setp.gt.f32 %p1, %f1, %f2;", MachineOp::fp32_compare}, {"set.lt.u32.f32 %r1, %f1, %f2;", MachineOp::fp32_compare},
        {"selp.b64 %rd1, %rd2, %rd3, %p1;", MachineOp::int_select64}, {"shl.b64 %rd1, %rd2, 2;", MachineOp::shift64},
        {"cvta.to.global.u64 %rd1, %rd2;", MachineOp::nothing}, {"cvta.shared.u64 %rd1, %rd2;", MachineOp::int_add64},
        {"ld.param.u64 %rd1, [k_param_0];", MachineOp::nothing}, {"ld.global.f32 %f1, [%rd1];", MachineOp::load_global},
        {"ld.f32 %f1, [%rd1];", MachineOp::load_global}, {"ld.const.f32 %f1, [tab+4];", MachineOp::nothing},
        {"ld.const.f32 %f1, [%rd1];", MachineOp::load_const_indexed}, {"st.shared.v4.f32 [%r1], {%f1, %f2, %f3, %f4};", MachineOp::store_shared},
        {"atom.shared.add.u32 %r1, [%r2], 1;", MachineOp::atomic_shared}, {"red.global.add.f32 [%rd1], %f1;", MachineOp::reduction_global},
        {"cp.async.ca.shared.global [%r1], [%rd1], 16;", MachineOp::async_copy}, {"cp.async.wait_all;", MachineOp::other},
        {"bar.sync 0;", MachineOp::barrier}, {"bar.warp.sync -1;", MachineOp::vote}, {"membar.gl;", MachineOp::fence},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", MachineOp::shuffle}, {"prmt.b32 %r1, %r2, %r3, %r4;", MachineOp::permute},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};", MachineOp::mma_fp16},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};", MachineOp::mma_tf32},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%r9,%r10}, {%r1,%r2,%r3,%r4};", MachineOp::mma_int8},
        {"vadd.s32.s32.s32 %r1, %r2, %r3;", MachineOp::video}, {"frobnicate.f32 %f1, %f2;", MachineOp::unknown},
    };
    for (const auto& [text, wanted] : rows) {
        INFO(text);
        const Parsed p = kernel(".param .u64 k_param_0", text, "sm_90a", ".const .align 4 .b8 tab[64];\n");
        const KernelCode code = p.analyse();
        CHECK(to_string(code.functions[0].table.machine_op.at(0)) == to_string(wanted));
    }
}

TEST_CASE("what an instruction touches", "[passes]") {
    // op space bytes flags (r w a), one a side; empty: no access
    const std::pair<const char*, const char*> rows[] = {
        {"ld.param.u64 %rd1, [k_param_0];", ""}, {"bar.sync 0;", ""}, {"mov.u32 %r1, %r2;", ""},
        {"ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];", "ld global 16 r"},
        {"ld.volatile.shared.u8 %h1, [%r1];", "ld shared 1 r"}, {"ldu.global.f32 %f1, [%rd1];", "ldu global 4 r"},
        {"st.local.f64 [%rd1], %d1;", "st local 8 w"}, {"st.f32 [%rd1], %f1;", "st generic 4 w"},
        {"ld.const.u32 %r1, [tab];", "ld const 4 r"}, {"prefetch.global.L2 [%rd1];", "prefetch global 0 r"},
        {"atom.global.cas.b64 %rd1, [%rd2], %rd3, %rd4;", "atom global 8 rwa"}, {"red.shared.add.u32 [%r1], 1;", "red shared 4 rwa"},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "cp.async global 16 r;cp.async shared 16 w"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 256, [%r2];",
         "cp.async.bulk global 256 r;cp.async.bulk shared 256 w"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;", "cp.async.bulk global 0 w;cp.async.bulk shared 0 r"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
         "cp.async.bulk.tensor global 0 r;cp.async.bulk.tensor shared 0 w"},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];", "ldmatrix shared 16 r"},
        {"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r5], {%r1,%r2};", "stmatrix shared 16 w"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], %r9;", "wmma.load global 16 r"},
        {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%rd1], {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, %r9;", "wmma.store shared 32 w"},
        {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};", ""},
        {"tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];", "tex texture 0 r"},
        {"suld.b.1d.b32.trap %r1, [%rd1, {%r2}];", "suld texture 4 r"},
    };
    for (const auto& [text, wanted] : rows) {
        INFO(text);
        const KernelCode code = kernel(".param .u64 k_param_0", text, "sm_90a", ".const .align 4 .b8 tab[64];\n").analyse();
        std::string have;
        for (const AccessDescription& a : code.facts.accesses) {
            if (!have.empty()) have += ';';
            have += a.op + " " + std::string(to_string(a.space)) + " " + std::to_string(a.bytes_per_lane) + " ";
            have += std::string(a.reads ? "r" : "") + (a.writes ? "w" : "") + (a.atomic ? "a" : "");
        }
        CHECK(have == wanted);
        const InstructionTable& table = code.functions[0].table;
        CHECK((table.access[0] >= 0) == !have.empty());
        CHECK((table.access2[0] >= 0) == (have.find(';') != std::string::npos));
    }
}

TEST_CASE("multiply-adds of matrix instructions", "[passes]") {
    const std::pair<const char*, std::uint32_t> rows[] = {
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};", 16 * 8 * 16},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0;", 64 * 8 * 16 / 4},
        {"add.f32 %f1, %f2, %f3;", 0}};
    for (const auto& [text, wanted] : rows) {
        INFO(text);
        CHECK(kernel("", text).analyse().functions[0].table.tensor_fma[0] == wanted);
    }
}

TEST_CASE("what parameters are for", "[passes]") {
    const char* const index = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;\n";
    struct Row { const char* name; const char* parameters; std::string body; const char* facts; };
    const Row rows[] = {
        {"pointer, stride and guard", ".param .u64 a, .param .u32 n, .param .u32 s",
         std::string(index) + "ld.param.u32 %r5, [n]; setp.ge.s32 %p1, %r4, %r5; @%p1 ret;\n"
         "ld.param.u32 %r6, [s]; mul.lo.s32 %r7, %r4, %r6; ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1;\n"
         "mul.wide.s32 %rd3, %r7, 4; add.s64 %rd4, %rd2, %rd3; ld.global.f32 %f1, [%rd4];",
         "pointer -1 address base;scalar 0 guard;scalar -1 address stride;"},
        {"a 64-bit size is no pointer beside one", ".param .u64 a, .param .u64 n",
         "ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd1, %rd1; ld.param.u64 %rd2, [n]; add.s64 %rd3, %rd1, %rd2; ld.global.u8 %h1, [%rd3];",
         "pointer -1 address base;scalar -1 address offset;"},
        {"a pointer that no cvta touches", ".param .u64 a", "ld.param.u64 %rd1, [a]; ld.global.u8 %h1, [%rd1+4];", "pointer -1 address base;"},
        {"declared pointer, never used", ".param .u64 .ptr .global .align 16 a", "", "pointer -1 "},
        {"loop bound, step, shift, divisor, stored value", ".param .u64 a, .param .u32 n, .param .u32 s, .param .u32 h, .param .u32 d, .param .f32 v",
         "ld.param.u64 %rd1, [a]; ld.param.u32 %r5, [n]; ld.param.u32 %r6, [s]; ld.param.u32 %r7, [h]; ld.param.u32 %r8, [d]; ld.param.f32 %f1, [v];\n"
         "mov.u32 %r9, 0;\nL:\nshr.u32 %r10, %r9, %r7; rem.u32 %r11, %r10, %r8; mul.wide.u32 %rd2, %r11, 4; add.s64 %rd3, %rd1, %rd2;\n"
         "st.global.f32 [%rd3], %f1; add.s32 %r9, %r9, %r6; setp.lt.u32 %p1, %r9, %r5; @%p1 bra L;",
         "pointer -1 address base;scalar -1 loop bound;scalar -1 address stride,loop bound;scalar -1 shift,address stride;"
         "scalar -1 divisor,address stride;scalar -1 stored value;"},
        {"a product is a guard without an axis", ".param .u32 n, .param .u32 m",
         std::string(index) + "ld.param.u32 %r5, [n]; ld.param.u32 %r6, [m]; mul.lo.s32 %r7, %r5, %r6; setp.lt.s32 %p1, %r4, %r7; @!%p1 ret;",
         "scalar -1 guard;scalar -1 guard;"},
        {"threads of one block are no global index", ".param .u32 n",
         "mov.u32 %r1, %tid.x; ld.param.u32 %r5, [n]; setp.lt.s32 %p1, %r1, %r5; @!%p1 ret;", "scalar -1 guard;"},
        {"a compared size that is no guard", ".param .u32 n", "ld.param.u32 %r5, [n]; setp.lt.s32 %p1, %r5, 1; @%p1 ret;", "scalar -1 condition;"},
        {"second axis", ".param .u32 n",
         "mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.s32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [n];\n"
         "setp.ge.s32 %p1, %r4, %r5; @%p1 ret;", "scalar 1 guard;"},
        {"a struct by value", ".param .align 8 .b8 s[24]",
         std::string(index) + "ld.param.u64 %rd1, [s]; ld.param.v2.u32 {%r5, %r6}, [s+8]; setp.ge.s32 %p1, %r4, %r6; @%p1 ret;\n"
         "cvta.to.global.u64 %rd2, %rd1; ld.global.u32 %r7, [%rd2];",
         "aggregate -1 address base,guard;"},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const KernelCode code = kernel(row.parameters, row.body).analyse();
        std::string have;
        for (const ParameterFacts& p : code.facts.parameters) {
            have += p.kind == ParameterKind::pointer ? "pointer " : p.kind == ParameterKind::scalar ? "scalar " : "aggregate ";
            have += std::to_string(p.guard_axis) + " ";
            for (std::size_t u = 0; u < p.uses.size(); ++u) have += (u ? "," : "") + p.uses[u].what;
            have += ";";
        }
        CHECK(have == std::string(row.facts) + (std::string(row.facts).ends_with(";") ? "" : ";"));
    }
    const KernelCode code = kernel(rows[9].parameters, rows[9].body).analyse();
    const ParameterFacts& s = code.facts.parameters.at(0);
    CHECK((s.type == "b8[24]" && s.bytes == 24));
    REQUIRE(s.fields.size() == 3);
    CHECK((s.fields[0].offset == 0 && s.fields[0].kind == ParameterKind::pointer && s.fields[0].type == "u64"));
    CHECK((s.fields[1].offset == 8 && s.fields[1].uses.empty()));
    CHECK((s.fields[2].offset == 12 && s.fields[2].guard_axis == 0));
}

TEST_CASE("parameters through a call", "[passes]") {
    const Parsed p = kernel(".param .u64 a, .param .u32 n",
        "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];\n{ .param .b64 x; .param .b32 y; st.param.b64 [x], %rd1; st.param.b32 [y], %r1; call.uni f, (x, y); }",
        "sm_80", ".func f(.param .b64 p, .param .b32 q)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [q];\n"
        "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.u32 [%rd3], %r1;\nret;\n}\n");
    const KernelCode code = p.analyse();
    REQUIRE(code.functions.size() == 2);
    CHECK(code.facts.parameters[0].kind == ParameterKind::pointer);
    CHECK(code.facts.parameters[1].kind == ParameterKind::scalar);
    REQUIRE(code.facts.accesses.size() == 1);
    CHECK(code.facts.accesses[0].function == "f");
    CHECK(code.functions[1].table.access[4] == 0);
    CHECK(code.facts.resources.complete);
    CHECK(!kernel("", "{ call.uni gone, (); }", "sm_80", ".func gone();\n").analyse().facts.resources.complete);
}

TEST_CASE("resources, bounds and shape", "[passes]") {
    const Parsed p = parse_text(".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 unused[400];\n.shared .align 1 .b8 a[3];\n"
        ".extern .shared .align 16 .b8 dyn[];\n.visible .entry k()\n.maxntid 64, 4\n.minnctapersm 2\n.maxnreg 40\n.reqnctapercluster 2, 1, 1\n{\n"
        ".shared .align 8 .b8 b[16];\n.local .align 8 .b8 frame[24];\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n"
        "mov.u32 %r1, a;\nmov.u32 %r2, b;\nmov.u32 %r3, dyn;\nmov.u32 %r4, frame;\nst.shared.u32 [%r1], %r2;\nst.shared.u32 [%r3], %r4;\n"
        "mov.u32 %r5, %ctaid.z;\nst.shared.u32 [%r2], %r5;\nbar.sync 2, 64;\nret;\n}\n");
    const KernelFacts f = p.analyse().facts;
    CHECK(f.resources.static_shared_bytes == 24);   // 3, aligned to 8, 16; the unused one is not there
    CHECK(f.resources.uses_dynamic_shared);
    CHECK(f.resources.local_bytes == 24u);
    CHECK(f.resources.barriers == 3u);
    CHECK(f.has_named_barriers);
    CHECK(f.dimensions == 3);
    CHECK(f.block_dimensions == 1);   // %ctaid.z alone: no thread of a block is told from another by z
    CHECK(f.uses_cluster);
    CHECK(!f.grid_barrier);
    CHECK(f.bounds.max_threads == 256u);
    CHECK((f.bounds.max_block == Dim3{64, 4, 1} && !f.bounds.required_block));
    CHECK((f.bounds.min_blocks_per_sm == 2u && f.bounds.max_registers == 40u && f.bounds.cluster == Dim3{2, 1, 1}));
    CHECK(f.mix.counts[13] == 0);   // load_global
    CHECK(f.mix.unknown_share == 0);

    const KernelFacts g = kernel("", "bar.sync 0; mov.u32 %r1, %ntid.x; frobnicate.f32 %f1, %f2;").analyse().facts;
    CHECK((g.dimensions == 1 && !g.has_named_barriers && g.resources.barriers == 1u && !g.uses_cluster));
    CHECK(g.instructions == 4);
    CHECK(g.mix.unknown_share == Approx(0.25));
    CHECK(kernel("", "mov.u32 %r2, 3; bar.sync %r2;").analyse().facts.resources.barriers == 16u);
}

TEST_CASE("a grid barrier of cooperative groups does not make a kernel three-dimensional", "[passes]") {
    // The shape of cooperative_groups::grid_group::sync, ids of three axes read to find thread 0 and block 0.
    const char* const body = "ld.param.u64 %rd1, [a]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;\n"
        "mul.wide.s32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4;\n"
        "mov.u32 %r5, %envreg2; mov.u32 %r6, %envreg1; mov.b64 %rd4, {%r6, %r5};\n"
        "mov.u32 %r7, %tid.y; mov.u32 %r8, %tid.z; or.b32 %r9, %r7, %r8; or.b32 %r9, %r9, %r3; setp.ne.s32 %p1, %r9, 0; bar.sync 0; @%p1 bra S;\n"
        "atom.add.release.gpu.u32 %r10, [%rd4+4], 1;\nS:\nbar.sync 0;";
    const KernelFacts f = kernel(".param .u64 a", body).analyse().facts;
    CHECK(f.grid_barrier);
    CHECK(f.dimensions == 1);
    const KernelFacts plain = kernel(".param .u64 a", "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.z; st.global.u32 [%rd1], %r1;").analyse().facts;
    CHECK((!plain.grid_barrier && plain.dimensions == 3 && plain.block_dimensions == 3));
}

TEST_CASE("names", "[passes]") {
    const std::pair<const char*, const char*> rows[] = {
        {"axpy", "axpy"}, {"_Z4gemmILi32ELi8EEvPKfS1_Pf", "gemm<...>"}, {"_ZN2ns6kernelIfLi3EEEvPT_", "ns::kernel<...>"},
        {"_ZN12_GLOBAL__N_11kEPf", "(anonymous namespace)::k"}, {"_ZN1A1BIiE1kIfEEvv", "A::B<...>::k<...>"}, {"_Zbroken", "_Zbroken"}};
    for (const auto& [mangled, wanted] : rows) CHECK(short_name_of(demangle(mangled)) == wanted);
    CHECK(kernel_id("axpy") == kernel_id("axpy"));
    CHECK(kernel_id("axpy") != kernel_id("axpz"));
    CHECK(kernel_id("").size() == 8);
}

TEST_CASE("how much local memory a thread needs is not known where it depends on the run", "[passes]") {
    const std::string tree = ".visible .func leaf(.reg .b32 %x)\n{\n.local .b8 buffer[16];\n.reg .b64 %rd<3>;\nmov.u64 %rd1, buffer;\nst.local.u32 [%rd1], %x;\nret;\n}\n"
                             ".visible .func middle(.reg .b32 %x)\n{\ncall leaf, (%x);\ncall leaf, (%x);\nret;\n}\n";
    CHECK(kernel("", "call middle, (%r1);", "sm_80", tree).analyse().facts.resources.local_bytes == 16u);
    const std::string itself = ".visible .func again(.reg .b32 %x)\n{\n.reg .pred %p<2>;\nsetp.eq.s32 %p1, %x, 0;\n@%p1 ret;\nsub.s32 %x, %x, 1;\ncall again, (%x);\nret;\n}\n";
    const Resources deep = kernel("", "call again, (%r1);", "sm_80", itself).analyse().facts.resources;
    CHECK_FALSE(deep.local_bytes);
    CHECK_FALSE(deep.complete);
    const Resources taken = kernel("", "alloca.u64 %rd1, %rd2, 16;", "sm_80").analyse().facts.resources;
    CHECK_FALSE(taken.local_bytes);
    CHECK_FALSE(taken.complete);
}
