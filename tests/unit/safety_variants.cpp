// Two PTX of one computation: do they write the same bytes from the same bytes?
#include "flipflop/variants.hpp"
#include "safety_support.hpp"

using namespace safety;

namespace {

/// out[i] = in[i] + in[i + m], an element a thread.
const std::string kOne = R"(
setp.ge.u32 %p1, %r6, %r1;
@%p1 bra DONE;
add.s32 %r7, %r6, %r2;
mul.wide.u32 %rd3, %r6, 4;
mul.wide.u32 %rd4, %r7, 4;
add.s64 %rd5, %rd2, %rd3;
add.s64 %rd6, %rd2, %rd4;
add.s64 %rd7, %rd1, %rd3;
ld.global.f32 %f1, [%rd5];
ld.global.f32 %f2, [%rd6];
add.f32 %f3, %f1, %f2;
st.global.f32 [%rd7], %f3;
DONE:
ret;)";

/// The same with two elements a thread; `second`: where the second one is read, beside the first.
std::string two(const std::string& second) {
    return R"(
shl.b32 %r6, %r6, 1;
setp.ge.u32 %p1, %r6, %r1;
@%p1 bra DONE;
add.s32 %r7, %r6, %r2;
mul.wide.u32 %rd3, %r6, 4;
mul.wide.u32 %rd4, %r7, 4;
add.s64 %rd5, %rd2, %rd3;
add.s64 %rd6, %rd2, %rd4;
add.s64 %rd7, %rd1, %rd3;
ld.global.f32 %f1, [%rd5];
ld.global.f32 %f2, [%rd6];
ld.global.f32 %f4, [%rd5+)" + second + R"(];
ld.global.f32 %f5, [%rd6+4];
add.f32 %f3, %f2, %f1;
add.f32 %f6, %f5, %f4;
st.global.v2.f32 [%rd7], {%f3, %f6};
DONE:
ret;)";
}

}  // namespace

TEST_CASE("variants: pieces of another size are the same computation", "[safety]") {
    const Kernel one(entry(kOne)), pairs(entry(two("4"))), wrong(entry(two("8")));
    const auto launch = [](const Kernel& k, std::uint32_t block, std::uint32_t threads, std::uint32_t n) {
        return k.launch({block, 1, 1}, {blocks(threads, block), 1, 1}, {{2, n}, {3, 64}});
    };
    const flipflop::VariantJudge judge(one.code(), launch(one, 128, 10000, 10000), false);
    const auto said = [&](const Kernel& k, const Launch& l) {
        const SafetyVerdict v = judge.judge(k.code(), l);
        INFO(v.reason);
        return word(v);
    };
    CHECK(said(one, launch(one, 96, 10000, 10000)) == "safe");
    CHECK(said(pairs, launch(pairs, 128, 5000, 10000)) == "safe");
    CHECK(said(pairs, launch(pairs, 32, 5000, 10000)) == "safe");
    CHECK(said(pairs, launch(pairs, 128, 2500, 10000)) == "unsafe");      // half of it
    CHECK(said(wrong, launch(wrong, 128, 5000, 10000)) == "unsafe");      // in[i + 1] is in[i + 2]
    const flipflop::VariantJudge guess(one.code(), launch(one, 128, 10000, 10000), true);
    CHECK(word(guess.judge(wrong.code(), launch(wrong, 128, 5000, 10000))) == "unverified");
}
