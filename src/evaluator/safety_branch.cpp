// Branches. Decided ones split the lanes. Where one depends on data its lanes go one way, then from the same state the
// other, and every register that either wrote derives from both and from what decided: as a select does.
#include <bit>

#include "evaluator/prepare.hpp"
#include "evaluator/safety_warp.hpp"

namespace flipflop::eval {

void WarpRun::branch(Frame& f, const MicroOp& op) {
    const BlockProgram& from = fn(f).blocks[f.block];
    const Decision d = decide(f, op.guard, op.guard_negated, f.mask);
    if (op.guard != kNone && f.from.shaped(op.guard))
        for (u32 l = from.loop; l != kNone; l = fn(f).loops[l].parent) f.shaped_loops[l] = true;
    if (d.yes) go(f, f.block, from.targets.front(), d.yes);
    if (d.no) go(f, f.block, from.fall_through, d.no);
    if (d.maybe) undecided(f, op, d, from.targets.front(), from.fall_through);
}

void WarpRun::branch_index(Frame& f, const MicroOp& op) {
    const u32 block = f.block;
    const BlockProgram& from = fn(f).blocks[block];
    const Decision d = decide(f, op.guard, op.guard_negated, f.mask);
    const Value* index = op.src[0] == kNone ? nullptr : &f.slots[op.src[0]];
    if (d.maybe || !index || (index->known & d.yes) != d.yes) {
        b_.give_up("where the branch at " + line(op) + " goes depends on data");
        return;
    }
    b_.domain.tie(index->axes);
    for (u32 m = d.yes; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const u64 to = index->lane[lane] & 0xffffffffu;
        if (to < from.targets.size()) go(f, block, from.targets[to], 1u << lane);
    }
    if (d.no) go(f, block, from.fall_through, d.no);
}

/// The blocks between a branch and where its ways meet, and what they write.
const WarpRun::Ways& WarpRun::ways_of(const Frame& f, u32 block) {
    const auto [it, added] = ways_.try_emplace({f.function, block});
    Ways& ways = it->second;
    if (!added) return ways;
    const FunctionProgram& code = fn(f);
    const u32 stop = code.blocks[block].post_dominator;
    std::vector<bool> seen(code.blocks.size()), written(code.slots);
    std::vector<u32> work;
    const auto visit = [&](u32 b) {
        if (b == kNone || b == stop || seen[b]) return;
        seen[b] = true;
        work.push_back(b);
    };
    const auto successors = [&](u32 b) {
        const BlockProgram& from = code.blocks[b];
        const MicroOp* last = from.end > from.begin ? &code.ops[from.end - 1] : nullptr;
        const bool transfers = last && (last->op == Op::branch || last->op == Op::brx || last->op == Op::leave);
        for (const u32 t : from.targets) visit(t);
        if (!transfers || last->guard != kNone) visit(from.fall_through);
    };
    successors(block);
    bool stores_shared = false, loads_shared = false, barriers = false;
    while (!work.empty()) {
        const u32 b = work.back();
        work.pop_back();
        for (u32 i = code.blocks[b].begin; i < code.blocks[b].end; ++i) {
            const MicroOp& op = code.ops[i];
            for_each_write(code, op, [&](u32 s) { written[s] = true; });
            if (op.op == Op::call && p_.calls[op.payload].callee != kNone)
                for (const auto& link : p_.calls[op.payload].out)
                    if (link.second != kNone) written[link.second] = true;
            barriers |= op.op == Op::barrier;
            if (op.op != Op::load && op.op != Op::store && op.op != Op::access) continue;
            const MemoryOp& m = p_.memory[op.payload];
            if (m.space != ptx::Space::shared && m.space != ptx::Space::generic) continue;
            stores_shared |= m.writes && m.space == ptx::Space::shared;
            loads_shared |= m.reads && !m.atomic && m.space == ptx::Space::shared;
        }
        successors(b);
    }
    ways.can_be_joined = !seen[block] && !barriers && !(stores_shared && loads_shared);
    for (u32 s = 0; s < code.slots; ++s)
        if (written[s]) ways.written.push_back(s);
    return ways;
}

void WarpRun::undecided(Frame& f, const MicroOp& op, const Decision& d, u32 taken, u32 other) {
    const Ways& ways = ways_of(f, f.block);
    if (!ways.can_be_joined || uncertain_ > 8) {
        const bool loops = !ways.can_be_joined && fn(f).blocks[f.block].loop != kNone;
        b_.give_up((loops ? "how often a loop runs depends on data (" : "a branch depends on data and its ways cannot be joined (") + line(op) + ")");
        return;
    }
    if (op.guard != kNone) follow_both(f, op.guard, d.maybe, taken, other);
}

void WarpRun::follow_both(Frame& f, u32 guard, u32 lanes, u32 taken, u32 other) {
    const u32 block = f.block, mask = f.mask, meets = fn(f).blocks[block].post_dominator;
    const std::vector<u32>& written = ways_of(f, block).written;
    const std::size_t depth = stack_.size();
    auto pending = std::exchange(f.pending, std::vector<u32>(f.pending.size(), 0));
    auto waiting = std::exchange(f.waiting, std::vector<u32>(f.waiting.size(), 0));
    const u32 stop = std::exchange(f.stop, meets);
    Provenance why;
    why.clear();
    f.from.add_to(why, guard, lanes);
    const Provenance outside = guard_;
    for (unsigned m = why.mask; m; m &= m - 1) {
        const auto c = static_cast<u32>(std::countr_zero(m));
        guard_.open(c);
        for (unsigned l = 0; l < kLanes; ++l) guard_.add(c, l, (lanes >> l) & 1 ? why.sum[c][l] : 0);
    }
    guard_.lost |= why.lost;
    ++uncertain_;
    const Saved before = save(f, written);
    const LocalMemory local = local_;
    std::size_t dirty = dirty_.size();
    const auto side = [&](u32 to) {
        f.block = kNone;
        // A side that ends at once has nothing to run.
        if (to != meets && to != kNone) {
            f.pending[fn(f).blocks[to].order] |= lanes;
            drain(depth);
        }
    };
    side(taken);
    const Saved first = save(f, written);
    local_ = local;
    restore(f, written, before);
    side(other);
    --uncertain_;
    guard_ = outside;
    if (b_.stopped()) return;
    join(f, written, first, why, lanes);
    for (; dirty < dirty_.size(); ++dirty) {
        // What one side stored to local memory is there after it, or not: what it is, is not known.
        const auto cell = local_.find(dirty_[dirty]);
        if (cell == local_.end()) continue;
        cell->second.value.known &= ~lanes;
        cell->second.from.lost |= lanes;
    }
    f.pending = std::move(pending);
    f.waiting = std::move(waiting);
    f.stop = stop;
    f.block = block;
    f.mask = mask;
    if (meets == kNone) leave(f, lanes, stack_.size() == 1);
    else go(f, block, meets, lanes);
}

WarpRun::Saved WarpRun::save(const Frame& f, const std::vector<u32>& slots) const {
    Saved saved;
    saved.values.reserve(slots.size());
    saved.from.resize(slots.size());
    for (std::size_t k = 0; k < slots.size(); ++k) {
        saved.values.push_back(f.slots[slots[k]]);
        saved.from[k].clear();
        f.from.add_to(saved.from[k], slots[k], kAllLanes);
        saved.shaped.push_back(f.from.shaped(slots[k]));
    }
    return saved;
}

void WarpRun::restore(Frame& f, const std::vector<u32>& slots, const Saved& saved) {
    for (std::size_t k = 0; k < slots.size(); ++k) {
        f.slots[slots[k]] = saved.values[k];
        f.from.assign(slots[k], saved.from[k], {kAllLanes, kAllLanes});
        f.from.set_shaped(slots[k], saved.shaped[k]);
    }
}

void WarpRun::join(Frame& f, const std::vector<u32>& slots, const Saved& other, const Provenance& why, u32 lanes) {
    Provenance both;
    for (std::size_t k = 0; k < slots.size(); ++k) {
        Value& v = f.slots[slots[k]];
        const Value& w = other.values[k];
        const u32 known = v.known & lanes, known_there = w.known & lanes;
        u32 same = v.known & w.known & lanes;
        unsigned differ = 0;
        const unsigned live = static_cast<unsigned>(v.axes | w.axes) & b_.domain.live();
        for (unsigned a = 0; a < kAxes; ++a)
            if ((live & (1u << a)) && v.stride[a] != w.stride[a]) differ |= 1u << a;
        if (differ) same = 0;
        for (u32 m = same; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            if (v.lane[l] != w.lane[l]) same &= ~(1u << l);
        }
        const Value here = v;
        v.known &= ~lanes | same;
        const Provenance& theirs = other.from[k];
        for (u32 m = same; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            bool equal = !((f.from.lost(slots[k]) | theirs.lost) & (1u << l));
            for (u32 c = 0; c < kMaxClasses; ++c)
                equal &= reduced(f.from.at(slots[k], c, l)) == (theirs.mask & (1u << c) ? reduced(theirs.sum[c][l]) : 0);
            if (!equal) same &= ~(1u << l);
        }
        const u32 open = lanes & ~same;
        if (!open) continue;
        both.clear();
        f.from.add_to(both, slots[k], open);
        const auto add = [&](const Provenance& p) {
            for (unsigned m = p.mask; m; m &= m - 1) {
                const auto c = static_cast<u32>(std::countr_zero(m));
                both.open(c);
                for (unsigned l = 0; l < kLanes; ++l) both.add(c, l, (open >> l) & 1 ? p.sum[c][l] : 0);
            }
            both.lost |= p.lost & open;
        };
        add(theirs);
        add(why);
        s_.cancels = true;
        // What is chosen may be a number that another launch has otherwise.
        if (f.from.shaped(slots[k]) && (known & open)) add_constant(here, width_of(f, slots[k]), scrambled(2 * u64{slots[k]} + 1), known & open, both);
        if (other.shaped[k] && (known_there & open)) add_constant(w, width_of(f, slots[k]), scrambled(2 * u64{slots[k]}), known_there & open, both);
        f.from.assign(slots[k], both, {open, kAllLanes});
    }
}

}  // namespace flipflop::eval
