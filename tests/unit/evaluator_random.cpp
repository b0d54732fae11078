// Kernels made by chance, evaluated as boxes with loops in closed form and, independently of that, warp by warp and
// iteration by iteration: both must say the same.
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "catch.hpp"
#include "sanitized.hpp"
#include "flipflop/evaluator.hpp"

using namespace flipflop;

namespace {

struct Maker {
    std::mt19937 random;
    std::string body;
    int registers = 40, labels = 0, predicates = 10;
    std::vector<std::string> ints{"%r1", "%r2", "%r3", "%r4", "%r5"};

    explicit Maker(unsigned seed) : random(seed) {}
    int pick(int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); }
    std::string any() { return ints[random() % ints.size()]; }
    std::string fresh() { return "%r" + std::to_string(registers++); }

    void index_step() {
        const std::string d = fresh(), a = any(), b = any();
        switch (pick(0, 15)) {
        case 0: body += fmt::format("add.s32 {}, {}, {};\n", d, a, b); break;
        case 1: body += fmt::format("mad.lo.s32 {}, {}, {}, {};\n", d, a, pick(1, 40), b); break;
        case 2: body += fmt::format("and.b32 {}, {}, {};\n", d, a, (1 << pick(1, 7)) - 1); break;
        case 3: body += fmt::format("shr.u32 {}, {}, {};\n", d, a, pick(1, 6)); break;
        case 4: body += fmt::format("shl.b32 {}, {}, {};\n", d, a, pick(1, 4)); break;
        case 5: body += fmt::format("rem.u32 {}, {}, {};\n", d, a, pick(2, 70)); break;
        case 6: body += fmt::format("div.u32 {}, {}, {};\n", d, a, pick(2, 70)); break;
        case 7: body += fmt::format("xor.b32 {}, {}, {};\n", d, a, pick(0, 1) ? b : std::to_string(pick(1, 31))); break;
        case 8: body += fmt::format("min.s32 {}, {}, {};\n", d, a, pick(0, 300)); break;
        case 9: body += fmt::format("max.s32 {}, {}, {};\n", d, a, b); break;
        case 10: body += fmt::format("sub.s32 {}, {}, {};\n", d, a, b); break;
        case 11: body += fmt::format("mul.hi.u32 {}, {}, {};\n", d, a, pick(1 << 20, 1 << 30)); break;
        case 12: body += fmt::format("bfe.u32 {}, {}, {}, {};\n", d, a, pick(0, 5), pick(1, 6)); break;
        case 13: {
            const std::string p = fmt::format("%p{}", predicates++);
            body += fmt::format("setp.{}.s32 {}, {}, {};\nselp.b32 {}, {}, {}, {};\n", pick(0, 1) ? "lt" : "eq", p, a, pick(0, 200), d, a, b, p);
            break;
        }
        case 14: body += fmt::format("or.b32 {}, {}, {};\n", d, a, pick(0, 1) ? b : std::to_string(pick(1, 15))); break;
        default: body += fmt::format("shfl.sync.bfly.b32 {}, {}, {}, 31, -1;\n", d, a, 1 << pick(0, 4)); break;
        }
        ints.push_back(d);
    }

    void global_access() {
        // Masked, so that addresses stay within the array's own range.
        const std::string m = fresh(), w = fmt::format("%rd{}", registers), s = fmt::format("%rd{}", registers + 1);
        registers += 2;
        body += fmt::format("and.b32 {}, {}, 0xfffff;\nmul.wide.u32 {}, {}, {};\nadd.s64 {}, %rd{}, {};\n", m, any(), w, m, pick(0, 1) ? 4 : 12, s, pick(1, 2), w);
        if (pick(0, 2)) body += fmt::format("ld.global.f32 %f1, [{}+{}];\n", s, 4 * pick(0, 9));
        else body += fmt::format("st.global.f32 [{}], %f1;\n", s);
    }

    void shared_access() {
        const std::string m = fresh(), s = fresh(), b = fresh();
        body += fmt::format("and.b32 {}, {}, 1023;\nshl.b32 {}, {}, 2;\nmov.u32 {}, tile;\nadd.s32 {}, {}, {};\n", m, any(), s, m, b, b, b, s);
        if (pick(0, 1)) body += fmt::format("st.shared.u32 [{}], {};\n", b, any());
        else {
            const std::string d = fresh();
            body += fmt::format("ld.shared.u32 {}, [{}];\n", d, b);
            if (reads_shared) ints.push_back(d);
        }
    }

    bool reads_shared = false;

    void statement(int depth) {
        const auto outside = ints;
        switch (pick(0, depth > 2 ? 5 : 9)) {
        case 0: case 1: case 2: index_step(); return;
        case 3: case 4: global_access(); return;
        case 5: shared_access(); return;
        case 6: case 7: {
            const std::string p = fmt::format("%p{}", predicates++), label = fmt::format("L{}", labels++);
            body += fmt::format("setp.{}.s32 {}, {}, {};\n@{} bra {};\n", pick(0, 1) ? "ge" : "ne", p, any(), pick(0, 250), p, label);
            for (int k = pick(1, 3); k > 0; --k) statement(depth + 1);
            body += label + ":\n";
            break;
        }
        default: {
            // for (i = a; i < b; i += c), with the bound fixed or different from lane to lane
            const std::string i = fresh(), bound = fresh(), p = fmt::format("%p{}", predicates++), label = fmt::format("L{}", labels++);
            body += fmt::format("mov.u32 {}, {};\n", i, pick(0, 3));
            if (pick(0, 2)) body += fmt::format("mov.u32 {}, {};\n", bound, pick(1, depth > 1 ? 30 : 90));
            else body += fmt::format("and.b32 {}, {}, {};\n", bound, any(), 31);
            body += label + ":\n";
            ints.push_back(i);
            for (int k = pick(1, 3); k > 0; --k) statement(depth + 1);
            body += fmt::format("add.s32 {}, {}, {};\nsetp.lt.s32 {}, {}, {};\n@{} bra {};\n", i, i, pick(1, 3), p, i, bound, p, label);
            break;
        }
        }
        ints = outside;     // what was computed on one path only is not used after it
    }

    std::string make() {
        reads_shared = pick(0, 5) == 0;
        for (int k = pick(3, 9); k > 0; --k) {
            statement(0);
            if (pick(0, 6) == 0) body += "bar.sync 0;\n";
        }
        return fmt::format(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
{{
.reg .pred %p<{}>;
.reg .b32 %r<{}>;
.reg .f32 %f<4>;
.reg .b64 %rd<{}>;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd2, [k_param_1];
ld.param.u32 %r5, [k_param_2];
mov.u32 %r1, %tid.x;
mov.u32 %r10, %ctaid.x;
mov.u32 %r11, %ntid.x;
mad.lo.s32 %r2, %r10, %r11, %r1;
mov.u32 %r3, %tid.y;
mov.u32 %r12, %ctaid.y;
mov.u32 %r13, %ntid.y;
mad.lo.s32 %r4, %r12, %r13, %r3;
{}ret;
}}
)", predicates + 1, registers + 1, registers + 1, body);
    }
};

ArgumentValue argument(std::uint64_t value, std::size_t bytes) {
    ArgumentValue a;
    for (std::size_t k = 0; k < bytes; ++k) a.bytes.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
    return a;
}

void same(const char* what, std::optional<double> a, std::optional<double> b) {
    INFO(what);
    REQUIRE(a.has_value() == b.has_value());
    if (a) REQUIRE(*a == Approx(*b).epsilon(1e-9).margin(1e-9));
}

}  // namespace

TEST_CASE("boxes and closed forms agree with plain enumeration on random kernels", "[evaluator][random]") {
    const Dim3 blocks[]{{32, 1, 1}, {128, 1, 1}, {96, 1, 1}, {40, 1, 1}, {16, 8, 1}, {8, 8, 1}, {32, 4, 1}, {64, 2, 2}, {5, 9, 1}, {8, 4, 4}};
    const Dim3 grids[]{{7, 1, 1}, {3, 4, 1}, {13, 2, 1}, {1, 5, 2}};
    for (unsigned seed = 1; seed <= 300; seed += kSanitized ? 7 : 1) {
        Maker maker(seed);
        const std::string text = maker.make();
        INFO("seed " << seed << "\n" << text);
        const auto parsed = ptx::parse(std::make_shared<const std::string>(text), "random");
        REQUIRE(parsed.errors == 0);
        const KernelCode code = analyse_kernel(parsed.modules[0], 0);
        Launch launch;
        launch.block = blocks[seed % std::size(blocks)];
        launch.grid = grids[seed % std::size(grids)];
        launch.arguments = {argument(0x1000000000, 8), argument(0x2000000000, 8), argument(seed * 37 % 500, 4)};
        EvaluatorOptions plain;
        plain.one_by_one = true;
        plain.budget = 400'000'000;
        const LaunchFacts a = Evaluator(code).evaluate(launch), b = Evaluator(code, plain).evaluate(launch);
        if (a.basis == CountBasis::sampled || b.basis == CountBasis::sampled) continue;
        same("instructions", a.warp_instructions, b.warp_instructions);
        same("barriers", a.barriers_per_thread, b.barriers_per_thread);
        same("lanes", a.active_lane_share, b.active_lane_share);
        for (std::size_t k = 0; k < a.accesses.size(); ++k) {
            const AccessFacts &x = a.accesses[k], &y = b.accesses[k];
            INFO("access at PTX line " << code.facts.accesses[k].ptx_line);
            same("requests", x.requests, y.requests);
            same("assumed", x.requests_assumed, y.requests_assumed);
            same("sectors", x.sectors_per_request, y.sectors_per_request);
            same("lines", x.lines_per_request, y.lines_per_request);
            same("wavefronts", x.wavefronts_per_request, y.wavefronts_per_request);
            same("lanes", x.active_lanes, y.active_lanes);
        }
        for (std::size_t k = 0; k < a.loops.size(); ++k) {
            same("trips", a.loops[k].trip_mean, b.loops[k].trip_mean);
            same("least", a.loops[k].trip_min, b.loops[k].trip_min);
            same("most", a.loops[k].trip_max, b.loops[k].trip_max);
        }
        if (a.footprint.unique_read_bytes && b.footprint.unique_read_bytes)
            same("read", a.footprint.unique_read_bytes, b.footprint.unique_read_bytes);
        if (a.footprint.unique_written_bytes && b.footprint.unique_written_bytes)
            same("written", a.footprint.unique_written_bytes, b.footprint.unique_written_bytes);
        if (a.footprint.block_sectors && b.footprint.block_sectors) same("block", a.footprint.block_sectors, b.footprint.block_sectors);
        if (a.footprint.overlap_x && b.footprint.overlap_x) same("overlap", a.footprint.overlap_x, b.footprint.overlap_x);
    }
}
