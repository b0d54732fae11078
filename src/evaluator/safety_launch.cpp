#include "evaluator/safety_launch.hpp"

#include <algorithm>
#include <bit>

namespace flipflop::eval {
namespace {

constexpr std::size_t kMostAtomicPlaces = 1u << 18;

class LaunchWalk {
public:
    LaunchWalk(SafetySession& session, const SafetyLimits& limits, LaunchRecord& record)
        : s_(session), limits_(limits), record_(record), block_(session),
          groups_(group_warps(session.launch.block, session.traits.cooperative)) {}

    void run() {
        const Dim3& grid = s_.launch.grid;
        const auto whole = [&](u32 group, std::array<u32, kWarpAxes> warps) {
            boxes_.push_back({{}, {grid.x, grid.y, grid.z, warps[0], warps[1]}, group});
        };
        if (s_.traits.cooperative) whole(0, {1, 1});
        else
            for (u32 g = static_cast<u32>(groups_.size()); g-- > 0;) whole(g, groups_[g].count);
        double total = 0, settled = 0;
        for (const GridBox& b : boxes_) total += b.volume();
        while (!boxes_.empty() && record_.unknown.empty()) {
            GridBox box = boxes_.back();
            boxes_.pop_back();
            evaluate(box, false);
            if (block_.classes.overflow()) evaluate(box, true);
            box_ = box;
            finish();
            settled += split(box);
            ++record_.runs;
            // A grid whose blocks must be followed one by one is given up as soon as that shows.
            const double expected = static_cast<double>(s_.steps) / settled * total / static_cast<double>(limits_.steps);
            if (record_.unknown.empty() && ((record_.runs >= 64 && expected > 4) || (record_.runs >= 16 && expected > 64))) {
                record_.beyond_limit = true;
                give_up("the grid is too large to prove block by block");
            }
        }
        record_.beyond_limit = record_.beyond_limit || (!record_.unknown.empty() && s_.steps > limits_.steps);
        record_.races = s_.races;
        record_.certain = !s_.cancels && !s_.entangled && !s_.traits.entangled && !s_.traits.collective;
    }

    /// Loads of bytes that the launch also writes and that nobody watched: run again with an eye on them.
    [[nodiscard]] bool watch_more() {
        bool more = false;
        for (const auto& [read, from] : reads_)
            for (const auto& [write, to] : writes_)
                if (from.first < to.second && to.first < from.second && !s_.watched[read]) more = s_.watched[read] = true;
        return more;
    }

private:
    void give_up(const std::string& why) {
        if (record_.unknown.empty()) record_.unknown = why;
    }

    void evaluate(const GridBox& box, bool point) {
        for (unsigned k = 0; k < kAxes; ++k) {
            block_.domain.set(k, k < kFirstLoopAxis && !point ? static_cast<i64>(box.extent[k]) : 1);
            block_.domain.movers[k] = kAllLanes;
        }
        const Corner corner = corner_of(s_, box);
        block_.run(corner.place, corner.groups);
    }

    /// Cuts off what the run did not settle; how many warps or blocks it did.
    double split(const GridBox& box) { return cut_settled(box, block_.domain, boxes_).volume(); }

    [[nodiscard]] i64 extent(unsigned axis) const { return block_.domain.extent[axis]; }

    /// Product of the series along the axes: what the box holds over what its corner holds.
    [[nodiscard]] u64 series_of(const MovedBy& target, const MovedBy& source) const {
        u64 product = 1;
        for (unsigned k = 0; k < kFirstLoopAxis; ++k) {
            if (extent(k) <= 1) continue;
            const u64 q = times(target_powers().moved(target[k]), source_powers().moved(source[k]));
            product = times(product, series(q, static_cast<u64>(extent(k))));
        }
        return product;
    }
    [[nodiscard]] double copies() const {
        double n = 1;
        for (unsigned k = 0; k < kFirstLoopAxis; ++k) n *= static_cast<double>(extent(k));
        return n;
    }

    /// Elements of one box that move alike, summed at its corner.
    struct Group {
        MovedBy stride{};
        bool conditional{};
        u64 pairs{};
        std::array<u64, kMaxClasses> sums{};
        struct Known { MovedBy stride{}; bool is_float{}; u64 sum{}; };
        std::vector<Known> known;
        double bytes{};
        u64 low{~u64{0}}, high{};
    };

    Group& group_of(std::vector<Group>& groups, const MovedBy& stride, bool conditional) {
        for (Group& g : groups)
            if (g.stride == stride && g.conditional == conditional) return g;
        Group& g = groups.emplace_back();
        g.stride = stride;
        g.conditional = conditional;
        return g;
    }

    void add(Group& g, u64 address, unsigned bytes, const Element& e, const MovedBy& value_stride, bool is_float) {
        const u64 at = times(target_powers().of(address), target_run(bytes));
        g.pairs = plus(g.pairs, at);
        g.bytes += bytes;
        g.low = std::min(g.low, address);
        g.high = std::max(g.high, address + bytes);
        for (unsigned m = e.mask; m; m &= m - 1) {
            const auto c = static_cast<std::size_t>(std::countr_zero(m));
            g.sums[c] = plus(g.sums[c], times(at, e.sum[c]));
        }
        if (!e.known) return;
        const auto same = std::find_if(g.known.begin(), g.known.end(), [&](const auto& k) { return k.stride == value_stride && k.is_float == is_float; });
        auto& k = same == g.known.end() ? g.known.emplace_back(Group::Known{value_stride, is_float, 0}) : *same;
        // The bits, a bit pattern's top bits folded in: an element of their own.
        const u64 bits = times(source_powers().of(e.bits & width_mask(60)), 1 + (e.bits >> 60));
        k.sum = plus(k.sum, times(at, bits));
    }

    void settle(const std::vector<Group>& groups, WriteSums& sums, bool conditional) {
        for (const Group& g : groups) {
            if (g.conditional != conditional) continue;
            sums.pairs = plus(sums.pairs, times(g.pairs, series_of(g.stride, {})));
            for (u32 c = 0; c < block_.classes.size(); ++c) {
                if (!g.sums[c]) continue;
                const ByteClass& cls = block_.classes[c];
                u64& to = cls.vague ? sums.vague : sums.derived;
                to = plus(to, times(g.sums[c], series_of(g.stride, cls.stride)));
            }
            for (const auto& k : g.known) {
                u64& to = k.is_float ? sums.known_float : sums.known;
                to = plus(to, times(k.sum, series_of(g.stride, k.stride)));
            }
            sums.bytes += g.bytes * copies();
            const auto [low, high] = hull(g.stride, g.low, g.high);
            sums.low = std::min(sums.low, low);
            sums.high = std::max(sums.high, high);
        }
        for (u64* s : {&sums.pairs, &sums.derived, &sums.vague, &sums.known, &sums.known_float}) *s = reduced(*s);
    }

    [[nodiscard]] std::pair<u64, u64> hull(const MovedBy& stride, u64 low, u64 high) const {
        for (unsigned k = 0; k < kFirstLoopAxis; ++k) {
            const i64 reach = stride[k] * (extent(k) - 1);
            if (reach < 0) low += static_cast<u64>(reach);
            else high += static_cast<u64>(reach);
        }
        return {low, high};
    }

    void finish() {
        const BlockFindings& found = block_.findings;
        if (record_.breach.what.empty()) record_.breach = found.breach;
        if (!found.unknown.empty()) return give_up(found.unknown);
        finish_stores();
        finish_atomics();
        for (const Span& s : found.spans) {
            const auto [low, high] = hull(s.stride, s.low, s.high);
            auto& list = s.writes ? writes_ : reads_;
            const auto it = std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.first == s.op; });
            if (it == list.end()) list.push_back({s.op, {low, high}});
            else it->second = {std::min(it->second.first, low), std::max(it->second.second, high)};
        }
        if (!block_.global.reads_are_own()) give_up("it reads bytes of an array that other threads write, and nothing orders them");
    }

    void finish_stores() {
        std::vector<Group> groups;
        BoxWrites kept;
        const unsigned bytes = block_.global.granule();
        for (const GlobalWrites::Entry& e : block_.global.entries()) {
            const StoreRecord& r = block_.global.records()[e.record];
            if (r.value.lost) return give_up("what is stored at " + line_of(r.op) + " cannot be followed");
            add(group_of(groups, r.stride, r.conditional), e.granule * bytes, bytes, r.value, r.value_stride, r.is_float);
            if (!record_.boxes_complete) continue;
            if (++items_ > limits_.kept_items) {
                record_.boxes_complete = false;
                record_.boxes.clear();
                continue;
            }
            kept.items.push_back({e.granule * bytes, r.stride, r.thread, r.op, static_cast<std::uint8_t>(bytes), r.conditional, r.value.mask, r.value.sum});
        }
        settle(groups, record_.stores, false);
        settle(groups, record_.conditional, true);
        if (!record_.boxes_complete) return;
        kept.box = box_;
        for (unsigned k = 0; k < kFirstLoopAxis; ++k) kept.extent[k] = extent(k);
        for (u32 c = 0; c < block_.classes.size(); ++c) kept.classes.push_back(block_.classes[c]);
        record_.boxes.push_back(std::move(kept));
    }

    void finish_atomics() {
        std::vector<Group> groups;
        for (const AtomicRecord& a : block_.findings.atomics) {
            if (a.value.lost) return give_up("the result of the atomic operation at " + line_of(a.op) + " depends on order");
            Element e = a.value;
            e.known = false;
            add(group_of(groups, a.stride, false), a.address, a.bytes, e, {}, false);
            note_places(a);
        }
        settle(groups, record_.atomics, false);
    }

    void note_places(const AtomicRecord& a) {
        if (!record_.atomic_places_complete) return;
        double count = 1;
        for (unsigned k = 0; k < kFirstLoopAxis; ++k)
            if (a.stride[k]) count *= static_cast<double>(extent(k));
        if (count + static_cast<double>(record_.atomic_places.size()) > kMostAtomicPlaces) {
            record_.atomic_places_complete = false;
            return;
        }
        std::array<i64, kFirstLoopAxis> at{};
        for (;;) {
            u64 address = a.address;
            for (unsigned k = 0; k < kFirstLoopAxis; ++k) address += static_cast<u64>(a.stride[k] * at[k]);
            record_.atomic_places.insert({address, a.bytes});
            unsigned k = 0;
            for (; k < kFirstLoopAxis; ++k) {
                if (!a.stride[k]) continue;
                if (++at[k] < extent(k)) break;
                at[k] = 0;
            }
            if (k == kFirstLoopAxis) return;
        }
    }

    [[nodiscard]] std::string line_of(u32 memory) const {
        const MemoryOp& m = s_.program.memory[memory];
        return eval::line_of(s_.program, m.function, m.instruction);
    }

    SafetySession& s_;
    const SafetyLimits& limits_;
    LaunchRecord& record_;
    BlockRun block_;
    std::vector<WarpGroup> groups_;
    std::vector<GridBox> boxes_;
    GridBox box_;                            ///< of the last run
    std::vector<std::pair<u32, std::pair<u64, u64>>> reads_, writes_;   ///< by memory operation
    std::size_t items_{};
};

}  // namespace

Corner corner_of(const SafetySession& session, const GridBox& box) {
    Corner corner;
    for (unsigned k = 0; k < kBlockAxes; ++k) corner.place.block[k] = box.low[k];
    for (unsigned k = 0; k < kWarpAxes; ++k) corner.place.warp[k] = static_cast<u32>(box.low[kBlockAxes + k]);
    corner.groups = group_warps(session.launch.block, session.traits.cooperative);
    if (!session.traits.cooperative) corner.groups = {corner.groups[box.group]};
    return corner;
}

LaunchRecord follow_launch(const Program& program, const SafetyTraits& traits, const Launch& launch,
                           const std::vector<bool>& watched, const SafetyLimits& limits) {
    SafetySession session(program, traits, launch);
    session.budget = limits.steps;
    if (watched.size() == session.watched.size()) session.watched = watched;
    for (u64 before = 0;; before += session.steps) {
        LaunchRecord record;
        session.steps = 0;
        session.races.clear();
        LaunchWalk walk(session, limits, record);
        walk.run();
        record.steps = before + session.steps;
        if (record.unknown.empty() && walk.watch_more()) continue;
        record.watched = session.watched;
        return record;
    }
}

}  // namespace flipflop::eval
