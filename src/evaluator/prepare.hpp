// Owns: the steps of prepare(), each in a file of its own. Internal to the evaluator.
#pragma once

#include <vector>

#include "evaluator/decode.hpp"
#include "evaluator/program.hpp"

namespace flipflop::eval {

/// Micro-operations of a function before the slice is cut out, by instruction.
struct Decoded {
    SlotTable slots;
    std::vector<std::vector<MicroOp>> ops;
    std::vector<bool> needed;                ///< by slot
    std::vector<bool> data_dependent;        ///< by slot: something loaded or otherwise unknown may reach it
};

void map_addresses(Program& program);
void link_calls(Program& program, std::vector<Decoded>& decoded, const std::vector<PendingCall>& pending);
/// Marks the slots that decide addresses, branches and counts, and what may be unknown.
void mark_slice(Program& program, std::vector<Decoded>& decoded, bool whole);
/// Micro-operations of block after block: units first, then what the slice keeps, then the transfer of control.
void lay_out(Program& program, u32 function, Decoded& decoded, bool whole);
void describe_loops(Program& program, u32 function, const Decoded& decoded);
/// Operations on the longest dependence chain of instructions [begin, end) at two reference latencies of global memory.
void longest_chains(const FunctionCode& code, u32 begin, u32 end, Unit& unit);

/// Calls f(slot) for every slot an operation reads (its guard included) or writes.
template <class F>
void for_each_read(const FunctionProgram& fn, const MicroOp& op, const F& f) {
    if (op.guard != kNone) f(op.guard);
    for (const u32 s : op.src)
        if (s != kNone) f(s);
    if (op.op == Op::pack || op.op == Op::store)
        for (u32 k = 0; k < op.list_count; ++k)
            if (fn.lists[op.list + k] != kNone) f(fn.lists[op.list + k]);
}
template <class F>
void for_each_write(const FunctionProgram& fn, const MicroOp& op, const F& f) {
    for (const u32 d : op.dst)
        if (d != kNone) f(d);
    if (op.op == Op::load)
        for (u32 k = 0; k < op.list_count; ++k)
            if (fn.lists[op.list + k] != kNone) f(fn.lists[op.list + k]);
}

}  // namespace flipflop::eval
