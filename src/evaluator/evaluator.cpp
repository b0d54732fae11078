// The grid as boxes of blocks and warps: each run settles as much of a box as it is valid for, what is left is cut into
// smaller boxes, until nothing is left or the budget is (then the rest is sampled and marked).
#include "flipflop/evaluator.hpp"

#include <deque>

#include "evaluator/collect.hpp"
#include "evaluator/prepared.hpp"

namespace flipflop {

using namespace eval;

std::string_view to_string(CountBasis basis) {
    switch (basis) {
    case CountBasis::exact: return "exact";
    case CountBasis::sampled: return "sampled";
    case CountBasis::assumed: return "assumed";
    case CountBasis::wait: return "wait";
    case CountBasis::unknown: return "unknown";
    }
    return "unknown";
}

std::string_view to_string(Pattern pattern) {
    switch (pattern) {
    case Pattern::coalesced: return "coalesced";
    case Pattern::strided: return "strided";
    case Pattern::broadcast: return "broadcast";
    case Pattern::misaligned: return "misaligned";
    case Pattern::gather: return "gather";
    case Pattern::scatter: return "scatter";
    case Pattern::conflict: return "conflict";
    case Pattern::piecewise: return "piecewise";
    case Pattern::unknown: return "unknown";
    }
    return "unknown";
}

Evaluator::Evaluator(const KernelCode& code, EvaluatorOptions options) : prepared_(std::make_unique<Prepared>(Prepared{prepare(code), options})) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

namespace {

struct Box : GridBox {
    double weight{1};                        ///< how many blocks like each of its own there are
};

class Partition {
public:
    Partition(Session& session, Collector& collector, const EvaluatorOptions& options, const Folding& folding)
        : s_(session), collector_(collector), options_(options), folding_(folding), groups_(group_warps(session.launch.block, session.cooperative)) {}

    void run() {
        const Dim3& grid = s_.launch.grid;
        const auto whole = [&](u32 group, std::array<u32, kWarpAxes> warps) { first_boxes(group, {grid.x, grid.y, grid.z, warps[0], warps[1]}); };
        if (s_.cooperative) whole(0, {1, 1});
        else
            for (u32 g = static_cast<u32>(groups_.size()); g-- > 0;) whole(g, groups_[g].count);
        // Small grids are always enumerated; large ones until the boxes stop paying.
        const u64 warps = grid.count() * ((s_.launch.block.count() + kLanes - 1) / kLanes);
        const bool small = grid.count() <= options_.whole_grid_blocks || warps <= options_.whole_grid_warps;
        const u64 step_limit = small ? s_.budget : s_.budget / 2;
        const u64 box_limit = small ? ~u64{0} : 2048;
        u64 longest = 0;
        for (u64 count = 0; !boxes_.empty(); ++count) {
            // A run like those before would be cut: what is left is sampled.
            if (s_.steps > step_limit || count > box_limit || s_.steps + longest + longest / 8 > s_.budget) return sample();
            const Box box = boxes_.back();
            boxes_.pop_back();
            const u64 before = s_.steps;
            evaluate(box, false, box.weight);
            longest = std::max(longest, s_.steps - before);
            rests_.clear();
            cut_settled(box, s_.domain, rests_);
            for (const GridBox& rest : rests_) boxes_.push_back({rest, box.weight});
        }
    }

private:
    /// The grid as one box, or where it repeats itself as the blocks of its first period, each as often as it comes round.
    void first_boxes(u32 group, const std::array<u64, kFirstLoopAxis>& extent) {
        std::vector<Box> all{{{{}, extent, group}, 1}};
        for (unsigned k = 0; k < kBlockAxes; ++k) {
            const u64 period = folding_.period[k];
            if (period >= extent[k]) continue;
            std::vector<Box> next;
            for (const Box& box : all) {
                const u64 times = extent[k] / period, rest = extent[k] % period;
                Box more = box, less = box;
                more.extent[k] = rest;
                more.weight *= static_cast<double>(times + 1);
                less.low[k] = rest;
                less.extent[k] = period - rest;
                less.weight *= static_cast<double>(times);
                if (rest) next.push_back(more);
                next.push_back(less);
            }
            all = std::move(next);
        }
        boxes_.insert(boxes_.end(), all.rbegin(), all.rend());
    }

    void evaluate(const Box& box, bool point, double weight, bool keep = true) {
        ++s_.runs;
        const u64 before = s_.steps;
        s_.trace.clear();
        for (unsigned k = 0; k < kAxes; ++k) {
            s_.domain.set(k, k < kFirstLoopAxis && !point && !options_.one_by_one ? static_cast<i64>(box.extent[k]) : 1);
            s_.domain.movers[k] = kAllLanes;
        }
        Place place;
        for (unsigned k = 0; k < kBlockAxes; ++k) place.block[k] = box.low[k];
        for (unsigned k = 0; k < kWarpAxes; ++k) place.warp[k] = static_cast<u32>(box.low[kBlockAxes + k]);
        for (Page& page : warps_) page.clear();
        if (s_.cooperative) together(place);
        else {
            if (machines_.empty()) machines_.push_back(std::make_unique<Machine>(s_));
            machines_[0]->start(place, groups_[box.group]);
            while (machines_[0]->run() != Machine::Status::done) {}
        }
        s_.all_steps += s_.steps - before;
        if (!keep) return;
        BoxInfo info;
        for (unsigned k = 0; k < kBlockAxes; ++k) info.low[k] = box.low[k];
        info.sampled = point;
        info.weight = weight;
        collector_.add(info);
        if (!apart()) return;
        if (s_.cooperative) {
            for (const Page& page : warps_) collector_.add_warps(page, info);
        } else {
            collector_.add_warps(s_.trace.pages[0], info);
        }
    }

    /// Is it asked what each warp of a block does by itself?
    [[nodiscard]] bool apart() const { return s_.program.has_roles || s_.program.barriers > 0; }

    /// All warps of a block in turn, each to its next barrier: what one writes to shared memory the others read.
    void together(Place place) {
        s_.shared.reset(s_.program.map.dynamic_shared + s_.launch.dynamic_shared_bytes);
        while (machines_.size() < groups_.size()) machines_.push_back(std::make_unique<Machine>(s_));
        std::vector<bool> done(groups_.size());
        Page& block = block_;
        block.clear();
        if (apart()) warps_.resize(groups_.size());
        for (std::size_t w = 0; w < groups_.size(); ++w) machines_[w]->start(place, groups_[w]);
        for (bool some = true; some;) {
            some = false;
            for (std::size_t w = 0; w < groups_.size(); ++w) {
                if (done[w]) continue;
                if (apart()) std::swap(s_.trace.pages[0], block);
                done[w] = machines_[w]->run() == Machine::Status::done;
                some |= !done[w];
                if (!apart()) continue;
                // No loop summary stays open over a barrier: all that this warp did is in the first page.
                warps_[w].add_counts(s_.trace.pages[0]);
                std::swap(s_.trace.pages[0], block);
                s_.trace.pages[0].fold(block, 1);
            }
        }
    }

    /// Points spread evenly over what is left, in a fixed order: as many as another budget pays for.
    void sample() {
        double total = 0;
        for (const Box& b : boxes_) total += b.volume() * b.weight;
        collector_.mark_sampled();
        grant(1);
        const u64 before = s_.steps;
        evaluate(point_at(total, 0.5), true, 0, false);
        const u64 cost = std::max<u64>(1, s_.steps - before);
        const u64 points = std::clamp<u64>(s_.budget / cost, 6, 96);
        // One that takes a little longer than its like is not to be cut; where the first was cut itself, all are.
        const u64 least = cost < s_.budget / 4 ? cost + cost / 8 : 0;
        for (u64 k = 0; k < points; ++k) {
            grant(points, least);
            evaluate(point_at(total, (static_cast<double>(k) + 0.5) / static_cast<double>(points)), true, total / static_cast<double>(points));
        }
        boxes_.clear();
        // How often loops run is known from the points; where the interior block is cut, its footprint alone is too small.
        const std::vector<std::uint8_t> doubt = s_.loop_doubt;
        interior(least);
        s_.loop_doubt = doubt;
    }

    /// Leaves a run at most a quarter of the budget, or its share of it where there are more; `least` where that is less.
    void grant(u64 runs, u64 least = 0) {
        const u64 share = std::min(s_.budget, std::max(least, s_.budget / std::max<u64>(4, runs)));
        s_.steps = std::min(s_.steps, s_.budget - share);
    }

    /// The point at a share of all that is left: mixed radix digits, scrambled so that no axis is always taken alike.
    Box point_at(double total, double share) const {
        const double want = share * total;
        double before = 0;
        std::size_t at = 0;
        const auto size = [&](std::size_t k) { return boxes_[k].volume() * boxes_[k].weight; };
        while (at + 1 < boxes_.size() && before + size(at) <= want) before += size(at++);
        const Box& box = boxes_[at];
        u64 index = static_cast<u64>(std::max(0.0, want - before) / box.weight);
        const auto turn = static_cast<u64>(share * 672);
        Box one = box;
        for (unsigned a = 0; a < kFirstLoopAxis; ++a) {
            one.low[a] += (index + turn) % box.extent[a];
            index /= box.extent[a];
            one.extent[a] = 1;
        }
        return one;
    }

    /// The interior block and its next neighbours, all warps, with no weight: their footprints need them whole.
    void interior(u64 least) {
        const Dim3& grid = s_.launch.grid;
        const std::array<u64, kBlockAxes> middle = interior_block(grid), extent{grid.x, grid.y, grid.z};
        for (unsigned axis = 0; axis <= kBlockAxes; ++axis) {
            if (axis > 0 && extent[axis - 1] < 2) continue;
            Box one;
            std::array<u64, kBlockAxes> block = middle;
            if (axis > 0) ++block[axis - 1];
            block = folding_.folded(block);
            std::copy(block.begin(), block.end(), one.low.begin());
            one.extent.fill(1);
            for (u32 g = 0; g < (s_.cooperative ? 1 : groups_.size()); ++g) {
                const std::array<u32, kWarpAxes> count = s_.cooperative ? std::array<u32, kWarpAxes>{1, 1} : groups_[g].count;
                const u32 warps = count[0] * count[1];
                one.group = g;
                for (u32 i = 0; i < warps; ++i) {
                    one.low[kBlockAxes] = i % count[0];
                    one.low[kBlockAxes + 1] = i / count[0];
                    grant(2 * warps, 2 * warps * least <= s_.budget ? least : 0);
                    evaluate(one, true, 0);
                }
            }
        }
    }

    Session& s_;
    Collector& collector_;
    const EvaluatorOptions& options_;
    const Folding& folding_;
    std::vector<WarpGroup> groups_;
    std::vector<Box> boxes_;
    std::vector<GridBox> rests_;
    std::vector<std::unique_ptr<Machine>> machines_;
    std::vector<Page> warps_;                ///< by warp, where the warps of a block run together
    Page block_;                             ///< ... and what they did together so far
};

}  // namespace

LaunchFacts Evaluator::evaluate(const Launch& launch, std::optional<std::uint64_t> budget) const {
    const Program& program = prepared_->program;
    if (program.functions.empty() || launch.block.count() == 0 || launch.grid.count() == 0) {
        LaunchFacts nothing;
        nothing.phases.resize(1);
        nothing.basis = CountBasis::unknown;
        return nothing;
    }
    Session session(program, launch);
    session.budget = budget.value_or(prepared_->options.budget);
    session.cooperative = program.shared_is_read;
    session.summarise = !prepared_->options.one_by_one;
    const Folding folding = prepared_->options.one_by_one ? Folding{} : folding_of(program, launch);
    Collector collector(session, folding);
    Partition(session, collector, prepared_->options, folding).run();
    return collector.finish();
}

}  // namespace flipflop
