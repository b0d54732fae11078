// The memory operations, barriers and shared bytes of the known-answer modules, as acceptance sees them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <tuple>

#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/passes.hpp"

using namespace flipflop;
using nlohmann::json;

namespace {

std::filesystem::path shared_folder() {
    if (const char* given = std::getenv("FLIPFLOP_SHARED")) return given;
    for (std::filesystem::path p = FLIPFLOP_SOURCE_DIR; p.has_relative_path(); p = p.parent_path())
        if (std::filesystem::is_directory(p.parent_path() / "shared" / "known_answers")) return p.parent_path() / "shared";
    return {};
}

std::shared_ptr<const std::string> read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return std::make_shared<std::string>(text.str());
}

using Row = std::tuple<std::uint32_t, std::string, std::string, std::uint32_t, std::string>;   // line, op, space, bytes, function

}  // namespace

TEST_CASE("known answers: every memory operation, and no other", "[passes][known]") {
    const auto folder = shared_folder();
    if (folder.empty()) {
        std::cout << "skipped: the known answers are not beside the source tree (set FLIPFLOP_SHARED)\n";
        return;
    }
    int modules = 0, entries = 0;
    for (const auto& item : std::filesystem::directory_iterator(folder / "known_answers")) {
        if (!std::filesystem::exists(item.path() / "expected.json")) continue;
        ++modules;
        const json expected = json::parse(*read(item.path() / "expected.json"));
        for (const json& entry : expected["entries"]) {
            for (const auto& [file, facts] : entry["ptx"].items()) {
                INFO(item.path().filename().string() << " " << file);
                ++entries;
                const ptx::ParseResult parsed = ptx::parse(read(item.path() / file), file);
                REQUIRE(parsed.errors == 0);
                const ptx::Module& module = parsed.modules.at(0);
                std::uint32_t index = 0;
                while (module.functions.at(index).name != entry["entry"].get<std::string>()) ++index;
                const KernelCode code = analyse_kernel(module, index);
                std::multiset<Row> want, have;
                for (const json& m : facts["memory_instructions"])
                    want.insert({m["ptx_line"], m["op"], m["space"], m["width"], m.value("fn", "")});
                for (const AccessDescription& a : code.facts.accesses)
                    have.insert({a.ptx_line, a.op, std::string(to_string(a.space)), a.bytes_per_lane, a.function});
                CHECK(want == have);
                for (const json& m : facts["memory_instructions"]) {
                    for (const AccessDescription& a : code.facts.accesses) {
                        if (a.ptx_line != m["ptx_line"]) continue;
                        REQUIRE(a.source.has_value() == !m["src_line"].is_null());   // hand-written PTX has no .loc
                        if (a.source) CHECK(a.source->line == m["src_line"]);
                    }
                }
                const json& ptxas = entry["ptxas"][file]["sm_80"].is_null() ? entry["ptxas"][file]["sm_90"] : entry["ptxas"][file]["sm_80"];
                CHECK(code.facts.resources.static_shared_bytes == ptxas["static_smem"]);
                CHECK(code.facts.resources.barriers.value() == ptxas["barriers"]);
                CHECK(code.facts.resources.complete);
                for (const json& p : entry["params"]) {
                    const ParameterFacts& have_p = code.facts.parameters.at(p["index"]);
                    INFO("parameter " << p["index"]);
                    CHECK((have_p.kind == ParameterKind::pointer) == (p["kind"] == "ptr"));
                }
            }
        }
    }
    CHECK(modules >= 35);
    CHECK(entries >= 55);
}
