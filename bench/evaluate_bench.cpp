// What one candidate block costs: every kernel of examples/, a mid-sized block, grids of 10^3 and 10^9 blocks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "flipflop/evaluator.hpp"

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

Launch launch_of(const KernelFacts& kernel, Dim3 grid) {
    Launch launch;
    launch.block = kernel.dimensions == 1 ? Dim3{256, 1, 1} : Dim3{32, 8, 1};
    if (kernel.bounds.required_block) launch.block = *kernel.bounds.required_block;
    launch.grid = grid;
    launch.dynamic_shared_bytes = 16384;
    for (const ParameterFacts& p : kernel.parameters) {
        ArgumentValue a;
        const std::uint64_t value = p.kind == ParameterKind::pointer ? std::uint64_t{0x1000000000} * (p.index + 1) : 1024;
        for (std::uint32_t k = 0; k < p.bytes; ++k) a.bytes.push_back(k < 8 ? static_cast<std::uint8_t>(value >> (8 * k)) : 0);
        launch.arguments.push_back(std::move(a));
    }
    return launch;
}

void evaluate(benchmark::State& state, const Loaded& kernel, Dim3 grid) {
    const Evaluator evaluator(kernel.code);
    const Launch launch = launch_of(kernel.code.facts, grid);
    for (auto _ : state) benchmark::DoNotOptimize(evaluator.evaluate(launch));
}

void prepare(benchmark::State& state, const Loaded& kernel) {
    for (auto _ : state) benchmark::DoNotOptimize(Evaluator(kernel.code));
}

const auto kernels = load();

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
