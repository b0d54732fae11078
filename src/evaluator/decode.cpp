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

}  // namespace flipflop::eval
