// The linear algebra of PTX integers. What is linear modulo 2^width stays so without a condition (add, sub, mul by what
// does not move, shl, truncation). What reads a value as a number (widening, shifting right, dividing, comparing) is
// linear only where the number does not wrap, or does not cross a multiple of the divisor, or keeps its side: that is
// the condition put on the domain. Everything else keeps only d = 0 on the axes that move its sources.
#include <algorithm>
#include <bit>

#include "evaluator/affine.hpp"

namespace flipflop::eval {

Movement wrapped(Movement m, unsigned width) {
    m.axes = 0;
    for (unsigned a = 0; a < kAxes; ++a) {
        m.stride[a] = sign_extend(static_cast<u64>(m.stride[a]), width);
        if (m.stride[a]) m.axes = static_cast<Axes>(m.axes | (1u << a));
    }
    return m;
}

namespace {

struct Range { i128 low{}, high{}; };

Range range_of(const Value& v, u32 lanes, unsigned width, bool is_signed) {
    Range r{};
    bool first = true;
    for (u32 m = lanes; m; m &= m - 1) {
        const i128 x = typed(v.lane[static_cast<unsigned>(std::countr_zero(m))], width, is_signed);
        if (first || x < r.low) r.low = x;
        if (first || x > r.high) r.high = x;
        first = false;
        if (v.uniform) break;
    }
    return r;
}

class Affine {
public:
    Affine(const MicroOp& op, const Value* a, const Value* b, const Value* c, u32 lanes, Domain& domain)
        : op_(op), a_(a), b_(b), c_(c), lanes_(lanes), domain_(domain) {}

    Movement run() {
        const unsigned w = op_.width;
        if (op_.sat) return tie_all();
        switch (op_.op) {
        case Op::mov: case Op::cvta: return wrapped(of(a_), op_.op == Op::cvta ? 64 : w);
        case Op::cvt: return cvt();
        case Op::add: return wrapped(sum(of(a_), of(b_), 1), w);
        case Op::sub: return wrapped(sum(of(a_), of(b_), -1), w);
        case Op::neg: case Op::not_: return wrapped(sum({}, of(a_), -1), w);
        case Op::mul_lo: return op_.mode == 24 ? tie_all() : wrapped(product(w), w);
        case Op::mad_lo: {
            if (op_.mode == 24) return tie_all();
            const Movement p = product(w);
            return wrapped(sum(p, of(c_), 1), w);
        }
        case Op::mul_wide: return wide(false);
        case Op::mad_wide: return wide(true);
        case Op::mul_hi: return high_product();
        case Op::shl: return shift_left();
        case Op::shr: return shift_right();
        case Op::div: case Op::rem: return divide();
        case Op::and_: return mask_and();
        case Op::or_: case Op::xor_: return combine_bits();
        case Op::bfe: return bit_field();
        case Op::min: case Op::max: return op_.mode ? tie_all() : extremum();
        case Op::setp: case Op::set: return compare();
        case Op::selp: return select();
        case Op::abs: return magnitude();
        default: return tie_all();
        }
    }

private:
    [[nodiscard]] Axes live(const Value* v) const { return v ? static_cast<Axes>(v->axes & domain_.live()) : Axes{0}; }
    [[nodiscard]] Movement of(const Value* v) const {
        Movement m;
        m.axes = live(v);
        for (unsigned k = 0; k < kAxes; ++k)
            if (m.axes & (1u << k)) m.stride[k] = v->stride[k];
        return m;
    }
    static Movement sum(Movement x, const Movement& y, int sign) {
        for (unsigned k = 0; k < kAxes; ++k)
            x.stride[k] = static_cast<i64>(static_cast<u64>(x.stride[k]) + static_cast<u64>(sign) * static_cast<u64>(y.stride[k]));
        return x;
    }
    Movement tie_all() {
        domain_.tie(static_cast<unsigned>(live(a_) | live(b_) | live(c_)));
        return {};
    }
    [[nodiscard]] bool is_signed() const { return op_.kind == Kind::signed_int; }
    /// The value all lanes share, when they do and when it does not move.
    [[nodiscard]] bool fixed(const Value* v, u64& value) const {
        if (!v || live(v)) return false;
        value = v->lane[static_cast<unsigned>(std::countr_zero(lanes_))];
        if (v->uniform) return true;
        for (u32 m = lanes_; m; m &= m - 1)
            if (v->lane[static_cast<unsigned>(std::countr_zero(m))] != value) return false;
        return true;
    }
    void in_range(const Value* v, unsigned width, bool sign) { keep_in_range(*v, lanes_, width, sign, domain_); }

    /// Of two factors that both move, the one that spans less stops.
    void untangle() {
        if (!live(a_) || !live(b_)) return;
        const auto span = [&](Axes axes) {
            double n = 1;
            for (unsigned k = 0; k < kAxes; ++k)
                if (axes & (1u << k)) n *= static_cast<double>(domain_.extent[k]);
            return n;
        };
        domain_.tie(span(live(a_)) < span(live(b_)) ? live(a_) : live(b_));
    }
    Movement product(unsigned) {
        untangle();
        const Value* moving = live(a_) ? a_ : live(b_) ? b_ : nullptr;
        if (!moving) return {};
        u64 factor = 0;
        if (!fixed(moving == a_ ? b_ : a_, factor)) { domain_.tie(live(moving)); return {}; }
        const auto scale = static_cast<u64>(is_signed() ? sign_extend(factor, op_.width) : static_cast<i64>(factor));
        Movement m = of(moving);
        for (i64& s : m.stride) s = static_cast<i64>(static_cast<u64>(s) * scale);
        return m;
    }
    Movement wide(bool add) {
        untangle();
        if (live(a_)) in_range(a_, op_.width, is_signed());
        if (live(b_)) in_range(b_, op_.width, is_signed());
        Movement m = product(2 * op_.width);
        if (add) m = sum(m, of(c_), 1);
        return wrapped(m, std::min(64u, 2u * op_.width));
    }

    /// Splits strides by a divisor. On axes it does not divide, the quotient must not change.
    struct Split { Movement quotient, rest; };
    template <class F>
    Split split(const Movement& m, i128 divisor, const F& lane_value) {
        Split s;
        Strides others{};
        bool any = false;
        for (unsigned k = 0; k < kAxes; ++k) {
            if (m.stride[k] == 0) continue;
            if (m.stride[k] % divisor == 0) {
                s.quotient.stride[k] = static_cast<i64>(m.stride[k] / divisor);
            } else {
                others[k] = s.rest.stride[k] = m.stride[k];
                any = true;
            }
        }
        if (!any) return s;
        i128 low = divisor, high = 0;
        for (u32 lanes = lanes_; lanes; lanes &= lanes - 1) {
            i128 r = lane_value(static_cast<unsigned>(std::countr_zero(lanes))) % divisor;
            if (r < 0) r += divisor;
            low = std::min(low, r);
            high = std::max(high, r);
        }
        domain_.at_most(high, others, divisor - 1);
        domain_.at_least(low, others, 0);
        return s;
    }

    Movement cvt() {
        const auto integer = [](Kind k) { return k == Kind::unsigned_int || k == Kind::signed_int; };
        if (!integer(op_.kind) || !integer(op_.kind2) || op_.sat) return tie_all();
        if (!live(a_)) return {};
        const bool from_signed = op_.kind2 == Kind::signed_int;
        if (op_.width > op_.width2) in_range(a_, op_.width2, from_signed);
        Movement m = wrapped(of(a_), op_.width);
        if (op_.reg_width > op_.width && op_.width <= op_.width2) {
            // The truncated value fills a wider register: it must not wrap in the narrow type.
            Value narrow = *a_;
            narrow.stride = m.stride;
            narrow.axes = m.axes;
            for (u64& x : narrow.lane) x &= width_mask(op_.width);
            keep_in_range(narrow, lanes_, op_.width, is_signed(), domain_);
        }
        return wrapped(m, op_.reg_width);
    }
    Movement high_product() {
        untangle();
        const Value* moving = live(a_) ? a_ : live(b_) ? b_ : nullptr;
        u64 factor = 0;
        if (!moving || op_.mode == 24 || !fixed(moving == a_ ? b_ : a_, factor)) return tie_all();
        in_range(moving, op_.width, is_signed());
        if (op_.width > 32) return tie_all();
        const i128 scale = typed(factor, op_.width, is_signed());
        Movement m = of(moving);
        for (i64& s : m.stride) {
            const i128 scaled = static_cast<i128>(s) * scale;
            if (scaled > INT64_MAX || scaled < INT64_MIN) return tie_all();
            s = static_cast<i64>(scaled);
        }
        const Split s = split(m, static_cast<i128>(1) << op_.width,
                              [&](unsigned l) { return typed(moving->lane[l], op_.width, is_signed()) * scale; });
        return wrapped(s.quotient, op_.width);
    }
    Movement shift_left() {
        u64 amount = 0;
        if (!fixed(b_, amount)) return tie_all();
        amount &= 0xffffffffu;
        if (amount >= op_.width) return {};
        Movement m = of(a_);
        for (i64& s : m.stride) s = static_cast<i64>(static_cast<u64>(s) << amount);
        return wrapped(m, op_.width);
    }
    Movement shift_right() {
        u64 amount = 0;
        if (!live(a_) && !live(b_)) return {};
        if (!fixed(b_, amount)) return tie_all();
        in_range(a_, op_.width, is_signed());
        amount = std::min<u64>(amount & 0xffffffffu, op_.width);
        const Split s = split(of(a_), static_cast<i128>(1) << amount, [&](unsigned l) { return typed(a_->lane[l], op_.width, is_signed()); });
        return wrapped(s.quotient, op_.width);
    }
    Movement divide() {
        u64 divisor = 0;
        if (!live(a_) && !live(b_)) return {};
        if (!fixed(b_, divisor)) return tie_all();
        const i128 by = typed(divisor, op_.width, is_signed());
        if (by <= 0) return tie_all();
        in_range(a_, op_.width, is_signed());
        const Range r = range_of(*a_, lanes_, op_.width, is_signed());
        if (r.low < 0) return tie_all();
        domain_.at_least(r.low, of(a_).stride, 0);
        const Split s = split(of(a_), by, [&](unsigned l) { return typed(a_->lane[l], op_.width, is_signed()); });
        return wrapped(op_.op == Op::div ? s.quotient : s.rest, op_.width);
    }
    /// x modulo 2^bits: what remains moves only on the axes whose strides are no multiples.
    Movement low_bits(const Value* v, const Movement& m, unsigned bits) {
        if (bits >= 64) return m;
        return split(m, static_cast<i128>(1) << bits, [&](unsigned l) { return static_cast<i128>(v->lane[l]); }).rest;
    }
    Movement mask_and() {
        if (live(a_) && live(b_)) return tie_all();
        const Value* moving = live(a_) ? a_ : live(b_) ? b_ : nullptr;
        if (!moving) return {};
        const Value* other = moving == a_ ? b_ : a_;
        u64 bits = 0;
        for (u32 m = lanes_; m; m &= m - 1) bits |= other->lane[static_cast<unsigned>(std::countr_zero(m))];
        bits &= width_mask(op_.width);
        if (bits == 0) return {};
        const unsigned high = 64 - static_cast<unsigned>(std::countl_zero(bits)), low = static_cast<unsigned>(std::countr_zero(bits));
        Movement m = of(moving);
        if (high < op_.width) m = low_bits(moving, m, high);
        u64 value = 0;
        const bool contiguous = fixed(other, value) && value == (width_mask(high) & ~width_mask(low));
        if (!contiguous) {
            // Any mask within bits [0, high): fine when nothing there moves.
            for (const i64 s : m.stride)
                if (s) { domain_.tie(live(moving)); return {}; }
            return {};
        }
        if (low > 0) {
            const Movement rest = m;
            const Split s = split(rest, static_cast<i128>(1) << low, [&](unsigned l) { return static_cast<i128>(moving->lane[l]); });
            for (unsigned k = 0; k < kAxes; ++k) m.stride[k] = static_cast<i64>(static_cast<u64>(s.quotient.stride[k]) << low);
        }
        return wrapped(m, op_.width);
    }
    /// or and xor of values whose moving parts share no bits: a sum.
    Movement combine_bits() {
        const Movement ma = of(a_), mb = of(b_);
        if (!live(a_) && !live(b_)) return {};
        const auto fits_below = [&](const Value* low, const Movement& ml, const Movement& mh) {
            u64 bits = 0;
            for (u32 m = lanes_; m; m &= m - 1) bits |= low->lane[static_cast<unsigned>(std::countr_zero(m))];
            unsigned shift = 64 - static_cast<unsigned>(std::countl_zero(bits));
            if (ml.axes) {
                // The lower part moves too: it must stay below the higher one's lowest step.
                u64 steps = 0;
                for (const i64 s : mh.stride) steps |= static_cast<u64>(s);
                const Value* high = low == a_ ? b_ : a_;
                for (u32 m = lanes_; m; m &= m - 1) steps |= high->lane[static_cast<unsigned>(std::countr_zero(m))];
                const unsigned room = steps ? static_cast<unsigned>(std::countr_zero(steps)) : 63;
                if (room < shift || room >= 64) return false;
                const Range r = range_of(*low, lanes_, 64, false);
                domain_.at_most(r.high, ml.stride, (static_cast<i128>(1) << room) - 1);
                domain_.at_least(r.low, ml.stride, 0);
                return true;
            }
            for (const i64 s : mh.stride)
                if (s && (shift >= 64 || (static_cast<u64>(s) & width_mask(shift)))) return false;
            return true;
        };
        if (fits_below(b_, mb, ma) || fits_below(a_, ma, mb)) return wrapped(sum(ma, mb, 1), op_.width);
        return tie_all();
    }
    Movement bit_field() {
        u64 position = 0, length = 0;
        if (!live(a_) && !live(b_) && !live(c_)) return {};
        if (is_signed() || !fixed(b_, position) || !fixed(c_, length)) return tie_all();
        position &= 0xff;
        length &= 0xff;
        if (length == 0 || position >= op_.width) return {};
        Movement m = of(a_);
        if (position + length < op_.width) m = low_bits(a_, m, static_cast<unsigned>(position + length));
        else in_range(a_, op_.width, false);
        if (position == 0) return wrapped(m, op_.width);
        return wrapped(split(m, static_cast<i128>(1) << position, [&](unsigned l) { return static_cast<i128>(a_->lane[l]); }).quotient, op_.width);
    }

    /// Conditions under which every lane keeps its answer to "a - b < 0", "<= 0", "== 0".
    void keep_decision(ptx::Compare how) {
        using C = ptx::Compare;
        if (live(a_)) in_range(a_, op_.width, is_signed());
        if (live(b_)) in_range(b_, op_.width, is_signed());
        const Movement d = sum(of(a_), of(b_), -1);
        bool moves = false;
        for (const i64 s : d.stride) moves |= s != 0;
        if (!moves) return;
        // For order: lanes below the boundary stay at most `below`, the others at least `below + 1`.
        const bool equality = how == C::eq || how == C::ne;
        const i128 below = how == C::lt || how == C::lo || how == C::ge || how == C::hs ? -1 : 0;
        i128 highest_below = 0, lowest_above = 0;
        bool some_below = false, some_above = false, some_equal = false;
        for (u32 m = lanes_; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            const i128 diff = typed(a_->lane[l], op_.width, is_signed()) - typed(b_->lane[l], op_.width, is_signed());
            if (equality && diff == 0) { some_equal = true; continue; }
            if (equality ? diff < 0 : diff <= below) {
                highest_below = some_below ? std::max(highest_below, diff) : diff;
                some_below = true;
            } else {
                lowest_above = some_above ? std::min(lowest_above, diff) : diff;
                some_above = true;
            }
            if (a_->uniform && b_->uniform) break;
        }
        if (some_equal) {
            unsigned axes = 0;
            for (unsigned k = 0; k < kAxes; ++k) axes |= d.stride[k] ? 1u << k : 0u;
            domain_.tie(axes);
            return;
        }
        if (some_below) domain_.at_most(highest_below, d.stride, equality ? -1 : below);
        if (some_above) domain_.at_least(lowest_above, d.stride, equality ? 1 : below + 1);
    }
    Movement compare() {
        if (!live(a_) && !live(b_)) return {};
        if (op_.kind == Kind::f32 || op_.kind == Kind::f64) return tie_all();
        keep_decision(op_.compare);
        return {};
    }
    /// The movement of whichever source each lane takes: one for all, or none on the axes where they differ.
    Movement chosen(u32 takes_a, u32 takes_b) {
        const Movement ma = of(a_), mb = of(b_);
        if (!takes_b) return ma;
        if (!takes_a) return mb;
        unsigned differ = 0;
        for (unsigned k = 0; k < kAxes; ++k) differ |= ma.stride[k] != mb.stride[k] ? 1u << k : 0u;
        domain_.tie(differ);
        Movement m = ma;
        for (unsigned k = 0; k < kAxes; ++k)
            if (differ & (1u << k)) m.stride[k] = 0;
        return wrapped(m, 64);
    }
    Movement extremum() {
        if (!live(a_) && !live(b_)) return {};
        keep_decision(ptx::Compare::le);
        u32 takes_a = 0;
        for (u32 m = lanes_; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            const bool less = typed(a_->lane[l], op_.width, is_signed()) <= typed(b_->lane[l], op_.width, is_signed());
            if (less == (op_.op == Op::min)) takes_a |= 1u << l;
        }
        return chosen(takes_a, lanes_ & ~takes_a);
    }
    Movement select() {
        if (!live(a_) && !live(b_)) return {};
        u32 takes_a = 0;
        for (u32 m = lanes_; m; m &= m - 1) {
            const auto l = static_cast<unsigned>(std::countr_zero(m));
            if (c_->lane[l]) takes_a |= 1u << l;
        }
        return chosen(takes_a, lanes_ & ~takes_a);
    }
    Movement magnitude() {
        if (!live(a_)) return {};
        in_range(a_, op_.width, true);
        const Range r = range_of(*a_, lanes_, op_.width, true);
        if (r.low >= 0) {
            domain_.at_least(r.low, of(a_).stride, 0);
            return of(a_);
        }
        if (r.high >= 0) return tie_all();
        domain_.at_most(r.high, of(a_).stride, -1);
        return wrapped(sum({}, of(a_), -1), op_.width);
    }

    const MicroOp& op_;
    const Value *a_, *b_, *c_;
    u32 lanes_;
    Domain& domain_;
};

}  // namespace

Movement movement(const MicroOp& op, const Value* a, const Value* b, const Value* c, u32 lanes, Domain& domain) {
    const unsigned axes = static_cast<unsigned>((a ? a->axes : 0) | (b ? b->axes : 0) | (c ? c->axes : 0));
    if (!(axes & domain.live()) || !lanes) return {};
    return Affine(op, a, b, c, lanes, domain).run();
}

void keep_in_range(const Value& v, u32 lanes, unsigned width, bool is_signed, Domain& domain) {
    if (!(v.axes & domain.live()) || !lanes) return;
    const Range r = range_of(v, lanes, width, is_signed);
    const i128 low = is_signed ? -(static_cast<i128>(1) << (width - 1)) : 0;
    const i128 high = is_signed ? (static_cast<i128>(1) << (width - 1)) - 1 : static_cast<i128>(width_mask(width));
    domain.at_most(r.high, v.stride, high);
    domain.at_least(r.low, v.stride, low);
}

}  // namespace flipflop::eval
