// Which kernel is which: names, what builds change in them, code under another name, and what must not be guessed.
#include <algorithm>
#include <memory>

#include "catch.hpp"
#include "gate_support.hpp"
#include "passes/fingerprint.hpp"

using namespace gate_test;

namespace {

/// "base index -> head index" for every pair, sorted; "-" for none.
std::vector<std::string> pairs_of(const std::vector<KernelRecord>& base, const std::vector<KernelRecord>& head, std::size_t* notes = nullptr) {
    std::vector<const KernelRecord*> b, h;
    for (const KernelRecord& r : base) { b.push_back(&r); }
    for (const KernelRecord& r : head) { h.push_back(&r); }
    const gate::Matching matching = gate::match_kernels(b, h);
    std::vector<std::string> out;
    for (const auto& pair : matching.pairs) {
        out.push_back((pair.base ? std::to_string(*pair.base) : "-") + ">" + (pair.head ? std::to_string(*pair.head) : "-"));
    }
    std::sort(out.begin(), out.end());
    if (notes != nullptr) { *notes = matching.notes.size(); }
    return out;
}

using Strings = std::vector<std::string>;

KernelRecord coded(const std::string& name, const std::string& code, const std::string& module = "a.ptx") {
    KernelRecord r = record(name);
    r.fingerprint = code;
    r.module = module;
    return r;
}

std::string fingerprint_of(const std::string& text, std::size_t entry = 0) {
    const ptx::ParseResult result = ptx::parse(std::make_shared<const std::string>(text), "t.ptx");
    REQUIRE(result.errors == 0);
    return code_fingerprint(result.modules.at(0), {static_cast<std::uint32_t>(entry)});
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) { text.replace(at, what.size(), with); }
    return text;
}

const std::string kScale = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 scale_param_0, .param .f32 scale_param_1)
{
    .reg .f32 %f<4>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %rd1, [scale_param_0];
    ld.param.f32 %f1, [scale_param_1];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
    ret;
}
)";

}  // namespace

TEST_CASE("Names as builds change them", "[gate]") {
    using gate::normalised_name;
    CHECK(normalised_name("_ZN33_GLOBAL__N__f9a238b3_5_st_cu_main4anonEPf") == normalised_name("_ZN33_GLOBAL__N__01234567_5_st_cu_main4anonEPf"));
    CHECK(normalised_name("__nv_static_22__f9a238b3_5_st_cu_main__Z5plainPf") == normalised_name("_Z5plainPf"));
    CHECK(normalised_name("_ZN53_INTERNAL_e135e859_22_cutlass_shader_base_cu_b371cb214fillEPf") ==
          normalised_name("_ZN53_INTERNAL_00000000_22_cutlass_shader_base_cu_000000004fillEPf"));
    CHECK(normalised_name("_ZN1a3pubIfLi16EEEvPT_") == normalised_name("_ZN1a3pubIfLin3EEEvPT_"));
    CHECK(normalised_name("_ZN1a3pubIfLi16EEEvPT_") != normalised_name("_ZN1a3pubIdLi16EEEvPT_"));
    CHECK(normalised_name("gemm_128") != normalised_name("gemm_256"));
    CHECK(normalised_name("axpy") == "axpy");
    CHECK(normalised_name("__nv_static_999__x") == "__nv_static_999__x");
    CHECK(normalised_name("") == "");
}

TEST_CASE("Kernels match by name, then by normalised name, then by code", "[gate]") {
    std::size_t notes = 0;
    CHECK(pairs_of({coded("a", "1"), coded("b", "2")}, {coded("b", "1"), coded("a", "2")}, &notes) == Strings{"0>1", "1>0"});   // name before code
    CHECK(notes == 0);
    CHECK(pairs_of({coded("_Z1kILi1EEvPf", "1")}, {coded("_Z1kILi2EEvPf", "2")}) == Strings{"0>0"});
    CHECK(pairs_of({coded("old", "1")}, {coded("new", "1")}) == Strings{"0>0"});
    CHECK(pairs_of({coded("old", "1")}, {coded("new", "2")}) == Strings{"->0", "0>-"});
    CHECK(pairs_of({}, {coded("new", "2")}) == Strings{"->0"});
}

TEST_CASE("What is ambiguous is not guessed", "[gate]") {
    std::size_t notes = 0;
    // Two of one code on one side.
    CHECK(pairs_of({coded("old", "1")}, {coded("x", "1"), coded("y", "1")}, &notes) == Strings{"->0", "->1", "0>-"});
    CHECK(notes == 1);
    // Instances of one template, none of them told apart by code.
    CHECK(pairs_of({coded("_Z1kILi1EEvPf", "1"), coded("_Z1kILi2EEvPf", "2")}, {coded("_Z1kILi3EEvPf", "3"), coded("_Z1kILi4EEvPf", "4")}, &notes) ==
          Strings{"->0", "->1", "0>-", "1>-"});
    CHECK(notes == 1);
    // The same, one of them told apart by its code: the other is then alone.
    CHECK(pairs_of({coded("_Z1kILi1EEvPf", "1"), coded("_Z1kILi2EEvPf", "2")}, {coded("_Z1kILi3EEvPf", "2"), coded("_Z1kILi4EEvPf", "4")}, &notes) ==
          Strings{"0>1", "1>0"});
    CHECK(notes == 0);
    // One name in two modules: the module tells.
    CHECK(pairs_of({coded("k", "1", "a.ptx"), coded("k", "1", "b.ptx")}, {coded("k", "3", "b.ptx"), coded("k", "4", "a.ptx")}, &notes) == Strings{"0>1", "1>0"});
    CHECK(notes == 0);
}

TEST_CASE("The fingerprint is of the code alone", "[gate]") {
    const std::string own = fingerprint_of(kScale);
    CHECK(own.size() == 32);
    CHECK(fingerprint_of(replaced(kScale, "scale", "other")) == own);
    CHECK(fingerprint_of(replaced(kScale, "%rd", "%long")) == own);
    CHECK(fingerprint_of(replaced(kScale, "tile", "buffer")) == own);
    CHECK(fingerprint_of(replaced(kScale, "    ret;", "// a comment\n\n    ret;")) == own);
    CHECK(fingerprint_of(replaced(kScale, ".f32 %f<4>", ".f32 %f<9>")) == own);
    CHECK(fingerprint_of(replaced(kScale, "%r1, 4;", "%r1, 8;")) != own);
    CHECK(fingerprint_of(replaced(kScale, "mul.f32", "add.f32")) != own);
    CHECK(fingerprint_of(replaced(kScale, "%f3, %f2, %f1", "%f3, %f1, %f2")) != own);
    CHECK(fingerprint_of(replaced(kScale, "ld.global.f32 %f2, [%rd3]", "ld.global.f32 %f2, [%rd3+4]")) != own);
    CHECK(fingerprint_of(replaced(kScale, "scale_param_1)", "scale_param_1, .param .u32 scale_param_2)")) != own);
}
