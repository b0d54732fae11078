// Occupancy against answers of cuda_occupancy.h (tests/data/occupancy.json), and properties that no table shows.
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "flipflop/models.hpp"

using namespace flipflop;
using Json = nlohmann::json;

namespace {

const Json& answers() {
    static const Json json = Json::parse(std::ifstream(FLIPFLOP_SOURCE_DIR "/tests/data/occupancy.json"));
    return json;
}

const ComputeCapability& capability(const std::string& version) {
    static std::map<std::string, ComputeCapability> loaded;
    auto found = loaded.find(version);
    if (found == loaded.end()) {
        auto cc = load_compute_capability(version);
        REQUIRE(cc);
        found = loaded.emplace(version, std::move(*cc)).first;
    }
    return found->second;
}

bool before_maxwell(const Json& row) { return row["cc"].get<std::string>()[0] == '3'; }

OccupancyInput input_of(const Json& row) {
    OccupancyInput in;
    in.block_threads = row["block_size"];
    in.registers_per_thread = row["regs_per_thread"];
    in.static_shared_bytes = row["static_smem"];
    in.dynamic_shared_bytes = row["dynamic_smem"];
    in.barriers = row["barriers"];
    in.opt_in = row["smem_opt_in"];
    in.partitioned_global_caching = row["partitioned_gc"];
    if (row["carveout_pct"].get<int>() >= 0) {
        in.carveout_percent = row["carveout_pct"].get<std::uint32_t>();
    }
    return in;
}

std::optional<std::uint32_t> limit_of(const Json& value) {
    return value.is_null() ? std::nullopt : std::optional<std::uint32_t>(value.get<std::uint32_t>());
}

void compare(const Json& expected, const Occupancy& got, const ComputeCapability& cc) {
    CHECK(got.active_blocks_per_sm == expected["blocks_per_sm"].get<std::uint32_t>());
    CHECK(got.active_warps_per_sm == expected["warps_per_sm"].get<std::uint32_t>());
    CHECK(cc.limit("max_warps_per_sm") == expected["max_warps_per_sm"].get<double>());
    CHECK(got.fraction * 100 == Approx(expected["occupancy_pct"].get<double>()).margin(1e-3));
    CHECK(got.limits.registers == limit_of(expected["limit_regs"]));
    CHECK(got.limits.shared == limit_of(expected["limit_smem"]));
    CHECK(got.limits.warps == limit_of(expected["limit_warps"]));
    CHECK(got.limits.blocks == limit_of(expected["limit_blocks"]));
    CHECK(got.limits.barriers == limit_of(expected["limit_barriers"]));
    CHECK(got.allocated_registers_per_block == expected["alloc_regs_per_block"].get<std::uint64_t>());
    CHECK(got.allocated_shared_per_block == expected["alloc_smem_per_block"].get<std::uint64_t>());
    std::set<std::string> limiters;
    for (const auto& name : expected["limiting"]) {
        limiters.insert(name == "shared_memory" ? "shared" : name.get<std::string>());
    }
    CHECK(std::set<std::string>(got.limiters.begin(), got.limiters.end()) == limiters);
    CHECK(got.why_not.empty() == (got.active_blocks_per_sm > 0));
}

}  // namespace

TEST_CASE("occupancy: every row of cuda_occupancy.h from 5.0 on", "[occupancy][models]") {
    int rows = 0;
    for (const auto& row : answers()["rows"]) {
        if (before_maxwell(row)) {
            continue;
        }
        INFO("row " << row["id"] << ": " << row["cc"] << ", " << row["case"]);
        ++rows;
        const auto& expected = row["expected"];
        if (expected["status"] == "unknown_device") {
            const auto cc = load_compute_capability(row["cc"]);
            REQUIRE_FALSE(cc);
            CHECK(cc.error().id == "FF0903");
            continue;
        }
        const auto& cc = capability(row["cc"]);
        auto in = input_of(row);
        if (expected["status"] == "invalid_input") {
            CHECK(occupancy(cc, in).limiters == std::vector<std::string>{"carveout"});
            continue;
        }
        compare(expected, occupancy(cc, in), cc);
        // The header leaves .maxntid out; a launch above it fails all the same.
        in.kernel_max_threads = row["kernel_max_threads"].get<std::uint32_t>();
        if (in.block_threads > *in.kernel_max_threads) {
            const auto refused = occupancy(cc, in);
            CHECK(refused.active_blocks_per_sm == 0);
            CHECK(refused.limiters == std::vector<std::string>{"max_threads"});
        } else {
            compare(expected, occupancy(cc, in), cc);
        }
    }
    CHECK(rows == 256);
}

TEST_CASE("occupancy: the block size that cudaOccupancyMaxPotentialBlockSize picks", "[occupancy][models]") {
    int rows = 0;
    for (const auto& row : answers()["max_potential_block_size"]) {
        if (before_maxwell(row)) {
            continue;
        }
        const std::string rule = row["dynamic_smem_of_block"];
        INFO(row["cc"] << ", " << row["regs_per_thread"] << " registers, " << rule);
        const auto dynamic = [&](std::uint32_t block) -> std::uint64_t {
            if (rule == "0") return 0;
            if (rule == "16*b") return 16 * block;
            if (rule == "128*b") return 128 * block;
            REQUIRE(rule == "4*b+4096");
            return 4 * block + 4096;
        };
        OccupancyInput in;
        in.registers_per_thread = row["regs_per_thread"];
        in.static_shared_bytes = row["static_smem"];
        const auto& cc = capability(row["cc"]);
        const auto block = max_potential_block_size(cc, in, dynamic);
        CHECK(block == row["expected"]["block_size"].get<std::uint32_t>());
        if (rule == "0") {
            CHECK(max_potential_block_size(cc, in) == block);
        }
        std::uint32_t grid = 0;
        if (block > 0) {
            in.block_threads = block;
            in.dynamic_shared_bytes = dynamic(block);
            grid = occupancy(cc, in).active_blocks_per_sm * row["num_sms"].get<std::uint32_t>();
        }
        CHECK(grid == row["expected"]["min_grid_size"].get<std::uint32_t>());
        ++rows;
    }
    CHECK(rows == 100);
}

TEST_CASE("occupancy: never more with more registers, shared memory or barriers", "[occupancy][models][property]") {
    for (const auto& version : list_compute_capabilities()) {
        const auto& cc = capability(version);
        for (const std::uint32_t block : {32U, 96U, 200U, 512U, 1024U}) {
            std::uint32_t previous = 1000;
            for (std::uint32_t registers = 0; registers <= 257; ++registers) {
                OccupancyInput in;
                in.block_threads = block;
                in.registers_per_thread = registers;
                const auto got = occupancy(cc, in).active_blocks_per_sm;
                CHECK(got <= previous);
                previous = got;
            }
            previous = 1000;
            for (std::uint64_t bytes = 0; bytes <= 240 * 1024; bytes += 997) {
                OccupancyInput in;
                in.block_threads = block;
                in.registers_per_thread = 16;
                in.dynamic_shared_bytes = bytes;
                const auto got = occupancy(cc, in).active_blocks_per_sm;
                CHECK(got <= previous);
                previous = got;
            }
        }
    }
}

TEST_CASE("occupancy: launches that are refused before residency counts", "[occupancy][models]") {
    OccupancyInput in;
    in.block_threads = 0;
    CHECK(occupancy(capability("8.0"), in).limiters == std::vector<std::string>{"block_size"});
    in.block_threads = 128;
    in.cluster_blocks = 4;
    const auto old = occupancy(capability("8.0"), in);
    CHECK(old.active_blocks_per_sm == 0);
    CHECK(old.limiters == std::vector<std::string>{"cluster"});
    CHECK(occupancy(capability("9.0"), in).active_blocks_per_sm == 16);
    in.cluster_blocks = 16;
    CHECK(occupancy(capability("9.0"), in).active_blocks_per_sm == 16);
    in.cluster_blocks = 17;
    CHECK(occupancy(capability("9.0"), in).active_blocks_per_sm == 0);
    in.cluster_blocks = 1;
    in.dynamic_shared_bytes = ~std::uint64_t{0} / 2;   // no wrap-around
    CHECK(occupancy(capability("9.0"), in).active_blocks_per_sm == 0);
}

TEST_CASE("occupancy: virtual resources limit blocks from 10.0 on", "[occupancy][models]") {
    OccupancyInput in;
    in.block_threads = 32;
    in.registers_per_thread = 16;
    in.virtual_resources = 16;
    CHECK(occupancy(capability("10.0"), in).active_blocks_per_sm == 8);
    CHECK(occupancy(capability("10.0"), in).limiters == std::vector<std::string>{"virtual_resources"});
    CHECK(occupancy(capability("9.0"), in).active_blocks_per_sm == 32);
}

TEST_CASE("occupancy: a cliff is the nearest change, and says what it leads to", "[occupancy][models]") {
    OccupancyInput in;
    in.block_threads = 256;
    in.registers_per_thread = 40;
    in.static_shared_bytes = 8192;
    const auto& cc = capability("8.0");
    const auto texts = [&](const OccupancyInput& of) {
        std::vector<std::string> all;
        for (const auto& cliff : nearest_cliffs(cc, of)) {
            all.push_back(cliff.change + ": " + cliff.becomes);
        }
        return all;
    };
    CHECK(texts(in) == std::vector<std::string>{"registers 40 -> 32: 8 blocks, 64 warps, 100 %", "registers 40 -> 41: 5 blocks, 40 warps, 62.5 %",
                                                "shared bytes 8192 -> 26881: 5 blocks, 40 warps, 62.5 %"});
    in.registers_per_thread = 65;
    in.block_threads = 1024;
    const auto cannot = texts(in);
    CHECK(std::find(cannot.begin(), cannot.end(), "registers 65 -> 64: 1 block, 32 warps, 50 %") != cannot.end());
    in.block_threads = 0;
    CHECK(texts(in).empty());
}

TEST_CASE("occupancy: on either side of every cliff the answer is what was promised", "[occupancy][models][property]") {
    for (const auto& version : list_compute_capabilities()) {
        const auto& cc = capability(version);
        for (const std::uint32_t block : {32U, 96U, 256U, 1000U}) {
            for (const std::uint32_t registers : {0U, 24U, 40U, 65U, 130U, 255U}) {
                for (const std::uint64_t shared : {0U, 1000U, 20000U, 49152U, 120000U}) {
                    OccupancyInput in;
                    in.block_threads = block;
                    in.registers_per_thread = registers;
                    in.static_shared_bytes = shared;
                    const auto now = occupancy(cc, in).active_blocks_per_sm;
                    const auto warps = occupancy(cc, in).active_warps_per_sm;
                    for (const auto& cliff : nearest_cliffs(cc, in)) {
                        INFO(version << ", block " << block << ", " << registers << " registers, " << shared << " bytes: " << cliff.change);
                        const auto from = cliff.change.substr(0, cliff.change.find(" -> "));
                        const auto to = std::stoull(cliff.change.substr(cliff.change.find(" -> ") + 4));
                        auto there = in, before = in;
                        if (from.rfind("registers", 0) == 0) {
                            there.registers_per_thread = static_cast<std::uint32_t>(to);
                            before.registers_per_thread = to < registers ? there.registers_per_thread + 1 : there.registers_per_thread - 1;
                            CHECK(occupancy(cc, there).active_blocks_per_sm != now);
                            CHECK(occupancy(cc, before).active_blocks_per_sm == now);
                        } else if (from.rfind("shared", 0) == 0) {
                            there.static_shared_bytes = to;
                            before.static_shared_bytes = to < shared ? to + 1 : to - 1;
                            CHECK(occupancy(cc, there).active_blocks_per_sm != now);
                            CHECK(occupancy(cc, before).active_blocks_per_sm == now);
                        } else {
                            there.block_threads = static_cast<std::uint32_t>(to);
                            CHECK(occupancy(cc, there).active_warps_per_sm > warps);
                        }
                        const auto then = occupancy(cc, there);
                        CHECK(cliff.becomes.rfind(std::to_string(then.active_blocks_per_sm) + " block", 0) == 0);
                    }
                }
            }
        }
    }
}
