// Robustness: whatever is cut off, flipped, doubled or spliced in a PTX text, parsing ends, stays inside its bounds and
// says something sensible. Seeded: the same mutations every time. The fuzzer (tests/fuzz) goes on where this stops.
#include "catch.hpp"

#include <random>

#include "parser_corpus.hpp"

using namespace flipflop;
using namespace flipflop::ptx;

namespace {

/// Every index of a module is in range: what the header promises to those who read it.
void require_sound(const Module& m) {
    const auto sound_symbol = [&](SymbolId id) { return id == SymbolId::none || static_cast<std::size_t>(id) < m.symbols.size(); };
    for (const Symbol& s : m.symbols)
        for (const InitialValue& v : s.initial) REQUIRE(sound_symbol(v.address_of));
    for (const Function& f : m.functions) {
        REQUIRE(sound_symbol(f.symbol));
        for (const auto* list : {&f.returns, &f.parameters, &f.variables})
            for (SymbolId id : *list) REQUIRE(static_cast<std::size_t>(id) < m.symbols.size());
        for (const Label& l : f.labels) REQUIRE(l.instruction <= f.instructions.size());
        for (const Scope& s : f.scopes) REQUIRE((s.begin <= s.end && s.end <= f.instructions.size()));
        for (const Instruction& i : f.instructions) {
            REQUIRE(i.form < m.forms.size());
            REQUIRE(std::uint64_t{i.operands_begin} + i.operand_count <= m.operands.size());
            REQUIRE((i.guard == RegId::none || static_cast<std::size_t>(i.guard) < f.registers.size()));
            REQUIRE(i.location <= m.locations.size());
            REQUIRE(i.offset < m.text->size());
            std::vector<const Operand*> open;
            for (const Operand& o : m.operands_of(i)) open.push_back(&o);
            while (!open.empty()) {
                const Operand& o = *open.back();
                open.pop_back();
                switch (o.kind) {
                    case OperandKind::reg: case OperandKind::address_reg: REQUIRE(o.index < f.registers.size()); break;
                    case OperandKind::symbol: case OperandKind::address_symbol: REQUIRE(o.index < m.symbols.size()); break;
                    case OperandKind::label: REQUIRE((o.value >= 0 && o.value <= static_cast<std::int64_t>(f.instructions.size()))); break;
                    case OperandKind::name: REQUIRE((o.index == 0xffffffff || o.index < m.symbols.size())); break;
                    case OperandKind::special: REQUIRE(o.index <= static_cast<std::uint32_t>(Special::other)); break;
                    case OperandKind::vector: case OperandKind::list:
                        REQUIRE((o.value >= 0 && std::uint64_t{o.index} + static_cast<std::uint64_t>(o.value) <= m.operands.size()));
                        for (const Operand& child : m.children_of(o)) open.push_back(&child);
                        break;
                    default: break;
                }
            }
        }
    }
    for (const Location& l : m.locations) REQUIRE(l.inlined_at <= m.locations.size());
    for (const LabelTable& table : m.label_tables)
        for (SymbolId id : table.function_targets) REQUIRE(static_cast<std::size_t>(id) < m.symbols.size());
}

void check(std::string text) {
    const ParseResult r = parse(std::make_shared<const std::string>(std::move(text)), "mutated.ptx");
    REQUIRE(r.diagnostics.size() <= r.errors + r.warnings);
    for (const Diagnostic& d : r.diagnostics) {
        REQUIRE(render(d).find(d.id) != std::string::npos);
        REQUIRE(render(d).size() < 4000);
    }
    for (const Module& m : r.modules) {
        require_sound(m);
        (void)print(m);
    }
}

constexpr const char* kPieces[] = {"{", "}", "(", ")", "[", "]", ";", ",", ":", "@", "@!", "|", "<", ">", "+", "-", "\"", "/*", "//", "\n", "%r1", "%r4294967295", ".reg .b32 %r<9>;",
                                   ".reg .b32 %r<4294967295>;", "0x", "0f", "1e999", ".loc 1 1 1", ".section .x {", "bra L;", "L:", "call", ".entry k2() {", "::", "..", "\x80", "ld.v4.f32",
                                   "99999999999999999999", ".version 8.0", ".global .b8 x[4294967295][4294967295] = {{1},{2}};", "? 1 : 0", "((((((((", "~~~~", "setp.eq.s32 %p1|%p1"};

}  // namespace

TEST_CASE("parser: every truncation of the cases is taken", "[parser][robustness]") {
    for (const auto& path : testing::ptx_files()) {
        const auto text = testing::file_text(path);
        if (text->size() > 1500) continue;
        for (std::size_t length = 0; length < text->size(); length += 3) check(text->substr(0, length));
    }
}

TEST_CASE("parser: seeded mutations of the cases are taken", "[parser][robustness]") {
    std::mt19937 random(20240917);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    std::vector<std::string> texts;
    for (const auto& path : testing::ptx_files())
        if (const auto text = testing::file_text(path); text->size() < 6000 && !text->empty()) texts.push_back(*text);
    REQUIRE(texts.size() > 60);
    for (int round = 0; round < 6000; ++round) {
        std::string text = texts[below(texts.size())];
        const std::size_t changes = 1 + below(6);
        for (std::size_t change = 0; change < changes && !text.empty(); ++change) {
            const std::size_t at = below(text.size());
            switch (below(6)) {
                case 0: text[at] = static_cast<char>(below(256)); break;
                case 1: text.erase(at, 1 + below(20)); break;
                case 2: text.insert(at, kPieces[below(std::size(kPieces))]); break;
                case 3: text.insert(at, text.substr(below(text.size()), 1 + below(80))); break;
                case 4: text.resize(at); break;
                default: {
                    const std::string& other = texts[below(texts.size())];
                    text = text.substr(0, at) + other.substr(below(other.size()));
                }
            }
        }
        check(std::move(text));
    }
}

TEST_CASE("parser: deep nesting and long repetitions neither recurse nor explode", "[parser][robustness]") {
    const std::string head = ".version 8.0\n.target sm_80\n.entry k() {\n.reg .b32 %r<4>;\n";
    const auto many = [](const std::string& piece, std::size_t n) {
        std::string out;
        for (std::size_t i = 0; i < n; ++i) out += piece;
        return out;
    };
    constexpr std::size_t n = 100000;
    check(head + many("{", n));
    check(head + many("{", n) + many("}", n) + "}");
    check(head + many("bra L;{", n));
    check(head + "add.s32 %r1, %r2, " + many("(", n));
    check(head + "add.s32 %r1, %r2, " + many("-", n) + "1;}");
    check(head + "add.s32 %r1, %r2, " + many("1 ? 1 : ", n) + "1;}");
    check(head + "add.s32 %r1, %r2, " + many("1 + ", n) + "1;}");
    check(head + "mov.b32 %r1, " + many("{", n));
    check(head + "add" + many(".s32", n) + " %r1, %r2, 3;}");
    check(head + many("frob.x %r1;", n) + "}");
    check(head + many("add.s32 %q1, %r1, 1;", n) + "}");
    check(head + many("@%r1 ", n));
    check(head + many(";", n) + "}");
    check(head + many("}", n));
    check(".version 8.0\n.target sm_80\n.global .b8 x[2] = " + many("{", n));
    check(".version 8.0\n.target sm_80\n.global .b8 x" + many("[2]", n) + ";");
    check(many(".version 8.0\n.target sm_80\n", 2000));
    check(head + many(".reg .b32 %r<1000000>;", 1000));
    check(head + "add.s32 %r1, " + std::string(n, 'x') + ", 1;}");
    check(head + "mov.u32 %r1, {" + many("%r1,", n) + "%r1};}");
    check(head + "call f" + many(", (%r1)", n) + ";}");
}

TEST_CASE("parser: time grows with the text, not with its square", "[parser][robustness]") {
    // Work is counted, not timed: a text of twice the size has twice the instructions, operands and diagnostics.
    std::string body;
    for (int i = 0; i < 20000; ++i) body += "{ .reg .b32 %r1; L: bra L; } @%p1 bra M" + std::to_string(i % 7) + ";";
    const std::string text = ".version 8.0 .target sm_80 .entry k() { .reg .pred %p<2>; " + body + " M0: M1: M2: M3: M4: M5: M6: ret; }";
    const ParseResult r = parse(std::make_shared<const std::string>(text), "one_line.ptx");
    CHECK(r.errors == 0);
    CHECK(r.modules.at(0).instruction_count == 40001);
}
