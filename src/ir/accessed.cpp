#include "ir/accessed.hpp"

#include <algorithm>

namespace flipflop {

using ptx::OperandKind;

bool is_address(const ptx::Operand& operand) {
    return operand.kind == OperandKind::address_reg || operand.kind == OperandKind::address_symbol ||
           operand.kind == OperandKind::address_immediate;
}

std::uint32_t written_operands(const ptx::Module& module, const ptx::Instruction& instruction) {
    const ptx::Form& form = module.form(instruction);
    const auto operands = module.operands_of(instruction);
    if (form.opcode == ptx::Opcode::call) {
        // "call (results), callee, (arguments)": the results are there only when the list comes before the callee.
        const bool has_results = operands.size() >= 2 && operands[0].kind == OperandKind::list &&
                                 (operands[1].kind == OperandKind::symbol || operands[1].kind == OperandKind::reg);
        return has_results ? 1 : 0;
    }
    std::uint32_t count = 0;
    for (std::uint32_t results = form.results; results > 0 && count < operands.size(); --results) {
        if (is_address(operands[count])) break;   // an optional result that is not there
        while (count + 1 < operands.size() && operands[count].paired) ++count;
        ++count;
    }
    return count;
}

void append_registers(const ptx::Module& module, const ptx::Operand& operand, std::vector<ptx::RegId>& out) {
    if (operand.kind == OperandKind::reg || operand.kind == OperandKind::address_reg) {
        out.push_back(operand.reg());
        return;
    }
    if (operand.kind != OperandKind::vector && operand.kind != OperandKind::list) return;
    const auto is_group = [](const ptx::Operand& o) { return o.kind == OperandKind::vector || o.kind == OperandKind::list; };
    const auto elements = module.children_of(operand);
    if (std::none_of(elements.begin(), elements.end(), is_group)) {   // nearly all: no stack to be kept
        for (const ptx::Operand& o : elements)
            if (o.kind == OperandKind::reg || o.kind == OperandKind::address_reg) out.push_back(o.reg());
        return;
    }
    std::vector<const ptx::Operand*> stack{&operand};
    while (!stack.empty()) {
        const ptx::Operand* top = stack.back();
        stack.pop_back();
        if (top->kind == OperandKind::reg || top->kind == OperandKind::address_reg) out.push_back(top->reg());
        if (top->kind != OperandKind::vector && top->kind != OperandKind::list) continue;
        const auto children = module.children_of(*top);
        for (auto it = children.rbegin(); it != children.rend(); ++it) stack.push_back(&*it);
    }
}

const ptx::Function* called_function(const ptx::Module& module, const ptx::Instruction& instruction) {
    if (module.form(instruction).opcode != ptx::Opcode::call) return nullptr;
    for (const ptx::Operand& operand : module.operands_of(instruction)) {
        if (operand.kind != OperandKind::symbol) continue;
        const ptx::Symbol& symbol = module.symbol(operand.symbol());
        if (symbol.kind == ptx::Symbol::Kind::function && symbol.index < module.functions.size())
            return &module.functions[symbol.index];
        return nullptr;
    }
    return nullptr;
}

}  // namespace flipflop
