#include "advise/grid_rule.hpp"
#include "advise/candidates.hpp"

#include <set>
#include <tuple>

#include "catch.hpp"

using namespace flipflop;
using namespace flipflop::advise;

TEST_CASE("work divides by the block, rounded up", "[advise][grid]") {
    LaunchOptions options;
    options.work = Dim3{1000, 100, 1};
    const auto rule = read_grid_rule(options);
    REQUIRE(rule.has_value());
    CHECK_FALSE(rule->assumed);
    CHECK(*grid_of(*rule, {32, 8, 1}, {}, {})->grid == Dim3{32, 13, 1});
    CHECK(*grid_of(*rule, {32, 8, 1}, Dim3{3, 1, 1}, {})->grid == Dim3{33, 13, 1});
}

TEST_CASE("one rule an axis", "[advise][grid]") {
    LaunchOptions options;
    options.work = Dim3{1000, 1, 1};
    options.grid = Dim3{8, 1, 1};
    CHECK(read_grid_rule(options).error().id == "FF0740");
    options.grid.reset();
    options.grid_expression[0] = "gpu.sms";
    CHECK(read_grid_rule(options).error().id == "FF0740");
    options.grid_expression[0] = "ceil(work.x / (block.x * 4))";   // work is the expression's input here
    REQUIRE(read_grid_rule(options).has_value());
    options.work.reset();
    options.grid = Dim3{8, 1, 1};
    options.grid_expression[0].reset();
    options.grid_expression[1] = "2";
    REQUIRE(read_grid_rule(options).has_value());
    options.grid_axes = 2;
    CHECK(read_grid_rule(options).error().id == "FF0740");
    CHECK(read_grid_rule({})->assumed);
}

TEST_CASE("grids that cannot be", "[advise][grid]") {
    LaunchOptions options;
    options.grid = Dim3{0, 1, 1};
    CHECK(read_grid_rule(options).error().id == "FF0745");
    options.grid = Dim3{1, 65536, 1};
    CHECK(read_grid_rule(options).error().id == "FF0745");
    options.grid = Dim3{0x80000000u, 1, 1};
    CHECK(read_grid_rule(options).error().id == "FF0745");
    options.grid.reset();
    options.work = Dim3{1, 1u << 20, 1};
    const auto rule = read_grid_rule(options);
    CHECK_FALSE(grid_of(*rule, {32, 1, 1}, {}, {})->grid.has_value());
    CHECK(grid_of(*rule, {32, 1, 1}, {}, {})->why_not.find("65535") != std::string::npos);
    CHECK_FALSE(grid_of(*rule, {2, 16, 1}, {}, {})->why_not.empty());
    CHECK(*grid_of(*rule, {1, 32, 1}, {}, {})->grid == Dim3{1, 32768, 1});
}

TEST_CASE("expressions rule an axis", "[advise][grid]") {
    LaunchOptions options;
    options.grid_expression[0] = "min(gpu.sms * blocks_per_sm, ceil(n / block.x))";
    options.grid_expression[1] = "1 / 0";
    auto rule = read_grid_rule(options).value();
    Names names{{"gpu.sms", std::int64_t{108}}, {"blocks_per_sm", std::int64_t{2}}, {"n", std::int64_t{100000}}};
    add_shape_names({256, 1, 1}, {}, {}, names);
    CHECK(grid_of(rule, {256, 1, 1}, {}, names).error().id == "FF0743");
    rule.axis[1] = {};
    CHECK(*grid_of(rule, {256, 1, 1}, {}, names)->grid == Dim3{216, 1, 1});
}

TEST_CASE("default work by dimensionality", "[advise][grid]") {
    CHECK(default_work(1) == Dim3{1u << 20, 1, 1});
    CHECK(default_work(2) == Dim3{1024, 1024, 1});
    CHECK(default_work(3) == Dim3{128, 128, 128});
}

TEST_CASE("the search space is the contract's", "[advise][candidates]") {
    const auto one = search_space(1);
    REQUIRE(one.size() == 32);
    CHECK(one.front() == Dim3{32, 1, 1});
    CHECK(one.back() == Dim3{1024, 1, 1});
    CHECK(search_space(2).size() == 51);   // 6 + 7 + ... + 11
    for (const Dim3 b : search_space(3)) {
        CHECK((b.count() >= 32 && b.count() <= 1024 && b.z <= 64));
        CHECK(((b.x & (b.x - 1)) == 0 && (b.y & (b.y - 1)) == 0 && (b.z & (b.z - 1)) == 0));
    }
    std::set<std::tuple<unsigned, unsigned, unsigned>> distinct;
    for (const Dim3 b : search_space(3)) distinct.insert({b.x, b.y, b.z});
    CHECK(distinct.size() == search_space(3).size());
}

TEST_CASE("bounds decide which blocks can be", "[advise][candidates]") {
    KernelFacts k;
    CHECK_FALSE(block_obstacle(k, {1024, 1, 1}, false));
    CHECK(block_obstacle(k, {1025, 1, 1}, false)->reason == "block_size");
    CHECK(block_obstacle(k, {1, 1, 128}, false)->reason == "block_size");
    k.bounds.max_threads = 128;
    CHECK(block_obstacle(k, {256, 1, 1}, false)->reason == "max_threads");
    CHECK_FALSE(block_obstacle(k, {256, 1, 1}, true));
    CHECK(reference_block(k, false) == Dim3{128, 1, 1});
    k.bounds.required_block = Dim3{64, 2, 1};
    CHECK(block_obstacle(k, {128, 1, 1}, false)->reason == "required_block");
    CHECK_FALSE(block_obstacle(k, {64, 2, 1}, false));
    CHECK(reference_block(k, false) == Dim3{64, 2, 1});
}

TEST_CASE("which code runs where", "[advise][candidates]") {
    const auto cc = [](int major, int minor) {
        ComputeCapability c;
        c.major = major;
        c.minor = minor;
        return c;
    };
    CHECK(ptx_runs_on("sm_80", cc(8, 0)));
    CHECK(ptx_runs_on("sm_80", cc(9, 0)));
    CHECK_FALSE(ptx_runs_on("sm_90", cc(8, 9)));
    CHECK(ptx_runs_on("sm_90a", cc(9, 0)));
    CHECK_FALSE(ptx_runs_on("sm_90a", cc(10, 0)));
    CHECK(ptx_runs_on("sm_100f", cc(10, 3)));
    CHECK_FALSE(ptx_runs_on("sm_100f", cc(12, 0)));
    CHECK(ptx_runs_on("sm_120", cc(12, 1)));
    CHECK(cubin_runs_on("sm_86", cc(8, 9)));
    CHECK_FALSE(cubin_runs_on("sm_89", cc(8, 6)));
    CHECK_FALSE(cubin_runs_on("sm_80", cc(9, 0)));
    KernelFacts k;
    CHECK(cluster_obstacle(k, Dim3{2, 1, 1}, cc(8, 0))->reason == "cluster");
    CHECK_FALSE(cluster_obstacle(k, Dim3{2, 1, 1}, cc(9, 0)));
    CHECK(cluster_obstacle(k, Dim3{32, 1, 1}, cc(9, 0)).has_value());
}
