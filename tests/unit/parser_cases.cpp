// The given cases: each file's verdict as its index says, and what a message should name.
#include "catch.hpp"

#include <set>

#include <nlohmann/json.hpp>

#include "parser_corpus.hpp"
#include "tests/same_module.hpp"

using namespace flipflop;
using namespace flipflop::ptx;

namespace {

std::filesystem::path cases_folder() { return std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "tests" / "data" / "cases"; }

ParseResult parse_case(const std::string& file) { return parse(testing::file_text(cases_folder() / file), file); }

std::string rendered(const ParseResult& r) {
    std::string out;
    for (const Diagnostic& d : r.diagnostics) out += render(d);
    return out;
}

bool starts_with(const std::string& text, std::string_view start) { return text.compare(0, start.size(), start) == 0; }

}  // namespace

TEST_CASE("parser: every case has the verdict of its index", "[parser][cases]") {
    const nlohmann::json index = nlohmann::json::parse(*testing::file_text(cases_folder() / "index.json"));
    REQUIRE(index["cases"].size() > 100);
    for (const auto& entry : index["cases"]) {
        const std::string file = entry["file"];
        const std::string should = entry.value("tool_should", "");
        const ParseResult result = parse_case(file);
        INFO(file << ": " << should << "\n" << rendered(result));
        const bool accepts = entry["expected"] == "accept" || starts_with(should, "accept") || starts_with(should, "parse;") || starts_with(should, "stop at") ||
                             starts_with(should, "analyse") || starts_with(should, "same;") || starts_with(should, "warn");
        if (accepts) {
            CHECK(result.errors == 0);
            CHECK_FALSE(result.modules.empty());
            if (entry["expected"] == "reject" && starts_with(should, "warn")) CHECK(result.warnings > 0);
        } else {
            // "clear error, or a finding (exit 3 with --strict)"
            CHECK(result.errors + result.warnings > 0);
            const bool finding_will_do = should.find("or a finding") != std::string::npos && file.find("upper_case") + file.find("typo") != 2 * std::string::npos;
            if (!finding_will_do) CHECK(result.errors > 0);
        }
        if (entry["expected"] == "accept" && entry["ptxas_messages"].empty() && should.empty()) CHECK(result.warnings == 0);
        // The line that ptxas names is one we name too, where it names one.
        if (result.errors > 0 && !entry["ptxas_messages"].empty()) {
            const std::string message = entry["ptxas_messages"][0];
            const std::size_t at = message.find("line ");
            if (at == std::string::npos || result.diagnostics.front().at.line == 0) continue;
            const unsigned line = static_cast<unsigned>(std::stoul(message.substr(at + 5)));
            bool named = false;
            for (const Diagnostic& d : result.diagnostics) named = named || (d.at.line + 14 >= line && d.at.line <= line + 1);
            CHECK(named);
        }
        if (entry.contains("kernels") && result.errors == 0 && entry["expected"] == "accept")
            for (const auto& kernel : entry["kernels"]) {
                const std::string name = kernel["kernel"];
                bool found = false;
                for (const Function& f : result.modules.at(0).functions) found = found || (f.is_entry && f.name == name);
                INFO(name);
                CHECK(found);
            }
    }
}

TEST_CASE("parser: print(parse(x)) parses to the same module", "[parser][roundtrip]") {
    std::size_t modules = 0;
    for (const auto& path : testing::ptx_files()) {
        const auto text = testing::file_text(path);
        const ParseResult first = parse(text, path.filename().string());
        if (first.errors != 0) continue;
        for (const Module& module : first.modules) {
            const std::string printed = print(module);
            const ParseResult second = parse(std::make_shared<const std::string>(printed), "printed.ptx");
            INFO(path << "\n" << rendered(second));
            REQUIRE(second.errors == 0);
            REQUIRE(second.modules.size() == 1);
            CHECK(testing::difference(module, second.modules[0]) == "");
            ++modules;
        }
    }
    CHECK(modules >= 60);
}

TEST_CASE("parser: two modules in one text are two modules", "[parser][cases]") {
    const ParseResult r = parse_case("two_modules_concatenated.ptx");
    REQUIRE(r.modules.size() == 2);
    CHECK(r.modules[0].functions.at(0).name == "k1");
    CHECK(r.modules[1].functions.at(0).name == "k2");
    CHECK(r.modules[1].functions[0].instructions.at(0).line > 20);
}

TEST_CASE("parser: initialisers hold numbers, addresses and bytes of addresses", "[parser][cases]") {
    const ParseResult r = parse_case("init_with_addresses.ptx");
    const Module& m = r.modules.at(0);
    const auto find = [&](std::string_view name) -> const Symbol& {
        for (const Symbol& s : m.symbols)
            if (s.name == name && s.kind == Symbol::Kind::variable) return s;
        FAIL("no variable " << name);
        return m.symbols[0];
    };
    CHECK(find("p").initial.at(1).bits == 8);
    CHECK(m.symbol(find("p").initial[1].address_of).name == "x");
    CHECK(find("pg").initial.at(1).generic);
    CHECK(find("pg").initial[1].bits == 4);
    CHECK(m.symbol(find("fp").initial.at(0).address_of).kind == Symbol::Kind::function);
    CHECK(find("m").initial.at(7).mask_byte == 7);
    CHECK(find("x").byte_size == 16u);
    CHECK(find("x").initial.empty());
}

TEST_CASE("parser: a chain of inlined places is followed", "[parser][cases]") {
    const Module m = parse_case("loc_inlined_at_function_name.ptx").modules.at(0);
    const Instruction& add = m.functions.at(0).instructions.at(3);
    REQUIRE(add.location != 0);
    const Location& inner = m.locations.at(add.location - 1);
    CHECK(inner.line == 5);
    CHECK(inner.function_name == "$L__info_string0+4");
    REQUIRE(inner.inlined_at != 0);
    CHECK(m.locations.at(inner.inlined_at - 1).line == 13);
}

TEST_CASE("parser: every diagnostic is documented, and nothing else is", "[parser][docs]") {
    const std::string table = *testing::file_text(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "ptx_parser" / "diagnostics.def");
    const std::string page = *testing::file_text(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "docs" / "diagnostics.md");
    std::size_t rows = 0, headings = 0;
    for (std::size_t at = table.find("\nFLIPFLOP_DIAGNOSTIC("); at != std::string::npos; at = table.find("\nFLIPFLOP_DIAGNOSTIC(", at + 1)) {
        const std::string number = table.substr(at + 21, table.find(',', at) - at - 21);
        const std::string title = table.substr(table.find('"', at) + 1, table.find("\")", at) - table.find('"', at) - 1);
        INFO(number << " " << title);
        CHECK(page.find("## FF" + std::string(4 - number.size(), '0') + number + ": " + title + "\n") != std::string::npos);
        ++rows;
    }
    for (std::size_t at = page.find("\n## FF"); at != std::string::npos; at = page.find("\n## FF", at + 1)) ++headings;
    CHECK(rows > 50);
    CHECK(rows == headings);
}
