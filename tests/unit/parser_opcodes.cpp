// The instruction table: every row has an example that we parse as that row and that ptxas, where it is there, assembles; and
// what a row says of versions and targets is what ptxas says.
#include "catch.hpp"

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "parser_corpus.hpp"

using namespace flipflop;
using namespace flipflop::ptx;

namespace {

struct Example {
    std::string name, target, statement;
};

std::vector<Example> examples() {
    std::istringstream lines(*testing::file_text(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "tests" / "data" / "opcode_examples.txt"));
    std::vector<Example> out;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        const std::size_t a = line.find(" | "), b = line.find(" | ", a + 3);
        REQUIRE(b != std::string::npos);
        out.push_back({line.substr(0, a), line.substr(a + 3, b - a - 3), line.substr(b + 3)});
    }
    return out;
}

std::string module_text(const Example& e, const std::string& version = "9.0") {
    std::string text = ".version " + version + "\n.target " + e.target + "\n.address_size 64\n"
        ".global .texref texture; .global .surfref surf;\n"
        ".shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 b; .global .align 16 .b8 g[256];\n"
        ".func (.reg .b32 r) helper(.reg .b32 a) { add.s32 r, a, 1; ret; }\n"
        ".entry k() {\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<16>; .reg .f64 %d<8>;\n";
    if (e.statement.find("%q") != std::string::npos) text += ".reg .b128 %q<4>;\n";
    return text + e.statement + "\nEND: ret;\n}\n";
}

ParseResult parse_example(const Example& e, const std::string& version = "9.0") {
    return parse(std::make_shared<const std::string>(module_text(e, version)), e.name);
}

std::string rendered(const ParseResult& r) {
    std::string out;
    for (const Diagnostic& d : r.diagnostics) out += render(d);
    return out;
}

/// Rows of PTX 9.1, which ptxas 13.0 does not read. ptxas 13.5 assembles them as well as all the others.
bool newer_than_ptxas_13_0(const std::string& name) { return name.rfind("multimem.cp.", 0) == 0; }

}  // namespace

TEST_CASE("parser: every row of the instruction table has an example that parses as it", "[parser][opcodes]") {
    std::set<std::string> seen;
    for (const Example& e : examples()) {
        INFO(e.name << ": " << e.statement);
        const ParseResult r = parse_example(e, newer_than_ptxas_13_0(e.name) ? "9.1" : "9.0");
        INFO(rendered(r));
        CHECK(r.errors == 0);
        CHECK(r.warnings == 0);
        REQUIRE(r.modules.size() == 1);
        bool found = false;
        for (const Function& f : r.modules[0].functions)
            for (const Instruction& i : f.instructions) found = found || info(r.modules[0].form(i).opcode).name == e.name;
        CHECK(found);
        CHECK(seen.insert(e.name).second);
    }
    for (std::uint16_t i = 1; i < static_cast<std::uint16_t>(Opcode::count_); ++i) {
        const OpcodeInfo& row = info(static_cast<Opcode>(i));
        INFO(row.name);
        CHECK(static_cast<std::uint16_t>(row.opcode) == i);
        CHECK(seen.count(std::string(row.name)) == 1);
    }
}

TEST_CASE("parser: an instruction below its version or target is an error", "[parser][opcodes]") {
    std::size_t versions = 0, targets = 0;
    for (const Example& e : examples()) {
        const auto row_of = [&]() -> const OpcodeInfo& {
            for (std::uint16_t i = 1; i < static_cast<std::uint16_t>(Opcode::count_); ++i)
                if (info(static_cast<Opcode>(i)).name == e.name) return info(static_cast<Opcode>(i));
            return info(Opcode::unknown);
        };
        const OpcodeInfo& row = row_of();
        INFO(e.name);
        if (row.since_sm > 30) {
            Example lower = e;
            lower.target = "sm_" + std::to_string(row.since_sm == 90 ? 89 : row.since_sm == 100 ? 90 : row.since_sm == 80 ? 75 : 30);
            const ParseResult r = parse_example(lower, newer_than_ptxas_13_0(e.name) ? "9.1" : "9.0");
            CHECK(r.errors > 0);
            ++targets;
        }
        if (row.target != TargetRule::any) {
            Example plain = e;
            plain.target = e.target.substr(0, e.target.size() - 1);
            CHECK(parse_example(plain).errors > 0);
        }
        if (row.since_ptx > 20) {
            const ParseResult r = parse_example(e, "2.0");
            CHECK(r.errors > 0);
            ++versions;
        }
    }
    CHECK(versions > 60);
    CHECK(targets > 60);
}

TEST_CASE("parser: ptxas assembles the example of every row", "[parser][opcodes][ptxas]") {
    const char* const found = std::getenv("FLIPFLOP_PTXAS");
    const std::string ptxas = found != nullptr ? found : "ptxas";
    if (std::system((ptxas + " --version > /dev/null 2>&1").c_str()) != 0) {
        WARN("skipped: no ptxas on PATH");
        return;
    }
    const auto folder = std::filesystem::temp_directory_path() / "flipflop_opcode_examples";
    std::filesystem::create_directories(folder);
    const auto assembles = [&](const std::string& text, const std::string& target) {
        const auto file = folder / "example.ptx";
        std::ofstream(file, std::ios::binary) << text;
        return std::system((ptxas + " -O0 -c -arch=" + target + " -o /dev/null " + file.string() + " > /dev/null 2>&1").c_str()) == 0;
    };
    const bool takes_9_1 = assembles(".version 9.1\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n", "sm_90");
    std::size_t assembled = 0;
    for (const Example& e : examples()) {
        const bool newer = newer_than_ptxas_13_0(e.name);
        if (newer && !takes_9_1) {
            WARN("this ptxas is too old for " << e.name);
            continue;
        }
        INFO(e.name << ": " << e.statement);
        CHECK(assembles(module_text(e, newer ? "9.1" : "9.0"), e.target));
        ++assembled;
    }
    CHECK(assembled + 2 >= static_cast<std::size_t>(Opcode::count_) - 1);   // a row each, apart from those two
    std::filesystem::remove_all(folder);
}
