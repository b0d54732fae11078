#include "advise/attribution.hpp"

#include <cmath>
#include <random>

#include "catch.hpp"

using namespace flipflop;
using namespace flipflop::advise;

namespace {

Term number(std::string id, double value) { return leaf(std::move(id), value, "us", Basis::assumed, "test"); }

double sum_of_parts(const Attribution& a) {
    double sum = 0;
    for (const Attribution& part : a.parts) sum += part.delta;
    return sum;
}

void check_additive(const Attribution& a, double scale) {
    if (a.parts.empty()) return;
    CHECK(sum_of_parts(a) == Approx(a.delta).margin(1e-9 * scale));
    for (const Attribution& part : a.parts) check_additive(part, scale);
}

Term random_tree(std::mt19937& random, std::mt19937& values, int depth, int which) {
    std::uniform_real_distribution<double> value(0.5, 4);
    const auto kind = depth == 0 ? 0u : random() % 7;
    const std::string id = "t" + std::to_string(which);
    if (kind == 0) return number(id, value(values));
    const Fold folds[]{Fold::sum, Fold::product, Fold::ratio, Fold::max, Fold::min, Fold::norm};
    const Fold how = folds[kind - 1];
    std::vector<Term> parts;
    for (int i = 0; i < (how == Fold::ratio ? 2 : 3); ++i) parts.push_back(random_tree(random, values, depth - 1, i));
    return fold(id, "us", how, std::move(parts), how == Fold::norm ? 2 : 0);
}

}  // namespace

TEST_CASE("shares of sums, products and maxima", "[advise][attribution]") {
    const auto sum = attribute(fold("t", "us", Fold::sum, {number("a", 1), number("b", 2)}), fold("t", "us", Fold::sum, {number("a", 4), number("b", 1)}));
    CHECK(sum.delta == Approx(2));
    CHECK(sum.parts[0].delta == Approx(3));
    CHECK(sum.parts[1].delta == Approx(-1));
    const auto product = attribute(fold("t", "us", Fold::product, {number("a", 1), number("b", 2)}), fold("t", "us", Fold::product, {number("a", 3), number("b", 2)}));
    CHECK(product.parts[0].delta == Approx(4));
    CHECK(product.parts[1].delta == Approx(0));
    const auto largest = attribute(fold("t", "us", Fold::max, {number("a", 10), number("b", 4)}), fold("t", "us", Fold::max, {number("a", 10), number("b", 8)}));
    CHECK(largest.delta == Approx(0));
    CHECK(largest.parts[1].delta == Approx(0));
}

TEST_CASE("a part that one side lacks counts as zero", "[advise][attribution]") {
    const auto a = attribute(fold("t", "us", Fold::sum, {number("a", 1)}), fold("t", "us", Fold::sum, {number("a", 1), number("spill", 5)}));
    REQUIRE(a.parts.size() == 2);
    CHECK(a.parts[1].id == "spill");
    CHECK(a.parts[1].delta == Approx(5));
}

TEST_CASE("shares add up at every level of any tree", "[advise][attribution]") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        INFO(seed);
        std::mt19937 shape_a(seed), shape_b(seed), values_a(seed * 2 + 1), values_b(seed * 2 + 2);
        const Term from = random_tree(shape_a, values_a, 4, 0), to = random_tree(shape_b, values_b, 4, 0);
        const Attribution a = attribute(from, to);
        CHECK(a.delta == Approx(to.value - from.value).margin(1e-9 * (std::abs(from.value) + std::abs(to.value))));
        check_additive(a, std::abs(from.value) + std::abs(to.value));
    }
}

TEST_CASE("the telling terms are the ones that moved", "[advise][attribution]") {
    const auto tree = [](double dram, double shared) {
        return fold("time", "us", Fold::sum, {fold("memory", "us", Fold::sum, {number("dram", dram), number("l2", 5)}), number("shared", shared), number("launch", 3)});
    };
    const auto a = attribute(tree(100, 20), tree(60, 25));
    const auto terms = telling_terms(a);
    REQUIRE(terms.size() == 2);
    CHECK(terms[0]->id == "dram");
    CHECK(terms[0]->delta == Approx(-40));
    CHECK(terms[1]->id == "shared");
    CHECK(telling_terms(attribute(tree(1, 1), tree(1, 1))).empty());
}
