#include "passes/value_classes.hpp"

#include <algorithm>

#include "ir/accessed.hpp"

namespace flipflop {
namespace {

using ptx::Form;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

std::uint32_t index_of(ptx::RegId r) { return static_cast<std::uint32_t>(r); }

std::uint8_t width_of(const ptx::Register& reg) {
    if (reg.type == ptx::Type::pred) return 0;
    const unsigned bits = ptx::bits_of(reg.type) * std::max<unsigned>(1, reg.vector);
    return static_cast<std::uint8_t>(std::max(1U, (bits + 31) / 32));
}

bool has_effect(const Form& form) {
    if (form.opcode == Opcode::unknown || form.writes_memory || form.may_branch || form.is_volatile) return true;
    switch (form.instruction_class) {
    case ptx::InstructionClass::control: case ptx::InstructionClass::barrier: case ptx::InstructionClass::fence:
    case ptx::InstructionClass::async_copy: case ptx::InstructionClass::shuffle: case ptx::InstructionClass::vote:
    case ptx::InstructionClass::other: case ptx::InstructionClass::tensor: case ptx::InstructionClass::texture: return true;
    default: return form.acquire || form.relaxed || form.results == 0 || (form.opcode == Opcode::st && form.space == Space::param);
    }
}

class Classifier {
public:
    Classifier(const FunctionCode& function, std::uint32_t sm)
        : function_(function), sm_(sm), ir_(function.ir), module_(*function.ir.module), code_(function.ir.function->instructions) {
        const auto& registers = ir_.function->registers;
        out_.representative.resize(registers.size());
        out_.width.resize(registers.size());
        out_.address_base.assign(registers.size(), false);
        out_.from_bank.assign(registers.size(), false);
        for (std::uint32_t r = 0; r < registers.size(); ++r) {
            out_.representative[r] = r;
            out_.width[r] = width_of(registers[r]);
        }
    }

    ValueClasses run() {
        mark_live();
        count_uses();
        // Text order is enough: a single definition stands before its uses in what compilers write.
        for (std::uint32_t i = 0; i < code_.size(); ++i)
            if (out_.needed[i]) fold(i);
        narrow_addresses();
        return std::move(out_);
    }

private:
    void mark_live() {
        out_.needed.assign(code_.size(), false);
        std::vector<std::uint32_t> work;
        std::vector<bool> wanted(ir_.function->registers.size());
        for (std::uint32_t i = 0; i < code_.size(); ++i) {
            if (!ir_.block(ir_.block_of[i]).reachable || !has_effect(module_.form(code_[i]))) continue;
            out_.needed[i] = true;
            work.push_back(i);
        }
        while (!work.empty()) {
            const std::uint32_t i = work.back();
            work.pop_back();
            for (const ptx::RegId r : ir_.reads(i)) {
                if (wanted[index_of(r)]) continue;
                wanted[index_of(r)] = true;
                for (const std::uint32_t d : ir_.definitions_of(r)) {
                    if (out_.needed[d]) continue;
                    out_.needed[d] = true;
                    work.push_back(d);
                }
            }
        }
    }

    /// How each register is used by needed code: as the base of an address, as an addend of add.s64, or otherwise.
    void count_uses() {
        const std::size_t n = ir_.function->registers.size();
        uses_.assign(n, 0);
        address_uses_.assign(n, 0);
        addend_uses_.assign(n, 0);
        for (std::uint32_t i = 0; i < code_.size(); ++i) {
            if (!out_.needed[i]) continue;
            for (const ptx::RegId r : ir_.reads(i)) ++uses_[index_of(r)];
            const auto operands = module_.operands_of(code_[i]);
            for (const Operand& o : operands)
                if (o.kind == OperandKind::address_reg) ++address_uses_[o.index];
            const Form& form = module_.form(code_[i]);
            if (form.opcode == Opcode::add_ && ptx::bits_of(form.type) == 64 && !ptx::is_float(form.type))
                for (std::size_t k = 1; k < operands.size(); ++k)
                    if (operands[k].kind == OperandKind::reg) ++addend_uses_[operands[k].index];
        }
    }

    [[nodiscard]] bool single(ptx::RegId r) const { return ir_.definitions_of(r).size() == 1; }
    [[nodiscard]] std::uint32_t rep(const Operand& o) const { return out_.representative[o.index]; }

    void drop(std::uint32_t i, std::uint32_t reg) {
        out_.width[reg] = 0;
        out_.needed[i] = false;
    }
    void alias(std::uint32_t i, std::uint32_t reg, std::uint32_t to) {
        out_.representative[reg] = to;
        out_.needed[i] = false;
    }

    void fold(std::uint32_t i) {
        const Form& form = module_.form(code_[i]);
        const auto o = module_.operands_of(code_[i]);
        const auto written = ir_.writes(i);
        if (written.empty() || code_[i].guard != ptx::RegId::none) return;
        fold_fragment(form, written);
        if (form.opcode == Opcode::ld && (form.space == Space::param || function_.table.machine_op[i] == MachineOp::nothing)) {
            for (const ptx::RegId r : written)
                if (!single(r)) return;
            if (!ir_.function->is_entry && form.space == Space::param) return;   // arguments of a function come in registers
            for (const ptx::RegId r : written) {
                out_.width[index_of(r)] = 0;
                out_.from_bank[index_of(r)] = true;
            }
            out_.needed[i] = false;
            for (const ptx::RegId r : written) out_.address_base[index_of(r)] = address_uses_[index_of(r)] > 0;
            return;
        }
        if (written.size() != 1 || !single(written[0]) || o.size() < 2) return;
        const std::uint32_t d = index_of(written[0]);
        switch (form.opcode) {
        case Opcode::mov: case Opcode::cvta: case Opcode::cvt: return fold_copy(i, d, form, o);
        case Opcode::add_: case Opcode::sub_: return fold_offset(i, d, form, o);
        case Opcode::mul_:
            // mul.wide whose every use is an addend is part of a multiply-add there.
            if (form.wide && o[1].kind == OperandKind::reg && single(o[1].reg()) && o.size() > 2 && o[2].kind == OperandKind::immediate &&
                uses_[d] > 0 && addend_uses_[d] == uses_[d])
                alias(i, d, rep(o[1]));
            return;
        default: return;
        }
    }

    void fold_copy(std::uint32_t i, std::uint32_t d, const Form& form, std::span<const Operand> o) {
        if (o[0].kind != OperandKind::reg) return;
        switch (o[1].kind) {
        case OperandKind::immediate: case OperandKind::immediate_f32: case OperandKind::symbol:
            if (form.opcode == Opcode::mov) drop(i, d);
            return;
        case OperandKind::special: {
            const auto s = static_cast<ptx::Special>(o[1].index);
            // Sizes of block and grid stand in the constant bank.
            if ((s >= ptx::Special::ntid_x && s <= ptx::Special::ntid_z) || (s >= ptx::Special::nctaid_x && s <= ptx::Special::nctaid_z)) drop(i, d);
            return;
        }
        case OperandKind::reg:
            if (!single(o[1].reg())) return;
            if (form.opcode == Opcode::cvta && function_.table.machine_op[i] != MachineOp::nothing) return;
            if (form.opcode == Opcode::cvt && function_.table.machine_op[i] != MachineOp::nothing &&
                function_.table.machine_op[i] != MachineOp::convert_int_int64) return;   // the sign is made again where it is used
            if (out_.width[rep(o[1])] == 0) { drop(i, d); out_.from_bank[d] = out_.from_bank[rep(o[1])]; out_.address_base[d] = address_uses_[d] > 0; return; }
            alias(i, d, rep(o[1]));
            return;
        default: return;
        }
    }

    /// Addresses of shared and local memory have 32 bits in machine code, whatever PTX computes them in: 64-bit values that only
    /// such addresses are made of take one register.
    void narrow_addresses() {
        std::vector<bool> narrow(out_.width.size(), true);
        const auto widen = [&](const Operand& o) {
            if (o.kind != OperandKind::reg && o.kind != OperandKind::address_reg) return;
            narrow[o.index] = narrow[out_.representative[o.index]] = false;
        };
        // Backwards: users stand behind definitions, but for what loops carry, which two rounds settle.
        for (int round = 0; round < 2; ++round) {
            for (std::uint32_t i = static_cast<std::uint32_t>(code_.size()); i-- > 0;) {
                if (!ir_.block(ir_.block_of[i]).reachable) continue;
                const Form& form = module_.form(code_[i]);
                const auto o = module_.operands_of(code_[i]);
                const bool short_space = form.space == Space::shared || form.space == Space::local;
                const bool passes_on = !o.empty() && o[0].kind == OperandKind::reg && narrow[o[0].index] && !ptx::is_float(form.type) && is_address_arithmetic(form.opcode);
                for (const Operand& operand : o) {
                    if (operand.kind == OperandKind::address_reg) {
                        if (!short_space) widen(operand);
                    } else if (operand.kind == OperandKind::reg) {
                        if (!passes_on) widen(operand);
                    } else {
                        widen_parts(operand, narrow);
                    }
                }
            }
        }
        for (std::size_t r = 0; r < narrow.size(); ++r)
            if (narrow[r] && out_.width[r] == 2 && address_like(r)) out_.width[r] = 1;
    }

    [[nodiscard]] bool address_like(std::size_t r) const { return ptx::bits_of(ir_.function->registers[r].type) == 64 && !ptx::is_float(ir_.function->registers[r].type); }

    static bool is_address_arithmetic(Opcode opcode) {
        switch (opcode) {
        case Opcode::add_: case Opcode::sub_: case Opcode::mul_: case Opcode::mad: case Opcode::shl: case Opcode::mov: case Opcode::cvt: case Opcode::cvta:
        case Opcode::and_: case Opcode::or_: case Opcode::selp: return true;
        default: return false;
        }
    }

    /// Members of vectors and lists are values, no addresses.
    void widen_parts(const Operand& operand, std::vector<bool>& narrow) const {
        std::vector<ptx::RegId> parts;
        append_registers(module_, operand, parts);
        for (const ptx::RegId r : parts) narrow[index_of(r)] = narrow[out_.representative[index_of(r)]] = false;
    }

    /// A and B fragments of 16-bit wmma: PTX names twice the registers that sm_80 needs, as Volta held every element twice.
    void fold_fragment(const Form& form, std::span<const ptx::RegId> written) {
        if (form.opcode != Opcode::wmma_load || !(form.has("a") || form.has("b")) || ptx::bits_of(form.type) != 16 || sm_ < 80) return;
        if (form.type == ptx::Type::bf16) return;
        for (std::size_t k = written.size() / 2; k < written.size(); ++k)
            if (single(written[k])) out_.width[index_of(written[k])] = 0;
    }

    /// "base + constant" that only addresses use goes into their offset field (24 bits signed).
    void fold_offset(std::uint32_t i, std::uint32_t d, const Form& form, std::span<const Operand> o) {
        if (o.size() < 3 || o[1].kind != OperandKind::reg || o[2].kind != OperandKind::immediate || !single(o[1].reg())) return;
        if (ptx::is_float(form.type) || o[2].value > (1 << 23) || o[2].value < -(1 << 23)) return;
        if (uses_[d] == 0 || address_uses_[d] != uses_[d]) return;
        alias(i, d, rep(o[1]));
        if (out_.width[rep(o[1])] == 0) out_.address_base[rep(o[1])] = true;
    }

    const FunctionCode& function_;
    std::uint32_t sm_;
    const KernelIr& ir_;
    const ptx::Module& module_;
    const std::vector<Instruction>& code_;
    ValueClasses out_;
    std::vector<std::uint32_t> uses_, address_uses_, addend_uses_;
};

}  // namespace

ValueClasses classify_values(const FunctionCode& function, std::uint32_t sm) { return Classifier(function, sm).run(); }

}  // namespace flipflop
