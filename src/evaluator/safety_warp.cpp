// The lane rule, calls and barriers, as machine.cpp has them for counting; branches on data in safety_branch.cpp.
#include "evaluator/safety_warp.hpp"

#include <bit>

namespace flipflop::eval {

void WarpRun::start(const Place& place, const WarpGroup& group, u32 index) {
    place_ = place;
    group_ = group;
    index_ = index;
    exited_ = uncertain_ = 0;
    stack_.clear();
    local_.clear();
    guard_.clear();
    copied_ = {};
    dirty_.clear();
    push(0, group.valid);
}

void WarpRun::push(u32 function, u32 mask) {
    const FunctionProgram& code = p_.functions[function];
    auto frame = std::make_unique<Frame>();
    Frame& f = *frame;
    f.function = function;
    f.slots.resize(code.slots);
    f.from.reset(code.slots);
    for (const auto& [slot, bits] : code.constants) {
        Value& v = f.slots[slot];
        v.lane.fill(bits);
        v.known = kAllLanes;
        v.uniform = true;
        f.from.set_empty(slot);
    }
    const SpecialContext context{s_.launch, p_.map, place_, group_, b_.domain};
    for (const auto& [slot, which] : code.specials) {
        set_special(f.slots[slot], which, context);
        if (f.slots[slot].known == kAllLanes) f.from.set_empty(slot);
        f.from.set_shaped(slot, true);
    }
    f.pending.assign(code.blocks.size(), 0);
    f.waiting.assign(code.loops.size(), 0);
    f.shaped_loops.assign(code.loops.size(), false);
    f.alive = f.entered = mask;
    stack_.push_back(std::move(frame));
    if (!code.blocks.empty()) go(top(), kNone, 0, mask);
}

void WarpRun::go(Frame& f, u32 from, u32 to, u32 mask) {
    if (!mask) return;
    if (to == kNone) return leave(f, mask, false);
    if (to == f.stop) return;
    const FunctionProgram& code = fn(f);
    const u32 l = code.blocks[to].loop;
    if (l != kNone && code.loops[l].header == to && from != kNone) {
        const u32 order = code.blocks[from].order;
        if (order >= code.loops[l].order_begin && order < code.loops[l].order_end) {
            f.waiting[l] |= mask;
            return;
        }
    }
    f.pending[code.blocks[to].order] |= mask;
}

void WarpRun::leave(Frame& f, u32 mask, bool thread) {
    if (uncertain_) {            // the lanes may also be on the other way
        if (thread && stack_.size() > 1) b_.give_up("a called function may end the thread, depending on data");
        return;
    }
    f.alive &= ~mask;
    if (thread) exited_ |= mask;
}

/// A loop whose lanes wait for the next iteration, with nothing left of this one.
u32 WarpRun::next_waiting(const Frame& f, u32 first) const {
    const auto& loops = fn(f).loops;
    u32 best = kNone;
    for (u32 l = 0; l < loops.size(); ++l) {
        if (!f.waiting[l] || (first != kNone && first < loops[l].order_end)) continue;
        bool inner_waits = false;
        for (u32 other = 0; other < loops.size(); ++other)
            inner_waits |= other != l && f.waiting[other] && loops[other].order_begin >= loops[l].order_begin && loops[other].order_end <= loops[l].order_end;
        if (!inner_waits && (best == kNone || loops[l].order_begin < loops[best].order_begin)) best = l;
    }
    return best;
}

bool WarpRun::next_block(Frame& f) {
    for (;;) {
        u32 first = kNone;
        for (u32 o = 0; o < f.pending.size(); ++o)
            if (f.pending[o]) { first = o; break; }
        const u32 loop = next_waiting(f, first);
        if (loop != kNone) {
            f.block = fn(f).loops[loop].header;
            f.mask = std::exchange(f.waiting[loop], 0);
        } else if (first != kNone) {
            f.block = fn(f).by_order[first];
            f.mask = std::exchange(f.pending[first], 0);
        } else {
            return false;
        }
        f.mask &= ~exited_;
        f.op = fn(f).blocks[f.block].begin;
        if (f.mask) return true;
    }
}

WarpRun::Decision WarpRun::decide(const Frame& f, u32 guard, bool negated, u32 mask) const {
    if (guard == kNone) return {mask, 0, 0};
    const Value& g = f.slots[guard];
    u32 truth = 0;
    if (g.uniform) truth = g.lane[0] ? kAllLanes : 0;
    else
        for (unsigned l = 0; l < kLanes; ++l) truth |= g.lane[l] ? 1u << l : 0u;
    if (negated) truth = ~truth;
    const u32 known = g.known & mask;
    return {truth & known, ~truth & known, mask & ~known};
}

/// Lanes named in the mask of a .sync operation that the block does not have, or that have left, can never take part
/// (PTX ISA 9.7.9.6: the behaviour is undefined).
void WarpRun::check_members(Frame& f, const MicroOp& op, u32 mask) {
    if (op.src[3] == kNone) return;
    const Value& members = f.slots[op.src[3]];
    u32 named = 0;
    for (u32 m = mask & members.known; m; m &= m - 1) named |= static_cast<u32>(members.lane[static_cast<unsigned>(std::countr_zero(m))]);
    const u32 missing = named & (~group_.valid | exited_);
    if (!missing) return;
    const char* why = named & ~group_.valid ? " names lanes that the block does not have" : " names lanes that have left the kernel";
    b_.breach('f', op.instruction, "the member mask at " + line(op) + why, !uncertain_);
}

bool WarpRun::barrier(Frame& f, const MicroOp& op, u32 mask) {
    waiting_ = {0, 0, op.instruction};
    const auto number = [&](u32 slot, u32& out) {
        const Value& v = f.slots[slot];
        if ((v.known & mask) != mask) return false;
        out = static_cast<u32>(v.lane[static_cast<unsigned>(std::countr_zero(mask))]);
        for (u32 m = mask; m; m &= m - 1)
            if (v.lane[static_cast<unsigned>(std::countr_zero(m))] != out) return false;
        b_.domain.tie(v.axes);
        return true;
    };
    if ((op.src[0] != kNone && !number(op.src[0], waiting_.id)) || (op.src[1] != kNone && !number(op.src[1], waiting_.threads))) {
        b_.give_up("which barrier is met at " + line(op) + " depends on data");
        return false;
    }
    if (uncertain_) {
        b_.give_up("the barrier at " + line(op) + " is under a branch that depends on data");
        return false;
    }
    if (mask == group_.valid) return true;
    if ((mask | exited_) == group_.valid) {
        b_.breach('f', op.instruction, "threads that have left the kernel miss the barrier at " + line(op));
        return true;
    }
    b_.breach('f', op.instruction, "part of a warp misses the barrier at " + line(op));
    b_.give_up("part of a warp misses a barrier");
    return false;
}

void WarpRun::call(Frame& f, const MicroOp& op, u32 mask) {
    const CallOp& c = p_.calls[op.payload];
    if (c.callee == kNone || stack_.size() > 24) {
        b_.give_up("a function that is called at " + line(op) + " cannot be followed");
        return;
    }
    const u32 index = f.op - 1;
    push(c.callee, mask);
    Frame& callee = top();
    callee.call = index;
    Provenance p;
    for (const auto& [mine, theirs] : c.in) {
        if (mine == kNone || theirs == kNone) continue;
        callee.slots[theirs] = f.slots[mine];
        p.clear();
        f.from.add_to(p, mine, mask);
        callee.from.assign(theirs, p, {mask, mask});
        callee.from.set_shaped(theirs, f.from.shaped(mine));
    }
}

/// The top frame has no lanes left: its results go to the caller, which goes on.
void WarpRun::finish() {
    const std::unique_ptr<Frame> done = std::move(stack_.back());
    stack_.pop_back();
    if (stack_.empty()) return;
    Frame& caller = top();
    const MicroOp& op = fn(caller).ops[done->call];
    caller.mask &= ~exited_;
    const Lanes lanes{done->entered & caller.mask, caller.alive};
    Provenance p;
    for (const auto& [theirs, mine] : p_.calls[op.payload].out) {
        if (theirs == kNone || mine == kNone) continue;
        const Value& v = done->slots[theirs];
        p.clear();
        done->from.add_to(p, theirs, lanes.active);
        caller.from.assign(mine, p, lanes);
        caller.from.set_shaped(mine, done->from.shaped(theirs));
        write_lanes(caller.slots[mine], v.lane.data(), v.known & lanes.active, v.uniform, v.stride, v.axes, lanes, b_.domain, v.reason);
    }
}

bool WarpRun::execute(Frame& f) {
    const FunctionProgram& code = fn(f);
    const u32 block = f.block, end = code.blocks[block].end;
    while (f.op < end) {
        if (b_.stopped()) return false;
        const MicroOp& op = code.ops[f.op++];
        if (op.op == Op::count) continue;
        ++s_.steps;
        u32 mask = f.mask, maybe = 0;
        if (op.guard != kNone && op.op != Op::branch && op.op != Op::brx && op.op != Op::leave) {
            const Decision d = decide(f, op.guard, op.guard_negated, f.mask);
            mask = d.yes;
            maybe = d.maybe;
            if (!(mask | maybe)) continue;
        }
        switch (op.op) {
        case Op::branch: branch(f, op); f.block = kNone; return true;
        case Op::brx: branch_index(f, op); f.block = kNone; return true;
        case Op::leave: {
            const Decision d = decide(f, op.guard, op.guard_negated, f.mask);
            if (d.yes) leave(f, d.yes, op.mode == 1);
            if (d.no) go(f, block, code.blocks[block].fall_through, d.no);
            if (d.maybe) undecided(f, op, d, kNone, code.blocks[block].fall_through);
            f.block = kNone;
            return true;
        }
        case Op::call:
            if (maybe) { b_.give_up("whether a function is called at " + line(op) + " depends on data"); return false; }
            call(f, op, mask);
            return false;
        case Op::barrier:
            if (maybe) { b_.give_up("whether the barrier at " + line(op) + " is met depends on data"); return false; }
            if (barrier(f, op, mask)) waiting_.op = op.instruction;
            else b_.give_up("a barrier cannot be followed");
            return false;
        default: operate_on(f, op, mask, maybe);
        }
    }
    f.block = kNone;
    go(f, block, code.blocks[block].fall_through, f.mask);
    return true;
}

WarpRun::Status WarpRun::run() {
    while (!stack_.empty()) {
        if (b_.stopped()) return Status::stopped;
        if (s_.steps > s_.budget) {
            b_.give_up("too large to prove");
            return Status::stopped;
        }
        Frame& f = top();
        if (f.block == kNone && !next_block(f)) {
            finish();
            continue;
        }
        if (!f.mask) { f.block = kNone; continue; }
        const std::size_t depth = stack_.size();
        if (!execute(f) && stack_.size() == depth && !b_.stopped()) return Status::barrier;
    }
    return Status::done;
}

void WarpRun::drain(std::size_t depth) {
    while (!b_.stopped()) {
        Frame& f = top();
        if (f.block == kNone && !next_block(f)) {
            if (stack_.size() == depth) return;
            finish();
            continue;
        }
        if (!f.mask) { f.block = kNone; continue; }
        if (s_.steps > s_.budget) b_.give_up("too large to prove");
        (void)execute(f);       // barriers give up under an undecided branch
    }
}

}  // namespace flipflop::eval
