// The parser on small texts: what a Module says of each construct.
#include "catch.hpp"

#include <memory>
#include <string>

#include "flipflop/ptx.hpp"

using namespace flipflop;
using namespace flipflop::ptx;

namespace {

ParseResult parse_text(const std::string& text) { return parse(std::make_shared<const std::string>(text), "t.ptx"); }

/// A kernel around the given statements, with the usual registers.
ParseResult parse_body(const std::string& body, const std::string& head = ".version 8.0\n.target sm_80\n.address_size 64\n") {
    return parse_text(head +
                      ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %rd<16>;\n" + body + "\n}\n");
}

std::string all_rendered(const ParseResult& r) {
    std::string out;
    for (const Diagnostic& d : r.diagnostics) out += render(d);
    return out;
}

}  // namespace

TEST_CASE("parser: an instruction is its form, guard and resolved operands", "[parser]") {
    const ParseResult r = parse_body("@!%p1 mad.lo.s32 %r2, %r3, -7, %r4; mov.u32 %r4, %tid.y;");
    INFO(all_rendered(r));
    REQUIRE(r.errors == 0);
    const Module& m = r.modules.at(0);
    const Function& f = m.functions.at(0);
    REQUIRE(f.instructions.size() == 2);
    const Instruction& i = f.instructions[0];
    const Form& form = m.form(i);
    CHECK(form.text == "mad.lo.s32");
    CHECK(form.opcode == Opcode::mad);
    CHECK(form.lo);
    CHECK(form.type == Type::s32);
    CHECK(form.instruction_class == InstructionClass::int32);
    CHECK(i.guard_negated);
    CHECK(f.registers[static_cast<std::size_t>(i.guard)].name == "%p");
    CHECK(f.registers[static_cast<std::size_t>(i.guard)].number == 1);
    const auto operands = m.operands_of(i);
    REQUIRE(operands.size() == 4);
    CHECK(operands[0].kind == OperandKind::reg);
    CHECK(f.registers[operands[1].index].number == 3);
    CHECK(operands[2].kind == OperandKind::immediate);
    CHECK(operands[2].value == -7);
    CHECK(f.registers[operands[3].index].number == 4);
    CHECK(i.line == 7);
    const auto moved = m.operands_of(f.instructions[1]);
    REQUIRE(moved.size() == 2);
    CHECK(moved[1].kind == OperandKind::special);
    CHECK(static_cast<Special>(moved[1].index) == Special::tid_y);
}

TEST_CASE("parser: labels become instruction indices, backwards and forwards, and inner scopes have their own", "[parser]") {
    const ParseResult r = parse_body("A: bra B;\n{ B: bra A; { bra B; } }\nB: bra B;\nret;\nZ:");
    INFO(all_rendered(r));
    REQUIRE(r.errors == 0);
    const Module& m = r.modules.at(0);
    const Function& f = m.functions.at(0);
    const auto target = [&](std::size_t i) { return m.operands_of(f.instructions[i])[0].value; };
    CHECK(target(0) == 3);
    CHECK(target(1) == 0);
    CHECK(target(2) == 1);
    CHECK(target(3) == 3);
    REQUIRE(f.labels.size() == 4);
    CHECK(f.labels[3].name == "Z");
    CHECK(f.labels[3].instruction == 5);
}

TEST_CASE("parser: inner registers hide outer ones, by name and by range", "[parser]") {
    const ParseResult r = parse_body("mov.u32 %r1, 1;\n{ .reg .b32 %r1; mov.u32 %r1, 2; { .reg .b32 %r<2>; mov.u32 %r1, 3; mov.u32 %r5, 4; } mov.u32 %r1, 5; }\nmov.u32 %r1, 6;");
    INFO(all_rendered(r));
    REQUIRE(r.errors == 0);
    const Module& m = r.modules.at(0);
    const Function& f = m.functions.at(0);
    const auto written = [&](std::size_t i) { return m.operands_of(f.instructions[i])[0].index; };
    CHECK(written(0) == written(5));
    CHECK(written(1) == written(4));
    CHECK(written(0) != written(1));
    CHECK(written(2) != written(1));
    CHECK(written(2) != written(0));
    CHECK(f.registers[written(3)].number == 5);
    CHECK(written(3) < written(1));
}

TEST_CASE("parser: addresses, vectors and pairs", "[parser]") {
    const ParseResult r = parse_body(
        "ld.global.v2.f32 {%f1, _}, [%rd1+-8];\nsetp.lt.s32 %p1|%p2, %r1, 3;\nld.param.u64 %rd2, [out];\nst.shared.u32 [s+4], %r1;\nld.local.u32 %r1, [16];",
        ".version 8.0\n.target sm_80\n.shared .align 4 .b8 s[64];\n");
    INFO(all_rendered(r));
    REQUIRE(r.errors == 0);
    const Module& m = r.modules.at(0);
    const Function& f = m.functions.at(0);
    const auto load = m.operands_of(f.instructions[0]);
    REQUIRE(load.size() == 2);
    CHECK(load[0].kind == OperandKind::vector);
    REQUIRE(m.children_of(load[0]).size() == 2);
    CHECK(m.children_of(load[0])[1].kind == OperandKind::discard);
    CHECK(load[1].kind == OperandKind::address_reg);
    CHECK(load[1].value == -8);
    CHECK(m.form(f.instructions[0]).vector == 2);
    CHECK(m.form(f.instructions[0]).space == Space::global);
    const auto compare = m.operands_of(f.instructions[1]);
    REQUIRE(compare.size() == 4);
    CHECK(compare[0].paired);
    CHECK(m.form(f.instructions[1]).compare == Compare::lt);
    const auto parameter = m.operands_of(f.instructions[2]);
    CHECK(parameter[1].kind == OperandKind::address_symbol);
    CHECK(m.symbol(parameter[1].symbol()).kind == Symbol::Kind::parameter);
    CHECK(m.operands_of(f.instructions[3])[0].value == 4);
    CHECK(m.operands_of(f.instructions[4])[1].kind == OperandKind::address_immediate);
}

TEST_CASE("parser: an unknown opcode keeps its operands and gives one warning", "[parser]") {
    const ParseResult r = parse_body("warp.fft.m32 {%f2, %f3}, {%f1, %f1}, -1;\nwarp.fft.m32 {%f2, %f3}, {%f1, %f1}, 1;\nadd.s32 %r1, %r2, 3;");
    CHECK(r.errors == 0);
    CHECK(r.warnings >= 1);
    const Function& f = r.modules.at(0).functions.at(0);
    REQUIRE(f.instructions.size() == 3);
    CHECK(f.unknown_instructions == 2);
    CHECK(r.modules[0].form(f.instructions[0]).opcode == Opcode::unknown);
    CHECK(r.modules[0].operands_of(f.instructions[0]).size() == 3);
}

TEST_CASE("parser: a declaration without a state space is an error", "[parser]") {
    const ParseResult r = parse_body(".s64 %rd5, %rd3;\nmov.u64 %rd5, 3;");
    REQUIRE(r.errors == 1);
    CHECK(r.diagnostics[0].id == "FF0409");
    CHECK(r.diagnostics[0].at.line == 7);
    CHECK(r.modules.at(0).functions.at(0).instructions.size() == 1);   // recovered at the statement's end
}

TEST_CASE("parser: every error is reported, with line, column and caret", "[parser]") {
    const ParseResult r = parse_body("add.s32 %r1, %rq, 1;\nadd.s64 %rd1, %r1, 1;\nbra NOWHERE;\nld.global.u32 %r1, [%rd1-4];\n;\nadd.s32 %r1, %r2, 3;");
    REQUIRE(r.errors == 5);
    REQUIRE(r.diagnostics.size() == 5);
    CHECK(r.diagnostics[0].id == "FF0201");
    CHECK(r.diagnostics[0].at.line == 7);
    CHECK(r.diagnostics[0].at.column == 14);
    CHECK(r.diagnostics[1].id == "FF0403");
    CHECK(r.diagnostics[2].id == "FF0203");
    CHECK(r.diagnostics[3].id == "FF0109");
    CHECK(r.diagnostics[4].id == "FF0106");
    CHECK(render(r.diagnostics[0]) ==
          "t.ptx:7:14: error[FF0201]: '%rq' is not declared\n    7 | add.s32 %r1, %rq, 1;\n      |              ^\n");
    CHECK(r.modules.at(0).functions.at(0).instructions.size() == 5);
}
