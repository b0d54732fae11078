#include "advise/array_data.hpp"
#include "advise/policy.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"

using namespace flipflop;
using namespace flipflop::advise;

namespace {

std::vector<std::uint8_t> npy(const std::string& descr, const std::string& shape, const std::string& payload, int version = 1) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    std::string file = "\x93NUMPY";
    file += static_cast<char>(version);
    file += '\0';
    file += static_cast<char>(header.size() & 0xff);
    file += static_cast<char>(header.size() >> 8);
    if (version > 1) file += std::string(2, '\0');
    file += header + payload;
    return {file.begin(), file.end()};
}

struct TemporaryFile {
    std::filesystem::path path;
    TemporaryFile(const std::string& name, const std::string& content) : path(std::filesystem::temp_directory_path() / name) {
        std::ofstream(path, std::ios::binary) << content;
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE(".npy arrays of both byte orders and versions", "[advise][data]") {
    const std::string two("\1\0\0\0\2\0\0\0", 8), big("\0\0\0\1\0\0\0\2", 8);
    for (int version : {1, 2}) {
        const auto data = parse_npy(npy("<i4", "(2,)", two, version));
        REQUIRE(data.has_value());
        CHECK(data->element_bytes == 4);
        CHECK(data->bytes == std::vector<std::uint8_t>{1, 0, 0, 0, 2, 0, 0, 0});
    }
    CHECK(parse_npy(npy(">i4", "(2,)", big))->bytes == std::vector<std::uint8_t>{1, 0, 0, 0, 2, 0, 0, 0});
    CHECK(parse_npy(npy("<f8", "()", two))->element_bytes == 8);
    CHECK(parse_npy(npy("|u1", "(2, 4)", two))->bytes.size() == 8);
}

TEST_CASE("broken .npy files are refused with a reason", "[advise][data]") {
    CHECK_FALSE(parse_npy(npy("<i4", "(3,)", std::string(8, '\0'))).has_value());
    CHECK_FALSE(parse_npy(npy("<U4", "(2,)", std::string(8, '\0'))).has_value());
    CHECK_FALSE(parse_npy(npy("<c8", "(1,)", std::string(8, '\0'))).has_value());
    CHECK_FALSE(parse_npy(npy("<i4", "(18446744073709551615,2)", "")).has_value());
    CHECK_FALSE(parse_npy(npy("<i8", "(4611686018427387904,)", "")).has_value());
    CHECK_FALSE(parse_npy(npy("<i4", "2", "")).has_value());
    auto whole = npy("<i4", "(2,)", std::string(8, '\0'));
    for (std::size_t size = 6; size < whole.size(); ++size)
        CHECK_FALSE(parse_npy({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}).has_value());
}

TEST_CASE("array data comes from files, with the contract's errors", "[advise][data]") {
    const TemporaryFile raw("flipflop_data_test.bin", std::string(12, '\1'));
    const auto data = read_data("index=" + raw.path.string() + ":u32");
    REQUIRE(data.has_value());
    CHECK(data->name == "index");
    CHECK(data->data.element_bytes == 4);
    CHECK(data->data.bytes.size() == 12);
    CHECK(read_data("index=" + raw.path.string()).error().id == "FF0722");
    CHECK(read_data("index=" + raw.path.string() + ":u64").error().id == "FF0722");
    CHECK(read_data("index=/no/such/file:u32").error().id == "FF0721");
    CHECK(read_data("index=" + std::filesystem::temp_directory_path().string() + ":u8").error().id == "FF0721");
    CHECK(read_data("index").error().id == "FF0720");
    CHECK(read_data("=x").error().id == "FF0720");
}

TEST_CASE("trips and probabilities", "[advise][policy]") {
    CHECK(parse_trips("12", "--trips")->mean == 12);
    CHECK(parse_trips("mean:12,max:400", "--trips")->max == 400.0);
    for (const char* text : {"", "x", "-1", "mean:", "max:3", "mean:5,max:3", "1,,2", "nan"}) {
        INFO(text);
        CHECK(parse_trips(text, "--trips").error().id == "FF0730");
    }
    LaunchOptions options;
    options.trips = {"dir=a/k.cu:12=7"};
    options.taken = {"k.cu:9=0.25"};
    options.assume_taken = 0.5;
    const auto policy = read_policy(options);
    REQUIRE(policy.has_value());
    CHECK(policy->trips.at("dir=a/k.cu:12").mean == 7);
    CHECK(policy->taken.at("k.cu:9") == 0.25);
    CHECK(policy->taken_probability == 0.5);
    options.taken = {"k.cu:9=1.5"};
    CHECK(read_policy(options).error().id == "FF0730");
    options.taken.clear();
    options.assume_taken = 2;
    CHECK(read_policy(options).error().id == "FF0730");
}

TEST_CASE("loops are named by id, PTX line, or source place", "[advise][policy]") {
    LoopDescription loop;
    loop.id = "L3";
    loop.ptx_line = 41;
    loop.source = SourceLine{"src/kernels/k.cu", 12};
    for (const char* name : {"L3", "ptx:41", "src/kernels/k.cu:12", "k.cu:12", "kernels/k.cu:12"}) CHECK(names_loop(name, loop, ""));
    for (const char* name : {"k.ptx:41", "folder/k.ptx:41"}) CHECK(names_loop(name, loop, "folder/k.ptx"));
    CHECK_FALSE(names_loop("other.ptx:41", loop, "folder/k.ptx"));
    for (const char* name : {"L4", "k.cu:13", "ernels/k.cu:12", "ptx:4"}) CHECK_FALSE(names_loop(name, loop, ""));
}
