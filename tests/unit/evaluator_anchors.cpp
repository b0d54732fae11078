// Where arrays lie is assumed: no count may depend on how far apart two of them are.
#include "catch.hpp"
#include "evaluator_kernel.hpp"

using namespace flipflop;
using testing::Kernel;

namespace {

/// for (p = begin + tid; p < end; p += step): %rd1 begin, %rd2 end.
const std::string kWalk = "mul.wide.u32 %rd10, %r2, 4;\nadd.s64 %rd10, %rd1, %rd10;\nLOOP:\nsetp.ge.u64 %p1, %rd10, %rd2;\n@%p1 bra DONE;\n"
                          "ld.global.u32 %r20, [%rd10];\nadd.s64 %rd10, %rd10, 512;\nbra LOOP;\nDONE:\n";
/// n = (end - begin) / 4; for (i = tid; i < n; i += 128)
const std::string kCount = "cvta.to.global.u64 %rd20, %rd1;\nsub.s64 %rd10, %rd2, %rd1;\nshr.s64 %rd11, %rd10, 2;\ncvt.u32.u64 %r20, %rd11;\nmov.u32 %r21, %r2;\nLOOP:\n"
                           "setp.ge.s32 %p1, %r21, %r20;\n@%p1 bra DONE;\nmul.wide.u32 %rd12, %r21, 4;\nadd.s64 %rd12, %rd20, %rd12;\n"
                           "ld.global.u32 %r22, [%rd12];\nadd.s32 %r21, %r21, 128;\nbra LOOP;\nDONE:\n";
/// What LLVM makes of end - begin: the complement, added.
const std::string kComplement = "cvta.to.global.u64 %rd20, %rd1;\nld.global.u32 %r22, [%rd20];\nnot.b64 %rd10, %rd1;\nadd.s64 %rd10, %rd2, %rd10;\nadd.s64 %rd11, %rd10, 1;\ncvt.u32.u64 %r20, %rd11;\nmov.u32 %r21, %r2;\nLOOP:\n"
                                "setp.ge.u32 %p1, %r21, %r20;\n@%p1 bra DONE;\nadd.s32 %r21, %r21, 128;\nbra LOOP;\nDONE:\n";

Launch given(const Kernel& k, std::uint64_t begin, std::uint64_t end) {
    Launch l = k.launch();
    for (std::size_t p = 0; p < 2; ++p) {
        for (std::size_t b = 0; b < 8; ++b) l.arguments[p].bytes[b] = static_cast<std::uint8_t>((p ? end : begin) >> (8 * b));
        l.arguments[p].given = true;
    }
    return l;
}

}  // namespace

TEST_CASE("a loop bounded by the distance of two pointers has no known trips", "[evaluator][anchors]") {
    for (const std::string& body : {kWalk, kCount, kComplement}) {
        INFO(body);
        const Kernel k(body);
        const LaunchFacts facts = k.run();
        REQUIRE(facts.loops.size() == 1);
        CHECK_FALSE(facts.loops[0].trip_mean);
        CHECK_FALSE(facts.loops[0].trip_max);
        CHECK(facts.loops[0].basis == CountBasis::unknown);
        CHECK(facts.loops[0].why == "bounded by the distance of two pointers, whose addresses are not given");
        CHECK(facts.basis == CountBasis::unknown);
    }
}

TEST_CASE("trips that are given hold for a loop bounded by the distance of two pointers", "[evaluator][anchors]") {
    const Kernel k(kCount);
    Launch launch = k.launch();
    launch.policy.trips[k.code.facts.loops[0].id] = {12, std::nullopt};
    const LaunchFacts facts = Evaluator(k.code).evaluate(launch);
    REQUIRE(facts.loops[0].trip_mean);
    CHECK(*facts.loops[0].trip_mean == 12.0);
    CHECK(facts.loops[0].basis == CountBasis::assumed);
    CHECK(facts.loops[0].why.find("distance of two pointers") != std::string::npos);
}

TEST_CASE("pointers whose addresses are both given have a distance", "[evaluator][anchors]") {
    for (const std::string& body : {kWalk, kCount}) {
        INFO(body);
        const Kernel k(body);
        const LaunchFacts facts = Evaluator(k.code).evaluate(given(k, 0x7f0000000000, 0x7f0000000000 + 4 * 128 * 7));
        CHECK(facts.loops[0].trip_mean == 7.0);
        CHECK(facts.loops[0].basis == CountBasis::exact);
    }
}

TEST_CASE("a branch that the distance of two pointers decides goes both ways", "[evaluator][anchors]") {
    const Kernel k("cvta.to.global.u64 %rd20, %rd2;\nld.global.u32 %r22, [%rd20];\nsub.s64 %rd10, %rd2, %rd1;\nsetp.lt.s64 %p1, %rd10, 4096;\n@%p1 bra SKIP;\nst.global.u32 [%rd4], %r2;\nSKIP:\n");
    const LaunchFacts facts = k.run();
    CHECK(facts.unknown_branches == 1);
    CHECK(facts.basis == CountBasis::unknown);
    REQUIRE(facts.unknowns.size() == 1);
    CHECK(facts.unknowns[0].find("depends on the distance of two pointers") != std::string::npos);
    CHECK_FALSE(facts.accesses.back().requests);
    // Which of two arrays comes first in memory is no more known.
    CHECK(Kernel("cvta.to.global.u64 %rd20, %rd1;\nld.global.u32 %r22, [%rd20];\nsetp.lt.u64 %p1, %rd1, %rd2;\n@%p1 bra SKIP;\nst.global.u32 [%rd4], %r2;\nSKIP:\n").run().unknown_branches == 1);
}

TEST_CASE("what does not depend on where arrays lie stays known", "[evaluator][anchors]") {
    const struct { const char* name; std::string body; } cases[]{
        {"a walk within one array", "mad.wide.u32 %rd10, %r1, 4, %rd1;\nmov.u64 %rd11, %rd1;\nLOOP:\nadd.s64 %rd11, %rd11, 4;\nsetp.lt.u64 %p1, %rd11, %rd10;\n@%p1 bra LOOP;\n"},
        {"a null pointer", "setp.eq.s64 %p1, %rd1, 0;\n@%p1 bra SKIP;\nst.global.u32 [%rd4], %r2;\nSKIP:\n"},
        {"the alignment of two arrays", "or.b64 %rd10, %rd1, %rd2;\nand.b64 %rd11, %rd10, 15;\nsetp.ne.s64 %p1, %rd11, 0;\n@%p1 bra SKIP;\nst.global.u32 [%rd4], %r2;\nSKIP:\n"},
        {"the distance from an aligned address", "and.b64 %rd10, %rd4, -16;\nsub.s64 %rd11, %rd4, %rd10;\nsetp.eq.s64 %p1, %rd11, 99;\n@%p1 bra SKIP;\nst.global.u32 [%rd4], %r2;\nSKIP:\n"},
        {"a distance that is added again", "sub.s64 %rd10, %rd2, %rd1;\nadd.s64 %rd11, %rd4, %rd10;\nst.global.u32 [%rd11], %r2;\n"},
        {"a pointer chosen by a known condition", "setp.eq.s32 %p1, %r1, 1000;\nselp.b64 %rd10, %rd1, %rd2, %p1;\nadd.s64 %rd11, %rd1, 40;\nsetp.lt.u64 %p2, %rd10, %rd11;\n@!%p2 bra SKIP;\nst.global.u32 [%rd4], %r2;\nSKIP:\n"},
    };
    for (const auto& c : cases) {
        INFO(c.name);
        const LaunchFacts facts = Kernel(c.body).run();
        CHECK(facts.basis == CountBasis::exact);
        CHECK(facts.unknowns.empty());
    }
}
