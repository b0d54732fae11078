// PTX instructions as micro-operations. PTX ISA 9.7 gives the meaning; operate.cpp carries it out.
#include "evaluator/decode.hpp"

#include <bit>
#include <cstring>

namespace flipflop::eval {

using ptx::Opcode;
using ptx::OperandKind;
using ptx::Type;

Kind kind_of(Type type) {
    switch (type) {
    case Type::pred: return Kind::pred;
    case Type::s8: case Type::s16: case Type::s32: case Type::s64: case Type::s4: return Kind::signed_int;
    case Type::u8: case Type::u16: case Type::u32: case Type::u64: case Type::b8: case Type::b16: case Type::b32:
    case Type::b64: case Type::none: return Kind::unsigned_int;
    case Type::f32: return Kind::f32;
    case Type::f64: return Kind::f64;
    case Type::f16: return Kind::f16;
    case Type::bf16: return Kind::bf16;
    default: return Kind::other;
    }
}

unsigned width_of(Type type) {
    if (type == Type::pred) return 1;
    const unsigned bits = ptx::bits_of(type);
    return bits == 0 ? 32 : bits > 64 ? 64 : bits;
}

u32 SlotTable::reg(ptx::RegId id, unsigned component) {
    const auto [it, added] = regs_.try_emplace({static_cast<u32>(id), component}, count_);
    if (added) ++count_;
    return it->second;
}
u32 SlotTable::constant(u64 bits) {
    const auto [it, added] = constants_.try_emplace(bits, count_);
    if (added) { fixed_[count_] = true; ++count_; }
    return it->second;
}
u32 SlotTable::special(ptx::Special which) {
    const auto [it, added] = specials_.try_emplace(which, count_);
    if (added) { fixed_[count_] = true; ++count_; }
    return it->second;
}
u32 SlotTable::piece(u32 symbol, i64 offset) {
    const auto [it, added] = pieces_.try_emplace({symbol, offset}, count_);
    if (added) ++count_;
    return it->second;
}
u32 SlotTable::carry() {
    if (carry_ == kNone) carry_ = count_++;
    return carry_;
}

Decoder::Decoder(Program& program, u32 function, SlotTable& slots, std::vector<PendingCall>& calls)
    : program_(program), function_index_(function), function_(program.functions[function]), module_(*program.module),
      slots_(slots), calls_(calls) {}

u32 Decoder::add_list(const std::vector<u32>& list) {
    const auto begin = static_cast<u32>(function_.lists.size());
    function_.lists.insert(function_.lists.end(), list.begin(), list.end());
    return begin;
}

unsigned Decoder::reg_width(const ptx::Operand& operand) const {
    if (operand.kind != OperandKind::reg) return 64;
    return width_of(function_.code->ir.function->registers[operand.index].type);
}

MicroOp& Decoder::emit(Op op, Type type) {
    MicroOp m;
    m.op = op;
    m.kind = kind_of(type);
    m.width = static_cast<std::uint8_t>(width_of(type));
    m.width2 = m.width;
    m.reg_width = m.width;
    m.instruction = index_;
    m.compare = form_->compare;
    m.bool_op = form_->bool_op;
    m.rounding = form_->rounding;
    m.sat = form_->sat;
    m.hi = form_->hi;
    m.ftz = form_->ftz;
    if (instruction_->guard != ptx::RegId::none) {
        m.guard = slots_.reg(instruction_->guard);
        m.guard_negated = instruction_->guard_negated;
    }
    out_->push_back(m);
    return out_->back();
}

Decoder::Src Decoder::source(const ptx::Operand& o, Type type) {
    const unsigned width = width_of(type);
    switch (o.kind) {
    case OperandKind::reg: {
        const unsigned vector = function_.code->ir.function->registers[o.index].vector;
        return {slots_.reg(o.reg(), vector > 1 && o.selector > 0 ? o.selector - 1u : 0u), o.negated};
    }
    case OperandKind::special: return {slots_.special(static_cast<ptx::Special>(o.index)), o.negated};
    case OperandKind::immediate:
        if (type == Type::f32) return {slots_.constant(std::bit_cast<u32>(static_cast<float>(o.value)))};
        if (type == Type::f64) return {slots_.constant(std::bit_cast<u64>(static_cast<double>(o.value)))};
        return {slots_.constant(static_cast<u64>(o.value) & width_mask(width))};
    case OperandKind::immediate_f32:
        if (type == Type::f64)
            return {slots_.constant(std::bit_cast<u64>(static_cast<double>(std::bit_cast<float>(static_cast<u32>(o.value)))))};
        return {slots_.constant(static_cast<u64>(o.value) & 0xffffffffu)};
    case OperandKind::immediate_f64:
        if (type == Type::f32)
            return {slots_.constant(std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(o.value))))};
        return {slots_.constant(static_cast<u64>(o.value))};
    case OperandKind::symbol: {
        const auto it = program_.map.symbols.find(o.index);
        if (it == program_.map.symbols.end()) return {};
        return {slots_.constant((it->second + static_cast<u64>(o.value)) & width_mask(width))};
    }
    default: return {};
    }
}

u32 Decoder::destination(const ptx::Operand& o) {
    if (o.kind != OperandKind::reg) return kNone;
    const unsigned vector = function_.code->ir.function->registers[o.index].vector;
    return slots_.reg(o.reg(), vector > 1 && o.selector > 0 ? o.selector - 1u : 0u);
}

void Decoder::sources(MicroOp& op, std::size_t first, std::size_t count, Type type) {
    for (std::size_t k = 0; k < count && k < 4; ++k) {
        if (first + k >= operands_.size()) break;
        const Src s = source(operands_[first + k], type);
        if (s.slot == kNone) { op.op = Op::unknown; op.sources = 0; return; }
        op.src[k] = s.slot;
        op.sources = static_cast<std::uint8_t>(k + 1);
        if (s.negated) op.negate_last = true;
    }
}

/// d = op(a, b, ...) of one type.
bool Decoder::simple(Op op, Type type) {
    MicroOp& m = emit(op, type);    // even of an instruction cut short: callers refine what stands last
    if (operands_.empty()) return false;
    m.dst[0] = destination(operands_[0]);
    m.reg_width = static_cast<std::uint8_t>(reg_width(operands_[0]));
    sources(m, 1, operands_.size() - 1, type);
    return true;
}

/// Every register the instruction reads but its guard and `except`.
void Decoder::list_reads(MicroOp& op, u32 except) {
    std::vector<u32> slots;
    for (const ptx::RegId r : function_.code->ir.reads(index_)) {
        const u32 slot = slots_.reg(r);
        if (slot != op.guard && slot != except) slots.push_back(slot);
    }
    op.list_count = static_cast<u32>(slots.size());
    op.list = add_list(slots);
}

void Decoder::unknown_results() {
    const auto writes = function_.code->ir.writes(index_);
    for (const ptx::RegId r : writes) {
        MicroOp& m = emit(Op::unknown, Type::b64);
        m.dst[0] = slots_.reg(r);
        list_reads(m, kNone);
    }
}

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

bool integer_or_float(Kind k) { return k == Kind::unsigned_int || k == Kind::signed_int || k == Kind::f32 || k == Kind::f64; }

}  // namespace

void Decoder::arithmetic() {
    const Type type = form_->type;
    const Kind kind = kind_of(type);
    const bool is_float = kind == Kind::f32 || kind == Kind::f64;
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
    case Opcode::min_: either(Op::min); break;
    case Opcode::max_: either(Op::max); break;
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
    case Opcode::lop3: {
        if (operands_.size() < 5 || operands_[0].paired || operands_[4].kind != OperandKind::immediate) return unknown_results();
        simple(Op::lop3, type);
        out_->back().sources = 3;
        out_->back().immediate = operands_[4].value;
        break;
    }
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
    case Opcode::slct: simple(Op::slct, type); out_->back().kind2 = kind_of(form_->type2); break;
    case Opcode::sqrt_: simple(Op::fsqrt, type); break;
    case Opcode::rcp: simple(Op::frcp, type); break;
    case Opcode::rsqrt: simple(Op::frsqrt, type); break;
    case Opcode::ex2: simple(Op::fex2, type); break;
    case Opcode::lg2: simple(Op::flg2, type); break;
    case Opcode::sin_: simple(Op::fsin, type); break;
    case Opcode::cos_: simple(Op::fcos, type); break;
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
    const Kind to = kind_of(form_->type), from = kind_of(form_->type2);
    if (!integer_or_float(to) || !integer_or_float(from) || operands_.size() != 2) return unknown_results();
    MicroOp& m = emit(Op::cvt, form_->type);
    m.dst[0] = destination(operands_[0]);
    m.reg_width = static_cast<std::uint8_t>(reg_width(operands_[0]));
    m.kind2 = from;
    m.width2 = static_cast<std::uint8_t>(width_of(form_->type2));
    sources(m, 1, 1, form_->type2);
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

std::pair<u32, i64> Decoder::address(const ptx::Operand& o) {
    switch (o.kind) {
    case OperandKind::address_reg: return {slots_.reg(o.reg()), o.value};
    case OperandKind::address_immediate: return {slots_.constant(static_cast<u64>(o.value)), 0};
    case OperandKind::address_symbol: {
        const auto it = program_.map.symbols.find(o.index);
        if (it == program_.map.symbols.end()) return {kNone, 0};
        return {slots_.constant(it->second), o.value};
    }
    default: return {kNone, 0};
    }
}

/// ld.param and st.param: of the kernel's parameters, of this function's, or of a call about to be made.
void Decoder::parameter_access() {
    const bool is_store = form_->opcode == Opcode::st;
    const ptx::Operand& place = operands_[is_store ? 0 : 1];
    const ptx::Operand& data = operands_[is_store ? 1 : 0];
    std::vector<ptx::Operand> parts;
    if (data.kind == OperandKind::vector) {
        const auto children = module_.children_of(data);
        parts.assign(children.begin(), children.end());
    } else {
        parts.push_back(data);
    }
    const bool symbolic = place.kind == OperandKind::address_symbol;
    const ptx::Function& fn = *function_.code->ir.function;
    const bool of_kernel = fn.is_entry && (!symbolic || module_.symbol(place.symbol()).kind == ptx::Symbol::Kind::parameter);
    const unsigned bytes = width_of(form_->type) / 8;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const i64 offset = place.value + static_cast<i64>(k * bytes);
        if (of_kernel && !is_store) {
            const auto [slot, plus] = address(place);
            if (destination(parts[k]) == kNone) continue;
            MicroOp& m = emit(slot == kNone ? Op::unknown : Op::load, form_->type);
            m.dst[0] = destination(parts[k]);
            m.reg_width = static_cast<std::uint8_t>(reg_width(parts[k]));
            if (slot == kNone) continue;
            MemoryOp memory;
            memory.space = ptx::Space::param;
            memory.is_param = true;
            memory.element_bytes = static_cast<std::uint8_t>(bytes);
            memory.bytes = bytes;
            memory.address = slot;
            memory.offset = plus + static_cast<i64>(k * bytes);
            memory.function = function_index_;
            memory.instruction = index_;
            m.src[0] = slot;
            m.sources = 1;
            m.list = add_list({m.dst[0]});
            m.list_count = 1;
            m.payload = static_cast<u32>(program_.memory.size());
            program_.memory.push_back(memory);
        } else if (!symbolic) {
            if (!is_store && destination(parts[k]) != kNone) emit(Op::unknown, Type::b64).dst[0] = destination(parts[k]);
        } else if (is_store) {
            const Src from = source(parts[k], form_->type);
            MicroOp& m = emit(from.slot == kNone ? Op::unknown : Op::mov, form_->type);
            m.dst[0] = slots_.piece(place.index, offset);
            m.src[0] = from.slot;
            m.sources = from.slot == kNone ? 0 : 1;
        } else if (destination(parts[k]) != kNone) {
            MicroOp& m = emit(Op::cvt, form_->type);
            m.kind2 = m.kind;
            if (m.kind != Kind::signed_int) m.kind = m.kind2 = Kind::unsigned_int;
            m.dst[0] = destination(parts[k]);
            m.reg_width = static_cast<std::uint8_t>(reg_width(parts[k]));
            m.src[0] = slots_.piece(place.index, offset);
            m.sources = 1;
        }
    }
}

void Decoder::call() {
    PendingCall pending;
    MicroOp& m = emit(Op::call, Type::b32);
    m.payload = static_cast<u32>(calls_.size());
    bool seen = false;
    const auto collect = [&](const ptx::Operand& list, std::vector<CallArgument>& out) {
        for (const ptx::Operand& c : module_.children_of(list)) {
            CallArgument a;
            if (c.kind == OperandKind::symbol && module_.symbol(c.symbol()).space != ptx::Space::reg &&
                !program_.map.symbols.contains(c.index))
                a.symbol = c.index;
            else if (c.kind == OperandKind::name) a.symbol = c.index;
            else a.slot = source(c, Type::b64).slot;
            out.push_back(a);
        }
    };
    for (const ptx::Operand& o : operands_) {
        if (o.kind == OperandKind::list) collect(o, seen ? pending.arguments : pending.results);
        if (seen || (o.kind != OperandKind::symbol && o.kind != OperandKind::reg)) continue;
        seen = true;
        if (o.kind != OperandKind::symbol) continue;
        const ptx::Symbol& symbol = module_.symbol(o.symbol());
        if (symbol.kind != ptx::Symbol::Kind::function || symbol.index >= program_.code->function_of_symbol.size()) continue;
        const std::int32_t callee = program_.code->function_of_symbol[symbol.index];
        if (callee >= 0) pending.callee = static_cast<u32>(callee);
    }
    calls_.push_back(std::move(pending));
}

void Decoder::translate(u32 index, std::vector<MicroOp>& out) {
    out_ = &out;
    index_ = index;
    instruction_ = &function_.code->ir.function->instructions[index];
    form_ = &module_.form(*instruction_);
    operands_ = module_.operands_of(*instruction_);
    if (instruction_->guard != ptx::RegId::none) (void)slots_.reg(instruction_->guard);
    if (form_->opcode == Opcode::brx_idx && !operands_.empty() && operands_[0].kind == OperandKind::reg)
        (void)slots_.reg(operands_[0].reg());
    const InstructionTable& table = function_.code->table;
    const bool touches = table.access[index] >= 0 || table.access2[index] >= 0;
    switch (form_->opcode) {
    case Opcode::mov: move(); return;
    case Opcode::cvt: convert(); return;
    case Opcode::setp: case Opcode::set: compare(); return;
    case Opcode::shfl: case Opcode::vote: case Opcode::match: case Opcode::activemask: case Opcode::redux: case Opcode::elect:
        exchange();
        return;
    case Opcode::cvta: {
        simple(Op::cvta, form_->type);
        MicroOp& m = out.back();
        u64 base = 0;
        switch (form_->space) {
        case ptx::Space::shared: base = program_.map.shared_window; break;
        case ptx::Space::local: base = program_.map.local_window; break;
        case ptx::Space::constant: base = program_.map.constant_window; break;
        case ptx::Space::param: base = program_.map.parameter_window; break;
        default: break;
        }
        m.immediate = form_->to ? -static_cast<i64>(base) : static_cast<i64>(base);
        m.kind = Kind::unsigned_int;
        return;
    }
    case Opcode::isspacep: {
        simple(Op::isspacep, Type::b64);
        out.back().mode = static_cast<std::uint8_t>(form_->space);
        return;
    }
    case Opcode::mapa: {
        simple(Op::mapa, form_->type);
        out.back().immediate = form_->space == ptx::Space::none || form_->space == ptx::Space::generic ? 1 : 0;
        return;
    }
    case Opcode::getctarank: simple(Op::ctarank, Type::b64); return;
    case Opcode::call: call(); return;
    case Opcode::bar: case Opcode::barrier: case Opcode::bar_red: case Opcode::barrier_red: case Opcode::barrier_cta_red:
    case Opcode::bar_arrive: case Opcode::barrier_cluster: {
        unknown_results();
        MicroOp& m = emit(Op::barrier, Type::b32);
        m.payload = program_.barriers;
        m.mode = 1;
        if (form_->opcode == Opcode::bar_arrive || form_->has("arrive")) m.mode = 0;
        if (form_->opcode == Opcode::barrier_cluster) m.mode = 0;
        const std::size_t first = form_->results ? 1 : 0;
        for (std::size_t k = 0; k < 2 && first + k < operands_.size(); ++k)
            if (operands_[first + k].kind == OperandKind::reg || operands_[first + k].kind == OperandKind::immediate)
                m.src[k] = source(operands_[first + k], Type::u32).slot;
        if (m.mode == 1) ++program_.barriers;
        if (m.mode == 0) out.pop_back();
        return;
    }
    case Opcode::bar_warp: {
        MicroOp& m = emit(Op::unknown, Type::b32);     // writes nothing: kept only where every instruction is
        if (!operands_.empty()) m.src[3] = source(operands_[0], Type::b32).slot;
        return;
    }
    case Opcode::bra: case Opcode::brx_idx: case Opcode::ret: case Opcode::exit_: case Opcode::trap: return;
    default: break;
    }
    const bool parameter = (form_->opcode == Opcode::ld || form_->opcode == Opcode::st) && form_->space == ptx::Space::param &&
                           operands_.size() >= 2;
    if (parameter) return parameter_access();
    if (touches || form_->opcode == Opcode::ld || form_->opcode == Opcode::st) return memory();
    arithmetic();
}

}  // namespace flipflop::eval
