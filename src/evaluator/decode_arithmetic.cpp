// Instructions that compute: arithmetic, logic, moves, conversions, comparisons, and what lanes exchange. PTX ISA 9.7 gives
// the meaning; operate.cpp, scalar.cpp and exchange.cpp carry it out.
#include "evaluator/decode.hpp"

namespace flipflop::eval {

using ptx::Opcode;
using ptx::OperandKind;
using ptx::Type;

namespace {

Op float_op(Op op) {
    switch (op) {
    case Op::add: return Op::fadd;
    case Op::sub: return Op::fsub;
    case Op::mul_lo: return Op::fmul;
    case Op::mad_lo: return Op::ffma;
    case Op::div: return Op::fdiv;
    case Op::min: return Op::fmin;
    case Op::max: return Op::fmax;
    case Op::neg: return Op::fneg;
    case Op::abs: return Op::fabs;
    default: return op;
    }
}

/// Variants of min and max: NaN wins (1), magnitudes with the sign of the product (2), negative results are 0 (4).
std::uint8_t extremum_mode(const ptx::Form& form) {
    return static_cast<std::uint8_t>((form.has("NaN") ? 1 : 0) | (form.has("xorsign") ? 2 : 0) | (form.has("relu") ? 4 : 0));
}

bool integer_or_float(Kind k) { return k == Kind::unsigned_int || k == Kind::signed_int || k == Kind::f32 || k == Kind::f64; }

}  // namespace

void Decoder::arithmetic() {
    const Type type = form_->type;
    const Kind kind = kind_of(type);
    const bool is_float = kind == Kind::f32 || kind == Kind::f64;
    if (type == Type::u16x2 || type == Type::s16x2) return packed();
    if (!integer_or_float(kind) && kind != Kind::pred) return unknown_results();
    const auto either = [&](Op op) { simple(is_float ? float_op(op) : op, type); };
    const auto multiply = [&](Op lo, Op hi, Op wide) {
        simple(is_float ? float_op(lo) : form_->wide ? wide : form_->hi ? hi : lo, type);
    };
    const auto narrow_source = [&](Op op, Type result) {   // popc and friends: a 32-bit result of a wider source
        simple(op, type);
        out_->back().reg_width = static_cast<std::uint8_t>(width_of(result));
    };
    switch (form_->opcode) {
    case Opcode::add_: form_->cc ? simple(Op::addc, type) : (either(Op::add), true); break;
    case Opcode::sub_: form_->cc ? simple(Op::subc, type) : (either(Op::sub), true); break;
    case Opcode::addc: simple(Op::addc, type); break;
    case Opcode::subc: simple(Op::subc, type); break;
    case Opcode::mul_: multiply(Op::mul_lo, Op::mul_hi, Op::mul_wide); break;
    case Opcode::mad: form_->cc ? simple(Op::madc, type) : (multiply(Op::mad_lo, Op::mad_hi, Op::mad_wide), true); break;
    case Opcode::madc: simple(Op::madc, type); break;
    case Opcode::fma_: simple(Op::ffma, type); break;
    case Opcode::mul24: simple(form_->hi ? Op::mul_hi : Op::mul_lo, type); out_->back().mode = 24; break;
    case Opcode::mad24: simple(form_->hi ? Op::mad_hi : Op::mad_lo, type); out_->back().mode = 24; break;
    case Opcode::sad: simple(Op::sad, type); break;
    case Opcode::div_: either(Op::div); break;
    case Opcode::rem_: simple(Op::rem, type); break;
    case Opcode::abs_: either(Op::abs); break;
    case Opcode::neg_: either(Op::neg); break;
    case Opcode::min_: either(Op::min); out_->back().mode = extremum_mode(*form_); break;
    case Opcode::max_: either(Op::max); out_->back().mode = extremum_mode(*form_); break;
    case Opcode::popc: narrow_source(Op::popc, Type::u32); break;
    case Opcode::clz: narrow_source(Op::clz, Type::u32); break;
    case Opcode::bfind: narrow_source(Op::bfind, Type::u32); out_->back().mode = form_->has("shiftamt"); break;
    case Opcode::brev: simple(Op::brev, type); break;
    case Opcode::bfe: simple(Op::bfe, type); break;
    case Opcode::bfi: simple(Op::bfi, type); break;
    case Opcode::szext: simple(Op::szext, type); out_->back().mode = form_->has("wrap"); break;
    case Opcode::bmsk: simple(Op::bmsk, type); out_->back().mode = form_->has("wrap"); break;
    case Opcode::fns: simple(Op::fns, Type::b32); break;
    case Opcode::dp4a: simple(Op::dp4a, type); out_->back().kind2 = kind_of(form_->type2); break;
    case Opcode::dp2a: simple(Op::dp2a, type); out_->back().kind2 = kind_of(form_->type2); break;
    case Opcode::and_: simple(Op::and_, type); break;
    case Opcode::or_: simple(Op::or_, type); break;
    case Opcode::xor_: simple(Op::xor_, type); break;
    case Opcode::not_: simple(Op::not_, type); break;
    case Opcode::cnot: simple(Op::cnot, type); break;
    case Opcode::shl: simple(Op::shl, type); break;
    case Opcode::shr: simple(Op::shr, type); break;
    case Opcode::shf:
        simple(Op::shf, type);
        out_->back().mode = static_cast<std::uint8_t>((form_->has("r") ? 1 : 0) | (form_->has("wrap") ? 2 : 0));
        break;
    case Opcode::lop3: lop3(); return;
    case Opcode::prmt: {
        static constexpr std::string_view modes[]{"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
        simple(Op::prmt, type);
        for (std::uint8_t m = 1; m < 7; ++m)
            if (form_->has(modes[m])) out_->back().mode = m;
        break;
    }
    case Opcode::selp:
        simple(Op::selp, type);
        if (operands_.size() == 4 && operands_[3].kind == OperandKind::reg) out_->back().src[2] = slots_.reg(operands_[3].reg());
        break;
    case Opcode::slct:
        simple(Op::slct, type);
        out_->back().kind2 = kind_of(form_->type2);
        if (operands_.size() == 4) out_->back().src[2] = source(operands_[3], form_->type2).slot;
        break;
    case Opcode::sqrt_: simple(Op::fsqrt, type); break;
    case Opcode::rcp: case Opcode::rsqrt:
        // The f64 approximations fill only the upper half, from a table that is not published (PTX ISA 9.7.3).
        if (form_->approx && kind == Kind::f64) return unknown_results();
        simple(form_->opcode == Opcode::rcp ? Op::frcp : Op::frsqrt, type);
        break;
    case Opcode::ex2: simple(Op::fex2, type); break;
    case Opcode::lg2: simple(Op::flg2, type); break;
    case Opcode::sin_: simple(Op::fsin, type); break;
    case Opcode::cos_: simple(Op::fcos, type); break;
    case Opcode::tanh_: simple(Op::ftanh, type); break;
    case Opcode::copysign: simple(Op::copysign, type); break;
    case Opcode::testp: {
        static constexpr std::string_view tests[]{"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
        simple(Op::testp, type);
        for (std::uint8_t t = 0; t < 6; ++t)
            if (form_->has(tests[t])) out_->back().mode = t;
        break;
    }
    default: unknown_results(); return;
    }
    MicroOp& m = out_->back();
    m.carry_out = form_->cc;
    m.carry_in = form_->carry_in;
    if (m.op == Op::addc || m.op == Op::subc || m.op == Op::madc) {
        m.dst[1] = m.carry_out ? slots_.carry() : kNone;
        m.src[3] = slots_.carry();
        m.mode = static_cast<std::uint8_t>(form_->hi ? 1 : 0);
    }
}

void Decoder::move() {
    if (operands_.size() < 2) return unknown_results();
    const ptx::Operand& d = operands_[0];
    const ptx::Operand& s = operands_[1];
    if (s.kind == OperandKind::vector) {
        std::vector<u32> parts;
        const auto children = module_.children_of(s);
        const unsigned total = width_of(form_->type);
        const unsigned part = children.empty() ? 0 : total / static_cast<unsigned>(children.size());
        for (const ptx::Operand& c : children) parts.push_back(source(c, part == 16 ? Type::b16 : part == 8 ? Type::b8 : Type::b32).slot);
        if (d.kind != OperandKind::reg || part == 0 || std::find(parts.begin(), parts.end(), kNone) != parts.end()) return unknown_results();
        MicroOp& m = emit(Op::pack, form_->type);
        m.dst[0] = destination(d);
        m.width2 = static_cast<std::uint8_t>(part);
        m.list_count = static_cast<u32>(parts.size());
        m.list = add_list(parts);
        return;
    }
    if (d.kind == OperandKind::vector) {
        const auto children = module_.children_of(d);
        const unsigned total = width_of(form_->type);
        const unsigned part = children.empty() ? 0 : total / static_cast<unsigned>(children.size());
        const Src from = source(s, form_->type);
        if (from.slot == kNone || part == 0) return unknown_results();
        for (std::size_t k = 0; k < children.size(); ++k) {
            if (children[k].kind != OperandKind::reg) continue;
            MicroOp& m = emit(Op::unpack, form_->type);
            m.dst[0] = destination(children[k]);
            m.width2 = static_cast<std::uint8_t>(part);
            m.immediate = static_cast<i64>(part * k);
            m.src[0] = from.slot;
            m.sources = 1;
        }
        return;
    }
    simple(Op::mov, form_->type);
}

void Decoder::convert() {
    const auto scalar_kind = [](Type t) { return t == Type::f16x2 ? Kind::f16 : t == Type::bf16x2 ? Kind::bf16 : t == Type::tf32 ? Kind::tf32 : kind_of(t); };
    const auto convertible = [](Kind k) { return integer_or_float(k) || k == Kind::f16 || k == Kind::bf16 || k == Kind::tf32; };
    const Kind to = scalar_kind(form_->type), from = kind_of(form_->type2);
    const bool two = form_->type == Type::f16x2 || form_->type == Type::bf16x2;
    if (!convertible(to) || !convertible(from) || operands_.size() != (two ? 3u : 2u) || form_->rounding == ptx::Rounding::rs) return unknown_results();
    const auto one = [&](std::size_t operand, u32 into, unsigned width) {
        MicroOp& m = emit(Op::cvt, form_->type);
        m.kind = to;
        m.width = static_cast<std::uint8_t>(width);
        m.dst[0] = into;
        m.reg_width = static_cast<std::uint8_t>(two ? 16 : reg_width(operands_[0]));
        m.kind2 = from;
        m.width2 = static_cast<std::uint8_t>(width_of(form_->type2));
        m.mode = static_cast<std::uint8_t>((form_->has("relu") ? 1 : 0) | (form_->has("satfinite") ? 2 : 0));
        sources(m, operand, 1, form_->type2);
    };
    if (!two) return one(1, destination(operands_[0]), width_of(form_->type));
    // cvt.rn.f16x2.f32 d, a, b: a becomes the upper half (PTX ISA 9.7.9.21).
    const u32 high = slots_.fresh(), low = slots_.fresh();
    one(1, high, 16);
    one(2, low, 16);
    MicroOp& m = emit(Op::pack, Type::b32);
    m.dst[0] = destination(operands_[0]);
    m.width2 = 16;
    m.list_count = 2;
    m.list = add_list({low, high});
}

/// lop3{.BoolOp}.b32 d{|p}, a, b, c, table{, q}: p = (d != 0) BoolOp q.
void Decoder::lop3() {
    const bool paired = !operands_.empty() && operands_[0].paired;
    const std::size_t first = paired ? 2 : 1;
    if (operands_.size() < first + 4 || operands_[first + 3].kind != OperandKind::immediate) return unknown_results();
    if (paired && operands_.size() < first + 5) return unknown_results();
    MicroOp& m = emit(Op::lop3, form_->type);
    u32 result = destination(operands_[0]);
    if (paired && result == kNone) result = slots_.fresh();
    m.dst[0] = result;
    m.immediate = operands_[first + 3].value;
    sources(m, first, 3, form_->type);
    if (!paired) return;
    MicroOp& p = emit(Op::setp, form_->type);
    p.compare = ptx::Compare::ne;
    p.dst[0] = destination(operands_[1]);
    const Src q = source(operands_[first + 4], Type::pred);
    p.src[0] = result;
    p.src[1] = slots_.constant(0);
    p.src[2] = q.slot;
    p.negate_last = q.negated;
    p.sources = 3;
}

/// Two 16-bit integers in a register: add, min and max (PTX ISA 9.7.1).
void Decoder::packed() {
    const int which = form_->opcode == Opcode::add_ ? 0 : form_->opcode == Opcode::min_ ? 1 : form_->opcode == Opcode::max_ ? 2 : -1;
    if (which < 0 || form_->sat) return unknown_results();
    simple(Op::packed16, Type::b32);
    MicroOp& m = out_->back();
    m.kind = form_->type == Type::s16x2 ? Kind::signed_int : Kind::unsigned_int;
    m.mode = static_cast<std::uint8_t>(which | (form_->has("relu") ? 4 : 0));
}

void Decoder::compare() {
    // setp.CmpOp{.BoolOp}.type p{|q}, a, b{, {!}c}; set writes 1.0f or ~0 into a register.
    std::size_t first = 1;
    const bool two = operands_.size() > 1 && operands_[0].paired;
    if (two) first = 2;
    const bool is_set = form_->opcode == Opcode::set;
    const Type type = is_set ? form_->type2 : form_->type;
    if (!integer_or_float(kind_of(type)) || operands_.size() < first + 2) return unknown_results();
    MicroOp& m = emit(is_set ? Op::set : Op::setp, type);
    m.kind2 = kind_of(form_->type);
    m.dst[0] = destination(operands_[0]);
    if (two) m.dst[1] = destination(operands_[1]);
    sources(m, first, 2, type);
    if (m.op != Op::unknown && operands_.size() > first + 2) {
        const Src c = source(operands_[first + 2], Type::pred);
        m.src[2] = c.slot;
        m.negate_last = c.negated;
        m.sources = 3;
    }
    if (m.op == Op::unknown) { out_->pop_back(); unknown_results(); }
}

/// Exchange between lanes, and what asks about lanes.
void Decoder::exchange() {
    static constexpr std::string_view shuffle[]{"up", "down", "bfly", "idx"}, votes[]{"all", "any", "uni", "ballot"},
        reductions[]{"add", "min", "max", "and", "or", "xor"};
    const std::size_t first = !operands_.empty() && operands_[0].paired ? 2 : 1;
    const auto start = [&](Op op, std::size_t count) -> MicroOp* {
        if (operands_.size() < first + count) { unknown_results(); return nullptr; }
        MicroOp& m = emit(op, form_->type == Type::none ? Type::b32 : form_->type);
        m.dst[0] = destination(operands_[0]);
        if (first == 2) m.dst[1] = destination(operands_[1]);
        sources(m, first, count, form_->opcode == Opcode::vote ? Type::pred : Type::b32);
        if (form_->sync && first + count < operands_.size()) m.src[3] = source(operands_[first + count], Type::b32).slot;
        return &m;
    };
    const auto pick = [&](MicroOp* m, std::span<const std::string_view> names) {
        if (!m) return;
        m->mode = 255;
        for (std::size_t k = 0; k < names.size(); ++k)
            if (form_->has(names[k])) m->mode = static_cast<std::uint8_t>(k);
        if (m->mode == 255) { out_->pop_back(); unknown_results(); }
    };
    switch (form_->opcode) {
    case Opcode::shfl: pick(start(Op::shfl, 3), shuffle); break;
    case Opcode::vote: pick(start(Op::vote, 1), votes); break;
    case Opcode::redux:
        if (kind_of(form_->type) == Kind::f32) return unknown_results();
        pick(start(Op::redux, 1), reductions);
        break;
    case Opcode::match: if (MicroOp* m = start(Op::match, 1)) m->mode = form_->has("all"); break;
    case Opcode::activemask: start(Op::activemask, 0); break;
    case Opcode::elect: start(Op::elect, 0); break;
    default: unknown_results();
    }
}

}  // namespace flipflop::eval
