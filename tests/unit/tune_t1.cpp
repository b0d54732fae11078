// T1 files: what the published ones hold is understood; what is wrong is said.
#include <string>

#include "catch.hpp"
#include "tuning/arguments.hpp"
#include "tuning/spec.hpp"

using namespace flipflop;
using namespace flipflop::tuning;

namespace {

/// A small file with the parts given in place of its own.
std::string t1(const std::string& values = "[16, 32]", const std::string& condition = "bx * t <= 64", const std::string& kernel = "", const std::string& arguments = "[]") {
    return R"({"ConfigurationSpace": {"TuningParameters": [
      {"Name": "bx", "Type": "int", "Values": ")" + values + R"("},
      {"Name": "t", "Type": "int", "Values": "[1, 2, 4]", "Default": 2}],
      "Conditions": [{"Expression": ")" + condition + R"(", "Parameters": ["bx", "t"]}]},
      "KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "LocalSize": {"X": "bx", "Y": "1", "Z": "1"}, )" +
           (kernel.empty() ? std::string(R"("ProblemSize": [1000, 4], "GridDivX": ["bx", "t"], "GridDivY": [], )") : kernel) + R"("Arguments": )" + arguments + "}}";
}

Result<Spec> read(const std::string& text) { return read_t1(text, "spec.json", {}, {}); }

Geometry first(const Spec& spec) { return *geometry_of(spec, (*spec.space.all(1000))[0]); }

}  // namespace

TEST_CASE("a T1 file becomes a space with launches", "[tune]") {
    const auto spec = read(t1());
    REQUIRE(spec);
    CHECK(spec->kernel == "k");
    CHECK(spec->space.count()->exact == 5);   // 32 * 4 is left out
    REQUIRE(spec->defaults[1]);
    CHECK(spec->defaults[1]->integer == 2);
    const Geometry g = first(*spec);
    CHECK(g.block == Dim3{16, 1, 1});
    // ceil(1000 / 16); an empty divisor list means Kernel Tuner's own rule: the block divides, here by 1.
    CHECK(g.grid == Dim3{63, 4, 1});
}

TEST_CASE("grids come by divisors, by Kernel Tuner's default, or from GlobalSize", "[tune]") {
    const auto grid = [](const std::string& kernel) {
        const auto spec = read(t1("[16]", "True", kernel));
        REQUIRE(spec);
        return *first(*spec).grid;
    };
    CHECK(grid(R"("ProblemSize": [1000, 10], )") == Dim3{63, 10, 1});
    CHECK(grid(R"("ProblemSize": [1000, 10], "GridDivX": ["bx * 2"], "GridDivY": [3], )") == Dim3{32, 4, 1});
    CHECK(grid(R"("ProblemSize": 1000, "GridDivX": "bx", )") == Dim3{63, 1, 1});
    CHECK(grid(R"("ProblemSize": ["bx * 10"], "GridDivX": ["t"], )") == Dim3{160, 1, 1});
    CHECK(grid(R"("GlobalSizeType": "CUDA", "GlobalSize": {"X": "(4096 // bx) // t", "Y": "2"}, )") == Dim3{256, 2, 1});
    CHECK(grid(R"("GlobalSizeType": "OpenCL", "GlobalSize": {"X": "4096", "Y": "2"}, )") == Dim3{256, 2, 1});
    // ProblemSize goes before GlobalSize, as in Kernel Tuner: published files hold both, and they do not agree.
    CHECK(grid(R"("ProblemSize": [160], "GlobalSize": {"X": "7"}, )") == Dim3{10, 1, 1});
}

TEST_CASE("names of the block that are no parameters are Kernel Tuner's defaults", "[tune]") {
    std::string text = t1();
    text.replace(text.find("\"X\": \"bx\""), 9, "\"X\": \"block_size_x\"");
    const auto spec = read(text);
    REQUIRE(spec);
    CHECK(first(*spec).block == Dim3{256, 1, 1});
    REQUIRE(spec->notes.size() == 1);
    CHECK(spec->notes[0].severity == Severity::note);
}

TEST_CASE("arguments: positions, constant memory, sizes over a parameter's values", "[tune]") {
    const auto spec = read(t1("[16, 32]", "True", R"("ProblemSize": [100, 50], )", R"x([
        {"Name": "out", "Type": "float", "MemoryType": "Vector", "FillType": "Constant", "FillValue": 0.0, "Size": "ProblemSize[0] * ProblemSize[1] + max(bx)", "Output": 1},
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 77},
        {"Name": "index", "Type": "int32", "MemoryType": "Vector", "FillType": "Constant", "FillValue": 3, "Size": 4},
        {"Name": "weights", "Type": "float", "MemoryType": "Vector", "MemType": "Constant", "FillType": "Random", "Size": "225"}])x"));
    REQUIRE(spec);
    CHECK(*elements_of(*spec, spec->arguments[0]) == 5032);
    // A kernel without the constant argument, and one with it.
    for (const std::size_t parameters : {std::size_t{3}, std::size_t{4}}) {
        const auto bound = bind_file(*spec, parameters);
        REQUIRE(bound);
        CHECK(bound->arguments.size() == parameters);
        CHECK(bound->arguments[1].value == "77");
        REQUIRE(bound->data.size() == 1);     // floats decide no address, and random numbers are not known
        CHECK(bound->data[0].name == "2");
        CHECK(bound->data[0].data.bytes == std::vector<std::uint8_t>{3, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0});
    }
    CHECK_FALSE(bind_file(*spec, 2));
    CHECK_FALSE(bind_file(*spec, 5));
}

TEST_CASE("what is wrong with a T1 file is said", "[tune]") {
    const auto id = [](const std::string& text) {
        const auto spec = read(text);
        return spec ? std::string("read") : spec.error().id;
    };
    CHECK(id("{") == "FF0840");
    CHECK(id("[]") == "FF0840");
    CHECK(id("{}") == "FF0840");
    CHECK(id(t1("[]")) == "FF0843");
    CHECK(id(t1("__import__('os').system('true')")) == "FF0841");
    CHECK(id(t1("[open('x')]")) == "FF0841");
    CHECK(id(t1("[1]", "nobody < 3")) == "FF0842");
    CHECK(id(t1("[1]", "bx.real < 3")) == "FF0841");
    CHECK(id(t1("[1]", "True", R"("ProblemSize": ["nobody"], )")) == "FF0842");
    CHECK(id(t1("[[1]]")) == "FF0840");
    std::string opencl = t1();
    opencl.replace(opencl.find("\"CUDA\""), 6, "\"OpenCL\"");
    CHECK(id(opencl) == "FF0845");
    std::string nameless = t1();
    nameless.replace(nameless.find("\"bx\""), 4, "\"b x\"");
    CHECK(id(nameless) == "FF0840");
    const auto broken = read("{\n  \"a\": 1,\n  oops\n}");
    REQUIRE_FALSE(broken);
    CHECK(broken.error().at.line == 3);
}

TEST_CASE("defines and conditions of the command line", "[tune]") {
    TuneOptions options;
    options.spec = "k.cu";
    options.defines = {"TILE=8,16,32", "MODE=fast,exact", "B=[2**i for i in range(3)]"};
    options.restricts = {"TILE * B <= 32"};
    const auto spec = spec_of_options(options, {});
    REQUIRE(spec);
    CHECK(spec->space.parameters()[1].values[0].kind == Value::Kind::text);
    CHECK(spec->space.count()->exact == 12);
    const auto block = block_of_option("TILE, max(B, 2)", spec->space);
    REQUIRE(block);
    CHECK((*block)[1]->text() == "max(B, 2)");
    CHECK(block_of_option("NOBODY", spec->space).error().id == "FF0786");
    for (const char* bad : {"TILE", "TILE=", "=3", "3X=1", "T ILE=1", "TILE=[1,", "TILE=open('x')"}) {
        options.defines = {bad};
        CHECK(spec_of_options(options, {}).error().id == "FF0785");
    }
    options.defines = {"TILE=1,2"};
    options.restricts = {"NOBODY > 1"};
    CHECK(spec_of_options(options, {}).error().id == "FF0786");
}

TEST_CASE("a table names the configurations", "[tune]") {
    TuneOptions options;
    const std::vector<std::vector<std::string>> table{{"t", "other", "bx"}, {"4", "x", "16"}, {"1", "y", "48"}};
    const auto spec = read_t1(t1(), "spec.json", table, options);
    REQUIRE(spec);
    const auto named = configurations_of(spec->space, table, "c.csv");
    REQUIRE(named);
    REQUIRE(named->size() == 2);
    CHECK(words_of(spec->space, (*named)[0]) == "bx=16, t=4");
    CHECK(words_of(spec->space, (*named)[1]) == "bx=48, t=1");
    CHECK(configurations_of(spec->space, {{"t"}, {"1"}}, "c.csv").error().id == "FF0787");
}
