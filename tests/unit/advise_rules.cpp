#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/gate.hpp"

using namespace flipflop;

TEST_CASE("every rule has its page, and every page its rule", "[advise][rules]") {
    const std::filesystem::path pages = std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "docs" / "rules";
    std::set<std::string> ids;
    std::vector<std::string> known(gate::kGateRules.begin(), gate::kGateRules.end());
    for (const RuleInfo& rule : list_rules()) known.push_back(rule.id);
    for (const std::string& id : known) {
        INFO(id);
        CHECK(ids.insert(id).second);
        std::ifstream page(pages / (id + ".md"));
        REQUIRE(page.good());
        std::stringstream text;
        text << page.rdbuf();
        for (const char* part : {"## What", "## Why it costs", "## Before", "## After", "## When to ignore it"})
            CHECK(text.str().find(part) != std::string::npos);
        CHECK(text.str().rfind("# " + id + ":", 0) == 0);
    }
    for (const auto& entry : std::filesystem::directory_iterator(pages))
        if (entry.path().stem().string().starts_with("FF")) CHECK(ids.count(entry.path().stem().string()) == 1);
}
