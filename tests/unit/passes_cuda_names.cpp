// Names of parameters from the text of CUDA source.
#include "catch.hpp"
#include "passes/cuda_names.hpp"

using namespace flipflop;

namespace {

using Names = std::vector<std::string>;

Names names_of(const std::string& source, const std::string& demangled, std::size_t parameters) {
    KernelFacts kernel;
    kernel.name = kernel.demangled = demangled;
    kernel.parameters.resize(parameters);
    name_parameters(cuda_signatures(source), kernel);
    Names names;
    for (const ParameterFacts& p : kernel.parameters) names.push_back(p.source_name);
    return names;
}

}  // namespace

TEST_CASE("signatures of kernels in CUDA source", "[passes][cuda]") {
    struct Row { const char* source; const char* demangled; Names names; };
    const Row rows[] = {
        {"extern \"C\" __global__ void axpy(float a, const float *x, float *y, int n) { y[0] = a; }", "axpy", {"a", "x", "y", "n"}},
        {"__global__ void __launch_bounds__(256, 2) k(const float *__restrict__ in, unsigned count)\n{}", "k(float const*, unsigned int)", {"in", "count"}},
        {"__launch_bounds__(MOST) __global__ static void k(int (&a)[4], std::size_t n = sizeof(int))", "k(int (&) [4], unsigned long)", {"", "n"}},
        {"namespace a { template <typename T, int N = (2 > 1)> __global__ void k(T *out, Pair<T, int> p, T last[]) {} }", "void a::k<float, 2>(float*, Pair<float, int>, float*)", {"out", "p", "last"}},
        {"template __global__ void k<float>(float *, int);\ntemplate <class T> __global__ void k(T *x, int n);", "void k<float>(float*, int)", {"x", "n"}},
        {"// __global__ void k(int wrong)\n/* __global__ void k(int wrong) */ const char *s = \"__global__ void k(int wrong)\"; __global__ void k(int right);", "k(int)", {"right"}},
        {"#define K \\\n __global__ void k(int wrong)\n__global__ void k(int right);", "k(int)", {"right"}},
        {"const char *s = R\"x(__global__ void k(int wrong))\" )x\"; __global__ void k(int right);", "k(int)", {"right"}},
        {"__global__ void k(const Image, const int, unsigned int, float *, std::size_t)", "k(Image, int, unsigned int, float*, unsigned long)", {"", "", "", "", ""}},
        {"__global__ void k(int n); __global__ void k(float n);", "k(int)", {"n"}},
        {"__global__ void k(int rows); __global__ void k(float scale);", "k(int)", {"rows"}},              // the one of its type
        {"__global__ void k(index rows); __global__ void k(real scale);", "k(int)", {""}},                 // which of the two?
        {"__global__ void k(const unsigned *p, long long int n); __global__ void k(float *q, short int m);", "k(unsigned int const*, long long)", {"p", "n"}},
        {"__global__ void k(int (*f)(int), float x[]);", "k(int (*)(int), float*)", {"", "x"}},
        {"template <class... T> __global__ void k(T... all); __global__ void k(int n);", "k(int)", {""}},  // either
        {"template <class... T> __global__ void k(T... all);", "void k<int>(int)", {""}},
        {"__global__ void other(int n);", "k(int)", {""}},
        {"__global__ void k(int a, int b);", "k(int)", {""}},
        {"namespace { __global__ void k(int n); }", "(anonymous namespace)::k(int)", {"n"}},
        {"__global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ Map map, int k)", "k(Map, int)", {"map", "k"}},
        {"int x = 1'000'000; __global__ void k(int n);", "k(int)", {"n"}},
    };
    for (const Row& row : rows) {
        INFO(row.source);
        CHECK(names_of(row.source, row.demangled, row.names.size()) == row.names);
    }
    CHECK(cuda_signatures("__global__ void none(void);").at(0).parameters.empty());
}

TEST_CASE("source that breaks off has no signature, and does no harm", "[passes][cuda]") {
    const std::string whole = "#x\\\n__global__ void __launch_bounds__(128) k<(1 > 2)>(const float *x = R\"a(\")a\", int n['c'] = {1, 2}) {}";
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) CHECK(cuda_signatures(whole.substr(0, cut)).size() <= 1);
    CHECK(cuda_signatures("__global__").empty());
    CHECK(cuda_signatures("__global__ void k").empty());
}

TEST_CASE("the definition around a line of the kernel tells its parameters' names", "[passes][cuda]") {
    const std::string source = "template <class T> __global__ void k(T *x, T n) {\n  if (n < 3) { x[0] = n; }\n}\ntemplate <class T>\n__global__ void k(T *y, long m) {\n}\n__global__ void k(float *forward, float far);\n";
    const auto at = [&](std::uint32_t line) {
        KernelFacts kernel;
        kernel.name = kernel.demangled = "void k<float>(float*, float)";
        kernel.parameters.resize(2);
        name_parameters(cuda_signatures(source), kernel, line);
        return Names{kernel.parameters[0].source_name, kernel.parameters[1].source_name};
    };
    CHECK(at(2) == Names{"x", "n"});
    CHECK(at(3) == Names{"x", "n"});
    CHECK(at(4) == Names{"", ""});    // between two: a macro's work
    CHECK(at(5) == Names{"", ""});    // another type than the kernel's
    CHECK(at(7) == Names{"", ""});    // a declaration holds no code
}
