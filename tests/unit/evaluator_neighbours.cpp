// What blocks that run together read: the footprint of one block, what its neighbours share with it and what the grid reads,
// held against the naive machine, which lists every byte that every thread of every block touches.
#include <algorithm>
#include <map>
#include <set>

#include "catch.hpp"
#include "flipflop/evaluator.hpp"
#include "naive/naive_grid.hpp"
#include "naive/random_kernel.hpp"

namespace {

using flipflop::ArgumentValue;
using flipflop::Dim3;
using flipflop::Launch;

using Place = std::array<std::uint32_t, 3>;
using Sectors = std::set<std::uint64_t>;

/// The sectors of device memory that each block reads and writes.
class ByBlock : public naive::Listener {
public:
    void begin_block(const Dim3& block) override { at_ = {block.x, block.y, block.z}; }
    void touched(const naive::Thread&, std::uint64_t, const flipflop::ptx::Instruction&, const naive::Touch& touch) override {
        if (touch.space != flipflop::ptx::Space::global) return;
        if (!touch.address) { lost = true; return; }
        for (std::uint64_t sector = *touch.address / 32; sector <= (*touch.address + touch.bytes - 1) / 32; ++sector) {
            if (touch.reads) reads[at_].insert(sector);
            if (touch.writes) writes[at_].insert(sector);
        }
    }
    std::map<Place, Sectors> reads, writes;
    bool lost{};

private:
    Place at_{};
};

ArgumentValue argument(std::uint64_t value, unsigned bytes) {
    ArgumentValue a;
    for (unsigned i = 0; i < bytes; ++i) a.bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return a;
}

double common(const Sectors& a, const Sectors& b) {
    return static_cast<double>(std::count_if(a.begin(), a.end(), [&](std::uint64_t s) { return b.contains(s); }));
}

Sectors all_of(const std::map<Place, Sectors>& blocks) {
    Sectors all;
    for (const auto& [at, sectors] : blocks) all.insert(sectors.begin(), sectors.end());
    return all;
}

std::uint32_t middle(std::uint32_t n) { return n < 2 ? 0 : std::min(n / 2, n - 2); }

}  // namespace

TEST_CASE("footprints of blocks and their resident neighbours are the naive machine's, on random kernels", "[evaluator][footprint][naive]") {
    unsigned whole = 0, partly = 0, together = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const naive::RandomKernel kernel = naive::random_kernel(seed);
        const auto parsed = flipflop::ptx::parse(std::make_shared<const std::string>(kernel.text), "made.ptx");
        REQUIRE(parsed.errors == 0);
        Launch launch;
        launch.block = {kernel.block_x, kernel.block_y, 1};
        launch.grid = {std::max(2u, kernel.grid_x), std::max(2u, kernel.grid_y), 1};
        launch.arguments = {argument(0x1000000000, 8), argument(0x2000000000, 8), argument(static_cast<std::uint32_t>(kernel.n), 4)};
        ByBlock truth;
        try {
            naive::Grid(parsed.modules[0], 0, launch, truth, {}).run();
        } catch (const naive::GiveUp&) {
            continue;
        }
        if (truth.lost) continue;
        const auto f = flipflop::Evaluator(flipflop::analyse_kernel(parsed.modules[0], 0)).evaluate(launch).footprint;
        INFO("seed " << seed << " block " << kernel.block_x << "," << kernel.block_y << " grid " << launch.grid.x << "," << launch.grid.y << "\n" << kernel.text);
        if (f.grid_read_sectors) CHECK(*f.grid_read_sectors == static_cast<double>(all_of(truth.reads).size()));
        if (f.grid_written_sectors) CHECK(*f.grid_written_sectors == static_cast<double>(all_of(truth.writes).size()));
        const Place here{middle(launch.grid.x), middle(launch.grid.y), 0};
        const Sectors own = truth.reads[here];
        if (own.empty() && truth.writes[here].empty()) continue;     // another block stands for the grid then
        if (f.block_sectors) CHECK(*f.block_sectors == static_cast<double>(own.size()));
        if (f.block_store_sectors) CHECK(*f.block_store_sectors == static_cast<double>(truth.writes[here].size()));
        if (own.empty()) continue;
        const std::optional<double> overlaps[]{f.overlap_x, f.overlap_y};
        for (unsigned axis = 0; axis < 2; ++axis) {
            Place next = here;
            ++next[axis];
            if (!overlaps[axis]) continue;
            ++together;
            const double share = common(own, truth.reads[next]) / static_cast<double>(own.size());
            CHECK(*overlaps[axis] == Approx(share));
            (share < 1 ? partly : whole) += 1;
        }
    }
    INFO(together << " pairs of neighbours: " << whole << " read the same, " << partly << " not all of it");
    CHECK(whole >= 20);
    CHECK(partly >= 50);
}
