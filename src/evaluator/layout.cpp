// Blocks as the interpreter runs them: counters first (what is not in the slice costs nothing but them), then the slice.
#include <algorithm>
#include <map>

#include "evaluator/prepare.hpp"

namespace flipflop::eval {
namespace {

class Layout {
public:
    Layout(Program& program, u32 function, Decoded& decoded, bool whole)
        : program_(program), fn_(program.functions[function]), index_(function), decoded_(decoded), whole_(whole) {}

    void run() {
        number_slots();
        const KernelIr& ir = fn_.code->ir;
        fn_.blocks.resize(ir.blocks.size());
        fn_.by_order.assign(ir.blocks.size(), 0);
        for (u32 b = 0; b < ir.blocks.size(); ++b) block(b);
        widths();
    }

private:
    void number_slots() {
        const SlotTable& slots = decoded_.slots;
        number_.assign(slots.count(), kNone);
        for (u32 s = 0; s < slots.count(); ++s)
            if (decoded_.needed[s]) number_[s] = fn_.slots++;
        std::vector<bool> fixed(fn_.slots);
        for (const auto& [bits, slot] : slots.constants())
            if (number_[slot] != kNone) { fn_.constants.emplace_back(number_[slot], bits); fixed[number_[slot]] = true; }
        for (const auto& [which, slot] : slots.specials())
            if (number_[slot] != kNone) { fn_.specials.emplace_back(number_[slot], which); fixed[number_[slot]] = true; }
        for (u32 s = 0; s < fn_.slots; ++s)
            if (!fixed[s]) fn_.variables.push_back(s);
        for (u32& s : fn_.lists) s = s == kNone ? kNone : number_[s];
        // Links of calls speak of this function's slots on either side.
        for (u32 c = 0; c < program_.calls.size(); ++c) {
            CallOp& call = program_.calls[c];
            if (call.callee == kNone) continue;
            if (call.callee == index_) {
                for (auto& [mine, theirs] : call.in) theirs = number_[theirs];
                for (auto& [theirs, mine] : call.out) theirs = number_[theirs];
            }
        }
        for (const auto& ops : decoded_.ops)
            for (const MicroOp& op : ops) {
                if (op.op != Op::call) continue;
                CallOp& call = program_.calls[op.payload];
                for (auto& [mine, theirs] : call.in) mine = number_[mine];
                for (auto& [theirs, mine] : call.out) mine = number_[mine];
            }
    }

    void widths() {
        std::vector<unsigned> width(fn_.slots, 0);
        for (const MicroOp& op : fn_.ops) {
            unsigned w = std::max<unsigned>(op.width, op.reg_width);
            if (op.op == Op::mul_wide || op.op == Op::mad_wide) w = std::min(64u, 2u * op.width);
            if (op.op == Op::cvt || op.op == Op::load) w = op.reg_width;
            if (op.op == Op::popc || op.op == Op::clz || op.op == Op::bfind) w = 32;
            for_each_write(fn_, op, [&](u32 s) { width[s] = std::max(width[s], w); });
        }
        for (const unsigned w : width) fn_.slot_mask.push_back(width_mask(w == 0 ? 64 : w));
    }

    [[nodiscard]] bool keeps(const MicroOp& op) const {
        switch (op.op) {
        case Op::access: case Op::store: case Op::call: case Op::barrier: return true;
        case Op::load:
            if (program_.memory[op.payload].access >= 0) return true;
            break;
        case Op::unknown:
            if (op.dst[0] == kNone) return whole_;
            break;
        default: break;
        }
        bool kept = false;
        for_each_write(fn_, op, [&](u32 s) { kept |= s != kNone && is_needed(op, s); });
        return kept;
    }
    // Lists are renumbered already, dst are not.
    [[nodiscard]] bool is_needed(const MicroOp& op, u32 slot) const {
        if (slot == op.dst[0] || slot == op.dst[1]) return number_[slot] != kNone;
        return true;
    }

    u32 renamed(u32 slot) const { return slot == kNone ? kNone : number_[slot]; }

    void append(MicroOp op) {
        for (u32& s : op.src) s = renamed(s);
        for (u32& d : op.dst) d = renamed(d);
        op.guard = renamed(op.guard);
        if (op.op == Op::load || op.op == Op::store || op.op == Op::access) {
            MemoryOp& m = program_.memory[op.payload];
            if (m.function == index_) {
                m.address = renamed(m.address);
                m.size = renamed(m.size);
            }
        }
        fn_.ops.push_back(op);
    }

    u32 new_unit(u32 block) {
        Unit unit;
        unit.function = index_;
        unit.block = block;
        program_.units.push_back(std::move(unit));
        return static_cast<u32>(program_.units.size() - 1);
    }

    u32 emit_count(u32 block, u32 guard, bool negated, u32 instruction) {
        MicroOp op;
        op.op = Op::count;
        op.guard = guard;
        op.guard_negated = negated;
        op.instruction = instruction;
        op.payload = new_unit(block);
        fn_.ops.push_back(op);
        return op.payload;
    }

    void add_to_unit(u32 unit, u32 instruction) {
        Unit& u = program_.units[unit];
        const InstructionTable& table = fn_.code->table;
        const auto bump = [](auto& list, u32 key) {
            for (auto& [k, n] : list)
                if (k == key) { ++n; return; }
            list.emplace_back(key, std::uint16_t{1});
        };
        // Lists of a long block are short: a few dozen kinds.
        bump(u.classes, table.contract_class[instruction]);
        bump(u.machine, static_cast<u32>(table.machine_op[instruction]));
        u.tensor_fma += table.tensor_fma[instruction];
        add_duty(u, instruction);
        ++u.instructions;
    }

    void add_duty(Unit& u, u32 instruction) {
        const ptx::Instruction& i = fn_.code->ir.function->instructions[instruction];
        std::uint8_t duty = 0;
        switch (program_.module->form(i).opcode) {
        case ptx::Opcode::mbarrier_try_wait: case ptx::Opcode::mbarrier_test_wait:
            duty = duty_waits;
            program_.has_roles = true;
            break;
        case ptx::Opcode::mbarrier_arrive: case ptx::Opcode::mbarrier_arrive_drop: case ptx::Opcode::mbarrier_expect_tx:
            duty = duty_signals;
            break;
        case ptx::Opcode::setmaxnreg: {
            duty = duty_registers;
            program_.has_roles = true;
            const auto operands = program_.module->operands_of(i);
            if (!operands.empty() && operands[0].kind == ptx::OperandKind::immediate) u.registers = static_cast<u32>(operands[0].value);
            break;
        }
        default: {
            const MachineOp op = fn_.code->table.machine_op[instruction];
            if (op == MachineOp::bulk_copy || op == MachineOp::tensor_copy || op == MachineOp::async_copy) duty = duty_copies;
            if (op >= MachineOp::mma_fp16 && op <= MachineOp::tcgen05) duty = duty_multiplies;
        }
        }
        u.role |= duty;
        if (duty && u.role_instruction == kNone) u.role_instruction = instruction;
    }

    [[nodiscard]] static bool is_barrier(const std::vector<MicroOp>& ops) {
        return std::any_of(ops.begin(), ops.end(), [](const MicroOp& op) { return op.op == Op::barrier; });
    }

    /// One run of instructions up to and including a barrier, or the block's end.
    void segment(u32 block, u32 begin, u32 end) {
        const ptx::Function& function = *fn_.code->ir.function;
        const u32 plain = emit_count(block, kNone, false, begin);
        longest_chains(*fn_.code, begin, end, program_.units[plain]);
        std::map<std::pair<u32, bool>, u32> open;   // units by guard, until the guard is written again
        for (u32 i = begin; i < end; ++i) {
            const ptx::Instruction& instruction = function.instructions[i];
            const bool transfers = ends_block(*program_.module, instruction);
            u32 unit = plain;
            if (instruction.guard == ptx::RegId::none || transfers) {
                add_to_unit(plain, i);
            } else {
                const u32 guard = renamed(decoded_.slots.reg(instruction.guard));
                const auto [it, added] = open.try_emplace({guard, instruction.guard_negated}, 0);
                if (added) it->second = emit_count(block, guard, instruction.guard_negated, i);
                unit = it->second;
                add_to_unit(unit, i);
            }
            for (const MicroOp& op : decoded_.ops[i]) {
                if (op.op == Op::barrier) {
                    program_.barrier_units[op.payload] = {unit, i};
                    program_.units[unit].has_barrier = op.src[1] == kNone;     // with a thread count it is for a part
                }
                if (keeps(op)) append(op);
            }
            for (const ptx::RegId r : fn_.code->ir.writes(i)) {
                const u32 slot = renamed(decoded_.slots.reg(r));
                open.erase({slot, false});
                open.erase({slot, true});
            }
        }
    }

    void block(u32 b) {
        const KernelIr& ir = fn_.code->ir;
        const BasicBlock& from = ir.blocks[b];
        BlockProgram& to = fn_.blocks[b];
        to.order = from.order;
        fn_.by_order[from.order] = b;
        to.post_dominator = static_cast<u32>(from.immediate_post_dominator);
        to.loop = static_cast<u32>(from.loop);
        to.begin = static_cast<u32>(fn_.ops.size());
        for (u32 begin = from.begin; begin < from.end;) {
            u32 end = begin;
            while (end < from.end && !is_barrier(decoded_.ops[end])) ++end;
            if (end < from.end) ++end;
            segment(b, begin, end);
            begin = end;
        }
        terminator(from, to);
        fn_.blocks[b].end = static_cast<u32>(fn_.ops.size());
    }

    void terminator(const BasicBlock& from, BlockProgram& to) {
        const KernelIr& ir = fn_.code->ir;
        const u32 last = from.end - 1;
        const ptx::Instruction& instruction = ir.function->instructions[last];
        to.fall_through = from.end < ir.function->instructions.size() ? static_cast<u32>(ir.block_of[from.end]) : kNone;
        if (!ends_block(*program_.module, instruction)) return;
        const ptx::Form& form = program_.module->form(instruction);
        MicroOp op;
        op.instruction = last;
        if (instruction.guard != ptx::RegId::none) {
            op.guard = renamed(decoded_.slots.reg(instruction.guard));
            op.guard_negated = instruction.guard_negated;
        }
        const auto operands = program_.module->operands_of(instruction);
        const auto target = [&](u32 i) { return i < ir.function->instructions.size() ? static_cast<u32>(ir.block_of[i]) : kNone; };
        if (form.opcode == ptx::Opcode::bra) {
            op.op = Op::branch;
            for (const ptx::Operand& o : operands)
                if (o.kind == ptx::OperandKind::label) to.targets.push_back(target(static_cast<u32>(o.value)));
            if (to.targets.empty()) to.targets.push_back(kNone);
        } else if (form.opcode == ptx::Opcode::brx_idx) {
            op.op = Op::brx;
            if (!operands.empty() && operands[0].kind == ptx::OperandKind::reg) op.src[0] = renamed(decoded_.slots.reg(operands[0].reg()));
            for (const ptx::Operand& o : operands) {
                if (o.kind != ptx::OperandKind::name && o.kind != ptx::OperandKind::symbol) continue;
                if (o.symbol() == ptx::SymbolId::none) continue;
                const ptx::Symbol& symbol = program_.module->symbol(o.symbol());
                if (symbol.kind != ptx::Symbol::Kind::label_table) continue;
                for (const u32 i : program_.module->label_tables[symbol.index].instruction_targets) to.targets.push_back(target(i));
            }
        } else {
            // ret leaves the function, exit and trap (and a call that never returns) the whole thread.
            op.op = Op::leave;
            op.mode = form.opcode == ptx::Opcode::ret ? 0 : 1;
        }
        fn_.ops.push_back(op);
    }

    Program& program_;
    FunctionProgram& fn_;
    u32 index_;
    Decoded& decoded_;
    bool whole_;
    std::vector<u32> number_;
};

}  // namespace

void lay_out(Program& program, u32 function, Decoded& decoded, bool whole) {
    Layout(program, function, decoded, whole).run();
    program.functions[function].local_bytes = program.map.local_bytes;
}

}  // namespace flipflop::eval
