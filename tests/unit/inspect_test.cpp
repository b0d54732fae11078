// From inputs to the report of `inspect`: streamed, on any number of threads, in full and as an overview.
#include "catch.hpp"

#include <algorithm>

#include "flipflop/inspect.hpp"
#include "flipflop/passes.hpp"
#include "flipflop/report.hpp"
#include "inputs_support.hpp"

using namespace flipflop;

namespace {

constexpr const char* kLoop =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry loop(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<4>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r2, 0;\nmov.f32 %f1, 0f00000000;\n"
    "L: mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f2, [%rd4];\nadd.f32 %f1, %f1, %f2;\nadd.u32 %r2, %r2, 1;\n"
    "setp.lt.u32 %p1, %r2, %r1;\n@%p1 bra L;\nst.global.f32 [%rd2], %f1;\nret;\n}\n";

/// A fatbin of many texts, one of them broken.
std::string library() {
    std::vector<testing::FatbinEntry> entries;
    for (int i = 0; i < 60; ++i) {
        std::string text(kLoop);
        for (std::size_t at = text.find("loop"); at != std::string::npos; at = text.find("loop", at + 6)) text.replace(at, 4, "kernel_" + std::to_string(i));
        if (i == 41) text.replace(text.find("cvta"), 4, "cvtb");
        if (i == 42) text.replace(text.find("%rd1;"), 5, "%nn1;");
        entries.push_back(i % 2 == 0 ? testing::FatbinEntry::lz4(text) : testing::FatbinEntry::zstd(text));
    }
    return testing::fatbin(entries);
}

std::string streamed(const std::string& bytes, unsigned threads) {
    Inspector inspector({{}, false, threads});
    ReadOptions options;
    options.on_text = [&](const Input& input, PtxText text) { inspector.add_text(input, std::move(text)); };
    const auto input = read_input_bytes(bytes, "lib.fatbin", options);
    REQUIRE(input);
    CHECK(input->texts.empty());
    inspector.add_input(*input);
    CHECK(inspector.errors() == 1);
    std::string json;
    write_json(std::move(inspector).finish(), [&](std::string_view piece) { json += piece; });
    return json;
}

KernelFacts first_kernel(const InspectReport& report) { return report.inputs.at(0).modules.at(0).kernels.at(0); }

}  // namespace

TEST_CASE("inspect: a streamed library gives the same report on any number of threads", "[inspect]") {
    const std::string bytes = library();
    const std::string one = streamed(bytes, 1);
    CHECK(one.find("\"kernel_59\"") != std::string::npos);
    CHECK(one.find("\"modules\": 60") != std::string::npos);
    for (const unsigned threads : {2U, 5U})
        for (int round = 0; round < 3; ++round) CHECK(streamed(bytes, threads) == one);
    const auto kept = read_input_bytes(bytes, "lib.fatbin");
    REQUIRE(kept);
    std::vector<Input> inputs{*kept};
    std::string json;
    write_json(*inspect(inputs, {}), [&](std::string_view piece) { json += piece; });
    CHECK(json == one);
}

TEST_CASE("inspect: an overview agrees with the full analysis in all but the register estimate", "[inspect]") {
    const auto input = read_input_bytes(testing::fatbin({testing::FatbinEntry::lz4(kLoop)}), "one.fatbin");
    REQUIRE(input);
    const std::vector<Input> inputs{*input};
    InspectOptions full;
    full.full = true;
    const KernelFacts a = first_kernel(*inspect(inputs, {})), b = first_kernel(*inspect(inputs, full));
    CHECK(a.fingerprint.empty());
    CHECK_FALSE(b.fingerprint.empty());
    CHECK(a.access_count == 2);
    CHECK(b.access_count == 2);
    CHECK(a.accesses.empty());
    CHECK(a.mix.counts == b.mix.counts);
    CHECK(a.loops.size() == 1);
    CHECK(b.loops.size() == 1);
    REQUIRE(a.parameters.size() == b.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        CHECK(a.parameters[p].kind == b.parameters[p].kind);
        REQUIRE(a.parameters[p].uses.size() == b.parameters[p].uses.size());
        for (std::size_t u = 0; u < a.parameters[p].uses.size(); ++u) CHECK(a.parameters[p].uses[u].what == b.parameters[p].uses[u].what);
    }
    CHECK(a.parameters[1].uses.at(0).what == "loop bound");
    // The wider bounds of the one hold what the other says.
    CHECK(a.resources.registers_low <= b.resources.registers_per_thread);
    CHECK(a.resources.registers_high >= b.resources.registers_per_thread);
    CHECK(a.resources.registers_basis == RegistersBasis::estimate);
}

TEST_CASE("inspect: a pattern that selects nothing hides no error", "[inspect]") {
    std::string text(kLoop);
    text.replace(text.find("%rd1;"), 5, "%nn1;");
    const auto input = read_input_bytes(text, "broken.ptx");
    REQUIRE(input);
    Inspector inspector({{"nothing*"}, false, 1});
    inspector.add_input(*input);
    const InspectReport report = std::move(inspector).finish();
    REQUIRE(report.selection);
    CHECK(report.summary.errors == 1);
    CHECK(report.inputs.at(0).modules.at(0).diagnostics.at(0).id == "FF0201");
}

TEST_CASE("inspect: kernels of one name in a library have ids of their own", "[inspect]") {
    const auto input = read_input_bytes(testing::fatbin({testing::FatbinEntry::lz4(kLoop), testing::FatbinEntry::lz4(kLoop)}), "two.fatbin");
    REQUIRE(input);
    const std::vector<Input> inputs{*input};
    const InspectReport both = *inspect(inputs, {});
    REQUIRE(both.inputs.at(0).modules.size() == 2);
    const std::string first = both.inputs[0].modules[0].kernels.at(0).id, second = both.inputs[0].modules[1].kernels.at(0).id;
    CHECK(second == first + ".2");
    const auto count = [&](const std::string& pattern) { return inspect(inputs, {{pattern}, false, 1})->summary.kernels; };
    CHECK(count("#" + first) == 2);
    CHECK(count("#" + second) == 1);
}

TEST_CASE("inspect: cubins of a library are counted by architecture", "[inspect]") {
    std::vector<testing::FatbinEntry> entries{testing::FatbinEntry::lz4(kLoop)};
    for (const std::uint32_t architecture : {80U, 80U, 80U, 90U, 90U}) {
        testing::FatbinEntry cubin;
        cubin.kind = 2;
        cubin.architecture = architecture;
        cubin.payload = std::string(64, 'x');
        entries.push_back(cubin);
    }
    const auto input = read_input_bytes(testing::fatbin(entries), "five.fatbin");
    REQUIRE(input);
    const InspectReport report = *inspect({*input}, {});
    TextStyle style;
    CHECK(text_report(report, style).find("5 cubins beside the PTX: 3 for sm_80 (192 B); 2 for sm_90 (128 B)") != std::string::npos);
    style.full_detail = true;
    CHECK(text_report(report, style).find("cubin five.fatbin#cubin5.sm_90 for sm_90") != std::string::npos);
}

TEST_CASE("inspect: parameters of CUDA source have the names of the source", "[inspect]") {
    const testing::TemporaryFolder folder;
    folder.write("loop.cu", "extern \"C\" __global__ void loop(float* data, unsigned count) { }\n");
    Input input;
    input.path = folder.path() + "/loop.cu";
    input.kind = InputKind::cuda;
    input.texts.push_back({input.path + "#compute_80", std::make_shared<const std::string>(kLoop)});
    const KernelFacts kernel = first_kernel(*inspect({input}, {}));
    REQUIRE(kernel.parameters.size() == 2);
    CHECK(kernel.parameters[0].source_name == "data");
    CHECK(kernel.parameters[1].source_name == "count");
}
