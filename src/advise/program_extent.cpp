#include "program_extent.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop::advise {

namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;

/// Follows copies of %ctaid on one axis through the entry.
class AxisUse {
public:
    AxisUse(const ptx::Module& module, const ptx::Function& function, int axis)
        : module_(module), function_(function), special_(static_cast<std::uint32_t>(ptx::Special::ctaid_x) + static_cast<std::uint32_t>(axis)), copy_(function.registers.size()) {}

    std::optional<std::uint64_t> extent() {
        for (bool more = true; more;) {
            more = false;
            for (const ptx::Instruction& i : function_.instructions) {
                const auto o = module_.operands_of(i);
                const Opcode op = module_.form(i).opcode;
                const bool copies = (op == Opcode::mov || op == Opcode::cvt) && o.size() == 2 && o[0].kind == OperandKind::reg && is_id(o[1]);
                if (!copies || copy_[o[0].index]) continue;
                copy_[o[0].index] = true;
                more = true;
            }
        }
        for (const ptx::Instruction& i : function_.instructions) look_at(i);
        return other_use_ || several_ ? std::nullopt : extent_;
    }
    [[nodiscard]] bool used() const { return used_; }

private:
    [[nodiscard]] bool is_id(const Operand& o) const {
        if (o.kind == OperandKind::special) return o.index == special_;
        return (o.kind == OperandKind::reg || o.kind == OperandKind::address_reg) && copy_[o.index];
    }
    [[nodiscard]] bool any_id(std::span<const Operand> operands) const {
        return std::any_of(operands.begin(), operands.end(), [&](const Operand& o) {
            return is_id(o) || ((o.kind == OperandKind::vector || o.kind == OperandKind::list) && any_id(module_.children_of(o)));
        });
    }

    void look_at(const ptx::Instruction& i) {
        const auto o = module_.operands_of(i);
        if (!any_id(o)) return;
        used_ = true;
        const ptx::Form& form = module_.form(i);
        const bool written = o[0].kind == OperandKind::reg && copy_[o[0].index];
        if (form.opcode == Opcode::mov || form.opcode == Opcode::cvt) {
            other_use_ = other_use_ || !written;
            return;
        }
        if (written) other_use_ = true;   // a copy that is something else at other times
        if (form.opcode == Opcode::shl && o.size() == 3 && is_id(o[1]) && o[2].kind == OperandKind::immediate && o[2].value >= 0 && o[2].value < 31)
            return times(std::int64_t{1} << o[2].value);
        const bool multiplies = (form.opcode == Opcode::mul_ || form.opcode == Opcode::mad) && !form.hi && o.size() >= 3;
        const bool added = o.size() == 4 && is_id(o[3]);
        if (multiplies && !added && is_id(o[1]) && o[2].kind == OperandKind::immediate) return times(o[2].value);
        if (multiplies && !added && is_id(o[2]) && o[1].kind == OperandKind::immediate) return times(o[1].value);
        other_use_ = true;
    }
    void times(std::int64_t factor) {
        if (factor < 1 || factor > (1 << 24)) { other_use_ = true; return; }
        several_ = several_ || (extent_ && *extent_ != static_cast<std::uint64_t>(factor));
        extent_ = static_cast<std::uint64_t>(factor);
    }

    const ptx::Module& module_;
    const ptx::Function& function_;
    std::uint32_t special_;
    std::vector<bool> copy_;
    std::optional<std::uint64_t> extent_;
    bool other_use_{}, several_{}, used_{};
};

}  // namespace

bool ProgramExtents::covers(int dimensions) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::clamp(dimensions, 1, 3)); ++i)
        if (!axis[i]) return false;
    return true;
}

std::string ProgramExtents::words() const {
    std::string text;
    for (const auto& extent : axis)
        if (extent) text += fmt::format("{}{}", text.empty() ? "" : " x ", *extent);
    return text;
}

ProgramExtents program_extents(const KernelCode& code) {
    const KernelIr& ir = code.functions.front().ir;
    ProgramExtents found;
    for (int axis = 0; axis < 3; ++axis) {
        AxisUse use(*ir.module, *ir.function, axis);
        found.axis[static_cast<std::size_t>(axis)] = use.extent();
        if (use.used() && !found.axis[static_cast<std::size_t>(axis)]) return {};
    }
    return found;
}

}  // namespace flipflop::advise
