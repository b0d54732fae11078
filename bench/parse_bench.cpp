// How fast PTX text becomes a Module, by shape of text. The texts are made here; FLIPFLOP_BENCH_PTX names a file to add.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>

#include "flipflop/ptx.hpp"

namespace {

using Text = std::shared_ptr<const std::string>;
constexpr std::size_t kBytes = 8 << 20;
const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n\n";

/// Code as a compiler writes it: tabs, a mix of arithmetic, loads, compares, branches and .loc lines, growing register numbers.
Text compiled() {
    std::string s = kHead;
    for (int kernel = 0; s.size() < kBytes; ++kernel) {
        const std::string name = "_Z6kernelILi" + std::to_string(kernel) + "EEvPKfPfi";
        s += ".visible .entry " + name + "(\n\t.param .u64 " + name + "_param_0,\n\t.param .u64 " + name + "_param_1,\n\t.param .u32 " + name + "_param_2\n)\n{\n"
             "\t.reg .pred \t%p<200>;\n\t.reg .f32 \t%f<2000>;\n\t.reg .b32 \t%r<2000>;\n\t.reg .b64 \t%rd<2000>;\n\n";
        s += "\tld.param.u64 \t%rd1, [" + name + "_param_0];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n\tmov.u32 \t%r1, %tid.x;\n";
        for (int i = 2; i < 190; ++i) {
            const std::string n = std::to_string(i), m = std::to_string(i + 1);
            s += "\t.loc\t1 " + n + " 9\n\tmad.lo.s32 \t%r" + m + ", %r" + n + ", 17, %r1;\n\tmul.wide.s32 \t%rd" + m + ", %r" + m + ", 4;\n\tadd.s64 \t%rd" + std::to_string(i + 500) + ", %rd2, %rd" + m +
                 ";\n\tld.global.f32 \t%f" + m + ", [%rd" + std::to_string(i + 500) + "+256];\n\tfma.rn.f32 \t%f" + std::to_string(i + 700) + ", %f" + m + ", 0f3F000000, %f" + n +
                 ";\n\tsetp.lt.s32 \t%p" + n + ", %r" + m + ", 1024;\n\t@%p" + n + " bra \t$L__BB" + std::to_string(kernel) + "_" + n + ";\n\n$L__BB" + std::to_string(kernel) + "_" + n + ":\n";
        }
        s += "\tret;\n\n}\n";
    }
    return std::make_shared<const std::string>(std::move(s));
}

Text straight(const std::string& line_end) {
    std::string s = kHead + ".visible .entry k(.param .u64 out)\n{ .reg .b32 %r<64>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x;" + line_end;
    for (std::size_t i = 0; s.size() < kBytes; ++i)
        s += " mad.lo.s32 %r" + std::to_string((i + 1) % 60) + ", %r" + std::to_string(i % 60) + ", " + std::to_string(i % 97 + 2) + ", %r0;" + line_end;
    return std::make_shared<const std::string>(s + " ret; }\n");
}

Text many_kernels() {
    std::string s = kHead;
    for (int i = 0; s.size() < kBytes; ++i)
        s += ".visible .entry big_" + std::to_string(i) + "(.param .u64 out)\n{\n  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid.x;\n  mul.wide.u32 %rd3, %r1, 4;\n"
             "  add.s64 %rd3, %rd1, %rd3;\n  st.global.u32 [%rd3], %r1;\n  ret;\n}\n";
    return std::make_shared<const std::string>(std::move(s));
}

Text data() {
    std::string s = kHead + ".global .align 4 .b8 big[" + std::to_string(kBytes / 4) + "] = {";
    for (std::size_t i = 1; i < kBytes / 4; ++i) s += "17, ";
    return std::make_shared<const std::string>(s + "17};\n");
}

Text dwarf() {
    std::string s = kHead + ".visible .entry k() { ret; }\n.section .debug_str\n{\n";
    while (s.size() < kBytes) s += ".b8 97,97,97,97,97,97,97,97,97,97,97,97,97,97,97,97\n";
    return std::make_shared<const std::string>(s + "}\n");
}

void parse_text(benchmark::State& state, const Text& text) {
    std::uint64_t instructions = 0;
    for (auto _ : state) {
        const auto result = flipflop::ptx::parse(text, "bench.ptx");
        if (result.errors != 0) state.SkipWithError("the text has errors");
        for (const auto& module : result.modules) instructions += module.instruction_count;
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text->size()));
    state.counters["instructions/s"] = benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void print_text(benchmark::State& state, const Text& text) {
    const auto result = flipflop::ptx::parse(text, "bench.ptx");
    for (auto _ : state) benchmark::DoNotOptimize(flipflop::ptx::print(result.modules.at(0)));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text->size()));
}

const bool registered = [] {
    benchmark::RegisterBenchmark("parse/compiled", parse_text, compiled());
    benchmark::RegisterBenchmark("parse/straight", parse_text, straight("\n"));
    benchmark::RegisterBenchmark("parse/one_line", parse_text, straight(" "));
    benchmark::RegisterBenchmark("parse/many_kernels", parse_text, many_kernels());
    benchmark::RegisterBenchmark("parse/data", parse_text, data());
    benchmark::RegisterBenchmark("parse/dwarf", parse_text, dwarf());
    benchmark::RegisterBenchmark("print/compiled", print_text, compiled());
    if (const char* file = std::getenv("FLIPFLOP_BENCH_PTX")) {
        std::ifstream in(file, std::ios::binary);
        std::stringstream buffer;
        buffer << in.rdbuf();
        benchmark::RegisterBenchmark("parse/file", parse_text, std::make_shared<const std::string>(buffer.str()));
    }
    return true;
}();

}  // namespace
