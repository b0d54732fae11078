// What one candidate block costs: every kernel of examples/, a mid-sized block, grids of 10^3 and 10^9 blocks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "flipflop/evaluator.hpp"
#include "tests/example_launch.hpp"

using namespace flipflop;
namespace fs = std::filesystem;

namespace {

struct Loaded {
    ptx::ParseResult parsed;
    KernelCode code;
    std::string name;
};

std::vector<std::unique_ptr<Loaded>> load() {
    std::vector<fs::path> files;
    for (const auto& e : fs::directory_iterator(fs::path(FLIPFLOP_SOURCE_DIR) / "examples"))
        if (e.path().extension() == ".ptx") files.push_back(e.path());
    std::sort(files.begin(), files.end());
    std::vector<std::unique_ptr<Loaded>> all;
    for (const fs::path& file : files) {
        std::ifstream in(file);
        std::stringstream text;
        text << in.rdbuf();
        const auto shared = std::make_shared<const std::string>(text.str());
        const ptx::ParseResult counted = ptx::parse(shared, file.filename().string());
        if (counted.modules.empty()) continue;
        for (std::uint32_t f = 0; f < counted.modules[0].functions.size(); ++f) {
            if (!counted.modules[0].functions[f].is_entry || !counted.modules[0].functions[f].has_body) continue;
            auto l = std::make_unique<Loaded>();
            l->parsed = ptx::parse(shared, file.filename().string());
            l->code = analyse_kernel(l->parsed.modules[0], f);
            l->name = file.stem().string() + "/" + l->code.facts.short_name;
            all.push_back(std::move(l));
        }
    }
    return all;
}

/// A kernel of `count` unrolled steps: a load, an index and a sum each, with a store at the end: 4 instructions a step.
std::unique_ptr<Loaded> unrolled(std::uint32_t count) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry unrolled(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
                       ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r1, [n];\n"
                       "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.s32 %r5, %r3, %r4, %r2;\nmov.f32 %f1, 0f00000000;\n";
    for (std::uint32_t k = 0; k < count; ++k)
        text += "mad.lo.s32 %r6, %r1, " + std::to_string(k) + ", %r5;\nmul.wide.s32 %rd3, %r6, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f2, [%rd4];\nfma.rn.f32 %f1, %f2, %f2, %f1;\n";
    text += "mul.wide.s32 %rd5, %r5, 4;\nadd.s64 %rd6, %rd2, %rd5;\nst.global.f32 [%rd6], %f1;\nret;\n}\n";
    auto l = std::make_unique<Loaded>();
    l->parsed = ptx::parse(std::make_shared<const std::string>(text), "unrolled");
    l->code = analyse_kernel(l->parsed.modules[0], 0);
    l->name = "unrolled/" + std::to_string(l->code.facts.instructions) + "_instructions";
    return l;
}

void evaluate(benchmark::State& state, const Loaded& kernel, Dim3 grid) {
    const Evaluator evaluator(kernel.code);
    const Launch launch = example_launch(kernel.code.facts, grid);
    for (auto _ : state) benchmark::DoNotOptimize(evaluator.evaluate(launch));
    const LaunchFacts facts = evaluator.evaluate(launch);
    state.counters["runs"] = static_cast<double>(facts.evaluated_runs);
    state.counters["steps"] = static_cast<double>(facts.evaluated_steps);
}

void prepare(benchmark::State& state, const Loaded& kernel) {
    for (auto _ : state) benchmark::DoNotOptimize(Evaluator(kernel.code));
}

const auto kernels = [] {
    auto all = load();
    all.push_back(unrolled(2000));
    return all;
}();

const bool registered = [] {
    for (const auto& k : kernels) {
        const Loaded* l = k.get();
        const bool flat = l->code.facts.dimensions == 1;
        const Dim3 thousand = flat ? Dim3{1000, 1, 1} : Dim3{32, 32, 1}, billion = flat ? Dim3{1'000'000'000, 1, 1} : Dim3{32768, 32768, 1};
        benchmark::RegisterBenchmark(("prepare/" + l->name).c_str(), [l](benchmark::State& s) { prepare(s, *l); })->Unit(benchmark::kMicrosecond);
        benchmark::RegisterBenchmark(("grid1e3/" + l->name).c_str(), [l, thousand](benchmark::State& s) { evaluate(s, *l, thousand); })->Unit(benchmark::kMicrosecond);
        benchmark::RegisterBenchmark(("grid1e9/" + l->name).c_str(), [l, billion](benchmark::State& s) { evaluate(s, *l, billion); })->Unit(benchmark::kMicrosecond);
    }
    return true;
}();

}  // namespace
