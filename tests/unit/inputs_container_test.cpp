// Fatbins, ELF objects and archives: true ones, real ones where nvcc is installed, and hostile ones.
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <sys/stat.h>

#include "catch.hpp"
#include "flipflop/inputs.hpp"
#include "inputs_support.hpp"

using namespace flipflop;
using namespace flipflop::testing;

namespace {

const std::string kBig = [] {
    std::string text{kPtx};
    for (int i = 0; i < 2000; ++i) text += fmt::format("// line {} of a long module\n", i * 7919 % 1000);
    return text;
}();

std::vector<std::string> texts_of(const Result<Input>& input) {
    std::vector<std::string> texts;
    if (input)
        for (const PtxText& text : input->texts) texts.push_back(*text.text);
    return texts;
}

/// The first error, of the refusal or of what was read.
std::string error_id(const Result<Input>& input) {
    if (!input) return input.error().id;
    for (const Diagnostic& d : input->diagnostics)
        if (d.severity == Severity::error) return d.id;
    return "";
}

FatbinEntry cubin(std::uint32_t architecture, std::uint64_t flags = 0x11) {
    FatbinEntry entry;
    entry.kind = 2;
    entry.payload = std::string(64, 'c');
    entry.architecture = architecture;
    entry.flags = flags;
    return entry;
}

}  // namespace

TEST_CASE("A fatbin: plain, LZ4 and zstd texts, cubins, kinds that are not read", "[inputs]") {
    FatbinEntry special = FatbinEntry::zstd(kBig);
    special.architecture = 90;
    special.flags |= 0x100000;
    FatbinEntry lto;
    lto.kind = 8;
    const auto input = read_input_bytes(fatbin({cubin(80), FatbinEntry{}, FatbinEntry::lz4(kBig), special, cubin(100, 0x200011), lto, lto}), "k.fatbin");
    REQUIRE(input);
    CHECK(to_string(input->kind) == "fatbin");
    CHECK(texts_of(input) == std::vector<std::string>{std::string{kPtx}, kBig, kBig});
    CHECK(input->texts[0].name == "k.fatbin#1.compute_80");
    CHECK(input->texts[2].name == "k.fatbin#3.compute_90a");
    REQUIRE(input->cubins.size() == 2);
    CHECK(input->cubins[0].architecture == "sm_80");
    CHECK(input->cubins[0].bytes == 64);
    CHECK(input->cubins[1].architecture == "sm_100f");
    REQUIRE(input->diagnostics.size() == 1);
    CHECK(input->diagnostics[0].id == "FF0815");
    CHECK(input->diagnostics[0].message == "2 fatbin entries of LTO IR not read");
    CHECK(input->text_bytes == kPtx.size() + 2 * kBig.size());
}

TEST_CASE("ELF objects: both sections, several fatbins with padding, cubins, none", "[inputs]") {
    const std::string one = fatbin({FatbinEntry::zstd(kBig)}), two = fatbin({FatbinEntry::lz4(kPtx), cubin(75)});
    const auto object = read_input_bytes(elf({{".text", "code"}, {".nv_fatbin", one + std::string(24, '\0') + two}, {"__nv_relfatbin", one}}), "k.o");
    REQUIRE(object);
    CHECK(to_string(object->kind) == "elf");
    CHECK(texts_of(object) == std::vector<std::string>{kBig, std::string{kPtx}, kBig});
    CHECK(object->diagnostics.empty());

    const auto none = read_input_bytes(elf({{".text", "code"}}), "plain.o");
    REQUIRE_FALSE(none);
    CHECK(none.error().id == "FF0806");
    const auto machine_code_only = read_input_bytes(elf({{".nv_fatbin", fatbin({cubin(80), cubin(90)})}}), "k.o");
    REQUIRE_FALSE(machine_code_only);
    CHECK(machine_code_only.error().message.find("sm_80, sm_90") != std::string::npos);
    CHECK(machine_code_only.error().help.find("code=compute_80") != std::string::npos);

    CHECK(read_input_bytes(elf({}, 190, 8, 0x6005004), "k.cubin").error().message.find("sm_80") != std::string::npos);
    CHECK(read_input_bytes(elf({}, 190, 7, 0x5a0d5a), "k.cubin").error().message.find("sm_90a") != std::string::npos);
}

TEST_CASE("A digest is made where it is asked for", "[inputs]") {
    ReadOptions options;
    const std::string bytes = fatbin({FatbinEntry{}});
    CHECK(read_input_bytes(bytes, "k.fatbin", options)->sha256 == sha256(bytes));
    options.digest = false;
    CHECK(read_input_bytes(bytes, "k.fatbin", options)->sha256.empty());
}

TEST_CASE("A cubin says that it is one", "[inputs]") {
    const auto cubin_alone = read_input_bytes(elf({}, 190, 8, 0x6005004), "kernel.ptx");
    REQUIRE_FALSE(cubin_alone);
    CHECK(cubin_alone.error().message == "is a cubin: machine code for sm_80 that ptxas made, not PTX");
    CHECK(cubin_alone.error().help.find("nvcc -ptx") != std::string::npos);
}

TEST_CASE("A named pipe is read, and one that nobody writes to is an error", "[inputs]") {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    ReadOptions options;
    options.limits.pipe_seconds = 1;
    const auto alone = read_input(path, options);
    REQUIRE_FALSE(alone);
    CHECK(alone.error().id == "FF0803");
    CHECK(alone.error().message.find("nobody writes to") != std::string::npos);

    options.limits.pipe_seconds = 60;
    std::thread writer([&] {
        std::ofstream pipe(path, std::ios::binary);
        pipe << kPtx << std::flush;
    });
    const auto written = read_input(path, options);
    writer.join();
    REQUIRE(written);
    CHECK(*written->at(0).texts.at(0).text == kPtx);
}

TEST_CASE("An ELF file without section table is searched for device code", "[inputs]") {
    std::string bytes = elf({{".text", "code"}, {".nv_fatbin", fatbin({FatbinEntry::zstd(kBig)})}});
    bytes.replace(40, 8, std::string(8, '\0'));      // e_shoff
    CHECK(texts_of(read_input_bytes(bytes, "stripped")) == std::vector<std::string>{kBig});
}

TEST_CASE("Fatbins among the data of a library are found, and what only looks like one is passed over", "[inputs]") {
    const std::string one = fatbin({FatbinEntry::zstd(kBig)}), two = fatbin({FatbinEntry{}});
    const std::string looks_so = one.substr(0, 8) + std::string(32, 'x');
    const auto input = read_input_bytes(elf({{".rodata", "abc" + one + looks_so}, {".nv_fatbin", two}, {".ldata", two + two + one.substr(0, 60)}}), "lib.so");
    REQUIRE(input);
    CHECK(texts_of(input) == std::vector<std::string>{kBig, std::string{kPtx}, std::string{kPtx}, std::string{kPtx}});
    CHECK(input->diagnostics.empty());
}

TEST_CASE("Static archives: short and long names, odd lengths, members of any kind", "[inputs]") {
    const std::string object = elf({{".nv_fatbin", fatbin({FatbinEntry::zstd(kBig)})}});
    const auto input = read_input_bytes(
        archive({{"a.o", object}, {"notes", "odd"}, {"a_name_longer_than_sixteen.o", object}, {"k.ptx", std::string{kPtx}}, {"plain.o", elf({})}}), "lib.a");
    REQUIRE(input);
    CHECK(to_string(input->kind) == "archive");
    CHECK(texts_of(input) == std::vector<std::string>{kBig, kBig, std::string{kPtx}});
    CHECK(input->texts[0].name == "lib.a(a.o)#1.compute_80");
    CHECK(input->texts[1].name == "lib.a(a_name_longer_than_sixteen.o)#2.compute_80");
    CHECK(input->texts[2].name == "lib.a(k.ptx)");
    CHECK(input->diagnostics.empty());
    CHECK(read_input_bytes("!<arch>\n", "empty.a").error().id == "FF0806");
}

TEST_CASE("Lying containers are errors, and what was sound is kept", "[inputs][hostile]") {
    const auto with = [](auto change) {
        FatbinEntry entry = FatbinEntry::zstd(kBig);
        change(entry);
        return read_input_bytes(fatbin({FatbinEntry{}, entry}), "k.fatbin");
    };
    struct Row { const char* what; Result<Input> input; const char* id; };
    const Row rows[]{
        {"payload past the end", with([](FatbinEntry& e) { e.payload_bytes = 1 << 20; }), "FF0807"},
        {"payload of 2^64-1 - 7", with([](FatbinEntry& e) { e.payload_bytes = ~std::uint64_t{7}; }), "FF0807"},
        {"header too short", with([](FatbinEntry& e) { e.header_bytes = 8; }), "FF0807"},
        {"header too long", with([](FatbinEntry& e) { e.header_bytes = 0xfffffff0; }), "FF0807"},
        {"more compressed bytes than payload", with([](FatbinEntry& e) { e.compressed_bytes = 1 << 30; }), "FF0807"},
        {"fewer", with([](FatbinEntry& e) { e.compressed_bytes /= 2; }), "FF0807"},
        {"unpacked length too small", with([](FatbinEntry& e) { e.unpacked_bytes -= 1; }), "FF0807"},
        {"unpacked length too large", with([](FatbinEntry& e) { e.unpacked_bytes += 1; }), "FF0807"},
        {"unpacked length absurd", with([](FatbinEntry& e) { e.unpacked_bytes = ~std::uint64_t{0}; }), "FF0808"},
        {"garbage as zstd", with([](FatbinEntry& e) { e.payload.assign(e.payload.size(), 'x'); }), "FF0807"},
        {"zstd as LZ4", with([](FatbinEntry& e) { e.flags = 0x2011; }), "FF0807"},
        {"LZ4 length beyond any ratio", with([](FatbinEntry& e) { e.flags = 0x2011; e.unpacked_bytes = 60 << 20; }), "FF0807"},
    };
    for (const Row& row : rows) {
        INFO(row.what);
        REQUIRE(row.input);
        CHECK(error_id(row.input) == row.id);
        CHECK(texts_of(row.input).front() == kPtx);
    }
    const std::string whole = fatbin({FatbinEntry{}, FatbinEntry::zstd(kBig)});
    CHECK(error_id(read_input_bytes(whole.substr(0, whole.size() - 8), "k.fatbin")) == "FF0807");
    CHECK(error_id(read_input_bytes(whole.substr(0, 10), "k.fatbin")) == "FF0807");
    CHECK(error_id(read_input_bytes(whole + "trailing bytes of another kind", "k.fatbin")) == "FF0807");
}

TEST_CASE("A bomb is refused before it takes memory", "[inputs][hostile]") {
    const std::string zeros(200 << 20, 'a');                     // 200 MB in 20 KB
    const std::string bomb = fatbin({FatbinEntry::zstd(zeros)});
    CHECK(bomb.size() < (100 << 10));
    CHECK(error_id(read_input_bytes(bomb, "bomb.fatbin")) == "FF0808");   // more than 64 MiB from a small file

    // Many smaller ones: the sum counts.
    const std::string twenty(20 << 20, 'b');
    const FatbinEntry small = FatbinEntry::zstd(twenty);
    const auto many = read_input_bytes(fatbin({small, small, small, small, small}), "many.fatbin");
    REQUIRE(many);
    CHECK(many->texts.size() == 3);
    CHECK(many->text_bytes == 60 << 20);
    CHECK(error_id(many) == "FF0808");
}

TEST_CASE("Too many entries, overlapping sections, broken tables", "[inputs][hostile]") {
    InputLimits limits;
    limits.max_entries = 10;
    FatbinEntry tiny;
    const auto many = read_input_bytes(fatbin(std::vector<FatbinEntry>(20, tiny)), "k.fatbin", {limits, {}});
    REQUIRE(many);
    CHECK(many->texts.size() == 9);                              // the container counts as one
    CHECK(error_id(many) == "FF0808");

    const std::string device = fatbin({FatbinEntry{}});
    std::string overlapping = elf({{".nv_fatbin", device}, {".nv_fatbin", device}});
    const std::size_t headers = overlapping.size() - 4 * 64;
    overlapping.replace(headers + 2 * 64 + 24, 8, overlapping.substr(headers + 64 + 24, 8));   // same offset
    CHECK(error_id(read_input_bytes(overlapping, "k.o")) == "FF0807");

    std::string object = elf({{".nv_fatbin", device}});
    for (const std::size_t field : {std::size_t{40}, std::size_t{58}, std::size_t{60}, std::size_t{62}}) {
        std::string broken = object;
        broken[field] = '\xfd';
        broken[field + 1] = '\xff';
        INFO(field);
        CHECK(error_id(read_input_bytes(broken, "k.o")) == "FF0807");
    }
    CHECK(error_id(read_input_bytes(object.substr(0, 12), "k.o")) == "FF0807");
    CHECK(error_id(read_input_bytes("!<arch>\nshort", "lib.a")) == "FF0807");
    std::string lying = archive({{"a.o", object}});
    lying.replace(8 + 48, 10, "9999999999");
    CHECK(error_id(read_input_bytes(lying, "lib.a")) == "FF0807");
    lying.replace(8 + 48, 10, "-1        ");
    CHECK(error_id(read_input_bytes(lying, "lib.a")) == "FF0807");
}

TEST_CASE("Device code that only seems to be there does not take forever", "[inputs][hostile]") {
    // Each 64 bytes begin another chain of entries that all fit, up to the last: a million times a million steps.
    std::string link;
    put<std::uint32_t>(link, 0xBA55ED50);                        // seen as a container here ...
    put<std::uint16_t>(link, 1);
    put<std::uint16_t>(link, 16);
    put<std::uint64_t>(link, 0);
    put<std::uint32_t>(link, 0);
    put<std::uint32_t>(link, 64);                                // ... and as an entry from byte 16 on
    put<std::uint64_t>(link, 0);
    link.resize(64, '\0');
    std::string chain;
    for (std::uint64_t i = 0, links = 100'000; i < links; ++i) {
        std::string one = link;
        const std::uint64_t rest = (links - i) * 64 + 1 - 16;    // one byte more than there are entries
        for (std::size_t b = 0; b < 8; ++b) one[8 + b] = static_cast<char>(rest >> (8 * b));
        chain += one;
    }
    const auto input = read_input_bytes(elf({{".nv_fatbin", fatbin({FatbinEntry{}})}, {".ldata", chain + "x"}}), "k.so");
    REQUIRE(input);
    CHECK(input->texts.size() == 1);
    CHECK(error_id(input) == "FF0808");
}

TEST_CASE("No mutation of a container does harm", "[inputs][hostile]") {
    const std::string device = fatbin({FatbinEntry{}, FatbinEntry::lz4(kBig), FatbinEntry::zstd(kBig), cubin(80)});
    const std::string seeds[]{device, elf({{".nv_fatbin", device}, {"__nv_relfatbin", device}}), archive({{"a.o", elf({{".nv_fatbin", device}})}, {"k.ptx", std::string{kPtx}}})};
    std::mt19937 random{20240601};
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::size_t whole = 0, refused = 0;
    for (int round = 0; round < 6000; ++round) {
        std::string bytes = seeds[below(3)];
        const std::size_t changes = 1 + below(4);
        for (std::size_t i = 0; i < changes; ++i) {
            static constexpr char kNasty[]{'\0', '\1', '\x7f', '\x80', '\xff'};
            bytes[below(round % 2 == 0 ? std::min<std::size_t>(bytes.size(), 400) : bytes.size())] = kNasty[below(5)];
        }
        if (below(4) == 0) bytes.resize(below(bytes.size()));
        const auto input = read_input_bytes(bytes, "mutated");
        if (!input) {
            ++refused;
            REQUIRE_FALSE(input.error().message.empty());
        } else {
            ++whole;
            REQUIRE(input->text_bytes <= (64ULL << 20));
        }
    }
    CHECK(whole > 100);                                          // the mutations reach both outcomes
    CHECK(refused > 100);
}

TEST_CASE("What nvcc makes on the spot is read", "[inputs][nvcc]") {
    if (std::system("nvcc --version >/dev/null 2>&1") != 0) {
        WARN("skipped: no nvcc on PATH");
        return;
    }
    const TemporaryFolder folder;
    const std::string source = std::string{FLIPFLOP_SOURCE_DIR} + "/examples/softmax.cu";
    const auto make = [&](const std::string& name, const std::string& flags) {
        const std::string command = fmt::format("nvcc {} -o '{}/{}' '{}' 2>/dev/null", flags, folder.path(), name, source);
        REQUIRE(std::system(command.c_str()) == 0);
        auto inputs = read_input(folder.path() + "/" + name);
        REQUIRE(inputs);
        REQUIRE(inputs->size() == 1);
        return std::move(inputs->front());
    };
    const std::string both = "-gencode arch=compute_80,code=[sm_80,compute_80] -gencode arch=compute_90a,code=compute_90a";
    const std::string modes[]{"-c " + both, "-dc " + both, "-lib " + both, "-fatbin " + both, "-fatbin --compress-mode=speed " + both, "-fatbin --no-compress " + both};
    for (std::size_t i = 0; i < std::size(modes); ++i) {
        INFO(modes[i]);
        const Input input = make(fmt::format("out{}", i), modes[i]);
        CHECK(input.diagnostics.empty());
        REQUIRE(input.texts.size() == 2);
        for (const PtxText& text : input.texts) CHECK(text.text->find(".entry softmax(") != std::string::npos);
        CHECK(input.texts[0].text->find(".target sm_80") != std::string::npos);
        CHECK(input.texts[1].name.ends_with(".compute_90a"));
        REQUIRE(input.cubins.size() == 1);
        CHECK(input.cubins[0].architecture == "sm_80");
    }
    const std::string refused = fmt::format("nvcc -cubin -arch=sm_90 -o '{0}/k.cubin' '{1}' && nvcc -dc -dlto -arch=sm_80 -o '{0}/lto.o' '{1}'", folder.path(), source);
    REQUIRE(std::system(refused.c_str()) == 0);
    const auto alone = read_input(folder.path() + "/k.cubin");
    REQUIRE(alone);
    REQUIRE(alone->front().diagnostics.size() == 1);
    CHECK(alone->front().diagnostics[0].message.find("sm_90") != std::string::npos);
    REQUIRE(alone->front().cubins[0].kernels);
    CHECK(alone->front().cubins[0].kernels->front().registers.value_or(0) > 0);
}
