// The seven kernels of tests/data/reblocking with their verdicts, and the examples with the launches of their README.
#include <cstring>

#include <nlohmann/json.hpp>

#include "safety_support.hpp"

using namespace safety;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = FLIPFLOP_SOURCE_DIR;

Dim3 dim(const json& j) { return {j.at(0), j.at(1), j.at(2)}; }

std::uint64_t bits_of(const json& value, std::uint32_t bytes) {
    if (value.is_number_integer()) return value.get<std::uint64_t>();
    const auto f = value.get<float>();
    std::uint32_t bits{};
    static_assert(sizeof f == sizeof bits);
    std::memcpy(&bits, &f, sizeof bits);
    REQUIRE(bytes == 4);
    return bits;
}

/// Dynamic shared memory as the command chooses it: what is touched.
Launch sized(const Kernel& kernel, Launch launch) {
    const auto facts = flipflop::Evaluator(kernel.code()).evaluate(launch);
    launch.dynamic_shared_bytes = (facts.dynamic_shared_touched.value_or(0) + 15) / 16 * 16;
    return launch;
}

}  // namespace

TEST_CASE("re-blocking: the verdicts of tests/data/reblocking", "[safety]") {
    const fs::path folder = kSource / "tests" / "data" / "reblocking";
    const json cases = json::parse(file_text(folder / "cases.json")).at("cases");
    REQUIRE(cases.size() == 7);
    for (const json& c : cases) {
        const auto name = c.at("ptx").get<std::string>();
        INFO(name);
        const Kernel kernel = Kernel::from(folder / name);
        std::vector<std::pair<std::size_t, std::uint64_t>> arguments;
        for (const auto& [index, value] : c.at("args").items()) {
            const std::size_t p = std::stoul(index);
            arguments.emplace_back(p, bits_of(value, kernel.code().facts.parameters.at(p).bytes));
        }
        Rule rule;
        if (c.contains("grid")) rule.fixed = dim(c.at("grid"));
        else rule.work = dim(c.at("work"));
        const Dim3 current = dim(c.at("current"));
        const Launch reference = kernel.launch(current, rule.grid(current), arguments);
        for (const auto& [block, expected] : c.at("expected").items()) {
            INFO(block);
            const Launch candidate = kernel.launch(shape(block), rule.grid(shape(block)), arguments);
            const SafetyVerdict v = kernel.judge(reference, candidate);
            INFO(v.reason);
            CHECK(word(v) == expected.get<std::string>());
            CHECK_FALSE(v.reason.empty());
            // Against a launch that nobody uses, only what breaks by itself is certain.
            const SafetyVerdict a = kernel.judge(reference, candidate, true);
            INFO(a.reason);
            const bool alone = v.reason.find("beyond") != std::string::npos;
            CHECK(word(a) == (expected == "unsafe" && !alone ? "unverified" : expected.get<std::string>()));
        }
    }
}

TEST_CASE("re-blocking: the examples", "[safety]") {
    const std::vector<Dim3> one{{32, 1, 1}, {96, 1, 1}, {128, 1, 1}, {256, 1, 1}, {480, 1, 1}, {1024, 1, 1}},
        two{{32, 8, 1}, {8, 8, 1}, {16, 16, 1}, {64, 4, 1}, {256, 1, 1}, {4, 64, 1}};
    struct Example {
        std::string name;
        Dim3 reference;
        std::vector<Dim3> candidates;
        Rule rule;
        std::vector<std::pair<std::size_t, std::uint64_t>> arguments;
    };
    const std::vector<Example> examples{
        {"axpy", {256, 1, 1}, one, {{0, 0, 0}, {16777216, 1, 1}}, {{3, 16777216}}},
        {"axpy.clang", {256, 1, 1}, one, {{0, 0, 0}, {1000003, 1, 1}}, {{3, 1000003}}},
        {"transpose_naive", {16, 16, 1}, two, {{0, 0, 0}, {4096, 4096, 1}}, {{2, 4096}, {3, 4096}}},
        {"transpose_padded", {16, 16, 1}, two, {{128, 128, 1}, {}}, {{2, 4096}, {3, 4096}}},
        {"transpose_padded.clang", {32, 8, 1}, two, {{32, 33, 1}, {}}, {{2, 1000}, {3, 1050}}},
        {"gemm_naive", {16, 16, 1}, two, {{0, 0, 0}, {1024, 1024, 1}}, {{3, 1024}, {4, 1024}, {5, 1024}}},
        {"gemm_tiled", {16, 16, 1}, two, {{0, 0, 0}, {512, 300, 1}}, {{3, 300}, {4, 512}, {5, 100}}},
        {"convolution", {16, 16, 1}, two, {{0, 0, 0}, {4096, 1000, 1}}, {{2, 4096}, {3, 1000}}},
        {"stencil", {16, 16, 1}, two, {{0, 0, 0}, {8192, 8192, 1}}, {{2, 8192}, {3, 8192}}},
        {"reduction", {256, 1, 1}, one, {{108, 1, 1}, {}}, {{2, 67108864}}},
        {"softmax", {256, 1, 1}, one, {{500, 1, 1}, {}}, {{2, 4096}, {3, 1000}}},
    };
    for (const Example& e : examples) {
        INFO(e.name);
        const Kernel kernel = Kernel::from(kSource / "examples" / (e.name + ".ptx"));
        const Launch reference = sized(kernel, kernel.launch(e.reference, e.rule.grid(e.reference), e.arguments));
        const flipflop::ReblockingJudge judge(kernel.code(), reference, false);
        for (const Dim3& b : e.candidates) {
            INFO(b.x << "," << b.y);
            const SafetyVerdict v = judge.judge(sized(kernel, kernel.launch(b, e.rule.grid(b), e.arguments)));
            INFO(v.reason);
            CHECK(word(v) == "safe");
        }
    }
}

TEST_CASE("re-blocking: attention is right for any block and grid", "[safety]") {
    const Kernel kernel = Kernel::from(kSource / "examples" / "attention.ptx");
    const std::vector<std::pair<std::size_t, std::uint64_t>> arguments{{4, 64}, {5, 16}, {6, 0x3e000000}};
    const auto launch = [&](Dim3 b) { return sized(kernel, kernel.launch(b, {blocks(64, b.y), 3, 1}, arguments)); };
    const flipflop::ReblockingJudge judge(kernel.code(), launch({32, 8, 1}), false);
    for (const Dim3 b : {Dim3{16, 16, 1}, Dim3{48, 2, 1}, Dim3{64, 4, 1}, Dim3{8, 5, 1}, Dim3{128, 1, 1}}) {
        const SafetyVerdict v = judge.judge(launch(b));
        INFO(b.x << "," << b.y << " " << v.reason);
        CHECK(word(v) == "safe");
    }
}

TEST_CASE("re-blocking: gemm_tile16 is right for 16x16 only", "[safety]") {
    for (const std::string name : {"gemm_tile16", "gemm_tile16.clang"}) {
        const Kernel kernel = Kernel::from(kSource / "examples" / (name + ".ptx"));
        const std::vector<std::pair<std::size_t, std::uint64_t>> arguments{{3, 128}, {4, 128}, {5, 64}};
        const auto launch = [&](Dim3 b) { return kernel.launch(b, {blocks(128, b.x), blocks(128, b.y), 1}, arguments); };
        const flipflop::ReblockingJudge judge(kernel.code(), launch({16, 16, 1}), false);
        CHECK(word(judge.judge(launch({16, 16, 1}))) == "safe");
        for (const Dim3 b : {Dim3{32, 8, 1}, Dim3{8, 8, 1}, Dim3{32, 32, 1}, Dim3{16, 8, 1}, Dim3{8, 16, 1}, Dim3{4, 4, 1}, Dim3{256, 1, 1}}) {
            const SafetyVerdict v = judge.judge(launch(b));
            INFO(name << " " << b.x << "," << b.y << " " << v.reason);
            CHECK(word(v) == "unsafe");
        }
    }
}

TEST_CASE("re-blocking: data decides where histogram counts", "[safety]") {
    const Kernel kernel = Kernel::from(kSource / "examples" / "histogram.ptx");
    const auto launch = [&](std::uint32_t b) { return kernel.launch({b, 1, 1}, {864, 1, 1}, {{2, 16777216}}); };
    for (const std::uint32_t b : {32u, 512u}) CHECK(word(kernel.judge(launch(256), launch(b))) == "unverified");
}
