#include "advise/select_kernels.hpp"

#include "catch.hpp"

using namespace flipflop::advise;

namespace {
const std::vector<KernelName> kKernels{
    {"_Z4axpyPfS_fi", "axpy(float*, float*, float, int)", "axpy-1a2b"},
    {"_Z5scaleIfEvPT_i", "void scale<float>(float*, int)", "scale-77aa"},
    {"_ZN2ns5scaleIdEEvPT_i", "void ns::scale<double>(double*, int)", "scale-90ef"},
    {"gemm", "gemm", "gemm-0001"},
};
std::vector<std::size_t> chosen(std::vector<std::string> patterns) { return select_kernels(kKernels, patterns).value(); }
using Indices = std::vector<std::size_t>;
}  // namespace

TEST_CASE("globs match whole texts", "[advise][select]") {
    CHECK(glob_matches("*", ""));
    CHECK(glob_matches("a*c", "abbc"));
    CHECK_FALSE(glob_matches("a*c", "abcd"));
    CHECK(glob_matches("?[a-c]x", "zbx"));
    CHECK_FALSE(glob_matches("[!a]x", "ax"));
    CHECK(glob_matches("[", "["));
    CHECK(glob_matches("*a*a*a*a*b", std::string(200, 'a') + "b"));
    CHECK_FALSE(glob_matches("*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
    CHECK_FALSE(glob_matches("", "a"));
}

TEST_CASE("kernels are chosen by mangled, demangled and bare names", "[advise][select]") {
    CHECK(chosen({}) == Indices{0, 1, 2, 3});
    CHECK(chosen({"axpy"}) == Indices{0});
    CHECK(chosen({"_Z4axpy*"}) == Indices{0});
    CHECK(chosen({"*scale*"}) == Indices{1, 2});
    CHECK(chosen({"ns::scale"}) == Indices{2});
    CHECK(chosen({"gemm", "axpy"}) == Indices{0, 3});
    CHECK(chosen({"=gemm"}) == Indices{3});
    CHECK(chosen({"/scale<d/"}) == Indices{2});
    CHECK(chosen({"#scale-77aa"}) == Indices{1});
}

TEST_CASE("a pattern that matches nothing is a usage error with a suggestion", "[advise][select]") {
    const auto r = select_kernels(kKernels, {"gemn"});
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().id == "FF0701");
    CHECK(r.error().help.find("'gemm'") != std::string::npos);
    CHECK(select_kernels(kKernels, {"=axpy2"}).error().id == "FF0701");
    CHECK(select_kernels(kKernels, {"/(/"}).error().id == "FF0702");
    CHECK(select_kernels(kKernels, {"#nope"}).error().id == "FF0701");
    CHECK(select_kernels(kKernels, {"gemm", "nothing"}).error().id == "FF0701");
}

TEST_CASE("bare names", "[advise][select]") {
    CHECK(bare_name("void ns::scale<double>(double*, int)") == "ns::scale");
    CHECK(bare_name("axpy(float*, int)") == "axpy");
    CHECK(bare_name("gemm") == "gemm");
    CHECK(bare_name("void (anonymous namespace)::k<std::pair<int, int> >(int)") == "(anonymous namespace)::k");
}
