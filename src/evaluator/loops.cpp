// What the interpreter must know of a loop before it runs: what it carries from one iteration to the next, what kind of
// exits it has, whether it only waits.
#include <algorithm>

#include "evaluator/prepare.hpp"

namespace flipflop::eval {
namespace {

using Bits = std::vector<u64>;

/// Slots that hold a value some later operation still reads, at the start of each block.
std::vector<Bits> live_in(const Program& program, const FunctionProgram& fn) {
    const std::size_t words = (fn.slots + 63) / 64, count = fn.blocks.size();
    std::vector<Bits> use(count, Bits(words)), def(count, Bits(words)), in(count, Bits(words));
    const auto test = [](const Bits& bits, u32 s) { return (bits[s / 64] >> (s % 64)) & 1; };
    const auto put = [](Bits& bits, u32 s) { bits[s / 64] |= u64{1} << (s % 64); };
    for (std::size_t b = 0; b < count; ++b) {
        for (u32 k = fn.blocks[b].begin; k < fn.blocks[b].end; ++k) {
            const MicroOp& op = fn.ops[k];
            for_each_read(fn, op, [&](u32 s) { if (!test(def[b], s)) put(use[b], s); });
            if (op.op == Op::call && program.calls[op.payload].callee != kNone)
                for (const auto& [mine, theirs] : program.calls[op.payload].in)
                    if (mine != kNone && !test(def[b], mine)) put(use[b], mine);
            if (op.guard == kNone) for_each_write(fn, op, [&](u32 s) { put(def[b], s); });
        }
    }
    std::vector<u32> order(fn.by_order.rbegin(), fn.by_order.rend());
    for (bool changed = true; changed;) {
        changed = false;
        for (const u32 b : order) {
            Bits next = use[b];
            for (const BlockId to : fn.code->ir.blocks[b].successors)
                for (std::size_t w = 0; w < words; ++w) next[w] |= in[static_cast<u32>(to)][w] & ~def[b][w];
            if (next != in[b]) { in[b] = std::move(next); changed = true; }
        }
    }
    return in;
}

struct LoopBuilder {
    const Program& program;
    FunctionProgram& fn;
    const Decoded& decoded;

    template <class F>
    void for_each_op(const LoopProgram& loop, const F& f) const {
        for (u32 o = loop.order_begin; o < loop.order_end; ++o) {
            const BlockProgram& b = fn.blocks[fn.by_order[o]];
            for (u32 k = b.begin; k < b.end; ++k) f(fn.ops[k]);
        }
    }

    void variant_slots(LoopProgram& loop) const {
        std::vector<std::uint8_t> variant(fn.slots), defined(fn.slots);
        for (const u32 s : loop.carried) variant[s] = 1;
        for_each_op(loop, [&](const MicroOp& op) {
            for_each_write(fn, op, [&](u32 s) { if (defined[s]++) variant[s] = 1; });
        });
        for (bool changed = true; changed;) {
            changed = false;
            for_each_op(loop, [&](const MicroOp& op) {
                bool moves = op.op == Op::unknown || (op.op == Op::load && !program.memory[op.payload].is_param);
                for_each_read(fn, op, [&](u32 s) { moves |= variant[s] != 0; });
                if (!moves) return;
                for_each_write(fn, op, [&](u32 s) { if (!variant[s]) { variant[s] = 1; changed = true; } });
            });
        }
        for (u32 s = 0; s < fn.slots; ++s)
            if (variant[s] && defined[s]) loop.variant.push_back(s);
    }

    [[nodiscard]] bool inside(const LoopProgram& loop, u32 block) const {
        return block != kNone && fn.blocks[block].order >= loop.order_begin && fn.blocks[block].order < loop.order_end;
    }

    /// Registers that come from an operation on which another thread must act first.
    void classify_exits(LoopProgram& loop, const Loop& from) const {
        const ptx::Function& function = *fn.code->ir.function;
        const ptx::Module& module = *program.module;
        std::vector<std::uint8_t> waiting(function.registers.size());
        bool sleeps = false;
        for (bool changed = true; changed;) {
            changed = false;
            for (u32 o = loop.order_begin; o < loop.order_end; ++o) {
                const BasicBlock& block = fn.code->ir.blocks[fn.by_order[o]];
                for (u32 i = block.begin; i < block.end; ++i) {
                    bool source = is_wait(module, function.instructions[i], sleeps);
                    for (const ptx::RegId r : fn.code->ir.reads(i)) source |= waiting[static_cast<u32>(r)] != 0;
                    if (!source) continue;
                    for (const ptx::RegId r : fn.code->ir.writes(i))
                        if (!waiting[static_cast<u32>(r)]) { waiting[static_cast<u32>(r)] = 1; changed = true; }
                }
            }
        }
        bool waits = sleeps;
        for (const BlockId id : from.exiting) {
            const BasicBlock& block = fn.code->ir.block(id);
            const ptx::Instruction& last = function.instructions[block.end - 1];
            if (last.guard == ptx::RegId::none) continue;
            SlotTable& slots = const_cast<SlotTable&>(decoded.slots);
            if (!decoded.data_dependent[slots.reg(last.guard)]) loop.counted_exits.push_back(static_cast<u32>(id));
            waits |= waiting[static_cast<u32>(last.guard)] != 0;
        }
        loop.waits = waits && loop.counted_exits.empty();
        for (const BlockId latch : from.latches) {
            const BasicBlock& block = fn.code->ir.block(latch);
            const ptx::RegId guard = function.instructions[block.end - 1].guard;
            const bool exits = std::find(from.exiting.begin(), from.exiting.end(), latch) != from.exiting.end();
            if (!exits && guard != ptx::RegId::none && waiting[static_cast<u32>(guard)]) loop.spins.push_back(static_cast<u32>(latch));
        }
    }

    static bool is_wait(const ptx::Module& module, const ptx::Instruction& instruction, bool& sleeps) {
        const ptx::Form& form = module.form(instruction);
        switch (form.opcode) {
        case ptx::Opcode::mbarrier_test_wait: case ptx::Opcode::mbarrier_try_wait: return true;
        case ptx::Opcode::nanosleep: sleeps = true; return false;
        case ptx::Opcode::ld: return form.is_volatile || form.acquire || form.relaxed;
        case ptx::Opcode::atom: return form.has("cas") || form.has("exch") || (form.has("or") && form.reads_memory);
        default: return false;
        }
    }

    void describe(u32 index, const std::vector<Bits>& live) const {
        const Loop& from = fn.code->ir.loops[index];
        LoopProgram& loop = fn.loops[index];
        loop.header = static_cast<u32>(from.header);
        loop.order_begin = from.order_begin;
        loop.order_end = from.order_end;
        loop.parent = static_cast<u32>(from.parent);
        loop.depth = from.depth;
        loop.facts = fn.code->loop_index[index];
        loop.ptx_line = program.code->facts.loops[loop.facts].ptx_line;
        std::vector<std::uint8_t> written(fn.slots);
        for_each_op(loop, [&](const MicroOp& op) {
            for_each_write(fn, op, [&](u32 s) { written[s] = 1; });
            loop.has_barrier |= op.op == Op::barrier;
            if (op.op == Op::store || op.op == Op::access) loop.writes_tracked |= program.memory[op.payload].tracked;
            if (op.op != Op::call) return;
            // What a called function does to memory the slice reads is not looked into here.
            loop.writes_tracked |= program.shared_is_read || program.local_is_read;
            if (program.calls[op.payload].callee == kNone) return;
            for (const auto& [theirs, mine] : program.calls[op.payload].out)
                if (mine != kNone) written[mine] = 1;
        });
        const Bits& at_header = live[loop.header];
        for (u32 s = 0; s < fn.slots; ++s) {
            if (!written[s]) continue;
            loop.written.push_back(s);
            if ((at_header[s / 64] >> (s % 64)) & 1) loop.carried.push_back(s);
        }
        variant_slots(loop);
        classify_exits(loop, from);
        // A loop that tests first: its header leaves, and there is something else in it to be called its body.
        const bool header_exits = std::find(from.exiting.begin(), from.exiting.end(), from.header) != from.exiting.end();
        u32 rest = 0;
        for (u32 o = loop.order_begin; o < loop.order_end; ++o) {
            const u32 b = fn.by_order[o];
            if (b == loop.header) continue;
            const BasicBlock& block = fn.code->ir.blocks[b];
            for (u32 i = block.begin; i < block.end; ++i)
                rest += fn.code->table.machine_op[i] != MachineOp::branch;
        }
        loop.tests_at_top = header_exits && rest > 0;
    }
};

}  // namespace

void describe_loops(Program& program, u32 function, const Decoded& decoded) {
    FunctionProgram& fn = program.functions[function];
    fn.loops.resize(fn.code->ir.loops.size());
    if (fn.loops.empty()) return;
    const std::vector<Bits> live = live_in(program, fn);
    for (u32 l = 0; l < fn.loops.size(); ++l) LoopBuilder{program, fn, decoded}.describe(l, live);
}

}  // namespace flipflop::eval
