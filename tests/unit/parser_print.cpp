// print(): what a module holds beside its code comes back too.
#include "catch.hpp"

#include "parser_corpus.hpp"
#include "tests/same_module.hpp"

using namespace flipflop;
using namespace flipflop::ptx;

namespace {

ParseResult parse_text(std::string text) { return parse(std::make_shared<const std::string>(std::move(text)), "text.ptx"); }

/// What is printed, after a look that it means the same and prints the same again.
std::string round_trip(const std::string& text) {
    const ParseResult first = parse_text(text);
    for (const Diagnostic& d : first.diagnostics) CHECK(render(d) == "");
    REQUIRE(first.modules.size() == 1);
    const std::string printed = print(first.modules[0]);
    const ParseResult second = parse_text(printed);
    INFO(printed);
    for (const Diagnostic& d : second.diagnostics) CHECK(render(d) == "");
    REQUIRE(second.modules.size() == 1);
    CHECK(testing::difference(first.modules[0], second.modules[0]) == "");
    CHECK(print(second.modules[0]) == printed);
    return printed;
}

const std::string kHead = ".version 8.3\n.target sm_90, texmode_independent\n.address_size 64\n";

}  // namespace

TEST_CASE("print: DWARF sections come back as they were written", "[parser][print]") {
    const std::string section = ".section\t.debug_str\n{\n$L__info_string0:\n.b8 97,98 // not a brace: }\n.b8 0\n}";
    const std::string printed = round_trip(kHead + ".file 1 \"a.cu\", 1700000000, 321\n.file 2 \"b.cuh\"\n.entry k()\n{\n.loc 1 3 1\nret;\n}\n" + section + "\n.section .debug_line { }\n");
    CHECK(printed.find(section) != std::string::npos);
    CHECK(printed.find(".section .debug_line { }") != std::string::npos);
    CHECK(printed.find(".file 1 \"a.cu\", 1700000000, 321\n.file 2 \"b.cuh\"\n") != std::string::npos);
    CHECK(round_trip(".version 2.0\n.target sm_20\n@@DWARF .section .debug_abbrev, \"\",@progbits\n@@DWARF .byte 1\n.entry k() { exit; }\n").find("@@DWARF .byte 1\n") != std::string::npos);
}

TEST_CASE("print: samplers, attributes and directives that only ptxas reads", "[parser][print]") {
    const std::string printed = round_trip(kHead +
        ".global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };\n"
        ".global .texref t; .global .surfref u;\n"
        ".visible .global .attribute(.managed) .align 4 .u32 g = 7;\n"
        ".visible .func .attribute(.unified(5, 7)) (.param .b32 r) f (.param .align 8 .b8 x[16], ...) .noreturn ;\n"
        ".entry k(.param .u64 .ptr .global .align 16 p)\n.maxntid 64, 2\n.minnctapersm 2\n.explicitcluster\n.reqnctapercluster 2\n{ ret; }\n");
    for (const char* piece : {"= { addr_mode_0 = clamp_to_border, filter_mode = nearest };", ".attribute(.managed) ", ".attribute(.unified(5, 7)) ", ", ...)", ".noreturn", ".maxntid 64, 2, 1",
                              ".explicitcluster", ".ptr .global .align 16 "})
        CHECK(printed.find(piece) != std::string::npos);
}

TEST_CASE("print: a function declared early and defined late keeps its source lines", "[parser][print]") {
    const std::string printed = round_trip(kHead + ".file 1 \"a.cu\"\n.func late();\n.entry k()\n{\n.loc 1 10 1\ncall late;\n.loc 1 11 1\nret;\n}\n.func late()\n{\n.loc 1 3 1\nret;\n}\n");
    CHECK(printed.find(".loc 1 10 1") < printed.find(".loc 1 3 1"));
}

TEST_CASE("print: what is declared and never defined", "[parser][print]") {
    round_trip(kHead + ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.extern .shared .align 16 .b8 dynamic[];\n.extern .entry elsewhere (.param .u32 n);\n"
                       ".extern .global .align 4 .b8 table[];\n.entry k() { .reg .b32 %unused<3>; .local .align 8 .b8 stack[24]; ret; }\n");
}

TEST_CASE("parser: each of two modules knows its own part of the text", "[parser]") {
    const std::string one = "// first\n" + kHead + ".entry a() { ret; }\n", two = ".version 7.0\n.target sm_80\n.entry b() { ret; }\n// end\n";
    const ParseResult r = parse_text(one + two);
    REQUIRE(r.modules.size() == 2);
    CHECK(r.modules[0].own_text() == one);
    CHECK(r.modules[1].own_text() == two);
    CHECK(r.modules[0].line_count == 6);
    CHECK(r.modules[1].line_count == 5);
}

TEST_CASE("parser: a bad target is said once", "[parser]") {
    for (const char* target : {"sm_8x", "smx_80", "", "sm_80q, debug"}) {
        const ParseResult r = parse_text(".version 8.0\n.target " + std::string(target) + "\n.entry k() { ret; }\n");
        INFO(target);
        CHECK(r.errors == 1);
        CHECK(r.diagnostics.at(0).id == "FF0014");
        CHECK(r.diagnostics[0].at.line != 0);
    }
    CHECK(parse_text(".version 8.0\n.entry k() { ret; }\n").errors == 1);
}
