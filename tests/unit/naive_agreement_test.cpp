// Holds the evaluator against the naive one (tests/naive): the same requests, lanes, sectors, wavefronts, thread
// operations and unique bytes on kernels made at random from a seed, on every known-answer kernel and every example.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <memory>
#include <tuple>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"
#include "naive/naive_evaluator.hpp"
#include "naive/random_kernel.hpp"
#include "sanitized.hpp"

namespace {

using flipflop::ArgumentValue;
using flipflop::Launch;

ArgumentValue argument(std::uint64_t value, unsigned bytes) {
    ArgumentValue a;
    for (unsigned i = 0; i < bytes; ++i) a.bytes.push_back(i < 8 ? static_cast<std::uint8_t>(value >> (8 * i)) : std::uint8_t{0});   // a struct is longer than a word
    return a;
}

struct Sums {
    double requests{}, lanes{}, sectors{}, wavefront_ratio{};
};

flipflop::ptx::Space space_of(flipflop::MemorySpace space) {
    switch (space) {
        case flipflop::MemorySpace::shared: return flipflop::ptx::Space::shared;
        case flipflop::MemorySpace::local: return flipflop::ptx::Space::local;
        case flipflop::MemorySpace::constant: return flipflop::ptx::Space::constant;
        default: return flipflop::ptx::Space::global;
    }
}

void compare(const flipflop::KernelCode& code, const naive::Outcome& expected, const Launch& launch) {
    const flipflop::LaunchFacts facts = flipflop::Evaluator(code).evaluate(launch);
    std::map<std::tuple<std::uint32_t, flipflop::ptx::Space>, Sums> got;
    REQUIRE(facts.accesses.size() == code.facts.accesses.size());
    for (std::size_t i = 0; i < facts.accesses.size(); ++i) {
        const auto& a = facts.accesses[i];
        INFO("PTX line " << code.facts.accesses[i].ptx_line << " " << a.why);
        REQUIRE(a.requests);
        Sums& sums = got[{code.facts.accesses[i].ptx_line, space_of(code.facts.accesses[i].space)}];
        sums.requests += *a.requests;
        sums.lanes += *a.requests * a.active_lanes;
        if (*a.requests > 0) sums.sectors += *a.requests * a.sectors_per_request.value_or(0);
        if (*a.requests > 0) sums.wavefront_ratio += *a.requests * a.wavefronts_per_request.value_or(0);
    }
    for (const auto& [where, access] : expected.accesses) {
        INFO("PTX line " << std::get<0>(where));
        const Sums& sums = got[where];
        CHECK(sums.requests == Approx(access.requests));
        CHECK(sums.lanes == Approx(access.lanes));
        const bool shared = std::get<1>(where) == flipflop::ptx::Space::shared;
        if (!access.unknown && !shared && std::get<1>(where) != flipflop::ptx::Space::constant) CHECK(sums.sectors == Approx(access.sectors));
        if (!access.unknown && shared) CHECK(sums.wavefront_ratio == Approx(access.wavefront_ratio));
    }
    for (std::size_t c = 0; c < flipflop::kClassNames.size(); ++c) {
        INFO("class " << flipflop::kClassNames[c]);
        CHECK(facts.thread_ops[c] == Approx(expected.thread_ops[c]));
    }
    CHECK(facts.warp_instructions == Approx(expected.warp_instructions));
    if (facts.footprint.unique_read_bytes && expected.unique_known) CHECK(*facts.footprint.unique_read_bytes == Approx(expected.unique_read_bytes));
    if (facts.footprint.unique_written_bytes && expected.unique_known) CHECK(*facts.footprint.unique_written_bytes == Approx(expected.unique_written_bytes));
}

}  // namespace

TEST_CASE("the evaluator agrees with the naive one on random kernels", "[evaluator][naive]") {
    for (std::uint64_t seed = 1; seed <= 500; seed += kSanitized ? 10 : 1) {
        const naive::RandomKernel kernel = naive::random_kernel(seed);
        INFO("seed " << seed << " block " << kernel.block_x << "," << kernel.block_y << " grid " << kernel.grid_x << "," << kernel.grid_y << "\n" << kernel.text);
        const auto parsed = flipflop::ptx::parse(std::make_shared<const std::string>(kernel.text), "made.ptx");
        REQUIRE(parsed.errors == 0);
        REQUIRE(parsed.modules.size() == 1);
        Launch launch;
        launch.block = {kernel.block_x, kernel.block_y, 1};
        launch.grid = {kernel.grid_x, kernel.grid_y, 1};
        launch.arguments = {argument(0x1000000000, 8), argument(0x2000000000, 8), argument(static_cast<std::uint32_t>(kernel.n), 4)};
        const naive::Outcome expected = naive::run(parsed.modules[0], 0, launch);
        INFO(expected.why);
        REQUIRE(expected.followed);
        compare(flipflop::analyse_kernel(parsed.modules[0], 0), expected, launch);
    }
}

TEST_CASE("random kernels have every kind of index and control that is asked for", "[evaluator][naive]") {
    std::map<std::string, unsigned> kernels;
    const auto holds = [](const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; };
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        const std::string text = naive::random_kernel(seed).text;
        const std::string body = text.substr(text.find("%r5, %r6, %r4, %r3"));       // behind the indices that all have
        kernels["affine"] += holds(body, "mad.lo.s32");
        kernels["modulo"] += holds(body, "rem.u32");
        kernels["xor"] += holds(body, "xor.b32");
        kernels["shifted"] += holds(body, "shl.b32") || holds(body, "shr.u32");
        kernels["divergent guard"] += holds(body, " bra $G");
        kernels["staging"] += holds(body, "st.shared.u32") && holds(body, "ld.shared.u32");
        kernels["break"] += holds(body, " bra $B");
        bool nested = false, lane_trips = false;
        for (std::size_t at = body.find("$L"); at != std::string::npos; at = body.find("$L", at + 1)) {
            const std::size_t colon = body.find(':', at);
            const std::string label = body.substr(at, colon - at);
            if (colon == std::string::npos || label.size() > 5) continue;
            const std::string inside = body.substr(colon, body.find(" bra " + label + ";", colon) - colon);
            nested = nested || holds(inside, "\n$L");
            lane_trips = lane_trips || holds(body, ", 7;\n");
        }
        kernels["nested loops"] += nested;
        kernels["trips that differ by lane"] += lane_trips;
    }
    CHECK(kernels.size() == 9);
    for (const auto& [what, count] : kernels) {
        INFO(what << ": " << count);
        CHECK(count >= 40);
    }
}

namespace {

namespace fs = std::filesystem;

/// Most instructions of threads that one launch may take here.
constexpr std::uint64_t kMostSteps = 1'500'000;

flipflop::ptx::ParseResult parsed_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    return flipflop::ptx::parse(std::make_shared<const std::string>(all.str()), path.filename().string());
}

/// A launch of any kernel that the naive evaluator can afford: integers `n`, pointers apart.
Launch small_launch(const flipflop::KernelFacts& kernel, flipflop::Dim3 block, flipflop::Dim3 grid, std::uint32_t n) {
    Launch launch;
    launch.block = kernel.bounds.required_block.value_or(block);
    launch.grid = grid;
    launch.dynamic_shared_bytes = 16384;
    for (const auto& p : kernel.parameters) {
        const bool pointer = p.kind == flipflop::ParameterKind::pointer;
        const std::uint32_t one = 0x3f800000;
        launch.arguments.push_back(argument(pointer ? std::uint64_t{0x1000000000} * (p.index + 1) : p.type == "f32" ? one : n, p.bytes));
    }
    return launch;
}

/// Arrays of integers behind every pointer, for kernels whose branches and addresses depend on data.
void give_data(const flipflop::KernelFacts& kernel, Launch& launch) {
    for (const auto& p : kernel.parameters) {
        if (p.kind != flipflop::ParameterKind::pointer) continue;
        flipflop::ArrayData data;
        for (std::uint32_t e = 0; e < 16384; ++e) {
            const std::uint32_t v = e / 2 - 1;           // chains of indices come to an end: -1
            for (unsigned b = 0; b < 4; ++b) data.bytes.push_back(static_cast<std::uint8_t>(v >> (8 * b)));
        }
        launch.parameter_data[p.index] = std::move(data);
    }
}

/// Number of launches on which both were held against each other.
unsigned agree_on(const fs::path& path) {
    const auto parsed = parsed_file(path);
    REQUIRE(parsed.modules.size() == 1);
    const auto& module = parsed.modules[0];
    unsigned held = 0;
    for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
        if (!module.functions[f].is_entry || !module.functions[f].has_body) continue;
        const flipflop::KernelCode code = flipflop::analyse_kernel(module, f);
        struct Shape { flipflop::Dim3 block, grid; std::uint32_t n; };
        const std::vector<Shape> shapes = code.facts.dimensions == 1
            ? std::vector<Shape>{{{64, 1, 1}, {3, 1, 1}, 150}, {{96, 1, 1}, {2, 1, 1}, 41}, {{256, 1, 1}, {2, 1, 1}, 300}}
            : std::vector<Shape>{{{16, 16, 1}, {2, 2, 1}, 30}, {{32, 8, 1}, {2, 3, 1}, 57}, {{8, 4, 2}, {3, 2, 2}, 19}};
        unsigned of_kernel = 0;
        std::string why;
        for (const Shape& s : shapes) {
            Launch launch = small_launch(code.facts, s.block, s.grid, s.n);
            naive::Outcome expected = naive::run(module, f, launch, kMostSteps);
            if (!expected.followed) {
                give_data(code.facts, launch);
                expected = naive::run(module, f, launch, kMostSteps);
            }
            why = expected.why;
            if (!expected.followed) continue;
            INFO(path.filename().string() << " " << code.facts.name << " block " << launch.block.x << "," << launch.block.y << "," << launch.block.z << " n " << s.n);
            compare(code, expected, launch);
            ++of_kernel;
            if (kSanitized) break;
        }
        INFO(path.filename().string() << " " << code.facts.name << ": " << why);
        // Barriers that count transactions are beyond the naive one: said, not held.
        const bool beyond = std::any_of(module.forms.begin(), module.forms.end(), [](const auto& form) { return flipflop::ptx::info(form.opcode).name.starts_with("mbarrier"); });
        if (of_kernel == 0 && beyond) std::cout << path.filename().string() << ": not held: " << why << '\n';
        else CHECK(of_kernel > 0);
        held += of_kernel;
    }
    return held;
}

std::vector<fs::path> ptx_files(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& e : fs::recursive_directory_iterator(folder))
        if (e.path().extension() == ".ptx") files.push_back(e.path());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

TEST_CASE("the evaluator agrees with the naive one on every known-answer kernel", "[evaluator][naive]") {
    const auto files = ptx_files(fs::path(FLIPFLOP_SOURCE_DIR) / "tests/data/known_answers");
    REQUIRE(files.size() >= 60);
    unsigned launches = 0;
    for (const fs::path& file : files) launches += agree_on(file);
    std::cout << "known answers: " << launches << " launches held against the naive evaluator\n";
}

TEST_CASE("the evaluator agrees with the naive one on every example", "[evaluator][naive]") {
    const auto files = ptx_files(fs::path(FLIPFLOP_SOURCE_DIR) / "examples");
    REQUIRE(files.size() >= 12);
    unsigned launches = 0;
    for (const fs::path& file : files) launches += agree_on(file);
    std::cout << "examples: " << launches << " launches held against the naive evaluator\n";
}
