// Control flow of small functions: {body, dump}. A dump has one line a block: "number[begin,end) >successors d:dominator
// p:post-dominator l:loop o:order", and one a loop: "L header depth <latches >exiting".
#include <sstream>

#include "catch.hpp"
#include "flipflop/ir.hpp"

using namespace flipflop;

namespace {

std::string text_of(std::uint32_t id) { return id == 0xffffffff ? "-" : std::to_string(id); }

std::string dump(const KernelIr& ir) {
    std::ostringstream out;
    const auto list = [&](char sign, const auto& ids) {
        out << ' ' << sign;
        for (std::size_t k = 0; k < ids.size(); ++k) out << (k ? "," : "") << static_cast<std::uint32_t>(ids[k]);
    };
    for (std::uint32_t b = 0; b < ir.blocks.size(); ++b) {
        const BasicBlock& block = ir.blocks[b];
        out << b << '[' << block.begin << ',' << block.end << ')';
        list('>', block.successors);
        if (!block.reachable) { out << " unreachable\n"; continue; }
        out << " d:" << text_of(static_cast<std::uint32_t>(block.immediate_dominator))
            << " p:" << text_of(static_cast<std::uint32_t>(block.immediate_post_dominator))
            << " l:" << text_of(static_cast<std::uint32_t>(block.loop)) << " o:" << block.order << '\n';
    }
    for (const Loop& loop : ir.loops) {
        out << 'L' << static_cast<std::uint32_t>(loop.header) << ' ' << loop.depth << (loop.irreducible ? " irreducible" : "");
        list('<', loop.latches);
        list('>', loop.exiting);
        out << '\n';
    }
    return out.str();
}

ptx::ParseResult module_of(const std::string& body) {
    const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".func gone(.param .b32 c) .noreturn;\n.func back(.param .b32 c);\n"
        ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n" + body + "}\n";
    ptx::ParseResult result = ptx::parse(std::make_shared<std::string>(text), "test.ptx");
    for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(render(d));
    REQUIRE(result.errors == 0);
    return result;
}

const ptx::Function& entry_of(const ptx::Module& module) {
    for (const ptx::Function& f : module.functions)
        if (f.is_entry) return f;
    FAIL("no entry");
    return module.functions[0];
}

struct Row { const char* name; const char* body; const char* dump; };

const Row kRows[] = {
    {"straight line; labels that nothing branches to split nothing",
     "mov.u32 %r1, 1;\nLx:\nadd.s32 %r1, %r1, 1;\nret;\n",
     "0[0,3) > d:- p:- l:- o:0\n"},
    {"falling off the end is a return",
     "mov.u32 %r1, 1;\n",
     "0[0,1) > d:- p:- l:- o:0\n"},
    {"diamond: fall-through first, then the target",
     "@%p1 bra T;\nmov.u32 %r1, 1;\nbra J;\nT:\nmov.u32 %r1, 2;\nJ:\nret;\n",
     "0[0,1) >1,2 d:- p:3 l:- o:0\n1[1,3) >3 d:0 p:3 l:- o:1\n2[3,4) >3 d:0 p:3 l:- o:2\n3[4,5) > d:0 p:- l:- o:3\n"},
    {"a guarded return ends a block and is a way out",
     "@%p1 ret;\nmov.u32 %r1, 1;\n@!%p2 exit;\nmov.u32 %r2, 1;\nret;\n",
     "0[0,1) >1 d:- p:- l:- o:0\n1[1,3) >2 d:0 p:- l:- o:1\n2[3,5) > d:1 p:- l:- o:2\n"},
    {"a branch to a label at the very end leaves the function",
     "@%p1 bra E;\nmov.u32 %r1, 1;\nE:\n",
     "0[0,1) >1 d:- p:- l:- o:0\n1[1,2) > d:0 p:- l:- o:1\n"},
    {"loop with its test at the end",
     "mov.u32 %r1, 0;\nL:\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra L;\nret;\n",
     "0[0,1) >1 d:- p:1 l:- o:0\n1[1,4) >2,1 d:0 p:2 l:0 o:1\n2[4,5) > d:1 p:- l:- o:2\nL1 1 <1 >1\n"},
    {"a loop's blocks are together in the order though its exit stands in between in the text",
     "L:\n@%p1 bra B;\nbra X;\nX:\nmov.u32 %r1, 1;\nret;\nB:\nadd.s32 %r1, %r1, 1;\nbra L;\n",
     "0[0,1) >1,3 d:- p:1 l:0 o:0\n1[1,2) >2 d:0 p:2 l:- o:2\n2[2,4) > d:1 p:- l:- o:3\n3[4,6) >0 d:0 p:0 l:0 o:1\nL0 1 <3 >0\n"},
    {"nested loops, two latches of the inner one",
     "O:\nmov.u32 %r1, 0;\nI:\n@%p1 bra I;\nadd.s32 %r1, %r1, 1;\n@%p2 bra I;\n@%p3 bra O;\nret;\n",
     "0[0,1) >1 d:- p:1 l:0 o:0\n1[1,2) >2,1 d:0 p:2 l:1 o:1\n2[2,4) >3,1 d:1 p:3 l:1 o:2\n3[4,5) >4,0 d:2 p:4 l:0 o:3\n4[5,6) > d:3 p:- l:- o:4\n"
     "L0 1 <3 >3\nL1 2 <1,2 >2\n"},
    {"two entries into a ring",
     "@%p1 bra B;\nA:\nmov.u32 %r1, 1;\n@%p2 bra E;\nB:\nmov.u32 %r1, 2;\nbra A;\nE:\nret;\n",
     "0[0,1) >1,2 d:- p:1 l:- o:0\n1[1,3) >2,3 d:0 p:3 l:0 o:1\n2[3,5) >1 d:0 p:1 l:0 o:2\n3[5,6) > d:1 p:- l:- o:3\nL1 1 irreducible <2 >1\n"},
    {"a loop that never ends has post-dominators all the same",
     "L:\n@%p1 bra M;\nmov.u32 %r1, 1;\nM:\nadd.s32 %r1, %r1, 1;\nbra L;\n",
     "0[0,1) >1,2 d:- p:2 l:0 o:0\n1[1,2) >2 d:0 p:2 l:0 o:1\n2[2,4) >0 d:0 p:- l:0 o:2\nL0 1 <2 >\n"},
    {"code behind an unconditional branch is not reached and belongs to no loop",
     "bra E;\nD:\nmov.u32 %r1, 1;\nbra D;\nE:\nret;\n",
     "0[0,1) >2 d:- p:2 l:- o:0\n1[1,3) >1 unreachable\n2[3,4) > d:0 p:- l:- o:1\n"},
    {"brx.idx goes where its table says",
     "ts: .branchtargets A, B, A;\nbrx.idx %r1, ts;\nA:\nmov.u32 %r1, 1;\nret;\nB:\nmov.u32 %r1, 2;\nret;\n",
     "0[0,1) >1,2,1 d:- p:- l:- o:0\n1[1,3) > d:0 p:- l:- o:1\n2[3,5) > d:0 p:- l:- o:2\n"},
    {"a call comes back, unless the callee says it does not; trap ends",
     "{ .param .b32 a; st.param.b32 [a], %r1; call.uni back, (a); }\n@%p1 bra T;\n"
     "{ .param .b32 a; st.param.b32 [a], %r1; call.uni gone, (a); }\nT:\ntrap;\n",
     "0[0,3) >1,2 d:- p:- l:- o:0\n1[3,5) > d:0 p:- l:- o:1\n2[5,6) > d:0 p:- l:- o:2\n"},
};

}  // namespace

TEST_CASE("blocks, dominators, loops and their order", "[ir]") {
    for (const Row& row : kRows) {
        INFO(row.name);
        const auto parsed = module_of(row.body);
        const ptx::Module& module = parsed.modules.at(0);
        CHECK(dump(build_ir(module, entry_of(module))) == row.dump);
    }
}

TEST_CASE("what instructions read and write", "[ir]") {
    const auto parsed = module_of(
        "@!%p3 ld.global.v2.u32 {%r1, %r2}, [%rd1+4];\n"         // 0
        "setp.lt.and.s32 %p1|%p2, %r1, %r2, %p3;\n"              // 1
        "st.global.v2.u32 [%rd2], {%r1, _};\n"                   // 2
        "st.global.u32 [%rd2], %r1;\n"                           // 3
        "mov.b64 %rd3, {%r1, %r2};\n"                            // 4
        "mov.b64 {%r3, %r4}, %rd3;\n"                            // 5
        "atom.global.add.u32 %r5, [%rd2], %r3;\n"                // 6
        "red.global.add.u32 [%rd2], %r4;\n"                      // 7
        "shfl.sync.down.b32 %r6|%p4, %r5, 1, 31, -1;\n"          // 8
        "bar.sync 0;\n"                                          // 9
        "mov.u32 %r1, %tid.x;\n");                               // 10
    const ptx::Module& module = parsed.modules.at(0);
    const ptx::Function& f = entry_of(module);
    const KernelIr ir = build_ir(module, f);
    const auto names = [&](std::span<const ptx::RegId> ids) {
        std::string out;
        for (const ptx::RegId id : ids) {
            const ptx::Register& r = f.registers[static_cast<std::uint32_t>(id)];
            out += std::string(r.name) + (r.number >= 0 ? std::to_string(r.number) : "") + " ";
        }
        return out;
    };
    const std::pair<const char*, const char*> rows[] = {
        {"%p3 %rd1 ", "%r1 %r2 "}, {"%r1 %r2 %p3 ", "%p1 %p2 "}, {"%rd2 %r1 ", ""}, {"%rd2 %r1 ", ""}, {"%r1 %r2 ", "%rd3 "},
        {"%rd3 ", "%r3 %r4 "}, {"%rd2 %r3 ", "%r5 "}, {"%rd2 %r4 ", ""}, {"%r5 ", "%r6 %p4 "}, {"", ""}, {"", "%r1 "}};
    REQUIRE(f.instructions.size() == std::size(rows));
    for (std::uint32_t i = 0; i < std::size(rows); ++i) {
        INFO("instruction " << i);
        CHECK(names(ir.reads(i)) == rows[i].first);
        CHECK(names(ir.writes(i)) == rows[i].second);
    }
    const auto r1 = ir.writes(10)[0];
    REQUIRE(ir.definitions_of(r1).size() == 2);
    CHECK((ir.definitions_of(r1)[0] == 0 && ir.definitions_of(r1)[1] == 10));
}
