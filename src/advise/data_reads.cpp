#include "data_reads.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "expression.hpp"
#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop::advise {

namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;

bool moves_addresses(Opcode op) {
    switch (op) {
        case Opcode::mov: case Opcode::cvta: case Opcode::cvt: case Opcode::add_: case Opcode::sub_: case Opcode::mad: case Opcode::selp: case Opcode::or_: return true;
        default: return false;
    }
}

/// Registers that hold an address made from the parameter.
std::vector<bool> addresses_from(const ptx::Module& module, const ptx::Function& function, ptx::SymbolId parameter) {
    std::vector<bool> made(function.registers.size());
    for (bool more = true; more;) {
        more = false;
        for (const ptx::Instruction& i : function.instructions) {
            const auto o = module.operands_of(i);
            const ptx::Form& form = module.form(i);
            if (o.size() < 2 || o[0].kind != OperandKind::reg || made[o[0].index]) continue;
            bool from = form.opcode == Opcode::ld && form.space == ptx::Space::param && o[1].kind == OperandKind::address_symbol && o[1].symbol() == parameter && o[1].value == 0;
            for (std::size_t k = 1; k < o.size() && !from && moves_addresses(form.opcode); ++k) from = o[k].kind == OperandKind::reg && made[o[k].index];
            if (!from) continue;
            made[o[0].index] = true;
            more = true;
        }
    }
    return made;
}

}  // namespace

std::string data_misfit(const KernelCode& code, std::uint32_t index, const DataRequest& data) {
    const KernelIr& ir = code.functions.front().ir;
    const auto made = addresses_from(*ir.module, *ir.function, ir.function->parameters[index]);
    std::string types;
    bool whole = true, real = true;
    std::uint32_t widest = 0;
    for (const ptx::Instruction& i : ir.function->instructions) {
        const auto o = ir.module->operands_of(i);
        const ptx::Form& form = ir.module->form(i);
        if (form.opcode != Opcode::ld || form.space == ptx::Space::param || o.size() < 2 || o[1].kind != OperandKind::address_reg || !made[o[1].index]) continue;
        const std::string type(ptx::to_string(form.type));
        whole = whole && (type.starts_with('u') || type.starts_with('s'));
        real = real && type.starts_with('f');
        widest = std::max(widest, bytes_of_field_type(type));
        if (types.find(type) == std::string::npos) types += (types.empty() ? "" : ", ") + type;
    }
    if (widest == 0) return {};
    const bool holds_real = data.element_type.starts_with('f') || data.element_type.starts_with("bf");
    const bool holds_whole = data.element_type.starts_with('u') || data.element_type.starts_with('s');
    if ((holds_real && whole) || (holds_whole && real) || data.data.element_bytes > widest)
        return fmt::format("the file holds {}, and the kernel reads {} from there", data.element_type, types);
    return {};
}

}  // namespace flipflop::advise
