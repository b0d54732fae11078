// How much a tensor copy brings: its box stands in a descriptor that the host makes, but the barrier it signals is told to
// expect so many bytes (PTX ISA 9.7.13.15.5, expect-tx), and that is often a constant of the code.
#include <optional>

#include "passes/accesses.hpp"

namespace flipflop {
namespace {

using ptx::Opcode;
using ptx::OperandKind;

/// The value of an operand that is a number, or a register that only ever holds one.
std::optional<std::uint64_t> constant_of(const KernelIr& ir, const ptx::Operand& operand) {
    if (operand.kind == OperandKind::immediate) return static_cast<std::uint64_t>(operand.value);
    if (operand.kind != OperandKind::reg) return std::nullopt;
    const auto definitions = ir.definitions_of(operand.reg());
    if (definitions.size() != 1) return std::nullopt;
    const ptx::Instruction& from = ir.function->instructions[definitions[0]];
    const auto operands = ir.module->operands_of(from);
    if (ir.module->form(from).opcode != Opcode::mov || from.guard != ptx::RegId::none || operands.size() != 2) return std::nullopt;
    return operands[1].kind == OperandKind::immediate ? std::optional(static_cast<std::uint64_t>(operands[1].value)) : std::nullopt;
}

std::optional<std::uint64_t> expected_bytes(const KernelIr& ir, const ptx::Instruction& instruction) {
    const ptx::Form& form = ir.module->form(instruction);
    const bool expects = form.opcode == Opcode::mbarrier_expect_tx || (form.opcode == Opcode::mbarrier_arrive && form.has("expect_tx"));
    const auto operands = ir.module->operands_of(instruction);
    if (!expects || operands.empty()) return std::nullopt;
    return constant_of(ir, operands.back()).value_or(0);     // 0: expects something, not known how much
}

}  // namespace

void settle_tensor_bytes(const FunctionCode& code, std::vector<AccessDescription>& accesses) {
    const KernelIr& ir = code.ir;
    for (const BasicBlock& block : ir.blocks) {
        // Copies stand behind what expects them, or before it; one expectation may be for several.
        std::vector<std::uint32_t> waiting;
        std::optional<std::uint64_t> bytes;
        const auto settle = [&] {
            std::uint64_t left = bytes.value_or(0);
            std::vector<std::uint32_t> tensors;
            for (const std::uint32_t i : waiting) {
                if (ir.module->form(ir.function->instructions[i]).opcode == Opcode::cp_async_bulk_tensor) { tensors.push_back(i); continue; }
                const std::uint64_t plain = accesses[static_cast<std::size_t>(code.table.access[i])].bytes_per_lane;
                left = plain && plain <= left ? left - plain : 0;
            }
            waiting.clear();
            if (tensors.empty() || left == 0 || left % tensors.size() || left / tensors.size() > 0xffffffffu) return;
            for (const std::uint32_t i : tensors)
                for (const auto* table : {&code.table.access, &code.table.access2})
                    if ((*table)[i] >= 0) accesses[static_cast<std::size_t>((*table)[i])].bytes_per_lane = static_cast<std::uint32_t>(left / tensors.size());
        };
        for (std::uint32_t i = block.begin; i < block.end; ++i) {
            const ptx::Form& form = ir.module->form(ir.function->instructions[i]);
            const bool load = (form.opcode == Opcode::cp_async_bulk_tensor || form.opcode == Opcode::cp_async_bulk) && form.space == ptx::Space::shared &&
                              form.has("mbarrier::complete_tx::bytes") && code.table.access[i] >= 0;
            if (load) { waiting.push_back(i); continue; }
            const auto expected = expected_bytes(ir, ir.function->instructions[i]);
            if (!expected) continue;
            // The first expectation of a block takes what stands before it, unless that has one of its own.
            if (bytes) settle();
            bytes = expected;
        }
        if (bytes) settle();
    }
}

}  // namespace flipflop
