// What a parameter is worth by itself: not what goes along with it.
#include <cmath>

#include "catch.hpp"
#include "tuning/effects.hpp"

using namespace flipflop;
using namespace flipflop::tuning;

namespace {

/// Parameters a (3 values) and b (2 values); `time` says what a configuration takes, nothing: it cannot be launched.
struct Bench {
    TuneReport report;
    TuneResult result;

    Bench() {
        report.parameters = {{"a", {"1", "2", "4"}, {}, ""}, {"b", {"0", "1"}, {}, ""}};
    }
    void add(std::uint16_t a, std::uint16_t b, std::optional<double> time) {
        TuneRow row;
        row.configuration = static_cast<std::uint32_t>(report.choices.size() / 2);
        row.time_us = time;
        report.choices.insert(report.choices.end(), {a, b});
        result.rows.push_back(row);
    }
    ParameterEffect of(const char* name) const {
        for (ParameterEffect& e : effects_of(result, report, false))
            if (e.name == name) return e;
        return {};
    }
};

}  // namespace

TEST_CASE("effects of a whole space are those that made it", "[tune]") {
    Bench bench;
    for (std::uint16_t a = 0; a < 3; ++a)
        for (std::uint16_t b = 0; b < 2; ++b) bench.add(a, b, 10.0 * std::pow(2, a) * (b == 1 ? 1.5 : 1));
    const ParameterEffect a = bench.of("a"), b = bench.of("b");
    REQUIRE(a.spread);
    CHECK(*a.spread == Approx(4));
    CHECK(a.groups == 2);
    CHECK(*a.values[1].relative == Approx(2));
    CHECK(*b.spread == Approx(1.5));
    CHECK(b.groups == 3);
    CHECK(effects_of(bench.result, bench.report, false).front().name == "a");
}

TEST_CASE("what goes along with another parameter is not taken for its effect", "[tune]") {
    // b does nothing; but 1 was drawn mostly with the slow a. The best of each value would say 4.
    Bench bench;
    bench.add(0, 0, 10.0);
    bench.add(1, 0, 20.0);
    bench.add(2, 0, 40.0);
    bench.add(2, 1, 40.0);
    CHECK(*bench.of("b").spread == Approx(1));
    CHECK(*bench.of("a").spread == Approx(4));
    CHECK(bench.of("b").values[1].best_cost == 40.0);
    const auto words = effects_in_words(effects_of(bench.result, bench.report, false), false, 3);
    REQUIRE(words.size() == 2);
    CHECK(words[0] == "a: all else equal, 4 is 4 times slower than 1 (1 comparison)");
    CHECK(words[1] == "b changes less than 2 %, all else equal");
}

TEST_CASE("where no two configurations differ in one parameter alone, nothing is said of it", "[tune]") {
    Bench bench;
    bench.add(0, 0, 10.0);
    bench.add(1, 1, 50.0);
    CHECK_FALSE(bench.of("a").spread);
    CHECK_FALSE(bench.of("b").spread);
    const auto words = effects_in_words(effects_of(bench.result, bench.report, false), false, 3);
    REQUIRE(words.size() == 1);
    CHECK(words[0].find("a, b are worth cannot be told") != std::string::npos);
}

TEST_CASE("values that nothing links are not compared; rows without a time or unsafe count for nothing", "[tune]") {
    Bench bench;
    bench.add(0, 0, 10.0);
    bench.add(1, 0, 20.0);
    bench.add(2, 1, 5.0);                    // alone in its b
    bench.add(2, 0, std::nullopt);
    bench.result.rows.push_back(bench.result.rows[0]);
    bench.result.rows.back().time_us = 1.0;
    bench.result.rows.back().safe = false;
    const ParameterEffect a = bench.of("a");
    CHECK(*a.spread == Approx(2));
    CHECK(a.groups == 1);
    CHECK_FALSE(a.values[2].relative);
}
