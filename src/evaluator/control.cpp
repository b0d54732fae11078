// Branches: decided ones split the lanes, undecided ones send them both ways and are remembered until the ways meet.
#include <bit>
#include <cmath>

#include "evaluator/anchors.hpp"
#include "evaluator/machine.hpp"
#include "passes/source_lines.hpp"

namespace flipflop::eval {

Machine::Decision Machine::decide(Activation& a, u32 guard, bool negated, u32 mask) {
    if (guard == kNone) return {mask, 0, 0};
    const Value& g = a.slots[guard];
    u32 truth = 0;
    if (g.uniform) {
        truth = g.lane[0] ? kAllLanes : 0;
    } else {
        for (unsigned l = 0; l < kLanes; ++l) truth |= g.lane[l] ? 1u << l : 0u;
    }
    if (negated) truth = ~truth;
    const u32 known = g.known & mask;
    return {truth & known, ~truth & known, mask & ~known};
}

u64 Machine::open_region(Activation& a, u32 end, u32 mask, Doubt doubt) {
    a.tainted_once = true;
    a.taint |= mask;
    u64 used = 0;
    for (const Region& r : a.regions) used |= r.ways;
    const auto free = static_cast<unsigned>(std::countr_one(used | ((used & 0x5555555555555555ull) << 1)));
    const u64 ways = free < 63 ? u64{3} << free : 0;
    for (Region& r : a.regions)
        if (r.end == end) {
            r.mask |= mask;
            r.doubt = std::max(r.doubt, doubt);
            r.ways |= ways;
            return ways;
        }
    a.regions.push_back({end, mask, doubt, a.weight, a.context, ways});
    return ways;
}

/// Both ways have met again: what was written on one of them only is not known any more.
void Machine::close_regions(Activation& a, u32 block) {
    bool closed = false;
    for (std::size_t k = a.regions.size(); k-- > 0;) {
        if (a.regions[k].end != block) continue;
        a.weight = a.regions[k].weight;
        a.context = a.regions[k].before;
        a.regions.erase(a.regions.begin() + static_cast<std::ptrdiff_t>(k));
        closed = true;
    }
    if (!closed) return;
    a.taint = 0;
    for (const Region& r : a.regions) a.taint |= r.mask;
    std::erase_if(a.tainted, [&](u32 s) {
        Value& v = a.slots[s];
        const bool sure = !(v.written_under & ~a.context.reads);
        if (!sure) v.known &= ~v.tainted;
        v.tainted &= sure ? a.taint : 0;
        return v.tainted == 0;
    });
}

void Machine::forget_variant(Activation& a, const LoopProgram& loop, u32 mask) {
    for (const u32 s : loop.variant) a.slots[s].known &= ~mask;
}

/// Lanes leave a loop: their trips are final.
void Machine::end_loop(Activation& a, u32 l, u32 from, u32 mask) {
    const LoopProgram& loop = fn(a).loops[l];
    LoopState& state = a.loops[l];
    mask &= state.inside;
    if (!mask) return;
    if (state.open) close(a, l, false);
    state.inside &= ~mask;
    LoopEvent event{loop.facts, 0, 0, HUGE_VAL, 0};
    for (u32 m = mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        auto trips = static_cast<double>(state.trips[lane]);
        if (loop.tests_at_top && from == loop.header) trips -= 1;
        event.entries += a.weight;
        event.trips += trips * a.weight;
        event.least = std::min(event.least, trips);
        event.most = std::max(event.most, trips);
    }
    auto& events = s_.trace.page().loops;
    const auto same = std::find_if(events.begin(), events.end(), [&](const LoopEvent& e) { return e.loop == event.loop; });
    if (same == events.end()) {
        events.push_back(event);
    } else {
        same->entries += event.entries;
        same->trips += event.trips;
        same->least = std::min(same->least, event.least);
        same->most = std::max(same->most, event.most);
    }
    if (state.doubtful) forget_variant(a, loop, mask);
    if (!state.inside) {
        state.visits = state.failures = 0;
        state.next_attempt = 3;
        state.history.clear();
        state.doubtful = false;
        state.open_exits.clear();
        state.endless = false;
    }
}

void Machine::exit_loops(Activation& a, u32 from, u32 to, u32 mask) {
    if (from == kNone) return;
    const FunctionProgram& f = fn(a);
    for (u32 l = f.blocks[from].loop; l != kNone; l = f.loops[l].parent) {
        const LoopProgram& loop = f.loops[l];
        if (to != kNone && f.blocks[to].order >= loop.order_begin && f.blocks[to].order < loop.order_end) break;
        end_loop(a, l, from, mask);
    }
}

void Machine::leave(Activation& a, u32 mask, bool thread) {
    // Lanes under an undecided branch may also be on the other way.
    const u32 sure = mask & ~a.taint;
    a.alive &= ~sure;
    if (thread) {
        u32 doubtful = 0;
        for (const Activation& each : stack_) doubtful |= each.taint;
        exited_ |= mask & ~doubtful;
    }
}

void Machine::go(Activation& a, u32 from, u32 to, u32 mask, float weight, bool stays) {
    if (!mask) return;
    if (!stays) exit_loops(a, from, to, mask);
    if (to == kNone) return leave(a, mask, false);
    const FunctionProgram& f = fn(a);
    const u32 l = f.blocks[to].loop;
    // Loops that are entered: `to` may be the header of several only if they are one.
    if (l != kNone && f.loops[l].header == to) {
        LoopState& state = a.loops[l];
        const bool inside = from != kNone && f.blocks[from].order >= f.loops[l].order_begin && f.blocks[from].order < f.loops[l].order_end;
        if (inside) {
            if (s_.steps > s_.budget || state.endless) {
                // Nothing more is run: what was seen stands for the rest, and is said to.
                s_.trace.truncated |= !state.endless;
                state.doubtful = true;
                s_.loop_doubt[f.loops[l].facts] = std::max<std::uint8_t>(s_.loop_doubt[f.loops[l].facts], state.endless ? 5 : 4);
                u32 out = kNone;
                for (const BlockId e : f.code->ir.loops[l].exiting)
                    for (const BlockId t : f.code->ir.block(e).successors)
                        if (!f.code->ir.contains(f.code->ir.loops[l], t)) out = static_cast<u32>(t);
                return go(a, from, out, mask, weight);
            }
            if (!state.parked) a.parked.push_back(l);
            join(a, f.blocks[to].order, state.parked, mask);
            state.parked |= mask;
            a.weights[f.blocks[to].order] = weight;
            return;
        }
        state.inside |= mask;
        for (u32 m = mask; m; m &= m - 1) state.trips[static_cast<unsigned>(std::countr_zero(m))] = 0;
    }
    post(a, to, mask, weight);
}

std::optional<double> Machine::taken_probability(const Activation& a, const MicroOp& op) const {
    const BranchPolicy& policy = s_.launch.policy;
    if (!policy.taken.empty())
        for (const std::string& name : place_names(*p_.module, fn(a).code->ir.function->instructions[op.instruction]))
            if (const auto it = policy.taken.find(name); it != policy.taken.end()) return it->second;
    return policy.taken_probability;
}

std::optional<BranchPolicy::Trips> Machine::trips_policy(const LoopProgram& loop) const {
    const BranchPolicy& policy = s_.launch.policy;
    const LoopDescription& facts = p_.code->facts.loops[loop.facts];
    if (const auto it = policy.trips.find(facts.id); it != policy.trips.end()) return it->second;
    if (facts.source) {
        const std::string line = ":" + std::to_string(facts.source->line);
        const auto slash = facts.source->file.find_last_of('/');
        for (const std::string& name : {facts.source->file + line, facts.source->file.substr(slash == std::string::npos ? 0 : slash + 1) + line})
            if (const auto it = policy.trips.find(name); it != policy.trips.end()) return it->second;
    }
    return policy.assumed_trips;
}

void Machine::branch(Activation& a, const MicroOp& op) {
    const FunctionProgram& f = fn(a);
    const BlockProgram& from = f.blocks[a.block];
    const u32 taken = from.targets.front();
    const Decision d = decide(a, op.guard, op.guard_negated, a.mask);
    if (d.maybe) return undecided(a, op, d, taken, from.fall_through);
    if (d.yes && d.no) {
        s_.divergent[f.first_instruction + op.instruction] = 1;
        s_.trace.page().add(p_.first_event() + f.first_instruction + op.instruction, static_cast<double>(a.weight), 0, 0);
    }
    if (d.yes) go(a, a.block, taken, d.yes, a.weight);
    if (d.no) go(a, a.block, from.fall_through, d.no, a.weight);
}

/// May the loop be left to end by an exit that, as far as was seen, is decided by known values?
bool Machine::relies_on_another_exit(const LoopProgram& loop, LoopState& state, u32 block) {
    if (std::find(state.open_exits.begin(), state.open_exits.end(), block) == state.open_exits.end()) state.open_exits.push_back(block);
    return std::any_of(loop.counted_exits.begin(), loop.counted_exits.end(), [&](u32 e) {
        return std::find(state.open_exits.begin(), state.open_exits.end(), e) == state.open_exits.end();
    });
}

void Machine::undecided(Activation& a, const MicroOp& op, const Decision& d, u32 taken, u32 other) {
    const FunctionProgram& f = fn(a);
    const u32 block = a.block;
    const BlockProgram& from = f.blocks[block];
    const u32 reason = op.guard == kNone ? 0 : a.slots[op.guard].reason;
    s_.undecided[f.first_instruction + op.instruction] = by_distance(reason) ? 2 : 1;
    // Which loops does which way leave?
    const auto leaves = [&](u32 to, u32 l) {
        return to == kNone || f.blocks[to].order < f.loops[l].order_begin || f.blocks[to].order >= f.loops[l].order_end;
    };
    u32 way_taken = d.maybe, way_other = d.maybe;
    Doubt doubt = Doubt::unknown;
    float weight_taken = a.weight, weight_other = a.weight;
    bool region = true;
    const u32 l = from.loop;
    if (l != kNone && leaves(taken, l) != leaves(other, l)) {
        const LoopProgram& loop = f.loops[l];
        LoopState& state = a.loops[l];
        const bool taken_leaves = leaves(taken, l);
        const u32 out = taken_leaves ? taken : other;
        std::uint8_t& mark = s_.loop_doubt[loop.facts];
        const auto policy = trips_policy(loop);
        if (loop.waits) {
            mark = std::max<std::uint8_t>(mark, 1);
            (taken_leaves ? way_other : way_taken) = 0;
            region = false;
            state.doubtful = true;
        } else if (policy || !relies_on_another_exit(loop, state, block)) {
            // Nothing says how often it runs: the policy's number of times, else once.
            mark = std::max<std::uint8_t>(mark, policy ? 2 : 3);
            s_.loop_reason[loop.facts] = reason ? reason : reason_of(a, op);
            if (policy && policy->max) s_.loop_most[loop.facts] = *policy->max;
            state.doubtful = true;
            const u64 wanted = policy ? static_cast<u64>(std::max(1.0, std::round(policy->mean))) : 1;
            // At a header that only tests, the pass that begins has not been made yet.
            const u64 done = state.trips[static_cast<unsigned>(std::countr_zero(d.maybe))] - (loop.tests_at_top && block == loop.header ? 1 : 0);
            const bool again = done < wanted;
            if (again && state.open) {
                const i64 more = static_cast<i64>((wanted - done) / std::max(1u, state.period));
                s_.domain.set(state.axis, std::min(s_.domain.extent[state.axis], std::max<i64>(1, more)));
            }
            if (again) (taken_leaves ? way_taken : way_other) = 0;
            else (taken_leaves ? way_other : way_taken) = 0;
            region = out != from.post_dominator;
            if (again) region = false;
        } else {
            mark = std::max<std::uint8_t>(mark, 3);
            state.doubtful = true;
        }
    } else if (l != kNone && std::find(f.loops[l].spins.begin(), f.loops[l].spins.end(), block) != f.loops[l].spins.end()) {
        s_.undecided[f.first_instruction + op.instruction] = 0;
        (taken == f.loops[l].header ? way_taken : way_other) = 0;      // it waits: the way on is the one that is taken in the end
        region = false;
    } else if (const auto p = taken_probability(a, op)) {
        doubt = Doubt::assumed;
        const int lanes = std::popcount(d.maybe);
        if (*p >= 1) way_other = 0;
        if (*p <= 0) way_taken = 0;
        // A warp goes a way when any of its lanes does.
        if (way_taken && way_other) {
            weight_taken = a.weight * static_cast<float>(1 - std::pow(1 - *p, lanes));
            weight_other = a.weight * static_cast<float>(1 - std::pow(*p, lanes));
        }
    }
    const Context before = a.context;
    const u64 ways = region ? open_region(a, from.post_dominator, d.maybe, doubt) : 0;
    const bool overflow = region && ways == 0;     // too many open branches: nothing written under them is kept
    const auto under = [&](u64 which) {
        a.context = before;
        a.context.reads |= ways & which;
        a.context.writes |= overflow ? u64{1} << 63 : ways & which;
    };
    // Lanes that go both ways have not left a loop that one of the ways stays in.
    const bool both = way_taken && way_other;
    constexpr u64 first = 0x5555555555555555ull;
    under(first);
    go(a, block, taken, d.yes, a.weight, false);
    go(a, block, taken, way_taken, weight_taken, both);
    under(~first);
    go(a, block, other, d.no, a.weight, false);
    go(a, block, other, way_other, weight_other, both);
}

void Machine::branch_index(Activation& a, const MicroOp& op) {
    const FunctionProgram& f = fn(a);
    const u32 block = a.block;
    const BlockProgram& from = f.blocks[block];
    const Decision d = decide(a, op.guard, op.guard_negated, a.mask);
    const u32 run = d.yes | d.maybe;
    const u32 known = op.src[0] == kNone ? 0 : a.slots[op.src[0]].known & run;
    if (op.src[0] != kNone) {
        // Another index would be another way: the run holds only where the index stands still.
        const Value& index = a.slots[op.src[0]];
        s_.domain.tie(index.axes);
    }
    u32 rest = run & ~known;
    if (d.maybe) rest = run;
    if (rest) {
        s_.undecided[f.first_instruction + op.instruction] = 1;
        (void)open_region(a, from.post_dominator, rest, Doubt::unknown);
        a.context.writes |= u64{1} << 63;     // any of many ways: nothing written there is kept
    }
    const float weight = a.weight;
    std::vector<u32> lanes(from.targets.size(), rest);
    u32 ways = 0;
    for (u32 m = known & ~rest; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const u64 index = a.slots[op.src[0]].lane[lane] & 0xffffffffu;
        if (index < lanes.size()) lanes[index] |= 1u << lane;
    }
    for (std::size_t t = 0; t < lanes.size(); ++t) {
        if (!lanes[t]) continue;
        ++ways;
        go(a, block, from.targets[t], lanes[t], weight);
    }
    if (ways > 1) s_.divergent[f.first_instruction + op.instruction] = 1;
    if (d.no) go(a, block, from.fall_through, d.no, weight);
}

}  // namespace flipflop::eval
