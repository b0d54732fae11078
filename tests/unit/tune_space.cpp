// Spaces: what is counted, listed and drawn is what nested loops over all values would give.
#include <chrono>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "catch.hpp"
#include "tuning/space.hpp"

using namespace flipflop;
using namespace flipflop::tuning;

namespace {

Parameter range(const std::string& name, int first, int last) {
    Parameter p{name, {}};
    for (int i = first; i <= last; ++i) p.values.push_back(Value::of(std::int64_t{i}));
    return p;
}

Space space_of(std::vector<Parameter> parameters, const std::vector<std::string>& conditions) {
    std::vector<Expression> parsed;
    for (const std::string& c : conditions) {
        auto e = Expression::parse(c, {});
        REQUIRE(e);
        parsed.push_back(std::move(*e));
    }
    auto space = Space::make(std::move(parameters), std::move(parsed), "test");
    REQUIRE(space);
    return std::move(*space);
}

using Set = std::vector<std::vector<std::uint16_t>>;
Set rows_of(const Configurations& c) {
    Set rows;
    for (std::size_t i = 0; i < c.size(); ++i) rows.emplace_back(c[i], c[i] + c.width);
    return rows;
}

/// Nested loops and every condition, evaluated anew each time.
Set brute_force(const Space& space) {
    Set rows;
    std::vector<std::uint16_t> c(space.parameters().size());
    for (;;) {
        bool all = true;
        for (const Expression& e : space.conditions()) {
            std::vector<const Value*> values;
            space.values_for(e, c.data(), values);
            all = all && e.evaluate(values)->truthy();
        }
        if (all) rows.push_back(c);
        std::size_t p = c.size();
        while (p > 0 && ++c[p - 1] == space.parameters()[p - 1].values.size()) c[--p] = 0;
        if (p == 0) return rows;
    }
}

}  // namespace

TEST_CASE("count, list and brute force agree", "[tune]") {
    const std::vector<std::pair<std::vector<Parameter>, std::vector<std::string>>> cases{
        {{range("a", 1, 5)}, {}},
        {{range("a", 1, 5), range("b", 1, 7)}, {"a * b <= 12"}},
        {{range("a", 1, 6), range("b", 1, 6), range("c", 1, 6)}, {"a + c == 7", "b % 2 == 0"}},
        {{range("a", 0, 3), range("b", 0, 4), range("c", 0, 3), range("d", 0, 4)}, {"a < c", "b != d", "a + b + c + d < 9"}},
        {{range("a", 1, 4), range("b", 1, 4), range("c", 1, 4), range("d", 1, 4), range("e", 1, 4)}, {"a == e", "b <= d"}},
        {{range("a", 1, 3), range("b", 1, 3)}, {"False"}},
        {{range("a", 1, 9), range("b", 1, 9), range("c", 1, 2)}, {"a % b == 0 or c == 2", "32 <= 8 * a * b <= 128"}},
    };
    for (const auto& [parameters, conditions] : cases) {
        const Space space = space_of(parameters, conditions);
        const Set expected = brute_force(space);
        const auto count = space.count();
        REQUIRE(count);
        CHECK(count->exact == expected.size());
        const auto all = space.all(1'000'000);
        REQUIRE(all);
        CHECK(rows_of(*all) == expected);
    }
}

TEST_CASE("a sample is part of the space, without repeats, and the same for the same seed", "[tune]") {
    const Space space = space_of({range("a", 1, 9), range("b", 1, 9), range("c", 1, 9)}, {"a * b <= 30", "b + c > 4"});
    const Set all = brute_force(space);
    const std::set<std::vector<std::uint16_t>> members(all.begin(), all.end());
    const auto one = space.sample(50, 7), again = space.sample(50, 7), other = space.sample(50, 8);
    REQUIRE((one && again && other));
    CHECK(one->size() == 50);
    CHECK(one->flat == again->flat);
    CHECK(one->flat != other->flat);
    const Set rows = rows_of(*one);
    CHECK(std::is_sorted(rows.begin(), rows.end()));
    CHECK(std::set<std::vector<std::uint16_t>>(rows.begin(), rows.end()).size() == 50);
    for (const auto& row : rows) CHECK(members.contains(row));
    CHECK(rows_of(*space.sample(100'000, 1)) == all);
}

TEST_CASE("every configuration is drawn equally often", "[tune]") {
    // a = 1 leaves 1 value of b, a = 4 leaves 4: drawing parameter by parameter would favour the first.
    const Space space = space_of({range("a", 1, 4), range("b", 1, 4)}, {"b <= a"});
    std::map<std::vector<std::uint16_t>, int> seen;
    constexpr int kDraws = 4000;
    for (int seed = 0; seed < kDraws; ++seed) ++seen[rows_of(*space.sample(1, static_cast<std::uint64_t>(seed))).front()];
    CHECK(seen.size() == 10);
    // 400 each; five standard deviations of a binomial are 95.
    for (const auto& [row, times] : seen) CHECK(std::abs(times - kDraws / 10) < 95);
}

TEST_CASE("a space of many billions is counted and sampled, and never listed", "[tune]") {
    std::vector<Parameter> parameters;
    for (char c = 'a'; c <= 'l'; ++c) parameters.push_back(range(std::string(1, c), 1, 16));
    const Space space = space_of(std::move(parameters), {"a * b <= 64", "b * c <= 64", "d != e", "k <= l"});
    const auto start = std::chrono::steady_clock::now();
    const auto count = space.count();
    REQUIRE(count);
    REQUIRE(count->exact);
    // a, b, c by brute force; d, e: 16 * 15; f to j: 16^5; k, l: 16 * 17 / 2.
    std::uint64_t abc = 0;
    for (int a = 1; a <= 16; ++a)
        for (int b = 1; b <= 16; ++b)
            for (int c = 1; c <= 16; ++c) abc += a * b <= 64 && b * c <= 64;
    CHECK(*count->exact == abc * 240 * 1'048'576ULL * 136);
    const auto all = space.all(1'000'000);
    REQUIRE_FALSE(all);
    CHECK(all.error().id == "FF0844");
    CHECK(all.error().message.find(std::to_string(*count->exact)) != std::string::npos);
    CHECK(all.error().help.find("--sample") != std::string::npos);
    const auto some = space.sample(200, 1);
    REQUIRE(some);
    CHECK(some->size() == 200);
    for (std::size_t i = 0; i < some->size(); ++i) CHECK(*space.allows((*some)[i]));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}

TEST_CASE("conditions that tie everything together are bounded too", "[tune]") {
    std::vector<Parameter> parameters;
    std::string sum = "0";
    for (char c = 'a'; c <= 'j'; ++c) {
        parameters.push_back(range(std::string(1, c), 1, 40));
        sum += std::string(" + ") + c + "*" + c;
    }
    const Space space = space_of(std::move(parameters), {"(" + sum + ") % 7 == 3"});
    const auto count = space.count();
    REQUIRE(count);
    CHECK_FALSE(count->exact);
    CHECK_FALSE(space.all(1'000'000));
    const auto some = space.sample(20, 3);
    REQUIRE(some);
    CHECK(some->size() == 20);
    for (std::size_t i = 0; i < some->size(); ++i) CHECK(*space.allows((*some)[i]));
}

TEST_CASE("an error in a condition names the values that it had", "[tune]") {
    const Space space = space_of({range("a", 0, 3), range("b", 1, 3)}, {"b % a == 0"});
    const auto count = space.count();
    REQUIRE_FALSE(count);
    CHECK(count.error().message.find("division by zero") != std::string::npos);
    CHECK(count.error().help == "with b = 1, a = 0");
}

TEST_CASE("parameters without values and unknown names are refused", "[tune]") {
    CHECK(Space::make({Parameter{"a", {}}}, {}, "f").error().id == "FF0843");
    CHECK(Space::make({range("a", 1, 2), range("a", 1, 2)}, {}, "f").error().id == "FF0843");
    CHECK(Space::make({}, {}, "f").error().id == "FF0843");
    std::vector<Expression> conditions;
    conditions.push_back(*Expression::parse("a < nobody", {}));
    CHECK(Space::make({range("a", 1, 2)}, std::move(conditions), "f").error().id == "FF0842");
}
