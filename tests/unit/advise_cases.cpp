// Several cases, one launch: the choice is compared with every other choice there is.
#include "advise/across_cases.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "advise/step.hpp"
#include "catch.hpp"

using namespace flipflop;
using namespace flipflop::advise;

namespace {

CostTable random_table(std::mt19937& random, std::size_t launches, std::size_t cases) {
    std::uniform_real_distribution<double> cost(1, 3), hole(0, 1);
    CostTable table;
    table.best.assign(cases, 1e300);
    for (std::size_t c = 0; c < cases; ++c) table.weight.push_back(cost(random));
    for (std::size_t l = 0; l < launches; ++l) {
        table.launches.push_back({{static_cast<std::uint32_t>(32 * (l + 1)), 1, 1}, {}, {}});
        table.cost.emplace_back();
        for (std::size_t c = 0; c < cases; ++c) {
            table.cost[l].push_back(hole(random) < 0.2 ? std::nullopt : std::optional(cost(random)));
            if (table.cost[l][c]) table.best[c] = std::min(table.best[c], *table.cost[l][c]);
        }
    }
    return table;
}

}  // namespace

TEST_CASE("the best single launch and the best pair are the best of all there are", "[advise][cases]") {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        const CostTable table = random_table(random, 12, 5);
        double one = 1e300, two = 1e300;
        for (std::size_t a = 0; a < 12; ++a) {
            one = std::min(one, table.cost_of_set({a}).value_or(1e300));
            for (std::size_t b = 0; b < a; ++b) two = std::min(two, table.cost_of_set({a, b}).value_or(1e300));
        }
        const auto single = best_set(table, 1), pair = best_set(table, 2);
        CHECK((single.empty() ? 1e300 : *table.cost_of_set(single)) == Approx(one));
        CHECK((pair.empty() ? 1e300 : *table.cost_of_set(pair)) == Approx(two));
        if (!single.empty()) {
            CHECK(table.everywhere(single[0]));
            CHECK(table.worst_regret(single[0]) >= -1e-12);
        }
        CHECK(two <= one);
    }
}

TEST_CASE("a weighted cost is a mean and a regret is against the case's own best", "[advise][cases]") {
    CostTable table;
    table.launches = {{{32, 1, 1}, {}, {}}, {{64, 1, 1}, {}, {}}};
    table.cost = {{10.0, 40.0}, {12.0, 20.0}};
    table.best = {10, 20};
    table.weight = {3, 1};
    CHECK(table.weighted_cost(0) == Approx((30.0 + 40) / 4));
    CHECK(table.weighted_cost(1) == Approx((36.0 + 20) / 4));
    CHECK(table.worst_regret(0) == Approx(1.0));
    CHECK(table.worst_regret(1) == Approx(0.2));
    CHECK(best_set(table, 1) == std::vector<std::size_t>{1});
    CHECK(*table.cost_of_set({0, 1}) == Approx((30.0 + 20) / 4));
    CHECK(table.taken_by({0, 1}, 0) == std::optional<std::size_t>(0));
    CHECK(table.taken_by({0, 1}, 1) == std::optional<std::size_t>(1));
}

TEST_CASE("a crossing is found where the difference changes its sign", "[advise][cases]") {
    for (const double where : {1500.0, 1100.0, 60000.0}) {
        const auto found = crossing_between(1024, 65536, true, [&](double x) { return std::optional(x - where); });
        REQUIRE(found);
        CHECK(*found == Approx(where).epsilon(0.02));
    }
    CHECK_FALSE(crossing_between(1, 100, true, [](double) { return std::optional<double>(); }));
    CHECK(*crossing_between(4, 5, true, [](double) { return std::optional(1.0); }) == 5);
}

TEST_CASE("cases and sweeps are read whole or refused with a column", "[advise][cases]") {
    LaunchOptions options;
    options.case_texts = {"small:n=4096,p+8:u32=7,weight=2.5", "big:work=4096x2048"};
    const auto cases = read_cases(options);
    REQUIRE(cases.has_value());
    REQUIRE(cases->list.size() == 2);
    CHECK(cases->list[0].arguments.size() == 2);
    CHECK(cases->list[0].arguments[1].offset == std::optional<std::uint32_t>(8));
    CHECK(cases->list[0].weight == 2.5);
    CHECK(*cases->list[1].work == Dim3{4096, 2048, 1});
    CHECK(cases->list[1].work_axes == 2);
    LaunchOptions sweep;
    sweep.sweep = "n=1000:8000:x2";
    const auto points = read_cases(sweep);
    REQUIRE(points.has_value());
    REQUIRE(points->list.size() == 4);
    CHECK(points->list[3].name == "n=8000");
    CHECK(points->list[3].arguments[0].value == "8000");
    CHECK(points->swept == "n");
    sweep.sweep = "alpha=0.5:1:+0.25";
    REQUIRE(read_cases(sweep)->list.size() == 3);
    CHECK(read_cases(sweep)->list[1].arguments[0].value == "0.75");
    for (const char* bad : {"n=1:10:x0", "n=1:10:", "=1:2", "n=:2", "n=1e999:2", "n=-5:10:x2"}) {
        sweep.sweep = bad;
        INFO(bad);
        const auto refused = read_cases(sweep);
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().id == "FF0762");
        CHECK(refused.error().at.column >= 1);
    }
}

TEST_CASE("a launches file gives every text its place", "[advise][launches]") {
    const auto file = parse_launches("[[kernel]]\nmatch = \"a\"\ngrid = [\"ceil(n / block.x)\", 4]\nargs = {n = 7}\n", "dir/l.toml");
    REQUIRE(file.has_value());
    const LaunchOptions& launch = file->kernels.at(0).launch;
    CHECK(*launch.grid_expression[0] == "ceil(n / block.x)");
    CHECK(*launch.grid_expression[1] == "4");
    CHECK(launch.args == std::vector<std::string>{"n=7"});
    const auto origin = std::find_if(launch.origins.begin(), launch.origins.end(), [](const TextOrigin& o) { return o.option == "--grid-x"; });
    REQUIRE(origin != launch.origins.end());
    CHECK(origin->at.line == 3);
    CHECK(origin->at.column == 10);
    const auto wrong = parse_launches("[[kernel]]\nmatch = \"a\"\ngrid_x = \"1 +\"\n", "l.toml");
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().id == "FF0760");
    CHECK(wrong.error().at.line == 3);
}

TEST_CASE("a step is the sum of its kernels, and what cannot be predicted is said", "[advise][launches]") {
    const auto kernel = [](double calls, std::optional<double> time_us) {
        KernelAnalysis k;
        k.calls = calls;
        KernelResult r;
        r.gpu = "g";
        ConfigResult c;
        if (time_us) {
            c.predicted.emplace();
            c.predicted->time.total.value = *time_us;
            c.recommended = true;
        }
        r.configs.push_back(c);
        k.results.push_back(r);
        return k;
    };
    std::vector<KernelAnalysis> kernels{kernel(10, 5.0), kernel(1, 150.0), kernel(4, {})};
    kernels.push_back(kernel(1, 1.0));
    kernels.back().calls.reset();
    const auto steps = summarise_steps(kernels);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].time_us == Approx(200));
    REQUIRE(steps[0].lines.size() == 2);
    CHECK(steps[0].lines[0].kernel == 1);
    CHECK(steps[0].lines[0].time_share == Approx(0.75));
    CHECK_FALSE(steps[0].energy_mj);
    CHECK(steps[0].unpredicted == std::vector<std::size_t>{2});
    CHECK(steps[0].uncounted == std::vector<std::size_t>{3});
    kernels.resize(1);
    kernels[0].calls.reset();
    CHECK(summarise_steps(kernels).empty());
}
