#include "passes/if_conversion.hpp"

namespace flipflop {
namespace {

using ptx::Opcode;

/// The longest side that is predicated, in PTX instructions that become machine code. Chosen on half `fit` of docs/registers.md.
constexpr std::uint32_t kLongestSide = 10;

class Merger {
public:
    Merger(const FunctionCode& function, const std::vector<bool>& needed)
        : function_(function), ir_(function.ir), module_(*function.ir.module), needed_(needed), count_(static_cast<std::uint32_t>(ir_.blocks.size())) {
        out_.leader.resize(count_);
        out_.decided_by.resize(count_);
        for (std::uint32_t b = 0; b < count_; ++b) out_.leader[b] = out_.decided_by[b] = b;
    }

    MergedBlocks run() {
        for (std::uint32_t b = 0; b < count_;) {
            std::uint32_t last = b;
            while (last + 1 < count_ && grow(b, last)) {}
            b = last + 1;
        }
        return std::move(out_);
    }

private:
    /// Takes what follows block `last` into the run that `first` leads; `last` moves on. False where the run ends.
    bool grow(std::uint32_t first, std::uint32_t& last) {
        const BasicBlock& here = ir_.blocks[last];
        if (!here.reachable) return false;
        if (here.successors.size() == 1) return join(first, last, last, last + 1, 1);
        if (here.successors.size() != 2 || last + 2 >= count_) return false;
        if (!leads_to(last, last + 1)) return false;
        if (!leads_to(last, last + 2) || !is_short_side(last + 1, last, last + 2)) return false;
        take(first, last + 1, last);
        return join(first, last, last + 1, last + 2, 2);
    }

    /// The block `next` after `end`, where only this run leads to it. The run ends at `end` otherwise.
    bool join(std::uint32_t first, std::uint32_t& last, std::uint32_t end, std::uint32_t next, std::size_t ways) {
        last = end;
        if (next >= count_ || !leads_to(end, next)) return false;
        const BasicBlock& block = ir_.blocks[next];
        if (block.predecessors.size() != ways || block.loop != ir_.blocks[first].loop) return false;
        take(first, next, next);
        last = next;
        return true;
    }

    void take(std::uint32_t first, std::uint32_t block, std::uint32_t decided_by) {
        out_.leader[block] = first;
        out_.decided_by[block] = decided_by;
    }

    [[nodiscard]] bool leads_to(std::uint32_t from, std::uint32_t to) const {
        for (const BlockId s : ir_.blocks[from].successors)
            if (static_cast<std::uint32_t>(s) == to) return true;
        return false;
    }

    [[nodiscard]] bool is_short_side(std::uint32_t side, std::uint32_t from, std::uint32_t to) const {
        const BasicBlock& block = ir_.blocks[side];
        if (block.predecessors.size() != 1 || block.successors.size() != 1 || !leads_to(side, to)) return false;
        if (block.loop != ir_.blocks[from].loop) return false;
        std::uint32_t length = 0;
        for (std::uint32_t i = block.begin; i < block.end; ++i) {
            if (!needed_[i]) continue;
            const ptx::Form& form = module_.form(ir_.function->instructions[i]);
            if (form.opcode == Opcode::bra) continue;
            if (!may_be_predicated(i, form) || ++length > kLongestSide) return false;
        }
        return true;
    }

    [[nodiscard]] bool may_be_predicated(std::uint32_t i, const ptx::Form& form) const {
        switch (form.instruction_class) {
        case ptx::InstructionClass::control: case ptx::InstructionClass::barrier: case ptx::InstructionClass::atomic: case ptx::InstructionClass::tensor:
        case ptx::InstructionClass::shuffle: case ptx::InstructionClass::vote: case ptx::InstructionClass::fence: return false;
        default: break;
        }
        switch (function_.table.machine_op[i]) {
        case MachineOp::int_div_s32: case MachineOp::int_rem_s32: case MachineOp::int_div_u32: case MachineOp::int_rem_u32: case MachineOp::int_div64:
        case MachineOp::int_rem64: case MachineOp::fp32_div_rn: case MachineOp::fp32_rcp_rn: case MachineOp::fp32_sqrt_rn: case MachineOp::fp64_div:
        case MachineOp::fp64_rcp: case MachineOp::fp64_sqrt: return false;
        default: return form.opcode != Opcode::call;
        }
    }

    const FunctionCode& function_;
    const KernelIr& ir_;
    const ptx::Module& module_;
    const std::vector<bool>& needed_;
    std::uint32_t count_;
    MergedBlocks out_;
};

}  // namespace

MergedBlocks merge_blocks(const FunctionCode& function, const std::vector<bool>& needed) { return Merger(function, needed).run(); }

}  // namespace flipflop
