// What a verdict on one candidate costs, beside following the reference: the examples with the launches of their README.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "flipflop/evaluator.hpp"

using namespace flipflop;

namespace {

struct Example {
    const char* name;
    Dim3 reference, candidate, work, grid;      // grid.x = 0: from the work
    std::vector<std::pair<std::size_t, std::uint64_t>> arguments;
};

const std::vector<Example> kExamples{
    {"axpy", {256, 1, 1}, {128, 1, 1}, {16777216, 1, 1}, {0, 0, 0}, {{3, 16777216}}},
    {"transpose_naive", {16, 16, 1}, {32, 8, 1}, {4096, 4096, 1}, {0, 0, 0}, {{2, 4096}, {3, 4096}}},
    {"transpose_padded", {16, 16, 1}, {32, 8, 1}, {0, 0, 0}, {128, 128, 1}, {{2, 4096}, {3, 4096}}},
    {"gemm_naive", {16, 16, 1}, {32, 8, 1}, {1024, 1024, 1}, {0, 0, 0}, {{3, 1024}, {4, 1024}, {5, 1024}}},
    {"gemm_tiled", {16, 16, 1}, {32, 8, 1}, {1024, 1024, 1}, {0, 0, 0}, {{3, 1024}, {4, 1024}, {5, 1024}}},
    {"gemm_tile16", {16, 16, 1}, {32, 8, 1}, {1024, 1024, 1}, {0, 0, 0}, {{3, 1024}, {4, 1024}, {5, 1024}}},
    {"convolution", {16, 16, 1}, {32, 8, 1}, {4096, 4096, 1}, {0, 0, 0}, {{2, 4096}, {3, 4096}}},
    {"attention", {32, 8, 1}, {64, 4, 1}, {0, 0, 0}, {64, 16, 1}, {{4, 512}, {5, 64}, {6, 0x3e000000}}},
    {"stencil", {16, 16, 1}, {32, 8, 1}, {8192, 8192, 1}, {0, 0, 0}, {{2, 8192}, {3, 8192}}},
    {"reduction", {256, 1, 1}, {128, 1, 1}, {0, 0, 0}, {864, 1, 1}, {{2, 67108864}}},
    {"softmax", {256, 1, 1}, {128, 1, 1}, {0, 0, 0}, {4096, 1, 1}, {{2, 4096}, {3, 1024}}},
    {"histogram", {256, 1, 1}, {128, 1, 1}, {0, 0, 0}, {864, 1, 1}, {{2, 16777216}}},
};

struct Loaded {
    ptx::ParseResult parsed;
    KernelCode code;
    explicit Loaded(const Example& e) {
        std::ifstream in(std::filesystem::path(FLIPFLOP_SOURCE_DIR) / "examples" / (std::string(e.name) + ".ptx"));
        std::stringstream text;
        text << in.rdbuf();
        parsed = ptx::parse(std::make_shared<const std::string>(text.str()), e.name);
        std::uint32_t f = 0;
        while (!parsed.modules.at(0).functions.at(f).is_entry) ++f;
        code = analyse_kernel(parsed.modules[0], f);
    }
    [[nodiscard]] Launch launch(const Example& e, const Dim3& block) const {
        Launch l;
        l.block = block;
        const auto over = [](std::uint32_t work, std::uint32_t b) { return (work + b - 1) / b; };
        l.grid = e.grid.x ? e.grid : Dim3{over(e.work.x, block.x), over(e.work.y, block.y), over(e.work.z, block.z)};
        for (const ParameterFacts& p : code.facts.parameters) {
            std::uint64_t value = p.kind == ParameterKind::pointer ? std::uint64_t{0x1000000000} * (p.index + 1) : 0;
            for (const auto& [index, v] : e.arguments)
                if (index == p.index) value = v;
            ArgumentValue a;
            for (std::uint32_t k = 0; k < p.bytes; ++k) a.bytes.push_back(k < 8 ? static_cast<std::uint8_t>(value >> (8 * k)) : 0);
            l.arguments.push_back(std::move(a));
        }
        const LaunchFacts facts = Evaluator(code).evaluate(l);
        l.dynamic_shared_bytes = (facts.dynamic_shared_touched.value_or(0) + 15) / 16 * 16;
        return l;
    }
};

void reference(benchmark::State& state, const Example& e) {
    const Loaded loaded(e);
    const Launch launch = loaded.launch(e, e.reference);
    for (auto _ : state) benchmark::DoNotOptimize(ReblockingJudge(loaded.code, launch, false));
}

void verdict(benchmark::State& state, const Example& e) {
    const Loaded loaded(e);
    const ReblockingJudge judge(loaded.code, loaded.launch(e, e.reference), false);
    const Launch candidate = loaded.launch(e, e.candidate);
    SafetyVerdict v;
    for (auto _ : state) benchmark::DoNotOptimize(v = judge.judge(candidate));
    state.SetLabel(!v.safe ? "unverified" : *v.safe ? "safe" : "unsafe");
}

const bool registered = [] {
    for (const Example& e : kExamples) {
        benchmark::RegisterBenchmark((std::string("reference/") + e.name).c_str(), [&e](benchmark::State& s) { reference(s, e); })->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark((std::string("verdict/") + e.name).c_str(), [&e](benchmark::State& s) { verdict(s, e); })->Unit(benchmark::kMillisecond);
    }
    return true;
}();

}  // namespace
