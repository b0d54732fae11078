// Operations across lanes (PTX ISA 9.7.9 and 9.7.13): shuffles, votes, matches, reductions. A lane that is not active
// takes no part; a source that is not known makes what it reaches unknown.
#include <bit>

#include "evaluator/affine.hpp"

namespace flipflop::eval {
namespace {

struct Exchange {
    const MicroOp& op;
    Value* slots;
    Lanes lanes;
    Domain& domain;
    u32 reason;

    void write(unsigned which, const u64* values, u32 known, bool uniform, const Movement& m) {
        if (op.dst[which] != kNone)
            write_lanes(slots[op.dst[which]], values, known, uniform, m.stride, m.axes, lanes, domain, reason);
    }
    const Value& source(unsigned k) const { return slots[op.src[k]]; }

    void shuffle() {
        const Value& a = source(0);
        const Value &b = source(1), &c = source(2);
        domain.tie(static_cast<unsigned>(b.axes | c.axes));
        alignas(64) u64 out[kLanes] = {}, valid[kLanes] = {};
        u32 known = 0;
        const u32 told = b.known & c.known & lanes.active;
        for (u32 m = told; m; m &= m - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(m));
            // PTX ISA 9.7.9.6: c packs a clamp in bits 0-4 and a segment mask in bits 8-12.
            const unsigned amount = b.lane[lane] & 31, clamp = c.lane[lane] & 31, segment = (c.lane[lane] >> 8) & 31;
            const unsigned highest = (lane & segment) | (clamp & ~segment & 31), lowest = lane & segment;
            int from = 0;
            bool in = false;
            switch (op.mode) {
            case 0: from = static_cast<int>(lane) - static_cast<int>(amount); in = from >= static_cast<int>(highest); break;
            case 1: from = static_cast<int>(lane + amount); in = from <= static_cast<int>(highest); break;
            case 2: from = static_cast<int>(lane ^ amount); in = from <= static_cast<int>(highest); break;
            default: from = static_cast<int>(lowest | (amount & ~segment & 31)); in = from <= static_cast<int>(highest); break;
            }
            if (!in) from = static_cast<int>(lane);
            valid[lane] = in;
            const u32 bit = 1u << static_cast<unsigned>(from);
            if (!(a.known & bit) || !(lanes.active & bit)) continue;
            out[lane] = a.lane[static_cast<unsigned>(from)];
            known |= 1u << lane;
        }
        Movement m;
        m.axes = static_cast<Axes>(a.axes & domain.live());
        for (unsigned k = 0; k < kAxes; ++k)
            if (m.axes & (1u << k)) m.stride[k] = a.stride[k];
        write(1, valid, told, false, {});
        write(0, out, known, false, m);
    }

    u32 truth(const Value& v) const {
        u32 t = 0;
        for (unsigned l = 0; l < kLanes; ++l) t |= v.lane[l] ? 1u << l : 0u;
        return (op.negate_last ? ~t : t) & lanes.active;
    }

    void vote() {
        const Value& p = source(0);
        const u32 yes = truth(p) & p.known, no = lanes.active & p.known & ~truth(p), open = lanes.active & ~p.known;
        u64 result = 0;
        bool known = !open;
        switch (op.mode) {
        case 0: result = !no && !open; known |= no != 0; break;
        case 1: result = yes != 0; known |= yes != 0; break;
        case 2: result = !yes || !no; known |= yes && no; break;
        default: result = yes; break;
        }
        alignas(64) u64 out[kLanes];
        for (u64& x : out) x = result;
        write(0, out, known ? lanes.active : 0, true, {});
    }

    void match() {
        const Value& a = source(0);
        domain.tie(a.axes);     // equality of moving values would hold anyway: all lanes move alike
        const bool all_known = (a.known & lanes.active) == lanes.active;
        alignas(64) u64 out[kLanes] = {}, all[kLanes] = {};
        bool same = true;
        for (unsigned l = 0; l < kLanes; ++l) {
            if (!(lanes.active & (1u << l))) continue;
            for (unsigned k = 0; k < kLanes; ++k)
                if ((lanes.active & (1u << k)) && a.lane[k] == a.lane[l]) out[l] |= u64{1} << k;
            same &= out[l] == lanes.active;
        }
        if (op.mode == 1)
            for (unsigned l = 0; l < kLanes; ++l) { out[l] = same ? lanes.active : 0; all[l] = same; }
        write(1, all, all_known ? lanes.active : 0, false, {});
        write(0, out, all_known ? lanes.active : 0, false, {});
    }

    void reduce() {
        const Value& a = source(0);
        domain.tie(a.axes);
        u64 result = 0;
        bool first = true;
        const bool s = op.kind == Kind::signed_int;
        for (u32 m = lanes.active; m; m &= m - 1) {
            const u64 v = a.lane[static_cast<unsigned>(std::countr_zero(m))];
            if (first) { result = v; first = false; continue; }
            const bool less = typed(v, 32, s) < typed(result, 32, s);
            switch (op.mode) {
            case 0: result = (result + v) & 0xffffffffu; break;
            case 1: result = less ? v : result; break;
            case 2: result = less ? result : v; break;
            case 3: result &= v; break;
            case 4: result |= v; break;
            default: result ^= v; break;
            }
        }
        fill(result, (a.known & lanes.active) == lanes.active);
    }

    void fill(u64 value, bool known) {
        alignas(64) u64 out[kLanes];
        for (u64& x : out) x = value;
        write(0, out, known ? lanes.active : 0, true, {});
    }

    void elect() {
        const auto leader = static_cast<unsigned>(std::countr_zero(lanes.active));
        alignas(64) u64 is[kLanes] = {};
        is[leader] = 1;
        write(1, is, lanes.active, false, {});
        fill(leader, true);
    }
};

}  // namespace

void exchange(const FunctionProgram&, const MicroOp& op, Value* slots, Lanes lanes, Domain& domain, u32 reason) {
    Exchange x{op, slots, lanes, domain, reason};
    switch (op.op) {
    case Op::shfl: x.shuffle(); break;
    case Op::vote: x.vote(); break;
    case Op::match: x.match(); break;
    case Op::activemask: x.fill(lanes.active, true); break;
    case Op::redux: x.reduce(); break;
    case Op::elect: x.elect(); break;
    default:
        for (const u32 d : op.dst)
            if (d != kNone) write_unknown(slots[d], lanes, reason);
    }
}

}  // namespace flipflop::eval
