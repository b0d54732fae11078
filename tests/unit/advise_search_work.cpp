// What a search may take is counted work, shared among its launches: a kernel that is dear to follow is sampled, and says so.
#include <algorithm>

#include "advise/subject.hpp"
#include "catch.hpp"
#include "flipflop/advise.hpp"
#include "flipflop/report.hpp"
#include "sanitized.hpp"

using namespace flipflop;

namespace {

/// y[i] = sum of x at `steps` places of a linear congruential sequence: no two iterations alike, each must be followed.
std::vector<Input> scattered(unsigned steps) {
    Input input;
    input.path = "scattered.ptx";
    input.texts = {{"scattered.ptx", std::make_shared<const std::string>(
                                         ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry scattered(.param .u64 a, .param .u64 b)\n{\n"
                                         ".reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\n"
                                         "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.s32 %r4, %r2, %r3, %r1;\nmov.u32 %r5, %r4;\n"
                                         "mov.u32 %r6, 0;\nmov.f32 %f1, 0f00000000;\nLOOP:\nmad.lo.u32 %r5, %r5, 1664525, 1013904223;\nand.b32 %r7, %r5, 1048575;\n"
                                         "mul.wide.u32 %rd3, %r7, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f2, [%rd4];\nadd.f32 %f1, %f1, %f2;\nadd.s32 %r6, %r6, 1;\n"
                                         "setp.lt.u32 %p1, %r6, " + std::to_string(steps) + ";\n@%p1 bra LOOP;\nmul.wide.u32 %rd5, %r4, 4;\nadd.s64 %rd6, %rd2, %rd5;\nst.global.f32 [%rd6], %f1;\nret;\n}\n")}};
    return {input};
}

AnalyzeOptions plain(unsigned threads) {
    AnalyzeOptions options;
    options.gpus = {"a100"};
    options.ptxas = PtxasUse::off;
    options.threads = threads;
    return options;
}

}  // namespace

TEST_CASE("the work of a search is bounded whatever a launch takes, and the bound is the same for any number of threads", "[advise][effort]") {
    const auto heavy = scattered(100'000);
    const Analysis analysis = analyze(heavy, plain(1)).value();
    const auto& configs = analysis.kernels.at(0).results.at(0).configs;
    REQUIRE(configs.size() == 32);
    std::uint64_t work = 0;
    for (const ConfigResult& c : configs) {
        REQUIRE(c.facts);
        work += c.facts->evaluated_steps;
        CHECK(c.facts->basis != CountBasis::exact);
    }
    // Shares are estimates, up to twice as much is taken; then the leaders are followed further, for as much as a search has.
    CHECK(work <= 3 * advise::kSearchOfBudget * advise::kSearchBudget);
    CHECK(work >= advise::kSearchBudget);
    if (!kSanitized) CHECK(json_report(analysis) == json_report(analyze(heavy, plain(4)).value()));
}

TEST_CASE("a kernel whose launches are cheap is followed whole in every block of a search", "[advise][effort]") {
    const auto cheap = scattered(20);
    AnalyzeOptions options = plain(1);
    options.launch.work = Dim3{4096, 1, 1};
    const Analysis searched = analyze(cheap, options).value();
    const auto& configs = searched.kernels.at(0).results.at(0).configs;
    REQUIRE(configs.size() == 32);
    AnalyzeOptions named = options;   // blocks that are named have no search to share a budget with
    for (const ConfigResult& c : configs) named.launch.blocks.push_back(c.block);
    const Analysis alone = analyze(cheap, named).value();
    for (const ConfigResult& c : configs) {
        REQUIRE(c.facts);
        const auto& others = alone.kernels.at(0).results.at(0).configs;
        const auto same = std::find_if(others.begin(), others.end(), [&](const ConfigResult& o) { return o.block == c.block; });
        REQUIRE(same != others.end());
        CHECK(c.facts->basis == same->facts->basis);
        CHECK(c.facts->warp_instructions == same->facts->warp_instructions);
    }
}

TEST_CASE("what leads a search was followed to its end: a launch that is cut short looks faster than it is", "[advise][effort]") {
    // A block of one warp steps 198 times over the pixels, one of 24 warps 66 times; each pass divides by the width.
    AnalyzeOptions options = plain(2);
    options.gpus = {"rtx3090"};
    options.launch.grid_expression[0] = "gpu.sms * blocks_per_sm";
    options.launch.args = {"2+8:s32=3840", "2+12:s32=2160", "0+16:s32=3840", "1+16:s32=3840", "2+16:s32=3840"};
    const Analysis analysis = analyze(read_input(std::string(FLIPFLOP_SOURCE_DIR) + "/examples/blend_persistent.ptx").value(), options).value();
    const KernelAnalysis& kernel = analysis.kernels.at(0);
    std::size_t kept = 0;
    for (const ConfigResult& c : kernel.results.at(0).configs) {
        if (!c.kept && !c.recommended) continue;
        ++kept;
        REQUIRE(c.facts);
        CHECK_FALSE(c.facts->cut);
        REQUIRE(c.facts->loops.at(0).trip_mean);
        const double passes = 3840.0 * 2160 / static_cast<double>(c.block.count() * c.grid.count());
        CHECK(*c.facts->loops[0].trip_mean == Approx(passes).epsilon(0.01));
    }
    CHECK(kept > 0);
}
