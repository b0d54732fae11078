// `flipflop occupancy` and `flipflop gpus` from outside: exit codes, streams, JSON.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "catch.hpp"

using Json = nlohmann::json;

namespace {

struct Ran {
    int code{};
    std::string out, err;
};

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Ran run(const std::string& arguments) {
    const auto errors = std::filesystem::temp_directory_path() / ("flipflop_cli_occupancy_" + std::to_string(getpid()) + ".err");
    const auto command = std::string(FLIPFLOP_EXECUTABLE) + " " + arguments + " 2>" + errors.string();
    Ran ran;
    std::FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
        ran.out.append(buffer.data(), n);
    }
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.err = read(errors);
    std::filesystem::remove(errors);
    return ran;
}

std::optional<int> number(const Json& value) { return value.is_null() ? std::nullopt : std::optional<int>(value.get<int>()); }

}  // namespace

TEST_CASE("cli: occupancy answers every row of cuda_occupancy.h that its options can ask", "[cli][occupancy]") {
    const auto answers = Json::parse(read(FLIPFLOP_SOURCE_DIR "/tests/data/occupancy.json"));
    int asked = 0;
    for (const auto& row : answers["rows"]) {
        const std::string cc = row["cc"];
        const auto& expected = row["expected"];
        if (cc[0] == '3' || row["partitioned_gc"].get<bool>()) {
            continue;
        }
        std::string arguments = "occupancy --cc " + cc + " --format json --regs " + row["regs_per_thread"].dump() + " --block " +
                                row["block_size"].dump() + " --smem " + row["static_smem"].dump() + " --dynamic-smem " +
                                row["dynamic_smem"].dump() + " --barriers " + row["barriers"].dump();
        if (row["carveout_pct"].get<int>() >= 0) {
            arguments += " --carveout " + row["carveout_pct"].dump();
        }
        if (!row["smem_opt_in"].get<bool>()) {
            arguments += " --no-opt-in";
        }
        INFO("row " << row["id"] << ": " << arguments);
        const auto ran = run(arguments);
        ++asked;
        if (expected["status"] != "ok") {
            CHECK(ran.code == 2);
            CHECK(ran.out.empty());
            CHECK_FALSE(ran.err.empty());
            continue;
        }
        REQUIRE(ran.code == 0);
        CHECK(ran.err.empty());
        const auto json = Json::parse(ran.out);
        CHECK(json["schema"] == "flipflop.occupancy/1");
        CHECK(json["active_blocks_per_sm"] == expected["blocks_per_sm"]);
        CHECK(json["active_warps_per_sm"] == expected["warps_per_sm"]);
        CHECK(json["fraction"].get<double>() * 100 == Approx(expected["occupancy_pct"].get<double>()).margin(1e-3));
        CHECK(number(json["limits"]["registers"]) == number(expected["limit_regs"]));
        CHECK(number(json["limits"]["shared"]) == number(expected["limit_smem"]));
        CHECK(number(json["limits"]["warps"]) == number(expected["limit_warps"]));
        CHECK(number(json["limits"]["blocks"]) == number(expected["limit_blocks"]));
        CHECK(number(json["limits"]["barriers"]) == number(expected["limit_barriers"]));
        CHECK(json["limiters"].size() == expected["limiting"].size());
    }
    CHECK(asked == 252);
}

TEST_CASE("cli: occupancy refuses bad values with exit 2 and says which", "[cli][occupancy]") {
    for (const auto& [arguments, says] : std::vector<std::pair<std::string, std::string>>{
             {"--cc 8.0 --regs 32 --block 0", "--block '0'"},
             {"--cc 8.0 --regs 32 --block 32,0", "--block '32,0'"},
             {"--cc 8.0 --regs 32 --block 1,2,3,4", "--block '1,2,3,4'"},
             {"--cc 8.0 --regs 32 --block 99999999999", "--block '99999999999'"},
             {"--cc 8.0 --regs 32 --block=-32", "--block '-32'"},
             {"--cc 8.0 --regs 32 --block x", "--block 'x'"},
             {"--cc 8.0 --regs 32 --block ''", "block"},
             {"--cc 8.0 --regs=-1 --block 32", "--regs"},
             {"--cc 8.0 --regs many --block 32", "--regs"},
             {"--cc 8.0 --regs 32 --block 32 --smem=-4", "--smem"},
             {"--cc 8.0 --regs 32 --block 32 --carveout 101", "--carveout"},
             {"--cc 8.0 --regs 32 --block 32 --carveout=-1", "--carveout"},
             {"--cc 8.0 --regs 32 --block 32 --barriers 17", "--barriers"},
             {"--cc 8.0 --regs 32 --block 32 --cluster 0", "--cluster"},
             {"--cc 8.0 --block 32", "--regs"},
             {"--cc 8.0 --regs 32", "--block"},
             {"--regs 32 --block 32", "--gpu and --cc"},
             {"--gpu a100 --cc 8.0 --regs 32 --block 32", "--gpu and --cc"},
             {"--cc 13.0 --regs 32 --block 32", "known: 5.0"},
             {"--cc 3.5 --regs 32 --block 32", "known: 5.0"},
             {"--gpu a10o --regs 32 --block 32", "did you mean"},
             {"--gpu /no/such.json --regs 32 --block 32", "cannot read"},
             {"--cc 8.0 --regs 32 --block 32 --format yaml", "yaml"},
             {"--cc 8.0 --regs 32 --block 32 -o /no/such/folder/x", "cannot write"}}) {
        INFO(arguments);
        const auto ran = run("occupancy " + arguments);
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK_THAT(ran.err, Catch::Contains(says));
    }
}

TEST_CASE("cli: occupancy in words", "[cli][occupancy]") {
    const auto ran = run("occupancy --gpu a100 --regs 40 --block 32,8 --smem 8192");
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    for (const auto* words : {"A100-SXM4-80GB, compute capability 8.0", "a100 stands for A100-SXM4-80GB", "6 resident blocks an SM, 48 of 64 warps, 75.0 %",
                              "limited by registers", "registers 40 -> 32", "8 blocks, 64 warps, 100 %"}) {
        CHECK_THAT(ran.out, Catch::Contains(words));
    }
    const auto none = run("occupancy --cc sm_86 --regs 255 --block 1024");
    CHECK(none.code == 0);   // an answer, not an error
    CHECK_THAT(none.out, Catch::Contains("cannot launch") && Catch::Contains("limited by registers"));
    CHECK(run("occupancy --cc 86 --regs 32 --block 1025").code == 0);
    const auto compiled = run("occupancy --cc 8.0 --regs 32 --block 512 --max-threads 256 --format json");
    CHECK(Json::parse(compiled.out)["limiters"] == Json({"max_threads"}));
    CHECK(Json::parse(compiled.out)["active_blocks_per_sm"] == 0);
    const auto cluster = run("occupancy --cc 8.0 --regs 32 --block 512 --cluster 2 --format json");
    CHECK(cluster.code == 0);
    CHECK(Json::parse(cluster.out)["limiters"] == Json({"cluster"}));
}

TEST_CASE("cli: gpus lists all boards and shows one with its sources", "[cli][gpu]") {
    const auto list = run("gpus");
    CHECK(list.code == 0);
    CHECK_THAT(list.out, Catch::Contains("A100-SXM4-80GB") && Catch::Contains("Jetson AGX Orin 32GB") && Catch::Contains("assumed"));
    const auto json = Json::parse(run("gpus --format json").out);
    CHECK(json["schema"] == "flipflop.gpus/1");
    CHECK(json["gpus"].size() >= 47);
    const auto one = run("gpus t4");
    CHECK(one.code == 0);
    CHECK_THAT(one.out, Catch::Contains("Tesla T4") && Catch::Contains("idle_power_w") && Catch::Contains("estimated from boards"));
    const auto wrong = run("gpus a10o");
    CHECK(wrong.code == 2);
    CHECK(wrong.out.empty());
    CHECK_THAT(wrong.err, Catch::Contains("FF0901") && Catch::Contains("did you mean"));
}

TEST_CASE("cli: what gpus writes as JSON is a profile that --gpu reads", "[cli][gpu]") {
    const auto file = std::filesystem::temp_directory_path() / ("flipflop_gpus_" + std::to_string(getpid()) + ".json");
    for (const auto* name : {"h100", "orin", "b300", "4090"}) {
        const auto first = run(std::string("gpus ") + name + " --format json -o " + file.string());
        CHECK(first.code == 0);
        CHECK(first.out.empty());
        CHECK(run("gpus " + file.string() + " --format json").out == read(file));
        CHECK(run("occupancy --gpu " + file.string() + " --regs 32 --block 128").code == 0);
    }
    std::filesystem::remove(file);
}
