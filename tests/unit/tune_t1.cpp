// T1 files: what the published ones hold is understood; what is wrong is said.
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "catch.hpp"
#include "inputs/process.hpp"
#include "tuning/arguments.hpp"
#include "tuning/json_place.hpp"
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

TEST_CASE("nonsense in a T1 file is an error where it stands", "[tune]") {
    const std::string file = R"({
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "bx", "Type": "int", "Values": "[16, 32]"},
      {"Name": "t", "Type": "int", "Values": [1, 2]}
    ],
    "Conditions": [{"Expression": "bx <= 64"}]
  },
  "KernelSpecification": {
    "Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu",
    "LocalSize": {"X": "bx"},
    "ProblemSize": [1000, 4],
    "Arguments": [
      {"Name": "a", "Type": "float", "MemoryType": "Vector", "Size": 4}
    ]
  }
})";
    REQUIRE(read(file));
    struct Row { const char* from; const char* to; const char* id; std::uint32_t line, column; };
    const Row rows[]{
        {"[1000, 4]", "[1000, -5]", "FF0840", 12, 27},
        {"[1000, 4]", "[0.5]", "FF0840", 12, 21},
        {"[1000, 4]", "[\"1 // 0\"]", "FF0841", 12, 24},
        {"[1000, 4]", "[\"t *\"]", "FF0841", 12, 25},
        {"\"int\", \"Values\": \"[16", "\"integer\", \"Values\": \"[16", "FF0840", 4, 30},
        {"\"int\", \"Values\": \"[16", "3, \"Values\": \"[16", "FF0840", 4, 30},
        {"\"[16, 32]\"", "\"[16, 32, 16.0]\"", "FF0843", 4, 47},
        {"\"[16, 32]\"", "\"['a']\"", "FF0840", 4, 30},
        {"\"[16, 32]\"", "\"[]\"", "FF0843", 4, 47},
        {"\"[16, 32]\"", "\"[16, open('x')]\"", "FF0841", 4, 53},
        {", \"Values\": [1, 2]", "", "FF0843", 5, 7},
        {"[1, 2]", "[1, null]", "FF0840", 5, 46},
        {"\"t\"", "\"bx\"", "FF0843", 5, 16},
        {"\"bx <= 64\"", "7", "FF0840", 7, 35},
        {"\"bx <= 64\"", "\"bx <= nobody\"", "FF0842", 7, 35},
        {"[{\"Expression\": \"bx <= 64\"}]", "\"bx <= 64\"", "FF0840", 7, 19},
        {", \"KernelFile\": \"k.cu\"", "", "FF0840", 9, 26},
        {"\"CUDA\"", "\"HIP\"", "FF0845", 10, 17},
        {"\"float\"", "\"flaot\"", "FF0840", 14, 29},
        {"\"float\"", "\"\"", "FF0840", 14, 29},
        {"\"X\": \"bx\"", "\"X\": \"by\"", "FF0842", 11, 24},
    };
    for (const Row& row : rows) {
        std::string text = file;
        INFO(row.from << " -> " << row.to);
        text.replace(text.find(row.from), std::string_view(row.from).size(), row.to);
        const auto spec = read(text);
        REQUIRE_FALSE(spec);
        INFO(render(spec.error()));
        CHECK(spec.error().id == row.id);
        CHECK(spec.error().at.line == row.line);
        CHECK(spec.error().at.column == row.column);
    }
}

TEST_CASE("places in JSON", "[tune]") {
    const std::string text = "{ \"a\": [1, {\"b,]\\\"\": 2}, \"x\"],\n  \"c\": {\"d\": true,\n\"e\":null}}";
    const auto place = [&](const char* pointer) { const LineColumn at = json_place(text, pointer); return std::pair(at.line, at.column); };
    CHECK(place("") == std::pair(1U, 1U));
    CHECK(place("/a") == std::pair(1U, 8U));
    CHECK(place("/a/1") == std::pair(1U, 12U));
    CHECK(place("/a/2") == std::pair(1U, 26U));
    CHECK(place("/c/d") == std::pair(2U, 14U));
    CHECK(place("/c/e") == std::pair(3U, 5U));
    CHECK(place("/c/none") == std::pair(2U, 8U));    // the innermost part that is there
    CHECK(place("/a/9") == std::pair(1U, 8U));
    for (std::size_t cut = 0; cut < text.size(); ++cut) (void)json_place(std::string_view(text).substr(0, cut), "/c/e");
}

TEST_CASE("a space beyond counting is refused, sampled, and never given a count that is not its own", "[tune]") {
    std::vector<Parameter> parameters;
    for (int p = 0; p < 8; ++p) {
        Parameter one{fmt::format("p{}", p), {}};
        for (std::int64_t v = 0; v < 1000; ++v) one.values.push_back(Value::of(v));
        parameters.push_back(std::move(one));
    }
    const auto space = Space::make(parameters, {*Expression::parse("p0 < p1", {})}, "s.json");
    REQUIRE(space);
    const auto count = space->count();
    REQUIRE(count);
    CHECK_FALSE(count->exact);
    CHECK(count->beyond);
    CHECK(count->product == Approx(1e24));
    const auto all = space->all(1'000'000);
    REQUIRE_FALSE(all);
    CHECK(all.error().id == "FF0844");
    CHECK(all.error().message.find("more than 9.2e18") != std::string::npos);
    const auto sample = space->sample(50, 7);
    REQUIRE(sample);
    CHECK(sample->size() == 50);
    for (std::size_t i = 0; i < sample->size(); ++i) CHECK((*sample)[i][0] < (*sample)[i][1]);
    CHECK(space->sample(50, 7)->flat == sample->flat);
    CHECK(space->sample(50, 8)->flat != sample->flat);
}

TEST_CASE("tables whose rows do not fit their names", "[tune]") {
    const TemporaryFolder folder = std::move(*TemporaryFolder::make(std::filesystem::temp_directory_path().string()));
    const auto table = [&](const char* text) {
        const std::string path = (folder.path() / "c.csv").string();
        std::ofstream(path, std::ios::binary) << text;
        return read_table(path);
    };
    CHECK(table("a,b\n1,2\n\n3,4\n"));
    CHECK(table("a,b\r\n\"1\",\"x,y\"\r\n"));
    struct Row { const char* text; std::uint32_t line; };
    for (const Row& row : {Row{"a,b\n1,2\n3\n", 3}, {"a,b\n1,2,3\n", 2}, {"a,b\n\"1\n2\",4\n5\n", 4}, {"a,a\n1,2\n", 1}, {"a,b\n1,\"2\n", 2}}) {
        INFO(row.text);
        const auto read = table(row.text);
        REQUIRE_FALSE(read);
        CHECK(read.error().id == "FF0787");
        CHECK(read.error().at.line == row.line);
    }
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
