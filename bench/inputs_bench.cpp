// How fast bytes become PTX text: hashing, recognising, unpacking.
#include <string>

#include <benchmark/benchmark.h>

#include "flipflop/inputs.hpp"

namespace {

std::string long_ptx(std::size_t bytes) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (std::size_t i = 0; text.size() < bytes; ++i) text += "\tfma.rn.f32 \t%f" + std::to_string(i % 977) + ", %f1, %f2, %f3;\n";
    return text;
}

void sha256_of(benchmark::State& state) {
    const std::string text = long_ptx(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(flipflop::sha256(text));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(sha256_of)->Arg(1 << 10)->Arg(1 << 20);

void read_ptx_text(benchmark::State& state) {
    const std::string text = long_ptx(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(flipflop::read_input_bytes(text, "k.ptx"));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(read_ptx_text)->Arg(1 << 12)->Arg(1 << 20);

}  // namespace
