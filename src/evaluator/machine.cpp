// The warp's main loop: pick the earliest group of lanes, run its block, hand its lanes on.
#include "evaluator/anchors.hpp"
#include "evaluator/machine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace flipflop::eval {

Session::Session(const Program& p, const Launch& l) : program(p), launch(l), memory(p, l) {
    loop_doubt.assign(p.code->facts.loops.size(), 0);
    loop_most.assign(p.code->facts.loops.size(), 0);
    loop_reason.assign(p.code->facts.loops.size(), 0);
    last_shape.assign(p.memory.size(), kNone);
    const u32 instructions = p.instructions;
    divergent.assign(instructions, 0);
    undecided.assign(instructions, 0);
    skipped_calls.assign(instructions, 0);
}

void Machine::start(const Place& place, const WarpGroup& group) {
    for (Activation& a : stack_) s_.pool.push_back(std::move(a.slots));
    stack_.clear();
    place_ = place;
    group_ = group;
    phase_ = exited_ = 0;
    occurrences_.assign(p_.memory.size(), 0);
    local_.clear();
    push(0, group.valid);
}

void Machine::push(u32 function, u32 mask) {
    const FunctionProgram& f = p_.functions[function];
    Activation a;
    a.function = function;
    if (!s_.pool.empty()) {
        a.slots = std::move(s_.pool.back());
        s_.pool.pop_back();
    }
    a.slots.resize(f.slots);
    for (const u32 s : f.variables) {
        Value& v = a.slots[s];
        v.known = v.tainted = v.reason = 0;
        v.anchor = 0;
        v.axes = 0;
        v.uniform = false;
        v.stride = {};
    }
    for (const auto& [slot, bits] : f.constants) {
        Value& v = a.slots[slot];
        v = Value{};
        v.lane.fill(bits);
        v.known = kAllLanes;
        v.uniform = true;
    }
    for (const auto& [slot, which] : f.specials) {
        a.slots[slot] = Value{};
        set_special(a.slots[slot], which);
        if (!a.slots[slot].known) a.slots[slot].reason = 0x80000000u | static_cast<u32>(which);
    }
    a.pending.assign(f.blocks.size(), 0);
    a.weights.assign(f.blocks.size(), 1.0f);
    a.contexts.assign(f.blocks.size(), {});
    a.nonempty.assign((f.blocks.size() + 63) / 64, 0);
    a.loops.resize(f.loops.size());
    a.alive = a.entered = mask;
    stack_.push_back(std::move(a));
    if (!f.blocks.empty()) go(stack_.back(), kNone, 0, mask, 1.0f);
}

void Machine::set_special(Value& v, ptx::Special which) {
    const SpecialContext context{s_.launch, p_.map, place_, group_, s_.domain};
    eval::set_special(v, which, context);
}

void Machine::post(Activation& a, u32 block, u32 mask, float weight) {
    const u32 order = fn(a).blocks[block].order;
    if (!a.pending[order]) a.weights[order] = weight;
    join(a, order, a.pending[order], mask);
    a.pending[order] |= mask;
    a.weights[order] = std::max(a.weights[order], weight);
    a.nonempty[order / 64] |= u64{1} << (order % 64);
}

/// Where ways meet: lanes that come both ways took neither for sure; lanes that come apart keep the stricter of both.
void Machine::join(Activation& a, u32 order, u32 already, u32 mask) {
    Context& c = a.contexts[order];
    if (!(already & a.taint)) { c = a.context; return; }
    if (!(mask & a.taint)) return;
    c.reads &= a.context.reads;
    if (already & mask & a.taint) c.writes &= a.context.writes;
    else c.writes |= a.context.writes;
}

/// The lane rule: the earliest group in loop-aware order runs; a loop's next iteration begins when nothing is left of the
/// present one.
bool Machine::next_block(Activation& a) {
    u32 first = kNone;
    for (std::size_t w = 0; w < a.nonempty.size(); ++w)
        if (a.nonempty[w]) { first = static_cast<u32>(w * 64 + static_cast<unsigned>(std::countr_zero(a.nonempty[w]))); break; }
    u32 best = kNone;
    for (const u32 l : a.parked) {
        const LoopProgram& loop = fn(a).loops[l];
        if (first != kNone && first < loop.order_end) continue;     // lanes before it, or still in it
        const bool inner_waits = std::any_of(a.parked.begin(), a.parked.end(), [&](u32 other) {
            const LoopProgram& o = fn(a).loops[other];
            return other != l && o.order_begin >= loop.order_begin && o.order_end <= loop.order_end;
        });
        if (inner_waits) continue;
        if (best == kNone || loop.order_begin < fn(a).loops[best].order_begin) best = l;
    }
    if (best != kNone) {
        a.parked.erase(std::find(a.parked.begin(), a.parked.end(), best));
        LoopState& state = a.loops[best];
        a.block = fn(a).loops[best].header;
        a.mask = std::exchange(state.parked, 0);
        a.weight = a.weights[fn(a).blocks[a.block].order];
        a.context = a.contexts[fn(a).blocks[a.block].order];
    } else if (first != kNone) {
        a.block = fn(a).by_order[first];
        a.mask = std::exchange(a.pending[first], 0);
        a.weight = a.weights[first];
        a.context = a.contexts[first];
        a.nonempty[first / 64] &= ~(u64{1} << (first % 64));
    } else {
        return false;
    }
    a.mask &= ~exited_;
    a.op = fn(a).blocks[a.block].begin;
    if (!a.mask) return next_block(a);
    if (!a.regions.empty()) close_regions(a, a.block);
    const u32 l = fn(a).blocks[a.block].loop;
    if (l != kNone && fn(a).loops[l].header == a.block) at_header(a, l, a.mask);
    return true;
}

Doubt Machine::doubt_of(const Activation& a, u32 mask) const {
    Doubt worst = Doubt::none;
    for (const Activation& each : stack_) {
        if (!(each.taint & mask)) continue;
        for (const Region& r : each.regions)
            if (r.mask & mask) worst = std::max(worst, r.doubt);
    }
    (void)a;
    return worst;
}

double Machine::share_of_warp(u32 mask, u32 maybe) const {
    if (mask || !maybe || !guess_) return 1;
    return 1 - std::pow(1 - *guess_, std::popcount(maybe));
}

void Machine::count(Activation& a, u32 unit, u32 mask, u32 maybe) {
    const u32 both = mask | maybe;
    if (!both) return;
    const double doubtful = maybe || (a.taint & both) || stack_.size() > 1 ? (maybe || doubt_of(a, both) != Doubt::none ? 1.0 : 0.0) : 0.0;
    const auto units = static_cast<u32>(p_.units.size());
    const double weight = static_cast<double>(a.weight) * share_of_warp(mask, maybe);
    const double lanes = std::popcount(mask) + guess_.value_or(1) * std::popcount(maybe);
    s_.trace.page().add(phase_ * units + unit, weight, static_cast<double>(a.weight) * lanes, doubtful * weight);
}

/// Values written under undecided branches are good only where those branches must have gone that way.
void Machine::settle_taint(Activation& a, const MicroOp& op, u32 mask) {
    const FunctionProgram& f = fn(a);
    const auto check = [&](u32 slot) {
        Value& v = a.slots[slot];
        if (!(v.tainted & mask) || !(v.written_under & ~a.context.reads)) return;
        v.known &= ~v.tainted;
        v.tainted = 0;
    };
    if (op.guard != kNone) check(op.guard);
    for (const u32 s : op.src)
        if (s != kNone) check(s);
    if (op.op == Op::pack || op.op == Op::store)
        for (u32 k = 0; k < op.list_count; ++k)
            if (f.lists[op.list + k] != kNone) check(f.lists[op.list + k]);
}

void Machine::mark_taint(Activation& a, const MicroOp& op, u32 mask, u32 maybe) {
    const auto mark = [&](u32 slot) {
        Value& v = a.slots[slot];
        v.known &= ~maybe;
        const u32 under = mask & a.taint;
        const u32 older = v.tainted & ~mask;
        if (!v.tainted && under) {
            if (a.tainted.size() > 2 * a.slots.size()) {     // one that was settled and marked again stands there twice
                std::sort(a.tainted.begin(), a.tainted.end());
                a.tainted.erase(std::unique(a.tainted.begin(), a.tainted.end()), a.tainted.end());
            }
            a.tainted.push_back(slot);
        }
        if (older && under) v.written_under |= a.context.writes;
        else if (under) v.written_under = a.context.writes;
        v.tainted = older | under;
    };
    for (const u32 d : op.dst)
        if (d != kNone) mark(d);
    if (op.op == Op::load)
        for (u32 k = 0; k < op.list_count; ++k)
            if (fn(a).lists[op.list + k] != kNone) mark(fn(a).lists[op.list + k]);
}

bool Machine::execute(Activation& a) {
    const FunctionProgram& f = fn(a);
    const u32 end = f.blocks[a.block].end;
    const u32 block = a.block;
    while (a.op < end) {
        const MicroOp& op = f.ops[a.op++];
        ++s_.steps;
        if (a.tainted_once) settle_taint(a, op, a.mask);
        u32 mask = a.mask, maybe = 0;
        if (op.guard != kNone && op.op != Op::branch && op.op != Op::brx && op.op != Op::leave) {
            const Decision d = decide(a, op.guard, op.guard_negated, a.mask);
            mask = d.yes;
            maybe = d.maybe;
            guess_.reset();
            if (maybe && (guess_ = taken_probability(a, op)) && *guess_ <= 0) maybe = 0;
            if (!(mask | maybe)) continue;
        }
        switch (op.op) {
        case Op::count: count(a, op.payload, mask, maybe); continue;
        case Op::branch: branch(a, op); a.block = kNone; return true;
        case Op::brx: branch_index(a, op); a.block = kNone; return true;
        case Op::leave: {
            const Decision d = decide(a, op.guard, op.guard_negated, a.mask);
            if (d.maybe) {
                undecided(a, op, d, kNone, f.blocks[block].fall_through);
            } else {
                if (d.yes) { exit_loops(a, block, kNone, d.yes); leave(a, d.yes, op.mode == 1); }
                if (d.no) go(a, block, f.blocks[block].fall_through, d.no, a.weight);
            }
            a.block = kNone;
            return true;
        }
        case Op::call:
            if (!enter_call(a, op, mask | maybe)) continue;
            return false;
        case Op::barrier:
            if (!maybe && !(a.taint & mask) && op.src[1] == kNone && (group_.valid & ~exited_ & ~mask))
                s_.trace.page().add(p_.first_event() + p_.instructions + fn(a).first_instruction + op.instruction, static_cast<double>(a.weight), 0, 0);
            s_.trace.page().barrier_lanes += std::popcount(mask | maybe) * static_cast<double>(a.weight);
            phase_ = op.payload + 1;
            if (s_.observer) s_.observer->at_barrier(*this);
            if (s_.cooperative) return false;
            continue;
        case Op::load: case Op::store: case Op::access: memory(a, op, mask, maybe); break;
        case Op::isspacep: isspacep(a, op, mask | maybe); break;
        default:
            operate(f, op, a.slots.data(), {mask | maybe, a.alive}, s_.domain, reason_of(a, op));
            if (s_.observer) s_.observer->operated(*this, op, mask | maybe);
        }
        if (maybe || a.tainted_once) mark_taint(a, op, mask | maybe, maybe);
    }
    a.block = kNone;
    go(a, block, f.blocks[block].fall_through, a.mask, a.weight);
    return true;
}

bool Machine::enter_call(Activation& a, const MicroOp& op, u32 mask) {
    constexpr std::size_t deepest = 24;
    const CallOp& call = p_.calls[op.payload];
    u32& skipped = s_.skipped_calls[fn(a).first_instruction + op.instruction];
    if (call.callee == kNone) {
        skipped = std::max(skipped, 1u);
        return false;
    }
    if (stack_.size() > deepest || s_.steps > s_.budget) {
        skipped = 2;
        for (const auto& [theirs, mine] : call.out)
            if (mine != kNone) write_unknown(a.slots[mine], {mask, a.alive}, reason_of(a, op));
        return false;
    }
    const u32 index = a.op - 1;
    push(call.callee, mask);
    Activation& callee = stack_.back();
    Activation& caller = stack_[stack_.size() - 2];
    callee.call = index;
    for (const auto& [mine, theirs] : call.in) {
        if (mine == kNone || theirs == kNone) continue;
        callee.slots[theirs] = caller.slots[mine];
        callee.slots[theirs].tainted = 0;
    }
    return true;
}

/// The top activation has no lanes left: its results go to the caller, which goes on.
void Machine::finish() {
    Activation done = std::move(stack_.back());
    stack_.pop_back();
    if (!stack_.empty()) {
        Activation& caller = top();
        const MicroOp& op = fn(caller).ops[done.call];
        caller.mask &= ~exited_;
        for (const auto& [theirs, mine] : p_.calls[op.payload].out) {
            if (theirs == kNone || mine == kNone) continue;
            const Value& v = done.slots[theirs];
            // A value written under a branch of the callee that was never decided is not known to have been.
            const u32 who = done.entered & caller.mask, known = v.known & ~v.tainted & who;
            write_lanes(caller.slots[mine], v.lane.data(), known, v.uniform, v.stride, v.axes, {who, caller.alive}, s_.domain, v.reason);
            set_anchor(caller.slots[mine], v.anchor, who, caller.alive);
        }
    }
    s_.pool.push_back(std::move(done.slots));
}

Machine::Status Machine::run() {
    while (!stack_.empty()) {
        Activation& a = top();
        if (a.block == kNone && !next_block(a)) {
            finish();
            continue;
        }
        if (!a.mask) { a.block = kNone; continue; }
        const std::size_t depth = stack_.size();
        if (!execute(a) && stack_.size() == depth) return Status::barrier;
    }
    return Status::done;
}

}  // namespace flipflop::eval
