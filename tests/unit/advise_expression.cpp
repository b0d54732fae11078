#include "advise/expression.hpp"

#include "catch.hpp"

using namespace flipflop;
using namespace flipflop::advise;

namespace {

const Names kNames{{"block.x", std::int64_t{32}}, {"work.x", std::int64_t{1000}}, {"gpu.sms", std::int64_t{108}},
                   {"blocks_per_sm", std::int64_t{8}}, {"n", std::int64_t{-7}}, {"alpha", 0.5}};

Result<Number> value_of(const std::string& text) {
    auto e = Expression::parse(text, "--grid-x");
    if (!e) return tl::unexpected(e.error());
    return e->evaluate(kNames);
}

}  // namespace

TEST_CASE("expressions have Python's values", "[advise][expression]") {
    struct Row { const char* text; Number value; };
    const auto row = GENERATE(
        Row{"1", std::int64_t{1}}, Row{"0x10", std::int64_t{16}}, Row{"1+2*3", std::int64_t{7}}, Row{"(1+2)*3", std::int64_t{9}},
        Row{"8/4", 2.0}, Row{"7//2", std::int64_t{3}}, Row{"-7//2", std::int64_t{-4}}, Row{"n%2", std::int64_t{1}},
        Row{"7%-2", std::int64_t{-1}}, Row{"7.5//2", 3.0}, Row{"ceil(work.x/block.x)", std::int64_t{32}},
        Row{"floor(work.x / block.x)", std::int64_t{31}}, Row{"gpu.sms*blocks_per_sm", std::int64_t{864}},
        Row{"min(3, 2, 1+1)", std::int64_t{2}}, Row{"max(alpha, 1)", std::int64_t{1}}, Row{"--3", std::int64_t{3}},
        Row{"1e3", 1000.0}, Row{".5*4", 2.0}, Row{"10-4-3", std::int64_t{3}}, Row{"  2 *\t3 ", std::int64_t{6}}, Row{"block.x%5", std::int64_t{2}});
    INFO(row.text);
    const auto value = value_of(row.text);
    REQUIRE(value.has_value());
    CHECK(value->index() == row.value.index());
    CHECK(real_of(*value) == Approx(real_of(row.value)));
}

TEST_CASE("expressions that have no value say where and why", "[advise][expression]") {
    struct Row { const char* text; const char* id; std::uint32_t column; };
    const auto row = GENERATE(
        Row{"", "FF0741", 1}, Row{"1 +", "FF0741", 4}, Row{"1 2", "FF0741", 3}, Row{"(1", "FF0741", 3}, Row{"1)", "FF0741", 2},
        Row{"sqrt(4)", "FF0741", 1}, Row{"min(1)", "FF0741", 1}, Row{"ceil(1,2)", "FF0741", 1}, Row{"2**3", "FF0741", 2},
        Row{"3x", "FF0741", 2}, Row{"99999999999999999999", "FF0741", 1}, Row{"1 / 0", "FF0743", 3}, Row{"1 // (2-2)", "FF0743", 3},
        Row{"5 % 0", "FF0743", 3}, Row{"1 + blok.x", "FF0742", 5}, Row{"9223372036854775807 + 1", "FF0743", 21},
        Row{"4611686018427387904*2", "FF0743", 20}, Row{"1e308*10", "FF0743", 6}, Row{"ceil(1e30)", "FF0743", 1});
    INFO(row.text);
    const auto value = value_of(row.text);
    REQUIRE_FALSE(value.has_value());
    CHECK(value.error().id == row.id);
    CHECK(value.error().at.column == row.column);
    CHECK(value.error().source_line == row.text);
    CHECK(value.error().file == "--grid-x");
}

TEST_CASE("an unknown name is met with a suggestion", "[advise][expression]") {
    const auto value = value_of("blok.x");
    REQUIRE_FALSE(value.has_value());
    CHECK(value.error().help.find("block.x") != std::string::npos);
}

TEST_CASE("deep nesting is an error, not a crash", "[advise][expression]") {
    const auto value = value_of(std::string(100000, '(') + "1" + std::string(100000, ')'));
    REQUIRE_FALSE(value.has_value());
    CHECK(value.error().id == "FF0741");
    CHECK_FALSE(value_of(std::string(100000, '-') + "1").has_value());
}

TEST_CASE("counts are whole and large enough", "[advise][expression]") {
    const auto count = [](const char* text) { return Expression::parse(text, "--grid-x")->evaluate_count(kNames, 1); };
    CHECK(count("8/4") == 2u);
    CHECK(count("9/4").error().id == "FF0744");
    CHECK(count("0").error().id == "FF0744");
    CHECK(count("-3").error().id == "FF0744");
}
