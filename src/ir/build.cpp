// From instructions to blocks, loops and definitions. The graph work is in graph.cpp and loop_forest.cpp.
#include <algorithm>

#include "flipflop/ir.hpp"
#include "ir/accessed.hpp"
#include "ir/graph.hpp"

namespace flipflop {
namespace {

using ptx::OperandKind;

constexpr std::uint32_t number(BlockId id) { return static_cast<std::uint32_t>(id); }

/// ends_block() without a call for what does not branch.
bool closes_block(const ptx::Module& module, const ptx::Instruction& i) {
    const ptx::Form& form = module.form(i);
    return form.may_branch || (form.opcode == ptx::Opcode::call && ends_block(module, i));
}

bool always_leaves(const ptx::Module& module, const ptx::Instruction& i) {
    return ends_block(module, i) && i.guard == ptx::RegId::none;
}

/// Instruction indices that a branch may go to, in operand order.
void append_targets(const ptx::Module& module, const ptx::Instruction& i, std::vector<std::uint32_t>& out) {
    const ptx::Opcode opcode = module.form(i).opcode;
    if (opcode != ptx::Opcode::bra && opcode != ptx::Opcode::brx_idx) return;
    for (const ptx::Operand& operand : module.operands_of(i)) {
        if (operand.kind == OperandKind::label) out.push_back(static_cast<std::uint32_t>(operand.value));
        if (operand.kind != OperandKind::name && operand.kind != OperandKind::symbol) continue;
        if (operand.symbol() == ptx::SymbolId::none) continue;
        const ptx::Symbol& symbol = module.symbol(operand.symbol());
        if (symbol.kind != ptx::Symbol::Kind::label_table || symbol.index >= module.label_tables.size()) continue;
        const auto& targets = module.label_tables[symbol.index].instruction_targets;
        out.insert(out.end(), targets.begin(), targets.end());
    }
}

void make_blocks(KernelIr& ir) {
    const auto& code = ir.function->instructions;
    const auto count = static_cast<std::uint32_t>(code.size());
    std::vector<bool> leader(count + 1);
    std::vector<std::uint32_t> targets;
    leader[0] = true;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (!closes_block(*ir.module, code[i])) continue;
        leader[i + 1] = true;
        targets.clear();
        append_targets(*ir.module, code[i], targets);
        for (const std::uint32_t t : targets) leader[std::min(t, count)] = true;
    }
    ir.block_of.resize(count);
    ir.blocks.reserve(static_cast<std::size_t>(std::count(leader.begin(), leader.end() - 1, true)));
    for (std::uint32_t i = 0; i < count; ++i) {
        if (leader[i]) {
            ir.blocks.emplace_back();
            ir.blocks.back().begin = i;
        }
        ir.blocks.back().end = i + 1;
        ir.block_of[i] = static_cast<BlockId>(ir.blocks.size() - 1);
    }
}

void connect(KernelIr& ir) {
    const auto& code = ir.function->instructions;
    std::vector<std::uint32_t> targets;
    for (std::uint32_t b = 0; b < ir.blocks.size(); ++b) {
        BasicBlock& block = ir.blocks[b];
        const ptx::Instruction& last = code[block.end - 1];
        if (!always_leaves(*ir.module, last) && block.end < code.size()) block.successors.push_back(ir.block_of[block.end]);
        if (!ends_block(*ir.module, last)) continue;
        targets.clear();
        append_targets(*ir.module, last, targets);
        for (const std::uint32_t t : targets)
            if (t < code.size()) block.successors.push_back(ir.block_of[t]);   // a label at the very end is the exit
    }
    for (std::uint32_t b = 0; b < ir.blocks.size(); ++b) {
        for (const BlockId to : ir.blocks[b].successors) ir.blocks[number(to)].predecessors.push_back(static_cast<BlockId>(b));
    }
}

/// Does a path leave the function at the end of this block?
bool leaves_function(const KernelIr& ir, const BasicBlock& block) {
    const auto& code = ir.function->instructions;
    const ptx::Instruction& last = code[block.end - 1];
    if (block.successors.empty()) return true;
    if (!always_leaves(*ir.module, last) && block.end == code.size()) return true;
    if (!ends_block(*ir.module, last)) return false;
    std::vector<std::uint32_t> targets;
    append_targets(*ir.module, last, targets);
    if (targets.empty()) return true;   // a guarded ret, exit or trap
    return std::any_of(targets.begin(), targets.end(), [&](std::uint32_t t) { return t >= code.size(); });
}

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Edges edges_of(const KernelIr& ir) {
    Edges edges;
    for (std::uint32_t b = 0; b < ir.blocks.size(); ++b)
        for (const BlockId to : ir.blocks[b].successors) edges.emplace_back(b, number(to));
    return edges;
}

void find_loops(KernelIr& ir, const graph::Graph& flow) {
    const graph::LoopForest forest = graph::loop_forest(flow, 0);
    for (std::uint32_t position = 0; position < forest.order.size(); ++position) {
        BasicBlock& block = ir.blocks[forest.order[position]];
        block.order = position;
        block.reachable = true;
        block.loop = static_cast<LoopId>(forest.loop_of[forest.order[position]]);
        ir.topological.push_back(static_cast<BlockId>(forest.order[position]));
    }
    auto beyond = static_cast<std::uint32_t>(forest.order.size());
    for (BasicBlock& block : ir.blocks)
        if (!block.reachable) block.order = beyond++;
    for (const graph::LoopNode& node : forest.loops) {
        Loop loop;
        loop.header = static_cast<BlockId>(node.header);
        loop.parent = static_cast<LoopId>(node.parent);
        loop.depth = node.depth;
        loop.irreducible = node.irreducible;
        loop.order_begin = node.order_begin;
        loop.order_end = node.order_end;
        for (const BlockId from : ir.block(loop.header).predecessors)
            if (ir.contains(loop, from) && (loop.latches.empty() || loop.latches.back() != from)) loop.latches.push_back(from);
        ir.loops.push_back(std::move(loop));
    }
    for (const BlockId id : ir.topological) {
        const BasicBlock& block = ir.block(id);
        for (LoopId l = block.loop; l != LoopId::none; l = ir.loop(l).parent) {
            Loop& loop = ir.loops[static_cast<std::uint32_t>(l)];
            const bool exits = leaves_function(ir, block) || std::any_of(block.successors.begin(), block.successors.end(),
                [&](BlockId to) { return !ir.contains(loop, to); });
            if (!exits) break;   // what does not leave the inner loop does not leave the outer one
            loop.exiting.push_back(id);
        }
    }
}

void find_dominators(KernelIr& ir, const graph::Graph& flow) {
    const auto dominators = graph::dominators(flow, 0);
    for (std::uint32_t b = 0; b < ir.blocks.size(); ++b) ir.blocks[b].immediate_dominator = static_cast<BlockId>(dominators[b]);
}

/// Post-dominators with a virtual exit. A loop without a way out gets one from its last block in topological order, so
/// that what is inside it has post-dominators too.
void find_post_dominators(KernelIr& ir) {
    const auto exit = static_cast<std::uint32_t>(ir.blocks.size());
    Edges edges;
    std::vector<std::uint32_t> work;
    std::vector<bool> reaches_exit(ir.blocks.size());
    const auto flood = [&](std::uint32_t from) {
        if (reaches_exit[from]) return;
        reaches_exit[from] = true;
        work.push_back(from);
        while (!work.empty()) {
            const std::uint32_t b = work.back();
            work.pop_back();
            for (const BlockId p : ir.blocks[b].predecessors) {
                if (reaches_exit[number(p)]) continue;
                reaches_exit[number(p)] = true;
                work.push_back(number(p));
            }
        }
    };
    for (const BlockId id : ir.topological) {
        for (const BlockId to : ir.block(id).successors) edges.emplace_back(number(id), number(to));
        if (!leaves_function(ir, ir.block(id))) continue;
        edges.emplace_back(number(id), exit);
        flood(number(id));
    }
    for (auto it = ir.topological.rbegin(); it != ir.topological.rend(); ++it) {
        if (reaches_exit[number(*it)]) continue;
        edges.emplace_back(number(*it), exit);
        flood(number(*it));
    }
    const auto result = graph::dominators(graph::Graph(exit + 1, edges).reversed(), exit);
    for (std::uint32_t b = 0; b < exit; ++b)
        ir.blocks[b].immediate_post_dominator = result[b] == exit ? BlockId::none : static_cast<BlockId>(result[b]);
}

void collect_accessed(KernelIr& ir) {
    const ptx::Module& module = *ir.module;
    ir.accessed.reserve(ir.function->instructions.size());
    ir.register_lists.reserve(ir.function->instructions.size() * 3);
    for (const ptx::Instruction& i : ir.function->instructions) {
        Accessed a;
        a.reads_begin = static_cast<std::uint32_t>(ir.register_lists.size());
        if (i.guard != ptx::RegId::none) ir.register_lists.push_back(i.guard);
        const auto operands = module.operands_of(i);
        const ptx::Form& form = module.form(i);
        const ptx::Opcode opcode = form.opcode;
        // Nearly all instructions: one register written, or none, and registers and constants read.
        const bool writes_one = form.results == 1 && !operands.empty() && operands[0].kind == OperandKind::reg && !operands[0].paired;
        const std::uint32_t written = writes_one && opcode != ptx::Opcode::call ? 1 : written_operands(module, i);
        for (std::uint32_t k = written; k < operands.size(); ++k) {
            const OperandKind kind = operands[k].kind;
            if (kind == OperandKind::reg || kind == OperandKind::address_reg) ir.register_lists.push_back(operands[k].reg());
            else if (kind == OperandKind::vector || kind == OperandKind::list) append_registers(module, operands[k], ir.register_lists);
        }
        // wgmma accumulates into its destination (PTX ISA 9.7.15.5); a partial write (a selector) keeps the other part.
        const bool accumulates = opcode == ptx::Opcode::wgmma_mma_async || opcode == ptx::Opcode::wgmma_mma_async_sp;
        for (std::uint32_t k = 0; k < written; ++k)
            if (accumulates || is_address(operands[k])) append_registers(module, operands[k], ir.register_lists);
        a.writes_begin = static_cast<std::uint32_t>(ir.register_lists.size());
        for (std::uint32_t k = 0; k < written; ++k) append_registers(module, operands[k], ir.register_lists);
        a.end = static_cast<std::uint32_t>(ir.register_lists.size());
        ir.accessed.push_back(a);
    }
}

void index_definitions(KernelIr& ir) {
    const std::size_t registers = ir.function->registers.size();
    ir.definitions_begin.assign(registers + 1, 0);
    const auto count = static_cast<std::uint32_t>(ir.accessed.size());
    for (std::uint32_t i = 0; i < count; ++i)
        for (const ptx::RegId r : ir.writes(i)) ++ir.definitions_begin[static_cast<std::uint32_t>(r) + 1];
    for (std::size_t r = 0; r < registers; ++r) ir.definitions_begin[r + 1] += ir.definitions_begin[r];
    ir.definitions.resize(ir.definitions_begin.back());
    std::vector<std::uint32_t> next(ir.definitions_begin.begin(), ir.definitions_begin.end() - 1);
    for (std::uint32_t i = 0; i < count; ++i)
        for (const ptx::RegId r : ir.writes(i)) ir.definitions[next[static_cast<std::uint32_t>(r)]++] = i;
}

}  // namespace

bool ends_block(const ptx::Module& module, const ptx::Instruction& instruction) {
    const ptx::Form& form = module.form(instruction);
    if (form.may_branch) return true;
    const ptx::Function* callee = called_function(module, instruction);
    return callee != nullptr && callee->directives.no_return;
}

KernelIr build_ir(const ptx::Module& module, const ptx::Function& function, bool with_dominators) {
    KernelIr ir;
    ir.module = &module;
    ir.function = &function;
    collect_accessed(ir);
    index_definitions(ir);
    if (function.instructions.empty()) return ir;
    make_blocks(ir);
    connect(ir);
    const graph::Graph flow(static_cast<std::uint32_t>(ir.blocks.size()), edges_of(ir));
    find_loops(ir, flow);
    if (!with_dominators) return ir;
    find_dominators(ir, flow);
    find_post_dominators(ir);
    return ir;
}

}  // namespace flipflop
