// What of a kernel must be evaluated: everything that reaches an address, a guard, a branch or a count, backward through
// registers, calls and (where values are read back) shared and local memory.
#include <algorithm>

#include "evaluator/prepare.hpp"

namespace flipflop::eval {
namespace {

bool stays(const MicroOp& op, const Program& program) {
    switch (op.op) {
    case Op::access: case Op::store: case Op::call: case Op::barrier: return true;
    case Op::load: return program.memory[op.payload].access >= 0;
    default: return false;
    }
}

bool makes_generic(const Program& program, ptx::Space space) {
    for (const ptx::Form& form : program.module->forms)
        if (form.opcode == ptx::Opcode::cvta && !form.to && form.space == space) return true;
    return false;
}

class Slicer {
public:
    Slicer(Program& program, std::vector<Decoded>& decoded) : program_(program), decoded_(decoded) {
        generic_shared_ = makes_generic(program, ptx::Space::shared);
        generic_local_ = makes_generic(program, ptx::Space::local);
        for (u32 f = 0; f < decoded.size(); ++f) {
            definitions_.emplace_back(decoded[f].slots.count());
            for (u32 i = 0; i < decoded[f].ops.size(); ++i)
                for (u32 k = 0; k < decoded[f].ops[i].size(); ++k)
                    for_each_write(program.functions[f], decoded[f].ops[i][k], [&](u32 s) { definitions_[f][s].push_back({i, k}); });
            decoded[f].needed.assign(decoded[f].slots.count(), false);
        }
        for (u32 c = 0; c < program.calls.size(); ++c) callers_.push_back(kNone);
        for (u32 f = 0; f < decoded.size(); ++f)
            for (const auto& ops : decoded[f].ops)
                for (const MicroOp& op : ops)
                    if (op.op == Op::call) callers_[op.payload] = f;
    }

    void run() {
        for (u32 f = 0; f < decoded_.size(); ++f) roots(f);
        drain();
        // Values read back from memory the block or the thread wrote itself: the stores join the slice.
        for (bool grown = true; grown;) {
            grown = false;
            if (reads_back(ptx::Space::shared, generic_shared_) && !program_.shared_is_read) {
                program_.shared_is_read = grown = true;
                add_stores(ptx::Space::shared);
            }
            if (reads_back(ptx::Space::local, generic_local_) && !program_.local_is_read) {
                program_.local_is_read = grown = true;
                add_stores(ptx::Space::local);
            }
            drain();
        }
    }

private:
    struct Place { u32 instruction, op; };

    void need(u32 f, u32 slot) {
        if (slot == kNone || decoded_[f].needed[slot]) return;
        decoded_[f].needed[slot] = true;
        work_.push_back({f, slot});
    }
    void need_reads(u32 f, const MicroOp& op) {
        for_each_read(program_.functions[f], op, [&](u32 s) { need(f, s); });
    }

    void roots(u32 f) {
        const ptx::Function& function = *program_.functions[f].code->ir.function;
        for (u32 i = 0; i < function.instructions.size(); ++i) {
            const ptx::Instruction& instruction = function.instructions[i];
            if (instruction.guard != ptx::RegId::none) need(f, decoded_[f].slots.reg(instruction.guard));
            const ptx::Form& form = program_.module->form(instruction);
            if (form.opcode == ptx::Opcode::brx_idx) {
                const auto operands = program_.module->operands_of(instruction);
                if (!operands.empty() && operands[0].kind == ptx::OperandKind::reg) need(f, decoded_[f].slots.reg(operands[0].reg()));
            }
            for (const MicroOp& op : decoded_[f].ops[i]) {
                if (!stays(op, program_) || op.op == Op::call) continue;
                for (const u32 s : op.src) need(f, s);
            }
        }
    }

    void drain() {
        while (!work_.empty()) {
            const auto [f, slot] = work_.back();
            work_.pop_back();
            for (const Place p : definitions_[f][slot]) need_reads(f, decoded_[f].ops[p.instruction][p.op]);
            for (u32 c = 0; c < program_.calls.size(); ++c) {
                const CallOp& call = program_.calls[c];
                if (callers_[c] == kNone || call.callee == kNone) continue;
                if (call.callee == f)
                    for (const auto& [mine, theirs] : call.in)
                        if (theirs == slot) need(callers_[c], mine);
                if (callers_[c] == f)
                    for (const auto& [theirs, mine] : call.out)
                        if (mine == slot) need(call.callee, theirs);
            }
        }
    }

    [[nodiscard]] bool reads_back(ptx::Space space, bool generic) const {
        for (u32 f = 0; f < decoded_.size(); ++f)
            for (const auto& ops : decoded_[f].ops)
                for (const MicroOp& op : ops) {
                    if (op.op != Op::load) continue;
                    const ptx::Space from = program_.memory[op.payload].space;
                    if (from != space && !(generic && from == ptx::Space::generic)) continue;
                    for (u32 k = 0; k < op.list_count; ++k) {
                        const u32 d = program_.functions[f].lists[op.list + k];
                        if (d != kNone && decoded_[f].needed[d]) return true;
                    }
                }
        return false;
    }

    void add_stores(ptx::Space space) {
        for (u32 f = 0; f < decoded_.size(); ++f)
            for (const auto& ops : decoded_[f].ops)
                for (const MicroOp& op : ops) {
                    if (op.op != Op::store && op.op != Op::access) continue;
                    MemoryOp& m = program_.memory[op.payload];
                    if (!m.writes || (m.space != space && m.space != ptx::Space::generic)) continue;
                    m.tracked = true;
                    need_reads(f, op);
                }
    }

    Program& program_;
    std::vector<Decoded>& decoded_;
    std::vector<std::vector<std::vector<Place>>> definitions_;
    std::vector<std::pair<u32, u32>> work_;
    std::vector<u32> callers_;
    bool generic_shared_{}, generic_local_{};
};

/// Forward: what may hold something that is not known before the launch runs.
void mark_data_dependent(Program& program, std::vector<Decoded>& decoded) {
    for (Decoded& d : decoded) d.data_dependent.assign(d.slots.count(), false);
    for (bool changed = true; changed;) {
        changed = false;
        const auto mark = [&](u32 f, u32 slot) {
            if (slot == kNone || decoded[f].data_dependent[slot]) return;
            decoded[f].data_dependent[slot] = true;
            changed = true;
        };
        for (u32 f = 0; f < decoded.size(); ++f) {
            for (const auto& ops : decoded[f].ops) {
                for (const MicroOp& op : ops) {
                    bool dependent = op.op == Op::unknown;
                    if (op.op == Op::load) dependent = !program.memory[op.payload].is_param && program.memory[op.payload].space != ptx::Space::constant;
                    if (!dependent) for_each_read(program.functions[f], op, [&](u32 s) { dependent |= decoded[f].data_dependent[s]; });
                    if (dependent) for_each_write(program.functions[f], op, [&](u32 s) { mark(f, s); });
                    if (op.op != Op::call || program.calls[op.payload].callee == kNone) continue;
                    const CallOp& call = program.calls[op.payload];
                    for (const auto& [mine, theirs] : call.in)
                        if (decoded[f].data_dependent[mine]) mark(call.callee, theirs);
                    for (const auto& [theirs, mine] : call.out)
                        if (decoded[call.callee].data_dependent[theirs]) mark(f, mine);
                }
            }
        }
    }
}

}  // namespace

void mark_slice(Program& program, std::vector<Decoded>& decoded, bool whole) {
    Slicer(program, decoded).run();
    if (whole) {
        for (Decoded& d : decoded) d.needed.assign(d.slots.count(), true);
        program.shared_is_read = program.local_is_read = true;
        for (MemoryOp& m : program.memory) m.tracked = m.writes;
    }
    mark_data_dependent(program, decoded);
}

}  // namespace flipflop::eval
