// Footprints: the bytes of the grid, of one interior block, of its neighbours.
#include <algorithm>
#include <numeric>

#include "evaluator/collect.hpp"

namespace flipflop::eval {
namespace {

bool covers(const BoxInfo& box, const std::array<u64, 3>& block) {
    for (unsigned k = 0; k < 3; ++k)
        if (block[k] < box.low[k] || block[k] >= box.low[k] + box.extent[k]) return false;
    return true;
}

}  // namespace

std::array<u64, 3> interior_block(const Dim3& grid) {
    // In a grid of two rows the half is the edge.
    const auto middle = [](u32 n) { return u64{n < 2 ? 0 : std::min(n / 2, n - 2)}; };
    return {middle(grid.x), middle(grid.y), middle(grid.z)};
}

/// The interior block; where it does nothing (a grid larger than its work, blocks that leave at once), the middle of the
/// smallest box around all blocks that read or write, and the share of the grid that this box is. Neither depends on the
/// boxes that the grid was followed in.
Collector::WorkingBlock Collector::working_block() const {
    const Dim3& grid = s_.launch.grid;
    WorkingBlock working{interior_block(grid), 1};
    const auto does_it = [&](const KeptBox& box) { return !box.records.empty() && covers(box.box, folding_.folded(working.block)); };
    if (sampled_ || std::any_of(kept_.begin(), kept_.end(), does_it)) return working;
    const std::array<u64, 3> whole{std::min<u64>(grid.x, folding_.period[0]), std::min<u64>(grid.y, folding_.period[1]), std::min<u64>(grid.z, folding_.period[2])};
    std::array<u64, 3> low = whole, high{};
    for (const KeptBox& box : kept_) {
        if (box.records.empty()) continue;
        for (unsigned k = 0; k < 3; ++k) {
            low[k] = std::min(low[k], box.box.low[k]);
            high[k] = std::max(high[k], box.box.low[k] + box.box.extent[k]);
        }
    }
    if (high[0] == 0) return working;   // nobody does anything
    for (unsigned k = 0; k < 3; ++k) {
        const u64 extent = high[k] - low[k];
        working.block[k] = low[k] + (extent < 2 ? 0 : std::min(extent / 2, extent - 2));
        working.share *= static_cast<double>(extent);
    }
    for (const u64 extent : whole) working.share /= static_cast<double>(extent);
    return working;
}

/// An interior block that was cut at the work limit: what it will have done over what it did until then, of average blocks.
/// Its sets are taken to grow as they have grown so far.
double Collector::unfollowed() const {
    if (!interior_cut_ || interior_executions_ <= 0) return 1;
    std::vector<double> executions;
    for (const auto& [key, count] : counts_) executions.push_back(count.warps);
    std::sort(executions.begin(), executions.end());   // the same sum on every machine
    const double all = std::accumulate(executions.begin(), executions.end(), 0.0);
    return std::max(1.0, all / static_cast<double>(s_.launch.grid.count()) / interior_executions_);
}

ByteSet Collector::block_set(std::array<u64, 3> block, bool reads) const {
    block = folding_.folded(block);
    ByteSet set(1u << 12);
    for (const KeptBox& box : kept_) {
        if (!covers(box.box, block)) continue;
        for (const Kept& r : box.records) {
            const MemoryOp& m = p_.memory[r.memory];
            if (!(reads ? m.reads : m.writes)) continue;
            u64 base = r.base;
            AxisRepeats axes;
            for (unsigned k = 0; k < kAxes; ++k) {
                if (k < kBlockAxes) base += static_cast<u64>(r.stride[k]) * (block[k] - box.box.low[k]);
                else axes.push_back({r.stride[k], r.extent[k]});
            }
            set.add(s_.shapes.facts(r.shape), base, axes);
        }
    }
    return set.sectors();
}

/// Sectors of each executed instruction over the warps of a block, summed: what L1 would have to bring in if nothing of
/// one instruction were still there for the next.
std::optional<double> Collector::instruction_sectors(std::array<u64, 3> block) const {
    struct Piece { const Kept* record{}; u64 base{}; AxisRepeats axes; };
    block = folding_.folded(block);
    std::vector<Piece> pieces;
    double sum = 0;
    for (const KeptBox& box : kept_) {
        if (!covers(box.box, block)) continue;
        pieces.reserve(pieces.size() + box.records.size());
        for (const Kept& r : box.records) {
            if (!p_.memory[r.memory].reads) continue;
            Piece& piece = pieces.emplace_back(Piece{&r, r.base, {}});
            for (unsigned k = 0; k < kFirstLoopAxis; ++k) {
                if (k < kBlockAxes) piece.base += static_cast<u64>(r.stride[k]) * (block[k] - box.box.low[k]);
                else if (r.stride[k] != 0 && r.extent[k] > 1) piece.axes.push_back({r.stride[k], r.extent[k]});
            }
        }
    }
    const auto key = [](const Piece& p) { return std::pair{p.record->memory, p.record->occurrence}; };
    const auto before = [&](const Piece& x, const Piece& y) { return key(x) < key(y); };
    if (!std::is_sorted(pieces.begin(), pieces.end(), before)) std::stable_sort(pieces.begin(), pieces.end(), before);
    // Unrolled code asks the same of one shape again and again: only where it lies within a line matters.
    const Piece* last = nullptr;
    double last_sectors = 0;
    for (std::size_t from = 0, to = 0; from < pieces.size(); from = to) {
        double times = 1;
        for (to = from; to < pieces.size() && key(pieces[to]) == key(pieces[from]); ++to) {
            double loops = 1;
            for (unsigned k = kFirstLoopAxis; k < kAxes; ++k) loops *= static_cast<double>(pieces[to].record->extent[k]);
            times = std::max(times, loops);
        }
        const Piece& first = pieces[from];
        const auto residue = static_cast<unsigned>(first.base & 127);
        const bool alone = to == from + 1;
        if (alone && first.axes.empty()) { sum += s_.shapes.sectors(first.record->shape, residue) * times; continue; }
        if (alone && last && last->record->shape == first.record->shape && (last->base & 127) == residue && last->axes == first.axes) {
            sum += last_sectors * times;
            continue;
        }
        ByteSet set(1u << 12);
        for (std::size_t k = from; k < to; ++k) set.add(s_.shapes.facts(pieces[k].record->shape), pieces[k].base, pieces[k].axes);
        const auto bytes = set.sectors().size();
        if (!bytes) return std::nullopt;
        const double sectors = static_cast<double>(*bytes) / 32;
        if (alone) { last = &first; last_sectors = sectors; }
        sum += sectors * times;
    }
    return sum;
}

void Collector::footprint(LaunchFacts& facts) const {
    Footprint& f = facts.footprint;
    if (footprint_lost_) { f.why = footprint_why_; return; }
    const Dim3& grid = s_.launch.grid;
    const auto [block, working_share] = working_block();
    const double share = working_share * unfollowed();
    const ByteSet reads = block_set(block, true);
    if (const auto own = reads.size()) {
        f.block_sectors = share * static_cast<double>(*own) / 32;
        const std::array<u32, 3> extent{grid.x, grid.y, grid.z};
        const std::array<std::optional<double>*, 3> overlap{&f.overlap_x, &f.overlap_y, &f.overlap_z};
        for (unsigned k = 0; k < 3; ++k) {
            if (extent[k] < 2) continue;
            auto next = block;
            next[k] += 1;
            ByteSet both = block_set(next, true);
            const auto other = both.size();
            both.add(reads);
            const auto all = both.size();
            // What is in both is what the union has not twice.
            if (other && all) *overlap[k] = *own > 0 ? static_cast<double>(*own + *other - *all) / static_cast<double>(*own) : 0.0;
        }
    }
    if (const auto own = block_set(block, false).size()) f.block_store_sectors = share * static_cast<double>(*own) / 32;
    f.block_instruction_sectors = instruction_sectors(block);
    if (f.block_instruction_sectors) *f.block_instruction_sectors *= share;
    if (global_unknown_) f.why = "some global addresses depend on data: they are left out of the sets";
    if (sampled_) { f.why = "the grid was sampled, not enumerated"; return; }
    for (const bool side : {true, false}) {
        ByteSet set;
        for (const KeptBox& box : kept_)
            for (const Kept& r : box.records) {
                const MemoryOp& m = p_.memory[r.memory];
                if (!(side ? m.reads : m.writes)) continue;
                AxisRepeats axes;
                for (unsigned k = 0; k < kAxes; ++k) axes.push_back({r.stride[k], r.extent[k]});
                set.add(s_.shapes.facts(r.shape), r.base, axes);
            }
        const auto bytes = set.size();
        const auto sectors = set.sectors().size();
        if (!bytes) f.why = "the bytes lie in more pieces than are followed";
        if (global_unknown_) continue;
        if (bytes) (side ? f.unique_read_bytes : f.unique_written_bytes) = static_cast<double>(*bytes);
        if (sectors) (side ? f.grid_read_sectors : f.grid_written_sectors) = static_cast<double>(*sectors) / 32;
    }
}

}  // namespace flipflop::eval
