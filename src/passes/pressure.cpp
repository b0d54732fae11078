#include "passes/pressure.hpp"

#include <algorithm>

#include "ir/accessed.hpp"
#include "passes/block_scheduler.hpp"

namespace flipflop {
namespace {

using ptx::Opcode;
using ptx::OperandKind;

std::uint32_t index_of(ptx::RegId r) { return static_cast<std::uint32_t>(r); }

/// Registers that the expansion of an operation needs beside operands and result; read off SASS of sm_80 (docs/registers.md).
std::uint8_t temporaries_of(MachineOp op) {
    switch (op) {
    case MachineOp::int_div_s32: case MachineOp::int_rem_s32: return 5;
    case MachineOp::int_div_u32: case MachineOp::int_rem_u32: return 4;
    case MachineOp::int_div64: case MachineOp::int_rem64: return 12;
    case MachineOp::fp32_div_rn: case MachineOp::fp32_rcp_rn: case MachineOp::fp32_sqrt_rn: return 5;
    case MachineOp::fp64_div: return 12;
    case MachineOp::fp64_rcp: case MachineOp::fp64_sqrt: return 10;
    case MachineOp::int_mul64: case MachineOp::int_mad64: return 2;
    case MachineOp::mma_fp64: return 2;
    default: return 0;
    }
}

std::uint16_t latency_of(MachineOp op) {
    switch (op) {
    case MachineOp::load_global: case MachineOp::load_local: case MachineOp::texture: case MachineOp::surface:
    case MachineOp::atomic_global: return 200;
    case MachineOp::load_shared: case MachineOp::atomic_shared: case MachineOp::ldmatrix: case MachineOp::shuffle: return 30;
    case MachineOp::load_const_indexed: return 40;
    case MachineOp::read_special: return 20;
    default: return 5;
    }
}

}  // namespace

PressureModel::PressureModel(const FunctionCode& function, const std::function<std::uint32_t(const ptx::Function&)>& callee)
    : function_(function), ir_(function.ir), module_(*function.ir.module), classes_(classify_values(function)),
      stamp_(function.ir.function->registers.size(), 0) {
    make_nodes(callee);
    find_live_values();
}

void PressureModel::make_nodes(const std::function<std::uint32_t(const ptx::Function&)>& callee) {
    const auto append = [&](std::span<const ptx::RegId> registers) {
        const std::size_t first = values_.size();
        for (const ptx::RegId r : registers) {
            const std::uint32_t v = classes_.representative[index_of(r)];
            if (classes_.width[v] == 0) continue;
            if (std::find(values_.begin() + static_cast<std::ptrdiff_t>(first), values_.end(), v) == values_.end()) values_.push_back(v);
        }
    };
    blocks_.resize(ir_.blocks.size());
    for (std::uint32_t b = 0; b < ir_.blocks.size(); ++b) {
        blocks_[b].begin = static_cast<std::uint32_t>(nodes_.size());
        for (std::uint32_t i = ir_.blocks[b].begin; i < ir_.blocks[b].end; ++i) {
            if (!classes_.needed[i]) continue;
            Node n;
            n.instruction = i;
            n.defs_begin = static_cast<std::uint32_t>(values_.size());
            append(ir_.writes(i));
            n.uses_begin = static_cast<std::uint32_t>(values_.size());
            append(ir_.reads(i));
            n.end = static_cast<std::uint32_t>(values_.size());
            n.temporaries = temporaries_of(function_.table.machine_op[i]);
            n.latency = latency_of(function_.table.machine_op[i]);
            for (const ptx::Operand& o : module_.operands_of(ir_.function->instructions[i]))
                if (o.kind == OperandKind::address_reg && classes_.address_base[o.index] && classes_.width[classes_.representative[o.index]] == 0)
                    n.temporaries = std::max<std::uint8_t>(n.temporaries, 2);
            if (const ptx::Function* f = called_function(module_, ir_.function->instructions[i]))
                n.temporaries = static_cast<std::uint8_t>(std::min<std::uint32_t>(255, callee(*f)));
            nodes_.push_back(n);
        }
        blocks_[b].end = static_cast<std::uint32_t>(nodes_.size());
    }
}

void PressureModel::find_live_values() {
    const std::size_t count = ir_.function->registers.size();
    // By value: blocks that read it before writing it, and blocks that surely write it.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> exposed, killed;
    std::vector<std::uint32_t> written(count, UINT32_MAX), read(count, UINT32_MAX);
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
        for (std::uint32_t k = blocks_[b].begin; k < blocks_[b].end; ++k) {
            for (const std::uint32_t v : uses(nodes_[k])) {
                if (written[v] == b || read[v] == b) continue;
                read[v] = b;
                exposed.emplace_back(v, b);
            }
            const bool guarded = ir_.function->instructions[nodes_[k].instruction].guard != ptx::RegId::none;
            for (const std::uint32_t v : defs(nodes_[k])) {
                // A guarded write keeps the old value of lanes that are off, unless there never was another one.
                if (written[v] == b || (guarded && ir_.definitions_of(static_cast<ptx::RegId>(v)).size() > 1)) continue;
                written[v] = b;
                killed.emplace_back(v, b);
            }
        }
    }
    std::stable_sort(exposed.begin(), exposed.end());
    std::stable_sort(killed.begin(), killed.end());
    std::vector<std::uint32_t> kills(blocks_.size(), UINT32_MAX), live_in(blocks_.size(), UINT32_MAX), live_out(blocks_.size(), UINT32_MAX);
    std::vector<std::uint32_t> work;
    auto kill = killed.begin();
    for (auto it = exposed.begin(); it != exposed.end();) {
        const std::uint32_t v = it->first;
        while (kill != killed.end() && kill->first < v) ++kill;
        for (; kill != killed.end() && kill->first == v; ++kill) kills[kill->second] = v;
        for (; it != exposed.end() && it->first == v; ++it) {
            if (live_in[it->second] == v) continue;
            live_in[it->second] = v;
            work.push_back(it->second);
        }
        while (!work.empty()) {
            const std::uint32_t b = work.back();
            work.pop_back();
            for (const BlockId p : ir_.blocks[b].predecessors) {
                const auto from = static_cast<std::uint32_t>(p);
                if (live_out[from] == v) continue;
                live_out[from] = v;
                blocks_[from].live_out.push_back(v);
                if (kills[from] == v || live_in[from] == v) continue;
                live_in[from] = v;
                work.push_back(from);
            }
        }
    }
}

std::uint32_t PressureModel::block_in_order(const Block& block, std::span<const std::uint32_t> order) const {
    ++round_;
    std::uint32_t alive = 0;
    for (const std::uint32_t v : block.live_out) {
        stamp_[v] = round_;
        alive += classes_.width[v];
    }
    std::uint32_t most = alive;
    for (std::size_t k = order.size(); k-- > 0;) {
        const Node& n = nodes_[order[k]];
        std::uint32_t unread = 0;
        for (const std::uint32_t v : defs(n)) {
            if (stamp_[v] != round_) unread += classes_.width[v];
        }
        most = std::max(most, alive + unread + n.temporaries);
        for (const std::uint32_t v : defs(n)) {
            if (stamp_[v] != round_) continue;
            stamp_[v] = 0;
            alive -= classes_.width[v];
        }
        for (const std::uint32_t v : uses(n)) {
            if (stamp_[v] == round_) continue;
            stamp_[v] = round_;
            alive += classes_.width[v];
        }
        most = std::max(most, alive + n.temporaries);
    }
    return most;
}

std::uint32_t PressureModel::in_text_order() const {
    std::uint32_t most = 0;
    std::vector<std::uint32_t> order;
    for (const Block& block : blocks_) {
        order.clear();
        for (std::uint32_t k = block.begin; k < block.end; ++k) order.push_back(k);
        most = std::max(most, block_in_order(block, order));
    }
    return most;
}

std::uint32_t PressureModel::scheduled(std::uint32_t limit) const {
    std::uint32_t most = 0;
    BlockScheduler scheduler(*this);
    for (const Block& block : blocks_) {
        if (block.begin == block.end) continue;
        most = std::max(most, block_in_order(block, scheduler.order(block, limit)));
    }
    return most;
}

}  // namespace flipflop
