#include "flipflop/advise.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "advise/reasons.hpp"
#include "advise/safety.hpp"
#include "catch.hpp"
#include "flipflop/report.hpp"

using namespace flipflop;

namespace {

std::vector<Input> example(const std::string& name) {
    return read_input(std::string(FLIPFLOP_SOURCE_DIR) + "/examples/" + name + ".ptx").value();
}

std::vector<Input> from_text(const std::string& text) {
    Input input;
    input.path = "test.ptx";
    input.texts = {{"test.ptx", std::make_shared<const std::string>(text)}};
    return {input};
}

/// y[i] = x[i] for i < n, with room for directives and another target.
std::string copy_kernel(const std::string& directives, const std::string& target = "sm_80", const std::string& name = "copy") {
    return ".version 8.0\n.target " + target + "\n.address_size 64\n.visible .entry " + name + "(.param .u64 " + name + "_param_0, .param .u64 " + name +
           "_param_1, .param .u32 " + name + "_param_2)\n" + directives + R"({
    .reg .pred %p<2>;
    .reg .f32 %f<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [)" + name + R"(_param_0];
    ld.param.u64 %rd2, [)" + name + R"(_param_1];
    ld.param.u32 %r1, [)" + name + R"(_param_2];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.s32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f1, [%rd6];
    st.global.f32 [%rd7], %f1;
DONE:
    ret;
}
)";
}

AnalyzeOptions plain(const std::string& gpu = "a100-pcie") {
    AnalyzeOptions options;
    options.gpus = {gpu};
    options.ptxas = PtxasUse::off;
    return options;
}

const KernelResult& only(const Analysis& analysis) {
    REQUIRE(analysis.kernels.size() == 1);
    REQUIRE(analysis.kernels[0].results.size() == 1);
    return analysis.kernels[0].results[0];
}

}  // namespace

TEST_CASE("a search ranks, keeps little, and recommends what it ranks first", "[advise][analyze]") {
    const auto analysis = analyze(example("axpy"), plain());
    REQUIRE(analysis.has_value());
    const KernelResult& r = only(*analysis);
    CHECK(r.space.candidates == 32);
    CHECK(r.space.launchable == 32);
    CHECK(r.configs.size() == 32);
    CHECK(r.space.kept >= 1);
    CHECK(*r.space.reduction == Approx(1.0 - static_cast<double>(r.space.kept) / 32));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < r.configs.size(); ++i) {
        const ConfigResult& c = r.configs[i];
        CHECK(c.rank == static_cast<std::uint32_t>(i + 1));
        CHECK(c.grid.x == (1048576 + c.block.x - 1) / c.block.x);
        if (c.pareto) CHECK(c.kept);
        kept += c.kept;
        CHECK(c.full_detail == (c.kept || c.is_heuristic || c.is_current));
        REQUIRE(c.predicted.has_value());
        CHECK(c.facts->accesses.empty() == !c.full_detail);
        CHECK(c.predicted->time.total.parts.empty() == !c.full_detail);
        CHECK(c.predicted->p_within_5pct.has_value());
    }
    CHECK(kept == r.space.kept);
    REQUIRE(r.recommendation.has_value());
    CHECK(r.recommendation->block == r.configs[0].block);
    CHECK(r.configs[0].recommended);
    CHECK(r.recommendation->confidence == "low");
    REQUIRE(r.recommendation->over_heuristic.has_value());
    CHECK(r.recommendation->over_heuristic->time_ratio <= 1.0);
    CHECK(r.recommendation->over_heuristic->time_ratio_low <= r.recommendation->over_heuristic->time_ratio);
    CHECK_FALSE(r.recommendation->over_current.has_value());
    CHECK(std::any_of(r.assumptions.begin(), r.assumptions.end(), [](const Assumption& a) { return a.name == "work"; }));
    CHECK(std::count_if(r.configs.begin(), r.configs.end(), [](const ConfigResult& c) { return c.is_heuristic; }) == 1);
}

TEST_CASE("an axis that only blocks have is none of a block's", "[advise][analyze]") {
    // Rows by %ctaid.y, columns by %tid.x: the block stays flat, the work is two-dimensional.
    std::string text = copy_kernel("");
    text.replace(text.find("mov.u32 %r4, %tid.x;"), 20, "mov.u32 %r4, %ctaid.y; mad.lo.s32 %r2, %r2, 16, %r4; mov.u32 %r4, %tid.x;");
    const auto analysis = analyze(from_text(text), plain());
    REQUIRE(analysis);
    const KernelResult& result = only(*analysis);
    REQUIRE(result.recommendation);
    CHECK(result.space.candidates == 32);
    for (const ConfigResult& config : result.configs) CHECK((config.block.y == 1 && config.grid.y == 1024));
}

TEST_CASE("lanes that lie apart re-read nothing; lanes that read the same row do", "[advise][analyze]") {
    const auto finds = [](const std::string& multiply, const std::string& loads) {
        std::string text = copy_kernel("");
        text.replace(text.find("mul.wide.s32 %rd5, %r5, 4;"), 26, multiply);
        text.replace(text.find("ld.global.f32 %f1, [%rd6];"), 26, loads);
        AnalyzeOptions options = plain();
        options.launch.blocks = {{256, 1, 1}};
        const auto analysis = analyze(from_text(text), options);
        REQUIRE(analysis);
        const auto& findings = only(*analysis).findings;
        return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "FF104"; });
    };
    std::string row;
    for (int i = 0; i < 16; ++i) row += "ld.global.f32 %f1, [%rd6+" + std::to_string(4 * i) + "];\n";
    CHECK_FALSE(finds("mul.wide.s32 %rd5, %r5, 64;", row));                       // each thread its own 64 bytes: 32 sectors a request, 16 times
    CHECK(finds("mul.wide.s32 %rd5, %r5, 4;", row));                              // each byte by 16 threads
}

TEST_CASE("what nobody knows of the data is among what is to be given", "[advise][analyze]") {
    std::string text = copy_kernel("");
    text.replace(text.find("ld.global.f32 %f1, [%rd6];"), 26, "ld.global.u32 %r2, [%rd6]; mul.wide.s32 %rd5, %r2, 4; add.s64 %rd5, %rd4, %rd5; ld.global.f32 %f1, [%rd5];");
    const auto analysis = analyze(from_text(text), plain());
    REQUIRE(analysis);
    const auto& all = only(*analysis).assumptions;
    const auto found = std::find_if(all.begin(), all.end(), [](const Assumption& a) { return a.name == "addresses from data"; });
    REQUIRE(found != all.end());
    CHECK(found->value == "1 access");
    CHECK(found->could_change);
}

TEST_CASE("named blocks stand in their order, whatever they are", "[advise][analyze]") {
    AnalyzeOptions options = plain();
    options.launch.blocks = {{512, 1, 1}, {2048, 1, 1}, {100, 1, 1}, {512, 1, 1}, {1, 1, 128}};
    options.launch.work = Dim3{100000, 1, 1};
    options.launch.args = {"3=100000"};
    const auto analysis = analyze(example("axpy"), options);
    REQUIRE(analysis.has_value());
    const KernelResult& r = only(*analysis);
    REQUIRE(r.configs.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK(r.configs[i].block == options.launch.blocks[i]);
    CHECK(r.configs[0].launchable);
    CHECK_FALSE(r.configs[1].launchable);
    CHECK(r.configs[1].why_not.find("1024") != std::string::npos);
    CHECK_FALSE(r.configs[1].rank.has_value());
    CHECK(r.configs[2].launchable);
    CHECK_FALSE(r.configs[4].launchable);
    CHECK(r.configs[0].grid == Dim3{196, 1, 1});
    for (const ConfigResult& c : r.configs) CHECK(c.full_detail);
    CHECK(r.space.rejected_by.at("block_size") == 2);
    CHECK(analysis->kernels[0].parameter_values[3].given);
}

TEST_CASE("GPUs outside, operating points next, blocks inside", "[advise][analyze]") {
    AnalyzeOptions options = plain();
    options.gpus = {"a100-pcie", "t4"};
    options.clocks_mhz = {1000, 1300};
    options.launch.blocks = {{256, 1, 1}, {128, 1, 1}};
    const auto analysis = analyze(from_text(copy_kernel("", "sm_75")), options);
    REQUIRE(analysis.has_value());
    REQUIRE(analysis->kernels[0].results.size() == 2);
    const auto& configs = analysis->kernels[0].results[0].configs;
    REQUIRE(configs.size() == 4);
    CHECK((configs[0].block.x == 256 && configs[1].block.x == 128 && configs[2].block.x == 256 && configs[3].block.x == 128));
    CHECK((*configs[0].clock_mhz == Approx(1000) && *configs[1].clock_mhz == Approx(1000) && *configs[2].clock_mhz == Approx(1300)));
    CHECK(analysis->kernels[0].results[1].gpu == "Tesla T4");
}

TEST_CASE("what the user got wrong is said, with the contract's ids", "[advise][analyze]") {
    const auto inputs = example("axpy");
    const auto with = [&](auto change) {
        AnalyzeOptions options = plain();
        change(options);
        const auto r = analyze(inputs, options);
        if (r) return std::string("none");
        CHECK(exit_code_of(r.error()) == 2);
        CHECK_FALSE(r.error().message.empty());
        return r.error().id;
    };
    CHECK(with([](auto& o) { o.launch.blocks = {{0, 1, 1}}; }) == "FF0750");
    CHECK(with([](auto& o) { o.gpus = {"a1000"}; }) == "FF0901");
    CHECK(with([](auto& o) { o.gpus.clear(); }) == "FF0756");
    CHECK(with([](auto& o) { o.launch.kernels = {"axpi"}; }) == "FF0701");
    CHECK(with([](auto& o) { o.launch.args = {"17=3"}; }) == "FF0711");
    CHECK(with([](auto& o) { o.launch.args = {"3=4294967296"}; }) == "FF0711");
    CHECK(with([](auto& o) { o.launch.args = {"3"}; }) == "FF0710");
    CHECK(with([](auto& o) { o.launch.grid = Dim3{4, 1, 1}; o.launch.work = Dim3{4, 1, 1}; }) == "FF0740");
    CHECK(with([](auto& o) { o.launch.grid = Dim3{4, 70000, 1}; }) == "FF0745");
    CHECK(with([](auto& o) { o.launch.grid_expression[0] = "1 / (block.x - block.x)"; }) == "FF0743");
    CHECK(with([](auto& o) { o.launch.grid_expression[0] = "gpu.sm"; }) == "FF0742");
    CHECK(with([](auto& o) { o.launch.dynamic_smem = "16 *"; }) == "FF0741");
    CHECK(with([](auto& o) { o.launch.trips = {"L99=4"}; }) == "FF0731");
    CHECK(with([](auto& o) { o.launch.taken = {"nowhere.cu:3=0.5"}; }) == "FF0731");
    CHECK(with([](auto& o) { o.launch.args = {"2=100", "2=200"}; }) == "FF0711");
    CHECK(with([](auto& o) { o.launch.args = {"2=100", "param_2=200"}; }) == "FF0711");
    CHECK(with([](auto& o) { o.clocks_mhz = {-1}; }) == "FF0754");
    CHECK(with([](auto& o) { o.sms = 1000; }) == "FF0757");
    CHECK(with([](auto& o) { o.launch.current_grid = Dim3{4, 1, 1}; }) == "FF0751");
}

TEST_CASE("inputs without kernels, and without PTX", "[advise][analyze]") {
    const auto none = analyze(from_text(".version 8.0\n.target sm_80\n.address_size 64\n"), plain());
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().id == "FF0817");
    CHECK(exit_code_of(none.error()) == 3);
    const auto broken = analyze(from_text("this is not PTX at all"), plain());
    REQUIRE(broken.has_value());
    CHECK(broken->errors > 0);
    CHECK(broken->kernels.empty());
    CHECK_FALSE(broken->inputs[0].modules[0].diagnostics.empty());
}

TEST_CASE("launch bounds reject blocks, with the reason counted", "[advise][analyze]") {
    const auto bounded = analyze(from_text(copy_kernel(".maxntid 256, 1, 1\n")), plain());
    REQUIRE(bounded.has_value());
    CHECK(only(*bounded).space.launchable == 8);
    CHECK(only(*bounded).space.rejected_by.at("max_threads") == 24);
    CHECK_FALSE(only(*bounded).configs.back().why_not.empty());
    const auto fixed = analyze(from_text(copy_kernel(".reqntid 128, 1, 1\n")), plain());
    REQUIRE(fixed.has_value());
    CHECK(only(*fixed).space.launchable == 1);
    CHECK(only(*fixed).recommendation->block == Dim3{128, 1, 1});
    CHECK(only(*fixed).reblocking.reference_basis == "required");
    CHECK(only(*fixed).reblocking.verdict == "safe");
    AnalyzeOptions what_if = plain();
    what_if.launch.ignore_launch_bounds = true;
    CHECK(only(*analyze(from_text(copy_kernel(".reqntid 128, 1, 1\n")), what_if)).space.launchable == 32);
}

TEST_CASE("PTX newer than the GPU: nothing launches, the facts stand", "[advise][analyze]") {
    AnalyzeOptions options = plain();
    options.launch.blocks = {{256, 1, 1}};
    const auto analysis = analyze(from_text(copy_kernel("", "sm_90")), options);
    REQUIRE(analysis.has_value());
    const KernelResult& r = only(*analysis);
    CHECK_FALSE(r.code.compatible);
    CHECK_FALSE(r.configs[0].launchable);
    CHECK(r.configs[0].why_not.find("sm_90") != std::string::npos);
    REQUIRE(r.configs[0].facts.has_value());
    CHECK(r.configs[0].facts->accesses[0].requests == 32768.0);
    CHECK_FALSE(r.configs[0].predicted.has_value());
    CHECK_FALSE(r.recommendation.has_value());
    CHECK_FALSE(r.no_recommendation.empty());
}

TEST_CASE("an argument for some of the kernels is a note, for none an error", "[advise][analyze]") {
    std::string text = copy_kernel("");
    std::string second = copy_kernel("", "sm_80", "other");
    second = second.substr(second.find(".visible"));
    AnalyzeOptions options = plain();
    options.launch.args = {"copy_param_2=5000"};
    const auto analysis = analyze(from_text(text + second), options);
    REQUIRE(analysis.has_value());
    REQUIRE(analysis->kernels.size() == 2);
    REQUIRE(analysis->notes.size() == 1);
    CHECK(analysis->notes[0].severity == Severity::note);
    CHECK(analysis->notes[0].message.find("other") != std::string::npos);
    CHECK(analysis->kernels[0].parameter_values[2].given);
    CHECK_FALSE(analysis->kernels[1].parameter_values[2].given);
    // The given guard tells the extent: ceil(5000 / 256) blocks of 256.
    const auto& configs = analysis->kernels[0].results[0].configs;
    const auto at = std::find_if(configs.begin(), configs.end(), [](const ConfigResult& c) { return c.block.x == 256; });
    REQUIRE(at != configs.end());
    CHECK(at->grid.x == 20);
}

TEST_CASE("the same bytes whatever the number of threads", "[advise][analyze]") {
    AnalyzeOptions one = plain(), three = plain();
    three.threads = 3;
    CHECK(json_report(*analyze(example("transpose_naive"), one)) == json_report(*analyze(example("transpose_naive"), three)));
}

TEST_CASE("the objective decides the order", "[advise][analyze]") {
    AnalyzeOptions options = plain();
    options.objective = Objective::energy;
    options.clocks_mhz = {800, 1410};
    const auto analysis = analyze(example("axpy"), options);
    REQUIRE(analysis.has_value());
    const auto& configs = only(*analysis).configs;
    for (std::size_t i = 1; i < configs.size(); ++i)
        if (configs[i].rank && !advise::kSafetyIsFollowed)
            CHECK(configs[i].predicted->power->energy.value >= configs[i - 1].predicted->power->energy.value * (1 - 1e-6));
    for (std::size_t i = 0; i < configs.size(); ++i)
        if (configs[i].pareto)
            for (const ConfigResult& other : configs)
                if (other.predicted)
                    CHECK_FALSE((other.predicted->time.total.value < configs[i].predicted->time.total.value * 0.99 &&
                                 other.predicted->power->energy.value < configs[i].predicted->power->energy.value * 0.99));
}

TEST_CASE("the naive transpose: today's launch, its gain, its reasons and its finding", "[advise][analyze]") {
    AnalyzeOptions options = plain();
    options.launch.work = Dim3{4096, 4096, 1};
    options.launch.args = {"param_2=4096", "param_3=4096"};
    options.launch.current = Dim3{32, 8, 1};
    const auto analysis = analyze(example("transpose_naive"), options);
    REQUIRE(analysis.has_value());
    const KernelResult& r = only(*analysis);
    REQUIRE(r.recommendation.has_value());
    REQUIRE(r.recommendation->over_current.has_value());
    CHECK(r.recommendation->over_current->time_ratio < 0.9);
    REQUIRE_FALSE(r.recommendation->reasons.empty());
    CHECK(r.recommendation->reasons[0].what.find("store sectors a request") != std::string::npos);
    CHECK(*r.recommendation->reasons[0].delta_us < 0);
    REQUIRE_FALSE(r.findings.empty());
    CHECK(r.findings[0].rule == "FF101");
    CHECK(*r.findings[0].cost_us > 0);
    CHECK(r.findings[0].severity == Severity::warning);
    CHECK(r.reblocking.reference_basis == "given");
    const auto current = std::find_if(r.configs.begin(), r.configs.end(), [](const ConfigResult& c) { return c.is_current; });
    REQUIRE(current != r.configs.end());
    CHECK(current->safe == true);
    CHECK(current->full_detail);
}

TEST_CASE("blocks that leave part of the work undone are not recommended", "[advise][analyze]") {
    // The padded transpose takes one block a tile of 32 x 32. With as many threads as elements that is a block of 32 x 32;
    // a block of 1024 x 1 gets too few tiles.
    AnalyzeOptions options = plain();
    options.launch.work = Dim3{1024, 1024, 1};
    options.launch.args = {"param_2=1024", "param_3=1024"};
    options.launch.current = Dim3{32, 32, 1};
    const auto analysis = analyze(example("transpose_padded"), options);
    REQUIRE(analysis.has_value());
    const KernelResult& r = only(*analysis);
    REQUIRE(r.recommendation.has_value());
    std::optional<double> reference;
    for (const ConfigResult& c : r.configs)
        if (c.is_current) reference = c.facts->footprint.unique_written_bytes;
    REQUIRE(reference == 4.0 * 1024 * 1024);
    std::size_t unsafe = 0;
    for (const ConfigResult& c : r.configs) {
        if (!c.predicted || *c.facts->footprint.unique_written_bytes == *reference) continue;
        ++unsafe;
        CHECK(c.safe == false);
        CHECK(c.safe_reason.find("distinct bytes") != std::string::npos);
        CHECK_FALSE(c.kept);
        CHECK_FALSE(c.recommended);
    }
    CHECK(unsafe > 10);
}

TEST_CASE("reasons add up to the whole difference", "[advise][analyze]") {
    using namespace flipflop::advise;
    const GpuProfile gpu = load_gpu("a100-pcie").value();
    const GpuModel model(gpu);
    for (const char* name : {"transpose_naive", "reduction", "histogram"}) {
        INFO(name);
        const auto inputs = example(name);
        const ptx::ParseResult parsed = ptx::parse(inputs[0].texts[0].text, name);
        const ptx::Module& module = parsed.modules.at(0);
        std::uint32_t entry = 0;
        while (!module.functions[entry].is_entry) ++entry;
        const KernelCode code = analyse_kernel(module, entry);
        const Evaluator evaluator(code);
        const Requests requests = read_requests({}).value();
        const Subject subject = make_subject(code, requests);
        FactsBook book(code, evaluator, subject);
        const Stage stage{&book, &gpu, &model, paired_error(gpu), code.facts.resources, {}, {}, true};
        const bool flat = code.facts.dimensions == 1;
        const Trial a = try_block(stage, flat ? Dim3{1024, 1, 1} : Dim3{32, 32, 1}, std::nullopt, true);
        const Trial b = try_block(stage, flat ? Dim3{128, 1, 1} : Dim3{8, 16, 1}, std::nullopt, true);
        OperatingPoint point;
        const auto reasons = reasons_for(stage, a, b, point, {1000, 0});
        double us = 0, mj = 0;
        for (const Reason& reason : reasons) {
            us += *reason.delta_us;
            mj += reason.delta_mj.value_or(0);
        }
        const Prediction from = predict(stage, a, *a.facts, point), to = predict(stage, b, *b.facts, point);
        CHECK(us == Approx(to.time.total.value - from.time.total.value).margin(1e-6 * from.time.total.value));
        CHECK(mj == Approx(to.power->energy.value - from.power->energy.value).margin(1e-6 * from.power->energy.value));
    }
}

TEST_CASE("a bank conflict is found and costed, its padded twin has none", "[advise][analyze]") {
    const auto has = [](const Analysis& analysis, const char* rule) {
        const auto& findings = only(analysis).findings;
        return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; });
    };
    AnalyzeOptions options = plain();
    options.launch.blocks = {{32, 8, 1}};
    const auto padded = analyze(example("transpose_padded"), options);
    REQUIRE(padded.has_value());
    CHECK_FALSE(has(*padded, "FF102"));
}
