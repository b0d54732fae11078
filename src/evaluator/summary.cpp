// Loops in closed form. At a header, when every register that lives on has moved by the same amount twice, the loop gets
// an axis of its own: the next iteration is run for all k in [0, extent) at once, every branch and every wrap in it
// shrinks the extent as it would shrink the set of blocks, and at the next header the assumption is checked: each
// register must have moved by that amount again, from whatever k it started. That is induction: what was assumed holds
// for k + 1 if it holds for k. When the check fails the extent is 1 and nothing but a normal iteration was run.
#include <bit>

#include "evaluator/machine.hpp"

namespace flipflop::eval {
namespace {

constexpr i64 kUnbounded = i64{1} << 40;
constexpr u32 kHistory = 5;

}  // namespace

void Machine::at_header(Activation& a, u32 l, u32 mask) {
    const LoopProgram& loop = fn(a).loops[l];
    LoopState& state = a.loops[l];
    for (u32 m = mask; m; m &= m - 1) ++state.trips[static_cast<unsigned>(std::countr_zero(m))];
    if (state.open) {
        if (mask != state.mask) {
            close(a, l, false);
        } else if (--state.left == 0) {
            close(a, l, verify(a, l, mask));
        } else {
            return;
        }
    }
    ++state.visits;
    const bool able = mask == state.inside && !loop.writes_tracked && !(s_.cooperative && loop.has_barrier) && !s_.observer && s_.summarise;
    if (!able) { state.history.clear(); return; }
    if (state.visits + kHistory <= state.next_attempt) return;
    if (!state.history.empty() && state.history.back().mask != mask) state.history.clear();
    if (state.history.size() == kHistory) {
        std::rotate(state.history.begin(), state.history.begin() + 1, state.history.end());
    } else {
        state.history.emplace_back();
    }
    Snapshot& now = state.history.back();
    now.mask = mask;
    now.phase = phase_;
    now.values.resize(loop.carried.size());
    for (std::size_t k = 0; k < loop.carried.size(); ++k) now.values[k] = a.slots[loop.carried[k]];
    if (state.visits < state.next_attempt) return;
    for (const u32 period : {1u, 2u})
        if (try_open(a, l, mask, period)) return;
    // A loop that has never been regular seldom becomes it: asked less and less often, every 64 passes at the least.
    state.next_attempt = state.visits + 1 + std::min<u32>(state.visits / 8, 64);
}

/// Did every carried register move alike, in all lanes, over the last two periods?
bool Machine::try_open(Activation& a, u32 l, u32 mask, u32 period) {
    const LoopProgram& loop = fn(a).loops[l];
    LoopState& state = a.loops[l];
    if (state.history.size() < 2 * period + 1) return false;
    unsigned axis = kFirstLoopAxis;
    for (; axis < kAxes; ++axis) {
        bool used = false;
        for (const Activation& each : stack_)
            for (const LoopState& other : each.loops) used |= other.open && other.axis == axis;
        if (!used) break;
    }
    if (axis >= kAxes) return false;
    const Snapshot& x0 = state.history[state.history.size() - 1 - 2 * period];
    const Snapshot& x1 = state.history[state.history.size() - 1 - period];
    const Snapshot& x2 = state.history.back();
    if (x1.phase != x2.phase) return false;
    std::vector<i64> delta(loop.carried.size(), 0);
    for (std::size_t k = 0; k < loop.carried.size(); ++k) {
        const Value &v0 = x0.values[k], &v1 = x1.values[k], &v2 = x2.values[k];
        const u32 known = v2.known & mask;
        if ((v1.known & mask) != known || (v0.known & mask) != known) return false;
        if (!known) continue;
        const Axes live = s_.domain.live();
        if ((v1.axes & live) != (v2.axes & live)) return false;
        for (unsigned x = 0; x < kAxes; ++x)
            if ((live & v2.axes & (1u << x)) && v1.stride[x] != v2.stride[x]) return false;
        const auto first = static_cast<unsigned>(std::countr_zero(known));
        delta[k] = static_cast<i64>(v2.lane[first] - v1.lane[first]);
        for (u32 m = known; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            if (static_cast<i64>(v2.lane[lane] - v1.lane[lane]) != delta[k] || static_cast<i64>(v1.lane[lane] - v0.lane[lane]) != delta[k])
                return false;
        }
    }
    state.open = true;
    state.period = state.left = period;
    state.axis = axis;
    state.phase = phase_;
    state.mask = mask;
    state.delta = std::move(delta);
    s_.domain.set(axis, kUnbounded);
    s_.domain.movers[axis] = mask;
    for (std::size_t k = 0; k < loop.carried.size(); ++k) {
        Value& v = a.slots[loop.carried[k]];
        if (!(v.known & mask) || state.delta[k] == 0) continue;
        v.stride[axis] = state.delta[k];
        v.axes = static_cast<Axes>(v.axes | (1u << axis));
    }
    state.at_open.resize(loop.carried.size());
    for (std::size_t k = 0; k < loop.carried.size(); ++k) state.at_open[k] = a.slots[loop.carried[k]];
    state.frame = static_cast<u32>(s_.trace.frames.size());
    Trace& t = s_.trace;
    t.frames.push_back({t.frame, axis, 1});
    t.frame = state.frame;
    ++t.depth;
    if (t.pages.size() <= t.depth) t.pages.emplace_back();
    return true;
}

/// The induction step: is the state at the header the one at the beginning, moved by one step of the axis?
bool Machine::verify(Activation& a, u32 l, u32 mask) {
    const LoopProgram& loop = fn(a).loops[l];
    const LoopState& state = a.loops[l];
    if (phase_ != state.phase) return false;
    const Axes live = s_.domain.live();
    for (std::size_t k = 0; k < loop.carried.size(); ++k) {
        const Value &before = state.at_open[k], &after = a.slots[loop.carried[k]];
        if ((before.known & mask) != (after.known & mask)) return false;
        for (u32 m = before.known & mask; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            if (static_cast<i64>(after.lane[lane] - before.lane[lane]) != state.delta[k]) return false;
        }
        if (!(before.known & mask)) continue;
        for (unsigned x = 0; x < kAxes; ++x) {
            if (!(live & (1u << x))) continue;
            const i64 was = before.axes & (1u << x) ? before.stride[x] : 0, is = after.axes & (1u << x) ? after.stride[x] : 0;
            if (was != is) return false;
        }
    }
    return true;
}

void Machine::close(Activation& a, u32 l, bool proved) {
    LoopState& state = a.loops[l];
    const FunctionProgram& f = fn(a);
    Trace& t = s_.trace;
    // Inner summaries end before the outer one does.
    for (Activation& each : stack_)
        for (u32 k = 0; k < each.loops.size(); ++k)
            if (each.loops[k].open && each.loops[k].frame > state.frame) close(each, k, false);
    state.open = false;
    i64 extent = proved ? s_.domain.extent[state.axis] : 1;
    if (extent == kUnbounded) {
        // Nothing in the loop ever ends it.
        state.endless = true;
        s_.loop_doubt[f.loops[l].facts] = 5;
        state.doubtful = true;
        extent = 1;
    }
    const auto bit = static_cast<Axes>(1u << state.axis);
    const auto advance = [&](Value& v, u64 wrap) {
        if (!(v.axes & bit)) return;
        const u64 by = static_cast<u64>(v.stride[state.axis]) * static_cast<u64>(extent - 1);
        const bool all = !(v.known & ~state.mask);     // lanes that left earlier stand still
        if (by) {
            for (unsigned k = 0; k < kLanes; ++k)
                if (all || ((state.mask >> k) & 1)) v.lane[k] = (v.lane[k] + by) & wrap;
            v.uniform = v.uniform && all;
        }
        v.stride[state.axis] = 0;
        v.axes = static_cast<Axes>(v.axes & ~bit);
    };
    for (const u32 s : f.variables) advance(a.slots[s], f.slot_mask[s]);
    local_.for_each([&](Value& v) { advance(v, ~u64{0}); });
    if (extent > 1)
        for (u32 m = state.mask & state.inside; m; m &= m - 1)
            state.trips[static_cast<unsigned>(std::countr_zero(m))] += static_cast<u64>(extent - 1) * state.period;
    t.frames[state.frame].extent = extent;
    s_.domain.set(state.axis, 1);
    s_.domain.movers[state.axis] = kAllLanes;
    t.frame = t.frames[state.frame].parent;
    Page& child = t.pages[t.depth];
    --t.depth;
    t.page().fold(child, static_cast<double>(extent));
    state.history.clear();
    state.failures = extent > 2 ? 0 : std::min(state.failures + 1, 12u);
    state.next_attempt = state.visits + 3 + (state.failures ? 1u << (state.failures + 1) : 0);
}

}  // namespace flipflop::eval
