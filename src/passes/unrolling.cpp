#include "passes/unrolling.hpp"

#include <array>

#include "flipflop/ptx.hpp"

namespace flipflop {

using ptx::Opcode;
using ptx::OperandKind;

bool counts_by_constant(const KernelIr& ir, const ptx::Module& module, const Loop& loop) {
    if (loop.order_end - loop.order_begin != 1 || loop.irreducible) return false;
    const BasicBlock& block = ir.block(loop.header);
    const auto& code = ir.function->instructions;
    for (const ptx::BodyPragma& pragma : ir.function->body_pragmas)
        if (pragma.instruction >= block.begin && pragma.instruction <= block.end && pragma.text == "nounroll") return false;
    const ptx::RegId guard = code[block.end - 1].guard;
    if (guard == ptx::RegId::none) return false;
    const auto in_block = [&](ptx::RegId r, Opcode opcode) -> const ptx::Instruction* {
        for (const std::uint32_t d : ir.definitions_of(r))
            if (d >= block.begin && d < block.end && module.form(code[d]).opcode == opcode) return &code[d];
        return nullptr;
    };
    const ptx::Instruction* compare = in_block(guard, Opcode::setp);
    if (compare == nullptr) return false;
    const auto operands = module.operands_of(*compare);
    if (operands.size() < 3) return false;
    for (const std::size_t k : {1, 2}) {
        if (operands[k].kind != OperandKind::reg) continue;
        const ptx::Instruction* step = in_block(operands[k].reg(), Opcode::add_);
        if (step == nullptr) continue;
        const auto parts = module.operands_of(*step);
        if (parts.size() == 3 && parts[2].kind == OperandKind::immediate) return true;
    }
    return false;
}

unsigned assembler_copies(const KernelIr& ir, const ptx::Module& module, const Loop& loop) {
    constexpr std::uint32_t kLongest = 48;
    const BasicBlock& block = ir.block(loop.header);
    return block.end - block.begin <= kLongest && counts_by_constant(ir, module, loop) ? 4 : 1;
}

}  // namespace flipflop
