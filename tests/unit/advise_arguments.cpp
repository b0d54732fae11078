#include "advise/arguments.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "catch.hpp"

using namespace flipflop;
using namespace flipflop::advise;

namespace {

ParameterFacts parameter(std::uint32_t index, std::string type, std::uint32_t bytes, ParameterKind kind, std::string source = {}) {
    ParameterFacts p;
    p.index = index;
    p.name = "k_param_" + std::to_string(index);
    p.short_name = "param_" + std::to_string(index);
    p.source_name = std::move(source);
    p.type = std::move(type);
    p.bytes = bytes;
    p.kind = kind;
    return p;
}

KernelFacts kernel() {
    KernelFacts k;
    k.name = "k";
    k.parameters = {parameter(0, "u64", 8, ParameterKind::pointer, "out"), parameter(1, "u64", 8, ParameterKind::pointer),
                    parameter(2, "u32", 4, ParameterKind::scalar, "n"), parameter(3, "f32", 4, ParameterKind::scalar),
                    parameter(4, "b8[24]", 24, ParameterKind::aggregate), parameter(5, "b32", 4, ParameterKind::scalar)};
    k.parameters[2].guard_axis = 0;
    k.parameters[2].uses = {{"guard", 10}, {"loop bound", 12}};
    const auto field = [](std::uint32_t offset, const char* type, ParameterKind kind, int guard_axis) {
        ParameterField f;
        f.offset = offset;
        f.type = type;
        f.kind = kind;
        f.guard_axis = guard_axis;
        return f;
    };
    k.parameters[4].fields = {field(0, "u64", ParameterKind::pointer, -1), field(8, "u32", ParameterKind::scalar, 1), field(16, "f64", ParameterKind::scalar, -1)};
    return k;
}

template <class T> T as(const ArgumentValue& value, std::size_t offset = 0) {
    T out;
    REQUIRE(value.bytes.size() >= offset + sizeof(T));
    std::memcpy(&out, value.bytes.data() + offset, sizeof(T));
    return out;
}

BoundArguments bind(std::vector<std::string> texts) {
    std::vector<ArgumentRequest> requests;
    for (const auto& text : texts) requests.push_back(parse_argument(text).value());
    BoundArguments bound = bind_arguments(kernel(), requests);
    const std::uint64_t extents[3]{1u << 20, 77, 1};
    assume_the_rest(kernel(), extents, "1048576 threads", bound);
    return bound;
}

}  // namespace

TEST_CASE("arguments are found by index, PTX name, short form and source name", "[advise][arguments]") {
    for (const char* name : {"2", "k_param_2", "param_2", "n"}) CHECK(as<std::uint32_t>(bind({std::string(name) + "=77"}).values[2]) == 77);
    CHECK_FALSE(find_parameter(kernel(), "6"));
    CHECK_FALSE(find_parameter(kernel(), "99999999999999999999"));
    CHECK_FALSE(find_parameter(kernel(), "m"));
}

TEST_CASE("values follow the parameter's type", "[advise][arguments]") {
    CHECK(as<std::uint32_t>(bind({"2=0x10"}).values[2]) == 16);
    CHECK(as<std::int32_t>(bind({"2=-1"}).values[2]) == -1);
    CHECK(as<std::uint32_t>(bind({"2=1e6"}).values[2]) == 1000000);
    CHECK(as<float>(bind({"3=2"}).values[3]) == 2.0f);
    CHECK(as<float>(bind({"3=2.5"}).values[3]) == 2.5f);
    CHECK(as<float>(bind({"5=2.5"}).values[5]) == 2.5f);
    CHECK(as<std::uint32_t>(bind({"5=2"}).values[5]) == 2);
    CHECK(as<std::uint64_t>(bind({"0=0"}).values[0]) == 0);
    CHECK(as<std::uint64_t>(bind({"1=@0"}).values[1]) == as<std::uint64_t>(bind({}).values[0]));
    CHECK(as<std::uint64_t>(bind({"1=@out", "0=0x4000"}).values[1]) == 0x4000);
    CHECK(bind({"2=5"}).values[2].given);
    CHECK_FALSE(bind({"2=5"}).values[3].given);
}

TEST_CASE("what does not fit says why", "[advise][arguments]") {
    const auto misfit = [](const char* text) { return bind({text}).misfits[0]; };
    CHECK(misfit("2=4294967296").find("32 bits") != std::string::npos);
    CHECK(misfit("2=-2147483649").find("32 bits") != std::string::npos);
    CHECK(misfit("2=1.5").find("not whole") != std::string::npos);
    CHECK(misfit("2=abc").find("not a number") != std::string::npos);
    CHECK(misfit("3=1e60").find("32-bit float") != std::string::npos);
    CHECK(misfit("3=ptr").find("no pointer") != std::string::npos);
    CHECK(misfit("9=1").find("no parameter") != std::string::npos);
    CHECK(misfit("4+20:u64=1").find("beyond") != std::string::npos);
    CHECK(misfit("4=no-such-file").find("cannot read") != std::string::npos);
    CHECK(misfit("1=@2").find("not both pointers") != std::string::npos);
    CHECK(misfit("2=7").empty());
}

TEST_CASE("malformed arguments are usage errors with a column", "[advise][arguments]") {
    for (const char* text : {"", "n", "=3", "n=", "4+x:u32=1", "4+8=1", "4+8:q32=1", "4+99999999999:u32=1"}) {
        INFO(text);
        const auto r = parse_argument(text);
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().id == "FF0710");
        CHECK(r.error().at.column >= 1);
    }
}

TEST_CASE("fields of structs, and whole structs from a file", "[advise][arguments]") {
    const auto bound = bind({"4+8:u32=300", "4+16:f64=0.25"});
    CHECK(as<std::uint32_t>(bound.values[4], 8) == 300);
    CHECK(as<double>(bound.values[4], 16) == 0.25);
    CHECK(bound.values[4].known[0]);          // a pointer that the code reads: assumed
    CHECK_FALSE(bound.values[4].known[12]);   // nothing reads it, nothing is said of it
    const auto path = std::filesystem::temp_directory_path() / "flipflop_blob_test.bin";
    std::ofstream(path, std::ios::binary) << std::string(24, '\x01');
    const auto blob = bind({"4=" + path.string()});
    CHECK(blob.misfits[0].empty());
    CHECK(as<std::uint32_t>(blob.values[4], 12) == 0x01010101);
    std::ofstream(path, std::ios::binary) << std::string(23, '\x01');
    CHECK(bind({"4=" + path.string()}).misfits[0].find("23 bytes") != std::string::npos);
    std::filesystem::remove(path);
}

TEST_CASE("what is not given is assumed, with reasons", "[advise][arguments]") {
    const auto bound = bind({});
    CHECK(as<std::uint64_t>(bound.values[0]) == std::uint64_t{1} << 36);
    CHECK(as<std::uint64_t>(bound.values[1]) == std::uint64_t{2} << 36);
    CHECK(as<std::uint32_t>(bound.values[2]) == 1u << 20);
    CHECK(as<float>(bound.values[3]) == 1.0f);
    CHECK(as<std::uint32_t>(bound.values[5]) == 1024);
    CHECK(as<std::uint64_t>(bound.values[4]) != as<std::uint64_t>(bound.values[0]));
    for (const Assumption& a : bound.assumptions) CHECK_FALSE(a.reason.empty());
    const auto n = std::find_if(bound.assumptions.begin(), bound.assumptions.end(), [](const Assumption& a) { return a.name == "n"; });
    REQUIRE(n != bound.assumptions.end());
    CHECK(n->could_change == std::optional<std::string>("how many threads do work; how often loops run"));
    CHECK_FALSE(bound.words[2].given);
    CHECK(bound.words[2].value == "1048576");
}

TEST_CASE("a given guard tells the extent, and names reach expressions", "[advise][arguments]") {
    const auto bound = bind({"n=100000", "3=0.5"});
    CHECK(given_extent(kernel(), bound, 0) == 100000u);
    CHECK_FALSE(given_extent(kernel(), bound, 1));
    CHECK_FALSE(given_extent(kernel(), bind({}), 0));
    CHECK(given_extent(kernel(), bind({"4+8:u32=600"}), 1) == 600u);
    CHECK(as<std::uint32_t>(bind({}).values[4], 8) == 77);   // a field that guards y gets that axis' extent
    Names names;
    add_argument_names(kernel(), bound, names);
    CHECK(real_of(names.at("n")) == 100000);
    CHECK(real_of(names.at("param_3")) == 0.5);
    CHECK(names.count("out") == 0);
}
