// Names are read sixteen bytes at a time where so many are left; what they mean must not depend on where they stand.
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "flipflop/ptx.hpp"

using namespace flipflop;

namespace {

ptx::ParseResult parse(const std::string& body) {
    return ptx::parse(std::make_shared<const std::string>(".version 7.0\n.target sm_80\n.entry k(){" + body), "names.ptx");
}

/// The register that `name` is in `mov.b32 %a1, name`, printed as it was declared; the id of the error when there is one.
std::string meaning(const std::string& declarations, const std::string& name) {
    const ptx::ParseResult result = parse(".reg .b32 %a<4>;" + declarations + "mov.b32 %a1," + name + ";ret;}");
    if (result.errors != 0) return std::string(result.diagnostics[0].id);
    const ptx::Module& module = result.modules.at(0);
    const ptx::Function& function = module.functions.at(0);
    const auto operands = module.operands_of(function.instructions.at(0));
    const ptx::Register& reg = function.registers.at(operands[1].index);
    return std::string(reg.name) + (reg.number < 0 ? "" : "/" + std::to_string(reg.number));
}

}  // namespace

TEST_CASE("a register's name is its prefix and its number, whatever their lengths", "[parser]") {
    struct Row {
        std::string declarations, name, meaning;
    };
    const std::string longest = "%a_name_of_more_than_thirty_two_characters";
    const std::vector<Row> rows{
        {".reg .b32 %r<100>;", "%r7", "%r/7"},
        {".reg .b32 %r<100>;", "%r07", "%r/7"},
        {".reg .b32 %r<100>;", "%r100", "FF0201"},
        {".reg .b32 %r<100>;", "%r7x", "FF0201"},
        {".reg .b32 %r<100>;", "%r", "FF0201"},
        {".reg .b32 %r<100>;", "%r12345678", "FF0201"},
        {".reg .b32 %r<100>, %r12345678;", "%r12345678", "%r12345678"},
        {".reg .b32 %r<100>, %r123456789;", "%r123456789", "%r123456789"},
        {".reg .b32 %r<100>, %r1234567890123456789;", "%r1234567890123456789", "%r1234567890123456789"},
        {".reg .b32 %r<100>, %r7x;", "%r7x", "%r7x"},
        {".reg .b32 r<5>;", "r3", "r/3"},
        {".reg .b32 %r1_<3>;", "%r1_2", "%r1_/2"},
        {".reg .b32 %rd<9>, %rds<9>, %rdst<9>, %rdstu<9>;", "%rds8", "%rds/8"},
        {".reg .b32 %rd<9>, %rds<9>, %rdst<9>, %rdstu<9>;", "%rdst8", "%rdst/8"},
        {".reg .b32 %rd<9>, %rds<9>, %rdst<9>, %rdstu<9>;", "%rdstu8", "%rdstu/8"},
        {".reg .b32 " + longest + "<12>;", longest + "11", longest + "/11"},
        {".reg .b32 fifteen_letters, sixteen_letters_, seventeen_letters;", "sixteen_letters_", "sixteen_letters_"},
        {".reg .b32 fifteen_letters, sixteen_letters_, seventeen_letters;", "seventeen_letters", "seventeen_letters"},
        {".reg .b32 %r<9>; { .reg .b32 %r<2>; } ", "%r8", "%r/8"},
    };
    for (const Row& row : rows) {
        INFO(row.declarations << " " << row.name);
        CHECK(meaning(row.declarations, row.name) == row.meaning);
    }
}

TEST_CASE("a text may end at any byte of a name", "[parser]") {
    const std::string whole = ".reg .b32 %r<100>;.reg .b64 %rd<100>;L_of_a_longer_name:add.s32 %r12,%r3,%r45;ld.global.b32 %r7,[%rd12+4];@%p1 bra L_of_a_longer_name;";
    for (std::size_t end = 0; end <= whole.size(); ++end) {
        const ptx::ParseResult cut = parse(whole.substr(0, end));
        INFO(whole.substr(0, end));
        REQUIRE(cut.errors != 0);   // its '}' is missing at least
        // What follows the text's end in memory is no part of it: the same text with more behind a NUL says the same.
        std::string more = whole.substr(0, end);
        more += '\0';
        more += "12345678901234567890";
        const ptx::ParseResult behind = parse(more);
        CHECK(behind.errors == cut.errors);
    }
}

TEST_CASE("one mistake is one message: a text that ends too early, a special register that does not exist", "[parser]") {
    const std::string code = ".reg .b32 %r<9>; .reg .pred %p<2>; @%p1 bra L; mov.u32 %r1, 1; add.s32 %r";
    const ptx::ParseResult cut = parse(code);
    REQUIRE(cut.errors == 2);   // the statement and the body end too early: not the label, not half a register
    for (const Diagnostic& d : cut.diagnostics) CHECK(d.id == "FF0102");
    const ptx::ParseResult misspelt = parse(".reg .b32 %r<9>; mov.u32 %r1, %tix.x; mov.u32 %r2, %r1; ret; }");
    REQUIRE(misspelt.errors == 1);
    CHECK(misspelt.diagnostics[0].id == "FF0201");
}

TEST_CASE("an opcode is told from a label by what follows it", "[parser]") {
    const ptx::ParseResult result = parse(".reg .b32 %r<4>; add : add.s32 %r1,%r1,1; a_label_of_sixteen: bra add; ret ; exit; mov .b32 %r1, 2; bra.uni a_label_of_sixteen;}");
    for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(d.message);
    REQUIRE(result.errors == 0);
    const ptx::Function& function = result.modules.at(0).functions.at(0);
    REQUIRE(function.instructions.size() == 6);
    REQUIRE(function.labels.size() == 2);
    CHECK(function.labels[0].name == "add");
    CHECK(result.modules[0].form(function.instructions[4]).text == "mov .b32");
}
