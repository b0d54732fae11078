// What the result of each operation derives from: the sum of its sources, but for what moves values between lanes, takes
// them apart or chooses between them.
#include <algorithm>
#include <bit>

#include "evaluator/safety_warp.hpp"

namespace flipflop::eval {
namespace {

void scale(Provenance& p, u64 factor) {
    for (unsigned m = p.mask; m; m &= m - 1)
        for (u64& x : p.sum[std::countr_zero(m)]) x = times(x, factor);
}

/// shfl: the lane that lane `l` reads (PTX ISA 9.7.9.6: c packs a clamp in bits 0-4 and a segment mask in bits 8-12).
unsigned shuffle_source(unsigned mode, unsigned l, u64 b, u64 c) {
    const unsigned amount = b & 31, clamp = c & 31, segment = (c >> 8) & 31;
    const int highest = static_cast<int>((l & segment) | (clamp & ~segment & 31)), lowest = static_cast<int>(l & segment);
    const int lane = static_cast<int>(l);
    int from = 0;
    bool in = false;
    switch (mode) {
    case 0: from = lane - static_cast<int>(amount); in = from >= highest; break;
    case 1: from = lane + static_cast<int>(amount); in = from <= highest; break;
    case 2: from = static_cast<int>(l ^ amount); in = from <= highest; break;
    default: from = lowest | static_cast<int>(amount & ~segment & 31); in = from <= highest; break;
    }
    return static_cast<unsigned>(in ? from : lane);
}

/// Sums, products and functions of one number keep count of every byte; these may take away or pass over.
bool may_cancel(const MicroOp& op) {
    switch (op.op) {
    case Op::mov: case Op::cvt: case Op::cvta: case Op::add: case Op::mul_lo: case Op::mul_wide: case Op::mad_lo: case Op::mad_wide: case Op::dp4a: case Op::dp2a:
    case Op::fadd: case Op::fmul: case Op::ffma: case Op::fsqrt: case Op::fex2: case Op::flg2: case Op::fsin: case Op::fcos:
    case Op::pack: case Op::unpack: case Op::shfl: case Op::shl:
        return false;
    default: return true;
    }
}

/// Does this operand leave the other as it is? Threads without an element bring such numbers, as many as there are threads.
/// Numbers below -10^29 are taken for the least of all in a maximum (and so on): that is what they stand for.
bool is_neutral(const MicroOp& op, unsigned source, u64 bits) {
    constexpr double kBeyondData = 1e29;
    const u64 mask = width_mask(op.width), value = bits & mask;
    const auto real = [&] {
        return op.width == 64 ? std::bit_cast<double>(bits) : static_cast<double>(std::bit_cast<float>(static_cast<u32>(bits)));
    };
    const bool is_signed = op.kind == Kind::signed_int;
    switch (op.op) {
    case Op::add: case Op::or_: case Op::xor_: return value == 0;
    case Op::fadd: return real() == 0.0;
    case Op::sub: return source == 1 && value == 0;
    case Op::fsub: return source == 1 && real() == 0.0;
    case Op::mad_lo: case Op::mad_wide: case Op::mad_hi: return source == 2 && value == 0;
    case Op::ffma: return source == 2 ? real() == 0.0 : real() == 1.0;
    case Op::mul_lo: case Op::mul_wide: return value == 1;
    case Op::fmul: return real() == 1.0;
    case Op::fdiv: return source == 1 && real() == 1.0;
    case Op::and_: return value == mask;
    case Op::fmax: return real() <= -kBeyondData;
    case Op::fmin: return real() >= kBeyondData;
    case Op::max: return is_signed ? value == (mask >> 1) + 1 : value == 0;
    case Op::min: return is_signed ? value == mask >> 1 : value == mask;
    default: return false;
    }
}

}  // namespace

void WarpRun::operate_on(Frame& f, const MicroOp& op, u32 mask, u32 maybe) {
    if (op.op == Op::load || op.op == Op::store || op.op == Op::access) return memory(f, op, mask, maybe);
    if (!maybe) return plain(f, op, mask);
    std::vector<u32> written;
    for (const u32 d : op.dst)
        if (d != kNone) written.push_back(d);
    const Saved before = save(f, written);
    Provenance why;
    why.clear();
    f.from.add_to(why, op.guard, maybe);
    plain(f, op, mask | maybe);
    join(f, written, before, why, maybe);
}

void WarpRun::plain(Frame& f, const MicroOp& op, u32 mask) {
    const Lanes lanes{mask, f.alive};
    if (op.op == Op::isspacep) return isspacep(f, op, mask);
    switch (op.op) {
    case Op::shfl: case Op::vote: case Op::match: case Op::redux: case Op::elect: check_members(f, op, mask); break;
    case Op::unknown:
        if (op.dst[0] == kNone) {            // bar.warp.sync
            check_members(f, op, mask);
            if (mask == (group_.valid & ~exited_)) b_.order.meet({index_});
            return;
        }
        break;
    default: break;
    }
    // Most of the time nothing the sources hold comes from memory.
    unsigned carried = 0;
    u32 lost = 0;
    const unsigned sources = op.op == Op::shfl || op.op == Op::vote || op.op == Op::match || op.op == Op::redux || op.op == Op::elect ? 3 : 4;
    for (unsigned k = 0; k < sources; ++k) {
        if (op.src[k] == kNone) continue;
        carried |= f.from.mask(op.src[k]);
        lost |= f.from.lost(op.src[k]) & mask;
    }
    const bool simple = op.op != Op::pack && op.op != Op::unknown && op.op != Op::mapa && op.op != Op::ctarank;
    note_shape(f, op, sources, carried != 0);
    if (simple && !carried && !lost) {
        for (const u32 d : op.dst)
            if (d != kNone) f.from.assign_empty(d, lanes);
    } else {
        Provenance p;
        p.clear();
        derive(f, op, mask, p);
        if (p.mask && may_cancel(op)) s_.cancels = true;
        if (carried) add_shaped(f, op, sources, mask, p);
        for (const u32 d : op.dst)
            if (d != kNone) f.from.assign(d, p, lanes);
    }
    operate(fn(f), op, f.slots.data(), lanes, b_.domain, 1);
}

/// What becomes of ProvenanceFile::shaped. A number that is counted in a loop whose trips follow from the launch does too.
void WarpRun::note_shape(Frame& f, const MicroOp& op, unsigned sources, bool derived) {
    bool shaped = op.guard != kNone && f.from.shaped(op.guard);
    for (unsigned k = 0; k < sources; ++k)
        if (op.src[k] != kNone) shaped = shaped || f.from.shaped(op.src[k]);
    if (op.op == Op::pack)
        for (u32 k = 0; k < op.list_count; ++k)
            if (fn(f).lists[op.list + k] != kNone) shaped = shaped || f.from.shaped(fn(f).lists[op.list + k]);
    const u32 loop = fn(f).blocks[f.block].loop;
    if (!shaped && !derived && loop != kNone && f.shaped_loops[loop]) {
        const auto& carried = fn(f).loops[loop].carried;
        for (unsigned k = 0; k < sources; ++k)
            shaped = shaped || (op.src[k] != kNone && std::find(carried.begin(), carried.end(), op.src[k]) != carried.end());
    }
    for (const u32 d : op.dst)
        if (d != kNone) f.from.set_shaped(d, shaped || (op.guard != kNone && f.from.shaped(d)));
}

void WarpRun::add_shaped(Frame& f, const MicroOp& op, unsigned sources, u32 mask, Provenance& p) {
    switch (op.op) {
    case Op::shfl: case Op::unknown: case Op::pack: case Op::unpack: case Op::mov: case Op::activemask: case Op::elect: return;
    default: break;
    }
    const bool selects = op.op == Op::selp || op.op == Op::slct;
    const u32 open = selects ? mask & ~f.slots[op.src[2]].known : mask;
    for (unsigned k = 0; k < sources; ++k) {
        const u32 s = op.src[k];
        if (s == kNone || !f.from.shaped(s) || (selects && k == 2)) continue;
        const Value& v = f.slots[s];
        u32 lanes = v.known & open;
        if (!(v.axes & b_.domain.live()))
            for (u32 m = lanes; m; m &= m - 1)
                if (is_neutral(op, k, v.lane[static_cast<unsigned>(std::countr_zero(m))])) lanes &= ~(m & (0 - m));
        if (lanes) add_constant(v, width_of(f, s), scrambled((u64{op.instruction} << 8) + k + 1), lanes, p);
    }
}

void WarpRun::derive(Frame& f, const MicroOp& op, u32 mask, Provenance& p) {
    const FunctionProgram& code = fn(f);
    switch (op.op) {
    case Op::selp: case Op::slct: return derive_select(f, op, mask, p);
    case Op::shfl: return derive_shuffle(f, op, mask, p);
    case Op::unknown: return derive_unknown(f, op, mask, p);
    case Op::vote: case Op::match: case Op::redux: return add_all_lanes(f, op.src[0], mask, p);
    case Op::activemask: case Op::elect: return;
    case Op::mapa: case Op::ctarank: p.lost = mask; return;
    case Op::pack:
        for (u32 k = 0; k < op.list_count; ++k)
            if (code.lists[op.list + k] != kNone) f.from.add_to(p, code.lists[op.list + k], mask);
        return;
    case Op::unpack:
        // A part of a value carries its share: all parts together are the value again.
        f.from.add_to(p, op.src[0], mask);
        if (p.mask && op.width2 && op.width > op.width2) scale(p, inverse(op.width / op.width2));
        return;
    default:
        for (const u32 s : op.src)
            if (s != kNone) f.from.add_to(p, s, mask);
    }
}

void WarpRun::derive_select(Frame& f, const MicroOp& op, u32 mask, Provenance& p) {
    const Value& c = f.slots[op.src[2]];
    u32 first = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
        bool picks_first = c.lane[l] != 0;
        if (op.op == Op::slct) {
            picks_first = op.kind2 == Kind::f32 ? std::bit_cast<float>(static_cast<u32>(c.lane[l])) >= 0.0f : sign_extend(c.lane[l], 32) >= 0;
        }
        if (picks_first) first |= 1u << l;
    }
    const u32 known = c.known & mask, open = mask & ~c.known;
    if (const u32 lanes = (known & first) | open) f.from.add_to(p, op.src[0], lanes);
    if (const u32 lanes = (known & ~first) | open) f.from.add_to(p, op.src[1], lanes);
    // A known predicate that was loaded (--data) decides without adding to what is chosen.
    if (open) f.from.add_to(p, op.src[2], open);
    if (open && fn(f).blocks[f.block].loop != kNone) s_.entangled = true;
}

void WarpRun::derive_shuffle(Frame& f, const MicroOp& op, u32 mask, Provenance& p) {
    const Value &b = f.slots[op.src[1]], &c = f.slots[op.src[2]];
    const u32 told = b.known & c.known & mask;
    p.lost = mask & ~told;
    const u32 a = op.src[0];
    for (unsigned k = f.from.mask(a); k; k &= k - 1) p.open(static_cast<u32>(std::countr_zero(k)));
    for (u32 m = told; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const unsigned from = shuffle_source(op.mode, lane, b.lane[lane], c.lane[lane]);
        // What a lane that takes no part would have given is undefined.
        if (!(mask & (1u << from)) || (f.from.lost(a) & (1u << from))) { p.lost |= 1u << lane; continue; }
        for (unsigned k = p.mask; k; k &= k - 1) {
            const auto cls = static_cast<u32>(std::countr_zero(k));
            p.sum[cls][lane] = f.from.row(a, cls)[from];
        }
    }
}

void WarpRun::add_all_lanes(Frame& f, u32 slot, u32 mask, Provenance& p) {
    if (f.from.lost(slot) & mask) p.lost |= mask;
    for (unsigned k = f.from.mask(slot); k; k &= k - 1) {
        const auto c = static_cast<u32>(std::countr_zero(k));
        p.open(c);
        u64 all = 0;
        for (u32 m = mask; m; m &= m - 1) all = plus(all, f.from.row(slot, c)[std::countr_zero(m)]);
        for (unsigned l = 0; l < kLanes; ++l) p.add(c, l, (mask >> l) & 1 ? all : 0);
    }
}

/// A number that decides or changes what comes from memory: its bits stand for themselves.
void WarpRun::add_constant(const Value& v, unsigned width, u64 salt, u32 mask, Provenance& p) {
    keep_in_range(v, mask, std::min(60u, width), false, b_.domain);
    const u32 c = b_.classes.find(moved_by(v, b_.domain), true);
    p.open(c);
    for (u32 m = mask; m; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        p.add(c, l, times(salt, source_powers().of(v.lane[l] & (width_mask(60)))));
    }
}

void WarpRun::derive_unknown(Frame& f, const MicroOp& op, u32 mask, Provenance& p) {
    const FunctionProgram& code = fn(f);
    const Nature nature = s_.traits.nature[f.function][op.instruction];
    if (nature == Nature::lost) { p.lost = mask; return; }
    u32 all_known = mask;
    for (u32 k = 0; k < op.list_count; ++k)
        if (code.lists[op.list + k] != kNone) all_known &= f.slots[code.lists[op.list + k]].known;
    for (u32 k = 0; k < op.list_count; ++k) {
        const u32 s = code.lists[op.list + k];
        if (s == kNone) { p.lost = mask; continue; }
        if (nature == Nature::collective) {
            // Each lane's registers have a place of their own in the matrices.
            Provenance placed;
            placed.clear();
            f.from.add_to(placed, s, mask);
            for (unsigned m = placed.mask; m; m &= m - 1) {
                const auto c = static_cast<u32>(std::countr_zero(m));
                u64 all = 0;
                for (u32 lanes = mask; lanes; lanes &= lanes - 1) {
                    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
                    all = plus(all, times(placed.sum[c][l], scrambled(l * 64 + k)));
                }
                p.open(c);
                for (unsigned l = 0; l < kLanes; ++l) p.add(c, l, all);
            }
            if (placed.lost) p.lost = mask;
            continue;
        }
        f.from.add_to(p, s, mask);
        if (all_known) add_constant(f.slots[s], width_of(f, s), scrambled((u64{op.instruction} << 8) + k + 1), all_known, p);
    }
}

}  // namespace flipflop::eval
