#include "evaluator/safety_traits.hpp"

#include <algorithm>

namespace flipflop::eval {

using ptx::Opcode;
using ptx::OperandKind;

std::string line_of(const Program& program, u32 function, u32 instruction) {
    const auto& instructions = program.functions[function].code->ir.function->instructions;
    return "PTX line " + std::to_string(instruction < instructions.size() ? instructions[instruction].line : 0);
}

namespace {

/// What moves data or makes threads wait in ways that are not followed; null where there is no objection.
const char* objection(const ptx::Form& form) {
    switch (form.opcode) {
    case Opcode::unknown: return "an instruction that is not known";
    case Opcode::bar_arrive: case Opcode::barrier_cluster: case Opcode::mbarrier_init: case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_arrive_drop: case Opcode::mbarrier_test_wait: case Opcode::mbarrier_try_wait:
    case Opcode::cp_async_mbarrier_arrive:
        return "split barriers";
    case Opcode::cp_async_bulk: case Opcode::cp_async_bulk_tensor: case Opcode::cp_reduce_async_bulk:
    case Opcode::cp_reduce_async_bulk_tensor: case Opcode::multimem_cp_async_bulk: case Opcode::multimem_cp_reduce_async_bulk:
    case Opcode::st_async: case Opcode::red_async: case Opcode::st_bulk:
        return "bulk copies";
    case Opcode::multimem_ld_reduce: case Opcode::multimem_red: case Opcode::multimem_st: return "multimem accesses";
    case Opcode::sust: case Opcode::sured: return "surface stores";
    case Opcode::alloca: return "alloca";
    case Opcode::mapa: return "another block's shared memory";
    case Opcode::clusterlaunchcontrol_try_cancel: return "work that is handed out while the kernel runs";
    default: break;
    }
    const std::string_view name = ptx::info(form.opcode).name;
    if (name.starts_with("tcgen05") || name.starts_with("wgmma")) return "asynchronous matrix products";
    if ((form.opcode == Opcode::bar || form.opcode == Opcode::barrier) && form.has("arrive")) return "split barriers";
    return nullptr;
}

Nature nature_of(const ptx::Module& module, const ptx::Instruction& instruction) {
    using C = ptx::InstructionClass;
    const ptx::Form& form = module.form(instruction);
    if (form.reads_memory) return Nature::lost;
    switch (form.opcode) {
    case Opcode::mma: case Opcode::mma_sp: case Opcode::mma_sp_ordered_metadata: case Opcode::wmma_mma: case Opcode::movmatrix:
        return Nature::collective;
    default: break;
    }
    switch (form.instruction_class) {
    case C::fp32: case C::fp64: case C::fp16: case C::bf16: case C::int32: case C::int64: case C::sfu: case C::conversion:
    case C::logic: case C::predicate: case C::move:
        break;
    default: return Nature::lost;
    }
    for (const ptx::Operand& o : module.operands_of(instruction)) {
        if (o.kind == OperandKind::special) return Nature::lost;
        if (o.kind != OperandKind::vector) continue;
        for (const ptx::Operand& c : module.children_of(o))
            if (c.kind == OperandKind::special) return Nature::lost;
    }
    return Nature::function;
}

/// Which variable a register's address leads to, by register: forward to a fixed point, any doubt is kMany.
class Origins {
public:
    Origins(const ptx::Module& module, const FunctionCode& code) : module_(module), code_(code), of_(code.ir.function->registers.size(), kNone) {
        const auto& instructions = code.ir.function->instructions;
        for (bool changed = true; changed;) {
            changed = false;
            for (u32 i = 0; i < instructions.size(); ++i) {
                if (module.form(instructions[i]).reads_memory) continue;
                const u32 from = sources(i);
                if (from == kNone) continue;
                for (const ptx::RegId r : code.ir.writes(i)) {
                    u32& to = of_[static_cast<u32>(r)];
                    const u32 now = join(to, from);
                    changed |= now != to;
                    to = now;
                }
            }
        }
    }
    [[nodiscard]] u32 of(const ptx::Operand& address) const {
        u32 from = kNone;
        if (address.kind == OperandKind::address_symbol) from = variable(address.index);
        if (address.kind == OperandKind::address_reg) from = of_[address.index];
        return from == kMany ? kNone : from;
    }

private:
    static constexpr u32 kMany = kNone - 1;
    static u32 join(u32 a, u32 b) { return a == kNone || a == b ? b : b == kNone ? a : kMany; }
    [[nodiscard]] u32 variable(u32 symbol) const {
        return module_.symbols[symbol].kind == ptx::Symbol::Kind::variable ? symbol : kNone;
    }
    [[nodiscard]] u32 of_operand(const ptx::Operand& o) const {
        if (o.kind == OperandKind::reg) return of_[o.index];
        if (o.kind == OperandKind::symbol) return variable(o.index);
        return kNone;
    }
    [[nodiscard]] u32 sources(u32 i) const {
        const ptx::Instruction& instruction = code_.ir.function->instructions[i];
        const auto operands = module_.operands_of(instruction);
        u32 from = kNone;
        const std::size_t results = module_.form(instruction).results;
        for (std::size_t k = 0; k < operands.size(); ++k) {
            if (k < results) continue;
            if (operands[k].kind == OperandKind::vector || operands[k].kind == OperandKind::list) {
                for (const ptx::Operand& c : module_.children_of(operands[k])) from = join(from, of_operand(c));
            } else {
                from = join(from, of_operand(operands[k]));
            }
        }
        return from;
    }

    const ptx::Module& module_;
    const FunctionCode& code_;
    std::vector<u32> of_;
};

void name_symbols(const Program& program, SafetyTraits& traits) {
    std::vector<Origins> origins;
    for (const FunctionProgram& f : program.functions) origins.emplace_back(*program.module, *f.code);
    for (const MemoryOp& m : program.memory) {
        traits.symbol.push_back(kNone);
        if (m.is_param) continue;
        const auto& instruction = program.functions[m.function].code->ir.function->instructions[m.instruction];
        std::vector<const ptx::Operand*> addresses;
        for (const ptx::Operand& o : program.module->operands_of(instruction))
            if (o.kind == OperandKind::address_reg || o.kind == OperandKind::address_symbol) addresses.push_back(&o);
        const std::size_t which = addresses.size() > 1 && !m.writes ? 1 : 0;
        if (which < addresses.size()) traits.symbol.back() = origins[m.function].of(*addresses[which]);
    }
}

}  // namespace

SafetyTraits traits_of(const Program& program) {
    SafetyTraits traits;
    const ptx::Module& module = *program.module;
    for (u32 f = 0; f < program.functions.size(); ++f) {
        const auto& instructions = program.functions[f].code->ir.function->instructions;
        auto& natures = traits.nature.emplace_back();
        for (u32 i = 0; i < instructions.size(); ++i) {
            const ptx::Form& form = module.form(instructions[i]);
            natures.push_back(nature_of(module, instructions[i]));
            traits.collective |= natures.back() == Nature::collective;
            if (const char* why = objection(form); why && traits.refused.empty())
                traits.refused = std::string(why) + " (" + line_of(program, f, i) + ")";
        }
        for (const MicroOp& op : program.functions[f].ops) traits.cooperative |= op.op == Op::barrier;
    }
    for (const MemoryOp& m : program.memory) {
        const unsigned bytes = std::max(1u, unsigned{m.element_bytes});
        const bool generic = m.space == ptx::Space::generic;
        if (m.space == ptx::Space::shared || generic) traits.shared_granule = std::min(traits.shared_granule, bytes);
        if ((m.space == ptx::Space::global || generic) && m.writes) traits.global_granule = std::min(traits.global_granule, bytes);
        traits.cooperative |= m.space == ptx::Space::shared;
    }
    // Shared memory may also be reached through generic addresses.
    traits.cooperative |= program.map.static_shared > 0 || program.map.uses_dynamic_shared;
    for (const auto* objects : {&program.map.constants, &program.map.globals})
        for (const auto& o : *objects) traits.initialised |= !module.symbols[o.symbol].initial.empty();
    name_symbols(program, traits);
    return traits;
}

}  // namespace flipflop::eval
