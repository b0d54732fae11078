// Names of parameters from DWARF that stands in PTX as lists of bytes.
#include <string>

#include "catch.hpp"
#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

using namespace flipflop;

namespace {

const std::string kHead = ".version 8.0\n.target sm_80, debug\n.address_size 64\n"
    ".visible .entry _Z5scalePfi(.param .u64 _Z5scalePfi_param_0, .param .u32 _Z5scalePfi_param_1)\n{\nret;\n}\n";

// compile unit; subprogram with linkage name and name; formal parameter with name and location; the same, but both names by
// .debug_str; a variable; a subprogram that a declaration has the names of; a parameter with its name by reference.
const std::string kAbbreviations = ".section .debug_abbrev\n{\n"
    ".b8 1,17,1,37,8,0,0\n"
    ".b8 2,46,1,0x87,0x40,8,3,8,0,0\n"
    ".b8 3,5,0,3,8,2,10,0,0\n"
    ".b8 4,46,1,110,14,3,14,0,0   // DW_AT_linkage_name, DW_FORM_strp\n"
    ".b8 5,5,0,3,14,0,0\n"
    ".b8 6,52,0,3,8,0,0\n"
    ".b8 7,46,1,71,19,0,0\n"
    ".b8 8,5,0,49,19,0,0\n"
    ".b8 0\n}\n";

std::string info(const std::string& entries, const std::string& length = "$L__end-$L__begin") {
    return ".section .debug_info\n{\n.b32 " + length + "\n$L__begin:\n.b16 2\n.b32 .debug_abbrev\n.b8 8\n.b8 1\n.b8 110,118,0\n" + entries + ".b8 0\n$L__end:\n}\n";
}

std::vector<std::string> names(const std::string& sections) {
    const ptx::ParseResult parsed = ptx::parse(std::make_shared<const std::string>(kHead + sections), "t.ptx");
    CHECK(parsed.errors == 0);
    std::vector<std::string> out;
    for (const ParameterFacts& p : analyse_kernel(parsed.modules.at(0), 0).facts.parameters) out.push_back(p.source_name);
    return out;
}

using Names = std::vector<std::string>;
const std::string kScale = ".b8 95,90,53,115,99,97,108,101,80,102,105,0\n.b8 115,99,97,108,101,0\n";   // "_Z5scalePfi", "scale"

}  // namespace

TEST_CASE("names of parameters come from DWARF", "[parser][dwarf]") {
    // The location is an address of the linker's; an inner variable, and a block in the subprogram, are no parameters.
    const std::string body = ".b8 2\n" + kScale + ".b8 3\n.b8 120,0\n.b8 9\n.b8 3\n.b64 _Z5scalePfi_param_0\n"
                             ".b8 6,105,0\n.b8 3,110,0,0\n.b8 0\n";
    CHECK(names(kAbbreviations + info(body)) == Names{"x", "n"});
}

TEST_CASE("names that stand in .debug_str", "[parser][dwarf]") {
    const std::string strings = ".section .debug_str\n{\n$L__s0:\n" + kScale + "$L__s1:\n.b8 105,110,0\n.b8 119,105,100,116,104,0\n}\n";
    const std::string body = ".b8 4\n.b32 $L__s0\n.b32 .debug_str+12\n.b8 5\n.b32 $L__s1\n.b8 5\n.b32 .debug_str+21\n.b8 0\n";
    CHECK(names(kAbbreviations + info(body) + strings) == Names{"in", "width"});
}

TEST_CASE("names that an earlier entry has", "[parser][dwarf]") {
    // The declaration at 15: 11 bytes of head, 4 of the unit's entry; its parameters follow its 1 + 18 bytes of names.
    const std::string body = ".b8 2\n" + kScale + ".b8 3,120,0,0\n.b8 3,110,0,0\n.b8 0\n"
                             ".b8 7\n.b32 15\n.b8 8\n.b32 34\n.b8 8\n.b32 38\n.b8 0\n";
    CHECK(names(kAbbreviations + info(body)) == Names{"x", "n"});
}

TEST_CASE("what DWARF does not say has no name", "[parser][dwarf]") {
    const std::string good = ".b8 2\n" + kScale + ".b8 3,120,0,0\n.b8 3,110,0,0\n.b8 0\n";
    REQUIRE(names(kAbbreviations + info(good)) == Names{"x", "n"});
    const Names none{"", ""};
    CHECK(names("") == none);
    CHECK(names(info(good)) == none);                                                             // no abbreviations
    CHECK(names(kAbbreviations + info(".b8 2\n" + kScale + ".b8 3,120,0,0\n.b8 0\n")) == none);   // one parameter of two
    CHECK(names(kAbbreviations + info(".b8 2\n.b8 97,0\n.b8 97,0\n.b8 3,120,0,0\n.b8 3,110,0,0\n.b8 0\n")) == none);   // of another function
}

TEST_CASE("broken DWARF is no reason to complain", "[parser][dwarf]") {
    const std::string good = ".b8 2\n" + kScale + ".b8 3,120,0,0\n.b8 3,110,0,0\n.b8 0\n";
    for (const char* length : {"0", "1", "0xffffffff", "4000000000", "-1", "$L__nowhere", "$L__begin-$L__end"}) {
        INFO(length);
        CHECK(names(kAbbreviations + info(good, length)).size() == 2);
    }
    // Each prefix of the bytes, and a block whose length leads out of them.
    for (std::size_t cut = 0; cut < good.size(); cut += 3) names(kAbbreviations + info(good.substr(0, cut) + "\n"));
    names(kAbbreviations + info(".b8 2\n" + kScale + ".b8 3,120,0,255\n"));
    names(kAbbreviations + info(".b8 200,200,200,200,200,200,200,200,200,200,200,1\n"));
    CHECK(names(kAbbreviations + info(".b8 2\n" + kScale + ".b8 3,27,91,109,0,0\n.b8 3,110,0,0\n.b8 0\n")) == Names{"", "n"});   // an escape sequence
    names(".section .debug_abbrev\n{\n.b8 1,17,1,0x80\n}\n" + info(good));
}
