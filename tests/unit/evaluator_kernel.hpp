// Owns: a kernel for tests of the evaluator: a body with the usual registers set, and a launch of it. %r1 is n, %r2 %tid.x,
// %r5 the global index, %rd4 and %rd5 the addresses of its element of either array.
#pragma once

#include <fmt/format.h>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop::testing {

struct Kernel {
    ptx::ParseResult parsed;
    KernelCode code;
    explicit Kernel(const std::string& body, const std::string& before = {}, const std::string& target = "sm_90") {
        const std::string text = fmt::format(R"(.version 8.6
.target {}
.address_size 64
{}
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2)
{{
.reg .pred %p<10>;
.reg .b16 %rs<10>;
.reg .b32 %r<40>;
.reg .f32 %f<10>;
.reg .b64 %rd<40>;
.shared .align 16 .b8 tile[8192];
.local .align 8 .b8 depot[64];
ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd2, [k_param_1];
ld.param.u32 %r1, [k_param_2];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.s32 %r5, %r3, %r4, %r2;
mul.wide.u32 %rd3, %r5, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
{}
ret;
}}
)", target, before, body);
        parsed = ptx::parse(std::make_shared<const std::string>(text), "control");
        for (const Diagnostic& d : parsed.diagnostics) UNSCOPED_INFO(render(d));
        REQUIRE(parsed.errors == 0);
        for (std::uint32_t f = 0; f < parsed.modules[0].functions.size(); ++f)
            if (parsed.modules[0].functions[f].name == "k") code = analyse_kernel(parsed.modules[0], f);
    }
    [[nodiscard]] Launch launch(Dim3 block = {128, 1, 1}, Dim3 grid = {10, 1, 1}, std::uint32_t n = 1000) const {
        Launch l;
        l.block = block;
        l.grid = grid;
        l.dynamic_shared_bytes = 4096;
        for (const std::uint64_t v : {std::uint64_t{0x1000000000}, std::uint64_t{0x2000000000}, std::uint64_t{n}}) {
            ArgumentValue a;
            for (std::size_t k = 0; k < (l.arguments.size() == 2 ? 4u : 8u); ++k) a.bytes.push_back(static_cast<std::uint8_t>(v >> (8 * k)));
            l.arguments.push_back(a);
        }
        return l;
    }
    [[nodiscard]] LaunchFacts run() const { return Evaluator(code).evaluate(launch()); }
};

}  // namespace flipflop::testing
