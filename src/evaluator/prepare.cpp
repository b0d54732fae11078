// A kernel made ready once: decoded, linked, sliced, laid out. Everything a launch does not change is done here.
#include <algorithm>

#include "evaluator/memory_state.hpp"
#include "evaluator/prepare.hpp"

namespace flipflop::eval {

void link_calls(Program& program, std::vector<Decoded>& decoded, const std::vector<PendingCall>& pending) {
    // Which function made a call is found through the operation that names it.
    std::vector<u32> caller(pending.size(), kNone);
    for (u32 f = 0; f < decoded.size(); ++f)
        for (const auto& ops : decoded[f].ops)
            for (const MicroOp& op : ops)
                if (op.op == Op::call) caller[op.payload] = f;
    program.calls.resize(pending.size());
    for (u32 c = 0; c < pending.size(); ++c) {
        CallOp& call = program.calls[c];
        call.callee = pending[c].callee;
        if (call.callee == kNone || caller[c] == kNone) continue;
        const ptx::Function& callee = *program.functions[call.callee].code->ir.function;
        SlotTable& mine = decoded[caller[c]].slots;
        SlotTable& theirs = decoded[call.callee].slots;
        const auto link = [&](const CallArgument& argument, ptx::SymbolId parameter, u32 position, auto& out, bool in) {
            const auto symbol = static_cast<u32>(parameter);
            const auto add = [&](u32 my_slot, u32 their_slot) {
                out.emplace_back(in ? my_slot : their_slot, in ? their_slot : my_slot);
            };
            if (program.module->symbol(parameter).space == ptx::Space::reg) {
                if (argument.slot != kNone) add(argument.slot, theirs.reg(static_cast<ptx::RegId>(position)));
                return;
            }
            if (argument.symbol == kNone) {
                if (argument.slot != kNone) add(argument.slot, theirs.piece(symbol, 0));
                return;
            }
            std::vector<i64> offsets;
            for (const auto& [key, slot] : (in ? theirs : mine).pieces())
                if (key.first == (in ? symbol : argument.symbol)) offsets.push_back(key.second);
            for (const i64 offset : offsets) add(mine.piece(argument.symbol, offset), theirs.piece(symbol, offset));
        };
        const auto returns = static_cast<u32>(callee.returns.size());
        for (u32 k = 0; k < pending[c].arguments.size() && k < callee.parameters.size(); ++k)
            link(pending[c].arguments[k], callee.parameters[k], returns + k, call.in, true);
        for (u32 k = 0; k < pending[c].results.size() && k < returns; ++k)
            link(pending[c].results[k], callee.returns[k], k, call.out, false);
    }
}

namespace {

/// Slots that a call to an unknown function writes lose their values.
void forget_results(Program& program, std::vector<Decoded>& decoded, const std::vector<PendingCall>& pending) {
    for (u32 f = 0; f < decoded.size(); ++f) {
        for (auto& ops : decoded[f].ops) {
            std::vector<MicroOp> extra;
            for (const MicroOp& op : ops) {
                if (op.op != Op::call || program.calls[op.payload].callee != kNone) continue;
                for (const CallArgument& a : pending[op.payload].results) {
                    std::vector<u32> slots;
                    if (a.slot != kNone) slots.push_back(a.slot);
                    for (const auto& [key, slot] : decoded[f].slots.pieces())
                        if (a.symbol != kNone && key.first == a.symbol) slots.push_back(slot);
                    for (const u32 slot : slots) {
                        MicroOp unknown;
                        unknown.op = Op::unknown;
                        unknown.dst[0] = slot;
                        unknown.instruction = op.instruction;
                        unknown.guard = op.guard;
                        unknown.guard_negated = op.guard_negated;
                        extra.push_back(unknown);
                    }
                }
            }
            ops.insert(ops.end(), extra.begin(), extra.end());
        }
    }
}

}  // namespace

Program prepare(const KernelCode& code, const PrepareOptions& options) {
    Program program;
    program.code = &code;
    if (code.functions.empty()) return program;
    program.module = code.functions.front().ir.module;
    program.functions.resize(code.functions.size());
    u32 instructions = 0;
    for (std::size_t f = 0; f < code.functions.size(); ++f) {
        program.functions[f].code = &code.functions[f];
        program.functions[f].first_instruction = instructions;
        instructions += static_cast<u32>(code.functions[f].ir.function->instructions.size());
    }
    program.instructions = instructions;
    map_addresses(program);
    initial_images(program);
    std::vector<Decoded> decoded;
    std::vector<PendingCall> pending;
    for (u32 f = 0; f < code.functions.size(); ++f) {
        const ptx::Function& function = *code.functions[f].ir.function;
        Decoded& d = decoded.emplace_back();
        d.ops.resize(function.instructions.size());
        Decoder decoder(program, f, d.slots, pending);
        for (u32 i = 0; i < function.instructions.size(); ++i) decoder.decode(i, d.ops[i]);
    }
    link_calls(program, decoded, pending);
    forget_results(program, decoded, pending);
    mark_slice(program, decoded, options.whole);
    program.barrier_units.assign(program.barriers, {kNone, 0});
    for (u32 f = 0; f < decoded.size(); ++f) {
        lay_out(program, f, decoded[f], options.whole);
        describe_loops(program, f, decoded[f]);
    }
    return program;
}

}  // namespace flipflop::eval
