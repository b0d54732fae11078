// Which instruction goes where; and what is neither arithmetic nor memory: parameters, calls, barriers, control.
#include "evaluator/decode.hpp"

namespace flipflop::eval {

using ptx::Opcode;
using ptx::OperandKind;
using ptx::Type;

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
