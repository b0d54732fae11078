// Small texts that ptxas refuses, with the diagnostic that says so, and texts that it takes though they look odd. Where ptxas
// is on PATH each verdict is held against it.
#include "catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "flipflop/ptx.hpp"

using namespace flipflop;
using namespace flipflop::ptx;

namespace {

/// `id` is empty where the text is good. A body stands in a kernel with registers of all kinds; `module` is text beside it.
struct Row {
    const char* id;
    const char* body;
    const char* module = "";
    const char* directives = "";
};

constexpr Row kRows[] = {
    // Performance directives: numbers from 1 to 4294967295.
    {"FF0410", "", "", ".reqntid 4294967296"},
    {"FF0410", "", "", ".reqntid -1"},
    {"FF0410", "", "", ".maxnreg 0"},
    {"FF0410", "", "", ".maxnreg 4294967297"},
    {"FF0410", "", "", ".maxntid 128 .minnctapersm 0"},
    {"FF0410", "", "", ".maxntid 128 .minnctapersm 4294967297"},
    {"", "", "", ".reqnctapercluster 0, 0, 0"},
    {"FF0306", "", "", ".blocksareclusters"},
    {"", "", "", ".blocksareclusters .reqntid 32 .reqnctapercluster 2"},
    // Names.
    {"FF0202", ".reg .b32 %r5;"},
    {"FF0202", ".reg .b32 %x3; .reg .b32 %x<4>;"},
    {"", ".reg .b32 %x9; .reg .b32 %x<4>;"},
    {"", "{ .reg .b32 %r5; mov.b32 %r5, 1; }"},
    {"", "mov.b32 %r01, %r1;"},
    {"FF0101", ".reg .b32 %;"},
    {"FF0101", ".reg .b32 _;"},
    {"FF0202", "", ".extern .global .b32 a; .global .b32 a;"},
    {"FF0202", "", ".extern .global .b32 a[5]; .visible .global .b32 a[4];"},
    {"FF0202", "", ".common .global .b32 a; .common .global .b32 a;"},
    {"", "", ".extern .global .b32 a[]; .visible .global .b32 a[4];"},
    {"", "", ".visible .global .b32 a; .extern .global .b32 a;"},
    // Where variables stand, and of what type.
    {"FF0409", "", ".common .shared .b32 b;"},
    {"FF0409", "", ".local .b32 b;"},
    {"FF0409", "", ".reg .b32 b;"},
    {"FF0409", "", ".param .b32 b;"},
    {"FF0114", "", ".global .v3 .f32 b;"},
    {"FF0114", "", ".global .v4 .f64 b;"},
    {"FF0114", "", ".global .v8 .b32 b;"},
    {"FF0114", ".reg .v2 .pred q;"},
    {"", ".reg .v2 .b64 q;"},
    {"FF0114", "", ".func f(.param .pred p) { ret; }"},
    {"FF0114", "", ".func f(.param .v4 .f32 p) { ret; }"},
    {"FF0207", "", ".extern .global .b32 b = 5;"},
    {"FF0207", "", ".global .b8 b[2][2] = {1, 2, 3, 4};"},
    {"FF0207", "", ".global .b8 b[2][2] = {{1, 2}, 3};"},
    {"", "", ".global .b8 b[2][2] = {{1, 2}, {3, 4}}; .global .v2 .f32 c[2] = {{1.0, 2.0}, {3.0, 4.0}};"},
    // Constants and what preprocessors leave.
    {"", "mov.f32 %f1, .5; mov.f32 %f1, .5e2;"},
    {"FF0108", "mov.u32 %r1, 5u;"},
    {"", "mov.u32 %r1, 5U;"},
    {"", "\n# 12 \"kernel.cu\"\n"},
    {"", "", "\n# 1 \"kernel.cu\" 1 3\n"},
    {"FF0101", "\n#line 5\n"},
    // Calls.
    {"FF0212", "call f, (%r1);", ".func f() { ret; }"},
    {"FF0212", "call f, (%r1, %r2);", ".func f(.reg .b32 a) { ret; }"},
    {"FF0212", "call f, (%rd1);", ".func f(.reg .b32 a) { ret; }"},
    {"FF0212", "{ .param .b64 p; st.param.b64 [p], %rd1; call f, (p); }", ".func f(.param .b32 x) { ret; }"},
    {"FF0212", "{ .param .b8 p[8]; call f, (p); }", ".func f(.param .b8 a[4]) { ret; }"},
    {"FF0212", "{ .param .b8 p[8]; call f, (p); }", ".func f(.param .align 8 .b8 a[8]) { ret; }"},
    {"FF0212", "{ .param .b64 p; call (p), f; }", ".func (.param .b32 r) f() { ret; }"},
    {"FF0212", "call j;", ".entry j() { ret; }"},
    {"FF0212", "call %rd1;"},
    {"FF0212", "call (%r1), %rd1, (%r2);"},
    {"FF0212", "{ P: .callprototype _ (.param .b32 a); call %rd1, (), P; }"},
    {"FF0212", "{ P: .callprototype (.param .b32 r) _ (); call %rd1, (), P; }"},
    {"", "{ P: .callprototype _ (.param .b32 a); .param .b32 x; st.param.b32 [x], %r1; call %rd1, (x), P; }"},
    {"", "call f, (%f1); call f, (5);", ".func f(.reg .b32 a) { ret; }"},
    {"", "{ .param .f32 p; call f, (p); }", ".func f(.param .b32 a) { ret; }"},
    // Declarations and aliases.
    {"FF0210", "", ".func g(); .func g(.param .b32 a) { ret; }"},
    {"FF0210", "", ".func g(.param .b32 a); .func g(.param .b64 a) { ret; }"},
    {"FF0210", "", ".func (.param .b32 r) g(); .func (.param .b64 r) g() { ret; }"},
    {"FF0210", "", ".func g(.param .b32 a) { ret; } .func h();\n.alias h, g;"},
    {"FF0210", "", ".entry g() { ret; } .func h();\n.alias h, g;"},
    {"FF0202", "", ".func g() { ret; } .func h() { ret; }\n.alias h, g;"},
    {"", "", ".func g(.param .b32 a) { ret; } .func h(.param .b32 a);\n.alias h, g;"},
    {"FF0101", "", ".entry (.param .b32 r) g() { ret; }"},
    {"FF0101", "", ".func (.param .b32 r) g() .noreturn { trap; }"},
    {"FF0101", "", ".target sm_100"},
    {"FF0101", "", ".func g() { ret; }\n.address_size 64"},
    // Modifiers and types.
    {"FF0413", "setp.hi.f32 %p1, %f1, %f2;"},
    {"FF0413", "setp.lo.s32 %p1, %r1, %r2;"},
    {"FF0413", "setp.lt.b32 %p1, %r1, %r2;"},
    {"FF0413", "setp.num.u32 %p1, %r1, %r2;"},
    {"FF0413", "set.hi.u32.f32 %r1, %f1, %f2;"},
    {"", "setp.eq.b32 %p1, %r1, %r2; setp.hs.u32 %p1, %r1, %r2; setp.ltu.f32 %p1, %f1, %f2;"},
    {"FF0415", "add.sat.u32 %r1, %r2, %r3;"},
    {"FF0415", "add.ftz.s32 %r1, %r2, %r3;"},
    {"FF0415", "add.rn.s32 %r1, %r2, %r3;"},
    {"FF0415", "add.wide.s32 %r1, %r2, %r3;"},
    {"FF0415", "mul.lo.f32 %f1, %f2, %f3;"},
    {"FF0415", "min.NaN.s32 %r1, %r2, %r3;"},
    {"FF0415", "st.global.nc.f32 [%rd1], %f1;"},
    {"FF0415", "ld.shared.nc.f32 %f1, [%rd1];"},
    {"", "add.sat.s32 %r1, %r2, %r3; add.rn.ftz.sat.f32 %f1, %f2, %f3; ld.global.nc.f32 %f1, [%rd1];"},
    {"FF0412", "ld.relaxed.global.f32 %f1, [%rd1];"},
    {"FF0413", "ld.global.f16 %h1, [%rd1];"},
    {"FF0413", "atom.global.and.u32 %r1, [%rd1], %r2;"},
    {"FF0413", "atom.global.add.s64 %rd1, [%rd1], %rd2;"},
    {"FF0413", "atom.global.exch.f32 %f1, [%rd1], %f2;"},
    {"FF0413", "atom.global.min.f32 %f1, [%rd1], %f2;"},
    {"FF0413", "red.global.inc.s32 [%rd1], %r2;"},
    {"", "atom.global.cas.b16 %h1, [%rd1], %h2, %h3; red.global.add.f64 [%rd1], %d1; atom.global.max.s64 %rd1, [%rd1], %rd2;"},
    {"FF0410", "lop3.b32 %r1, %r2, %r3, %r4, %r5;"},
    {"FF0410", "pmevent 17;"},
    {"FF0410", "pmevent %r1;"},
    {"FF0405", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6, %f7}];", ".global .texref t;"},
    {"FF0405", "suld.b.2d.v2.b32.clamp {%r1, %r2, %r3}, [s, {%r5, %r6}];", ".global .surfref s;"},
    // Special registers and addresses.
    {"FF0416", "add.u32 %r3, %laneid, 1;"},
    {"FF0416", "setp.eq.u32 %p1, %tid.x, 0;"},
    {"FF0416", "st.global.u32 [%rd1], %tid.x;"},
    {"FF0403", "mov.u32 %r3, %clock64;"},
    {"FF0403", "mov.u64 %rd3, %laneid;"},
    {"FF0403", "mov.f32 %f3, %tid.x;"},
    {"FF0405", "mov.u32 %r3, %tid;"},
    {"", "mov.u64 %rd3, %clock64; mov.u16 %h1, %tid.x; cvt.u64.u32 %rd3, %laneid; mov.u32 %r1, %gridid; mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid;"},
    {"FF0403", "ld.global.u32 %r1, [%r2];"},
    {"FF0403", "st.u32 [%r2], %r1;"},
    {"FF0403", "atom.global.add.u32 %r1, [%r2], %r3;"},
    {"FF0403", "mov.u32 %r1, a;", ".global .b32 a;"},
    {"", "ld.shared.u32 %r1, [%r2]; ld.const.u32 %r1, [%r2]; ld.local.u32 %r1, [%r2]; atom.shared.add.u32 %r1, [%r2], %r3;"},
    {"", "mov.pred %p1, %is_explicit_cluster;"},
    // Selectors: of bytes and halves, one or several; elements are those of vectors.
    {"", "vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1, %r4;"},
    {"", "vadd2.s32.s32.s32 %r1.h10, %r2.h32, %r3.h10, %r4; vavrg4.u32.u32.u32 %r1.b3210, %r2.b7654, %r3.b0123, %r4;"},
    {"FF0101", "vavrg4.u32.u32.u32 %r1.b3210, %r2.b7854, %r3.b0123, %r4;"},
    {"", ".reg .v4 .f32 v; mov.f32 v.x, %f1; mov.f32 %f1, v.w;"},
    {"FF0101", ".reg .v4 .f32 v; mov.f32 v.x, %f1; mov.f32 %f1, v.b0;"},
    {"FF0101", "mov.b32 %r1, %r2.x;"},
    // Types of instructions that have few.
    {"FF0413", "dp4a.u64.s32 %r1, %r2, %r3, %r4;"},
    {"FF0413", "vadd.s64.u32.s32 %rd1, %r2, %r3, %r4;"},
    {"FF0413", "mbarrier.init.shared.b32 [b], 1;", ".shared .align 8 .b64 b;"},
    {"FF0413", "alloca.b64 %rd1, 16;"},
    {"FF0413", "cvta.to.global.b64 %rd1, %rd2;"},
    {"", "mbarrier.init.shared.b64 [b], 1; dp4a.u32.s32 %r1, %r2, %r3, %r4;", ".shared .align 8 .b64 b;"},
    // Events and barriers.
    {"", "pmevent 15; pmevent.mask 0xff00;"},
    {"FF0410", "pmevent 16;"},
    // Pragmas.
    {"FF0108", ".pragma \"used_bytes_mask foo\"; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];"},
    {"", ".pragma \"used_bytes_mask 0xff\"; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];"},
    {"", ".pragma \"nounroll\"; .pragma \"frequency 99\";"},
};

std::string text_of(const Row& row) {
    return std::string(".version 9.0\n.target sm_100\n.address_size 64\n") + row.module + "\n.visible .entry k()\n" + row.directives +
           "\n{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<16>; .reg .f64 %d<8>;\n" + row.body + "\nret;\n}\n";
}

}  // namespace

TEST_CASE("parser: what ptxas refuses has a diagnostic, and what it takes has none", "[parser][verdicts]") {
    for (const Row& row : kRows) {
        const std::string text = text_of(row);
        const ParseResult result = parse(std::make_shared<const std::string>(text), "row.ptx");
        std::string said;
        bool found = false;
        for (const Diagnostic& d : result.diagnostics) {
            said += render(d);
            found = found || (d.id == row.id && d.severity == Severity::error);
        }
        INFO(text << said);
        if (*row.id == '\0') CHECK(result.errors == 0);
        else CHECK(found);
    }
}

TEST_CASE("parser: ptxas gives the same verdicts", "[parser][verdicts][ptxas]") {
    const char* const named = std::getenv("FLIPFLOP_PTXAS");
    const std::string ptxas = named != nullptr ? named : "ptxas";
    const auto folder = std::filesystem::temp_directory_path() / ("flipflop_verdicts_" + std::to_string(std::rand()));
    const auto accepts = [&](const std::string& text) {
        const auto file = folder / "row.ptx";
        std::ofstream(file, std::ios::binary) << text;
        return std::system((ptxas + " -O0 -c -arch=sm_100 -o /dev/null " + file.string() + " > /dev/null 2>&1").c_str()) == 0;
    };
    std::filesystem::create_directories(folder);
    if (!accepts(text_of({"", ""}))) {
        WARN("skipped: no ptxas of CUDA 13 on PATH");
    } else {
        for (const Row& row : kRows) {
            INFO(text_of(row));
            CHECK(accepts(text_of(row)) == (*row.id == '\0'));
        }
    }
    std::filesystem::remove_all(folder);
}
