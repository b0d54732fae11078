// A user's own profile: what is accepted, and how a file that is wrong is refused.
#include <filesystem>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/gpu.hpp"
#include "flipflop/models.hpp"
#include "gpu/embedded_data.hpp"
#include "gpu/json_position.hpp"
#include "gpu/vocabulary.hpp"

using namespace flipflop;
using Json = nlohmann::json;

namespace {

Json shipped(const std::string& id) {
    for (const auto& file : embedded_files()) {
        if (file.path == "gpu_profiles/" + id + ".json") {
            return Json::parse(file.content);
        }
    }
    FAIL("no profile " << id);
    return {};
}

Json ten_lines() {
    return Json::parse(R"({"schema": "flipflop.gpu/1", "id": "mine", "name": "My board", "inherits": "a100-pcie",
        "values": {"sm_count": {"value": 54, "unit": "SM", "basis": "measured", "source": "deviceQuery of my board"}}})");
}

Diagnostic refused(const std::string& text) {
    const auto gpu = parse_gpu_profile(text, "mine.json");
    INFO(text.substr(0, 300));
    REQUIRE_FALSE(gpu);
    CHECK(gpu.error().id == "FF0902");
    CHECK(gpu.error().severity == Severity::error);
    CHECK(gpu.error().file == "mine.json");
    CHECK(gpu.error().at.line >= 1);
    CHECK(gpu.error().at.column >= 1);
    return gpu.error();
}

void refuses(const Json& base, const std::function<void(Json&)>& change, const std::string& pointer, const std::string& says) {
    auto json = base;
    change(json);
    const auto error = refused(json.dump(2));
    INFO(error.message << " | " << error.help);
    CHECK_THAT(error.message, Catch::StartsWith(pointer + ": "));
    CHECK_THAT(error.message + " " + error.help, Catch::Contains(says));
}

/// A folder of this test, gone at the end.
struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / "flipflop_profile_test";
    Folder() {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return (path / name).string();
    }
};

}  // namespace

TEST_CASE("profile files: the shipped text of a board is a valid file of a user", "[gpu]") {
    for (const auto& name : list_gpus()) {
        INFO(name.id);
        const auto gpu = parse_gpu_profile(shipped(name.id).dump(), "mine.json");
        REQUIRE(gpu);
        CHECK(gpu->origin == "mine.json");
        CHECK(gpu->values.size() == load_gpu(name.id)->values.size());
    }
}

TEST_CASE("profile files: ten lines that inherit", "[gpu]") {
    const auto gpu = parse_gpu_profile(ten_lines().dump(), "mine.json");
    REQUIRE(gpu);
    CHECK(gpu->id == "mine");
    CHECK(gpu->inherits == "a100-pcie-40gb");
    CHECK(gpu->aliases.empty());
    CHECK(gpu->alias_note.empty());
    CHECK(gpu->cc.version() == "8.0");
    CHECK(gpu->sm_count() == 54);
    CHECK(gpu->sourced("sm_count")->basis == "measured");
    // What comes from the other board is no longer known of this one.
    CHECK(gpu->sourced("idle_power_w")->basis == "assumed");
    CHECK_THAT(gpu->sourced("idle_power_w")->note, Catch::StartsWith("of A100-PCIE-40GB"));
    CHECK(gpu->curve("idle_power_w")->basis == "assumed");
    CHECK(load_gpu("a100-pcie")->sourced("idle_power_w")->basis == "measured");
}

TEST_CASE("profile files: on disk, by path, relative inheritance, one level only", "[gpu]") {
    const Folder folder;
    const auto mine = folder.write("mine.json", ten_lines().dump(1));
    REQUIRE(load_gpu(mine));
    CHECK(load_gpu(mine)->origin == mine);

    auto full = shipped("l4");
    full["id"] = "base";
    (void)folder.write("base.json", full.dump());
    auto child = ten_lines();
    child["inherits"] = "base.json";
    CHECK(load_gpu(folder.write("child.json", child.dump())).value().cc.version() == "8.9");

    child["inherits"] = "mine.json";
    const auto grandchild = load_gpu(folder.write("grandchild.json", child.dump()));
    REQUIRE_FALSE(grandchild);
    CHECK_THAT(grandchild.error().message, Catch::Contains("one level"));
    CHECK(grandchild.error().file == mine);

    child["inherits"] = "self.json";
    const auto self = load_gpu(folder.write("self.json", child.dump()));
    REQUIRE_FALSE(self);   // and does not run forever
    CHECK_THAT(self.error().message, Catch::Contains("one level"));

    child["inherits"] = "a10o";
    const auto unknown = load_gpu(folder.write("unknown.json", child.dump()));
    REQUIRE_FALSE(unknown);
    CHECK_THAT(unknown.error().message, Catch::StartsWith("/inherits: unknown GPU"));
    CHECK_THAT(unknown.error().help, Catch::Contains("did you mean"));
}

TEST_CASE("profile files: what cannot be read", "[gpu]") {
    const Folder folder;
    for (const auto& [path, says] : std::vector<std::pair<std::string, std::string>>{
             {(folder.path / "absent.json").string(), "cannot read"},
             {folder.path.string() + "/", "directory"},
             {folder.write("empty.json", ""), "not JSON"},
             {folder.write("binary.json", std::string("\x7f" "ELF\0\0\xff\xfe", 8)), "not JSON"},
             {folder.write("truncated.json", ten_lines().dump().substr(0, 80)), "not JSON"},
             {folder.write("large.json", std::string((4U << 20) + 1, ' ')), "too large"},
             {folder.write("deep.json", std::string(200000, '[')), "not JSON"}}) {
        INFO(path);
        const auto gpu = load_gpu(path);
        REQUIRE_FALSE(gpu);
        CHECK(gpu.error().id == "FF0902");
        CHECK(gpu.error().file == path);
        CHECK_THAT(gpu.error().message, Catch::Contains(says));
    }
}

TEST_CASE("profile files: a syntax error has its line and column", "[gpu]") {
    const auto error = refused("{\n  \"schema\": \"flipflop.gpu/1\",\n  \"id\" \"mine\"\n}");
    CHECK(error.at.line == 3);
    CHECK(error.at.column >= 8);
    CHECK(error.source_line == "  \"id\" \"mine\"");
    CHECK_THAT(error.message, Catch::Contains("not JSON"));
    CHECK_THAT(refused("{\"schema\": 1, \"schema\": 2}").message, Catch::Contains("twice"));
    for (const auto* text : {"[]", "1", "null", "\"a100\"", "{}"}) {
        refused(text);
    }
}

TEST_CASE("profile files: a wrong value has its pointer, line and column", "[gpu]") {
    const auto error = refused(
        "{\"schema\": \"flipflop.gpu/1\", \"id\": \"m\", \"name\": \"M\", \"inherits\": \"a100\",\n"
        " \"values\": {\n"
        "  \"sm_count\": {\"value\": 0, \"unit\": \"SM\", \"basis\": \"measured\", \"source\": \"counted by hand\"}}}");
    CHECK_THAT(error.message, Catch::StartsWith("/values/sm_count/value: 0 is out of range"));
    CHECK(error.at.line == 3);
    CHECK(error.at.column == 25);

    const auto full = shipped("l4");
    refuses(full, [](Json& j) { j.erase("id"); }, "the profile", "\"id\" is missing");
    refuses(full, [](Json& j) { j["id"] = ""; }, "/id", "not empty");
    refuses(full, [](Json& j) { j["id"] = "---"; }, "/id", "a letter");
    refuses(full, [](Json& j) { j["schema"] = "flipflop.gpu/2"; }, "/schema", "flipflop.gpu/1");
    refuses(full, [](Json& j) { j["aliasses"] = Json::array(); }, "/aliasses", "did you mean aliases");
    refuses(full, [](Json& j) { j["aliases"] = "l4"; }, "/aliases", "list");
    refuses(full, [](Json& j) { j["compute_capability"] = "8.95"; }, "/compute_capability", "known: 5.0");
    refuses(full, [](Json& j) { j["compute_capability"] = 8.9; }, "/compute_capability", "text");
    refuses(full, [](Json& j) { j.erase("values"); }, "the profile", "\"values\" is missing");
    refuses(full, [](Json& j) { j["values"].erase("sm_count"); }, "/values", "sm_count");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["value"] = nullptr; }, "/values", "sm_count");
    refuses(full, [](Json& j) { j["values"]["sm_cout"] = j["values"]["sm_count"]; }, "/values/sm_cout", "did you mean sm_count");
    refuses(full, [](Json& j) { j["values"]["sm_count"] = 58; }, "/values/sm_count", "object");
    refuses(full, [](Json& j) { j["values"]["sm_count"].erase("value"); }, "/values/sm_count", "\"value\" is missing");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["value"] = "58"; }, "/values/sm_count/value", "number");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["value"] = -58; }, "/values/sm_count/value", "out of range");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["value"] = 1e300; }, "/values/sm_count/value", "out of range");
    refuses(full, [](Json& j) { j["values"]["sm_count"].erase("source"); }, "/values/sm_count", "\"source\" is missing");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["source"] = ""; }, "/values/sm_count/source", "not empty");
    refuses(full, [](Json& j) { j["values"]["sm_count"].erase("basis"); }, "/values/sm_count", "\"basis\" is missing");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["basis"] = "rumour"; }, "/values/sm_count/basis", "measured, datasheet");
    refuses(full, [](Json& j) { j["values"]["sm_count"].erase("unit"); }, "/values/sm_count", "\"unit\" is missing");
    refuses(full, [](Json& j) { j["values"]["boost_clock_mhz"]["unit"] = "GHz"; }, "/values/boost_clock_mhz/unit", "MHz");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["interval"] = {60, 70}; }, "/values/sm_count/interval", "does not hold");
    refuses(full, [](Json& j) { j["values"]["sm_count"]["interval"] = {60}; }, "/values/sm_count/interval", "two numbers");
    refuses(full, [](Json& j) { j["values"]["base_clock_mhz"]["value"] = 9000; }, "/values/base_clock_mhz", "is above boost_clock_mhz");
    refuses(full, [](Json& j) { j["values"]["power_limit_min_w"]["value"] = 73; }, "/values/power_limit_min_w", "is above");
    refuses(full, [](Json& j) { j["throughput"]["fp23"] = {}; }, "/throughput/fp23", "did you mean");
    refuses(full, [](Json& j) { j["limits"]["warps"] = {}; }, "/limits/warps", "unknown quantity");
    refuses(full, [](Json& j) { j["curves"]["voltage"] = {}; }, "/curves/voltage", "unknown curve");
}

TEST_CASE("profile files: curves", "[gpu]") {
    const auto full = shipped("a100-sxm4-80gb");
    const auto points = [](Json& j) -> Json& { return j["curves"]["core_voltage_mv"]["points"]; };
    refuses(full, [&](Json& j) { points(j) = Json::array(); }, "/curves/core_voltage_mv/points", "at least two");
    refuses(full, [&](Json& j) { points(j)[1] = points(j)[0]; }, "/curves/core_voltage_mv/points/1/0", "rise");
    refuses(full, [&](Json& j) { points(j)[1] = {1110}; }, "/curves/core_voltage_mv/points/1", "pair");
    refuses(full, [&](Json& j) { points(j)[1][1] = 0; }, "/curves/core_voltage_mv/points/1/1", "out of range");
    refuses(full, [&](Json& j) { j["curves"]["core_voltage_mv"].erase("source"); }, "/curves/core_voltage_mv", "source");
}

TEST_CASE("profile files: an architecture of its own brings its limits", "[gpu][occupancy]") {
    auto json = shipped("l4");
    json["compute_capability"] = "13.0";
    const auto error = refused(json.dump());
    CHECK_THAT(error.help, Catch::Contains("\"limits\""));
    Json capability;
    for (const auto& file : embedded_files()) {
        if (file.path == "gpu_profiles/cc_8.9.json") {
            capability = Json::parse(file.content);
        }
    }
    json["limits"] = capability["limits"];
    json["limits"]["registers_per_sm"]["value"] = 131072;
    json["shared_carveouts_kib"] = capability["shared_carveouts_kib"];
    const auto gpu = parse_gpu_profile(json.dump(), "mine.json");
    REQUIRE(gpu);
    CHECK(gpu->cc.version() == "13.0");
    OccupancyInput in;
    in.block_threads = 256;
    in.registers_per_thread = 64;
    CHECK(occupancy(gpu->cc, in).active_blocks_per_sm == 6);   // 4 with the registers of 8.9
    CHECK(occupancy(*load_compute_capability("8.9"), in).active_blocks_per_sm == 4);
    json["limits"].erase("sub_partitions");
    CHECK_THAT(refused(json.dump()).message, Catch::Contains("sub_partitions"));
}

TEST_CASE("profile files: the schemas name what the loader knows", "[gpu][schema]") {
    const auto read = [](const std::string& name) {
        return Json::parse(std::ifstream(FLIPFLOP_SOURCE_DIR "/schema/" + name + ".schema.json"));
    };
    const auto names = [](std::span<const profile::Quantity> table) {
        std::vector<std::string> all;
        for (const auto& quantity : table) {
            all.emplace_back(quantity.name);
        }
        return all;
    };
    for (const auto* schema : {"gpu", "compute-capability"}) {
        const auto properties = read(schema)["properties"];
        CHECK(properties["limits"]["propertyNames"]["enum"].get<std::vector<std::string>>() == names(profile::capability_limits()));
        CHECK(properties["throughput"]["propertyNames"]["enum"].get<std::vector<std::string>>() == names(profile::throughput_rates()));
    }
    const auto properties = read("gpu")["properties"];
    CHECK(properties["values"]["propertyNames"]["enum"].get<std::vector<std::string>>() == names(profile::board_values()));
    CHECK(properties["curves"]["propertyNames"]["enum"].get<std::vector<std::string>>() == names(profile::board_curves()));
}

TEST_CASE("profile files: where a pointer stands in a text", "[gpu]") {
    const std::string text = "{ \"a\": [1, {\"b\": \"]}\\\"\", \"c\": 2}],\n \"d\": {} }";
    const auto at = [&](const char* pointer) { return text.substr(profile::offset_of(text, pointer), 1); };
    CHECK(at("") == "{");
    CHECK(at("/a") == "[");
    CHECK(at("/a/0") == "1");
    CHECK(at("/a/1/c") == "2");
    CHECK(at("/a/1/b") == "\"");
    CHECK(profile::position_of(text, profile::offset_of(text, "/d")).line == 2);
    CHECK(at("/a/7") == "[");       // the innermost part that exists
    CHECK(at("/nothing/x") == "{");
}

TEST_CASE("profile files: the board of docs/profiles.md, from the page as it stands", "[gpu][docs]") {
    std::ifstream in(FLIPFLOP_SOURCE_DIR "/docs/profiles.md");
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    const std::string mark = "<!-- test: loads as my-a4500.json -->\n```json\n";
    const auto begin = page.find(mark);
    REQUIRE(begin != std::string::npos);
    const auto text = page.substr(begin + mark.size(), page.find("```", begin + mark.size()) - begin - mark.size());

    const Folder folder;
    const auto gpu = load_gpu(folder.write("my-a4500.json", text));
    if (!gpu) {
        FAIL(gpu.error().message);
    }
    CHECK(gpu->name == "RTX A4500");
    CHECK(gpu->inherits == "rtx-a4000");
    CHECK(gpu->sm_count() == 56);
    CHECK(gpu->value("dram_bandwidth_gbs") == 640.0);
    CHECK(gpu->cc.version() == "8.6");
    CHECK(gpu->sourced("l2_mib")->basis == "assumed");
    OccupancyInput launch;
    launch.block_threads = 256;
    launch.registers_per_thread = 40;
    CHECK(occupancy(gpu->cc, launch).active_blocks_per_sm == 6);
    for (const auto& quantity : profile::board_values()) {
        INFO(quantity.name);
        CHECK(page.find("`" + std::string(quantity.name) + "`") != std::string::npos);
    }
}

TEST_CASE("profile files: damaged ones are refused, never worse", "[gpu][property]") {
    const auto text = shipped("a100-sxm4-80gb").dump();
    std::uint32_t state = 12345;
    const auto next = [&](std::size_t below) {
        state = state * 1664525U + 1013904223U;
        return static_cast<std::size_t>(state >> 8U) % below;
    };
    int bad = 0;
    for (int i = 0; i < 400; ++i) {
        auto damaged = text;
        for (std::size_t k = 0; k <= next(3); ++k) {
            const auto at = next(damaged.size());
            switch (next(3)) {
                case 0: damaged[at] = static_cast<char>(next(256)); break;
                case 1: damaged.erase(at, 1 + next(40)); break;
                default: damaged.insert(at, damaged.substr(next(damaged.size()), next(40))); break;
            }
        }
        const auto gpu = parse_gpu_profile(damaged, "damaged.json");
        bad += !gpu;
        if (!gpu) {
            CHECK(gpu.error().id == "FF0902");
            CHECK(gpu.error().source_line.size() <= 200);
        } else {
            CHECK(gpu->sm_count() > 0);
        }
    }
    CHECK(bad > 200);
}
