// The shipped profiles: complete, named without ambiguity, every number with its source.
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/gpu.hpp"
#include "gpu/embedded_data.hpp"
#include "gpu/names.hpp"

using namespace flipflop;

TEST_CASE("profiles: all load, and the listing says what they say", "[gpu]") {
    const auto names = list_gpus();
    CHECK(names.size() >= 47);
    for (const auto& name : names) {
        INFO(name.id);
        const auto gpu = load_gpu(name.id);
        if (!gpu) {
            FAIL(gpu.error().file << ": " << gpu.error().message);
        }
        CHECK(gpu->id == name.id);
        CHECK(gpu->name == name.name);
        CHECK(gpu->aliases == name.aliases);
        CHECK(gpu->cc.version() == name.compute_capability);
        CHECK(gpu->origin.empty());
        CHECK(gpu->sm_count() > 0);
        CHECK_FALSE(gpu->memory_type.empty());
    }
}

TEST_CASE("profiles: no two boards answer to one name, and every alternative of an alias exists", "[gpu]") {
    std::map<std::string, std::string> owner;
    for (const auto& gpu : list_gpus()) {
        std::set<std::string> own{profile::name_key(gpu.id), profile::name_key(gpu.name)};
        for (const auto& alias : gpu.aliases) {
            INFO(alias);
            CHECK(own.insert(profile::name_key(alias)).second);   // an alias that says nothing new
        }
        for (const auto& key : own) {
            INFO(key << " of " << gpu.id << " and " << owner[key]);
            CHECK(owner[key].empty());
            owner[key] = gpu.id;
        }
    }
    for (const auto& file : embedded_files()) {
        if (!std::string_view(file.path).starts_with("gpu_profiles/")) { continue; }   // pages and styles are UTF-8
        if (!file.path.starts_with("gpu_profiles/")) {
            continue;
        }
        const auto json = nlohmann::json::parse(file.content);
        if (json.value("schema", "") != "flipflop.gpu/1") {
            continue;
        }
        const auto aliases = json["aliases"].get<std::vector<std::string>>();
        const auto also = json.value("alias_also", nlohmann::json::object());
        for (const auto& [alias, others] : also.items()) {
            INFO(file.path << " " << alias);
            CHECK(std::count(aliases.begin(), aliases.end(), alias) == 1);
            for (const auto& other : others) {
                CHECK(load_gpu(other.get<std::string>()));
            }
        }
        CHECK(std::string(file.path) == "gpu_profiles/" + json["id"].get<std::string>() + ".json");
    }
}

TEST_CASE("profiles: every number has unit, basis and source, everything is ASCII", "[gpu]") {
    const std::set<std::string> bases{"measured", "datasheet", "fitted", "assumed", "derived"};
    int numbers = 0;
    const auto check = [&](const auto& values) {
        for (const auto& [name, value] : values) {
            INFO(name);
            CHECK_FALSE(value.unit.empty());
            if (value.value) {
                ++numbers;
                CHECK(bases.count(value.basis) == 1);
                CHECK(value.source.size() > 10);
                if (value.basis == "assumed") {
                    CHECK_FALSE(value.note.empty());   // from where, or how
                }
            } else {
                CHECK(value.source.empty());
            }
        }
    };
    for (const auto& name : list_gpus()) {
        INFO(name.id);
        const auto gpu = load_gpu(name.id);
        REQUIRE(gpu);
        check(gpu->values);
        check(gpu->cc.limits);
        check(gpu->cc.throughput);
        for (const auto& [curve_name, curve] : gpu->curves) {
            CHECK(curve.points.size() >= 2);
            CHECK_FALSE(curve.source.empty());
        }
    }
    CHECK(numbers > 3000);
    for (const auto& file : embedded_files()) {
        for (const char c : file.content) {
            if (static_cast<unsigned char>(c) >= 0x80) {
                FAIL(file.path << " is not ASCII");
            }
        }
    }
}

TEST_CASE("profiles: names, ids, vendor prefix, case, dashes and the contract's aliases", "[gpu]") {
    const std::map<std::string, std::string> expected{
        {"a100", "A100-SXM4-80GB"},           {"A100-SXM4-80GB", "A100-SXM4-80GB"}, {"NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
        {"a100-pcie", "A100-PCIE-40GB"},      {"a100-sxm4-40gb", "A100-SXM4-40GB"}, {"NVIDIA A100 80GB PCIe", "A100-PCIE-80GB"},
        {"h100", "H100-SXM5-80GB"},           {"h100-pcie", "H100-PCIE-80GB"},      {"NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"},
        {"h200", "H200-SXM-141GB"},           {"gh200", "GH200-96GB"},              {"v100", "Tesla V100-SXM2-16GB"},
        {"t4", "Tesla T4"},                   {"l4", "L4"},                         {"l40", "L40"},
        {"l40s", "L40S"},                     {"4090", "GeForce RTX 4090"},         {"rtx 4090", "GeForce RTX 4090"},
        {"3090", "GeForce RTX 3090"},         {"a4000", "RTX A4000"},               {"a6000", "RTX A6000"},
        {"rtx4000ada", "RTX 4000 Ada"},       {"b200", "B200"},                     {"Tesla_V100-SXM2-16GB", "Tesla V100-SXM2-16GB"},
        {"NVIDIA GeForce RTX 4090", "GeForce RTX 4090"},
    };
    for (const auto& [given, name] : expected) {
        INFO(given);
        const auto gpu = load_gpu(given);
        REQUIRE(gpu);
        CHECK(gpu->name == name);
    }
    CHECK_THAT(load_gpu("a100")->alias_note, Catch::Contains("A100-PCIE-40GB"));
    CHECK_THAT(load_gpu("h100")->alias_note, Catch::Contains("H100-PCIE-80GB"));
    CHECK(load_gpu("A100-SXM4-80GB")->alias_note.empty());
    CHECK(load_gpu("4090")->alias_note.empty());
}

TEST_CASE("profiles: facts that decide results", "[gpu]") {
    const auto a100 = load_gpu("a100");
    REQUIRE(a100);
    CHECK(a100->sm_count() == 108);
    CHECK(a100->value("dram_bandwidth_gbs") == 2039.0);
    CHECK(a100->sourced("idle_power_w")->basis == "measured");
    CHECK(a100->cc.rate("fp32") == 64.0);
    CHECK(a100->cc.rate("tensor_fp16") == 1024.0);
    CHECK(a100->curve("core_voltage_mv")->at(1410) == Approx(918.75));
    CHECK(a100->curve("core_voltage_mv")->at(100) == Approx(743.75));
    CHECK(a100->curve("idle_power_w")->at(1417) == Approx(82.29));
    CHECK(a100->curve("core_voltage_mv")->at(1117.5) == Approx(750.0));   // between 743.75 at 1110 and 756.25 at 1125
    const auto t4 = load_gpu("t4");
    CHECK(t4->sourced("idle_power_w")->basis == "assumed");
    CHECK_THAT(t4->sourced("idle_power_w")->note, Catch::Contains("L4"));
    CHECK_FALSE(load_gpu("orin")->value("idle_power_w"));   // no board of its kind is known: not a guess
    CHECK(load_gpu("4090")->cc.rate("tensor_bf16") == 256.0);
    CHECK(load_gpu("l40")->cc.rate("tensor_bf16") == 512.0);
    CHECK_FALSE(load_gpu("b300")->value("l2_mib"));
}

TEST_CASE("profiles: an unknown name is an error with a did-you-mean", "[gpu]") {
    for (const auto& [wrong, hint] : std::map<std::string, std::string>{
             {"a10o", "a100"}, {"h10", "h100"}, {"rtx4009", "4090"}, {"v100 sxm", "V100-SXM2"}, {"tesla t5", "Tesla T4"}}) {
        const auto gpu = load_gpu(wrong);
        INFO(wrong);
        REQUIRE_FALSE(gpu);
        CHECK(gpu.error().id == "FF0901");
        CHECK_THAT(gpu.error().help, Catch::Contains("did you mean"));
        CHECK_THAT(gpu.error().help, Catch::Contains(hint, Catch::CaseSensitive::No));
    }
    for (const auto& wrong : std::vector<std::string>{"", "---", "voodoo2", "radeon rx 7900", std::string(5000, 'x')}) {
        const auto gpu = load_gpu(wrong);
        REQUIRE_FALSE(gpu);
        CHECK(gpu.error().id == "FF0901");
    }
}

TEST_CASE("profiles: part of a board", "[gpu]") {
    const auto gpu = *load_gpu("a100");
    const auto part = with_sms(gpu, 14);
    REQUIRE(part);
    CHECK(part->sm_count() == 14);
    CHECK_FALSE(with_sms(gpu, 0));
    CHECK(with_sms(gpu, 108));
    CHECK(with_sms(gpu, 109).error().id == "FF0904");
}

TEST_CASE("profiles: edit distance", "[gpu]") {
    CHECK(profile::edit_distance("a100", "a100") == 0);
    CHECK(profile::edit_distance("a010", "a100") == 1);   // neighbours swapped
    CHECK(profile::edit_distance("h10", "h100") == 1);
    CHECK(profile::edit_distance("", "abc") == 3);
    CHECK(profile::edit_distance("kitten", "sitting") == 3);
}
