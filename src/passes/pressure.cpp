#include "passes/pressure.hpp"
#include "passes/unrolling.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/accessed.hpp"
#include "passes/block_scheduler.hpp"

namespace flipflop {
namespace {

using ptx::Opcode;
using ptx::OperandKind;

constexpr std::size_t kMostLiveValues = 512;
constexpr std::uint32_t kNoBase = 0xffffffff;
constexpr std::uint32_t kPacked = 20;   ///< values alive from which on ptxas finds something for every register
constexpr std::int32_t kMostHoles = 6;      ///< a kernel that stores 8 loaded values takes 22, one that stores 15 takes 32

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

/// How far ptxas moves work up to hide what is slow. Arithmetic counts as nothing: moving it was found to make the estimate
/// worse, ptxas keeps it near its order.
std::uint16_t latency_of(MachineOp op) {
    switch (op) {
    case MachineOp::load_global: case MachineOp::load_local: case MachineOp::texture: case MachineOp::surface:
    case MachineOp::atomic_global: return 200;
    case MachineOp::load_shared: case MachineOp::atomic_shared: case MachineOp::ldmatrix: case MachineOp::shuffle: return 100;
    case MachineOp::load_const_indexed: return 40;
    case MachineOp::read_special: return 20;
    default: return 0;
    }
}

}  // namespace

PressureModel::PressureModel(const FunctionCode& function, std::uint32_t sm, const std::function<std::uint32_t(const ptx::Function&)>& callee)
    : function_(function), ir_(function.ir), module_(*function.ir.module), classes_(classify_values(function, sm)),
      merged_(merge_blocks(function, classes_.needed)) {
    make_nodes(sm, callee);
    find_live_values();
    merge_live_blocks();
    find_stored();
    unroll_loops();
    stamp_.assign(classes_.width.size(), 0);
}

void PressureModel::append_values(std::span<const ptx::RegId> registers) {
    const auto first = static_cast<std::ptrdiff_t>(values_.size());
    for (const ptx::RegId r : registers) {
        const std::uint32_t v = classes_.representative[index_of(r)];
        if (classes_.width[v] == 0) continue;
        if (std::find(values_.begin() + first, values_.end(), v) == values_.end()) values_.push_back(v);
    }
}

namespace {

bool adds_addresses(const ptx::Form& form) { return form.opcode == Opcode::add_ && ptx::bits_of(form.type) == 64 && !ptx::is_float(form.type); }

}  // namespace

/// The constant that IMAD.WIDE multiplies by, where this addition is one; 0 where it is none.
std::int64_t PressureModel::element_size(const ptx::Instruction& addition) const {
    for (const ptx::Operand& o : module_.operands_of(addition)) {
        if (o.kind != OperandKind::reg || classes_.representative[o.index] == o.index) continue;
        const auto definitions = ir_.definitions_of(o.reg());
        if (definitions.size() != 1) continue;
        const ptx::Instruction& d = ir_.function->instructions[definitions[0]];
        const auto operands = module_.operands_of(d);
        if (module_.form(d).opcode == Opcode::mul_ && operands.size() > 2 && operands[2].kind == OperandKind::immediate) return operands[2].value;
    }
    return 0;
}

/// The last block before the innermost loop that holds `block`; `block` itself outside loops.
std::uint32_t PressureModel::before_loop(std::uint32_t block) const {
    const LoopId innermost = ir_.blocks[block].loop;
    if (innermost == LoopId::none) return block;
    const Loop& loop = ir_.loop(innermost);
    for (const BlockId p : ir_.block(loop.header).predecessors)
        if (!ir_.contains(loop, p) && ir_.block(p).reachable) return static_cast<std::uint32_t>(p);
    return block;
}

/// What code must bring into registers although PTX does not show it. From sm_90 on a pointer is loaded from the constant bank
/// (LDC.64) for the additions that index it: in each block, or before the loop. Until then the bank is an operand of IMAD.WIDE,
/// which then takes the element size from a register.
void PressureModel::find_bases(std::uint32_t sm) {
    std::map<std::tuple<bool, std::int64_t, std::uint32_t>, std::uint32_t> known;   // (pointer?, register or constant, place)
    base_of_.assign(ir_.function->instructions.size(), kNoBase);
    for (std::uint32_t b = 0; b < ir_.blocks.size(); ++b) {
        for (std::uint32_t i = ir_.blocks[b].begin; i < ir_.blocks[b].end; ++i) {
            const ptx::Instruction& instruction = ir_.function->instructions[i];
            if (!classes_.needed[i] || !adds_addresses(module_.form(instruction))) continue;
            for (const ptx::Operand& o : module_.operands_of(instruction)) {
                if (o.kind != OperandKind::reg) continue;
                const std::uint32_t v = classes_.representative[o.index];
                if (classes_.width[v] != 0 || !classes_.from_bank[v]) continue;
                const bool pointer = sm >= 90;
                const std::int64_t constant = pointer ? 0 : element_size(instruction);
                if (!pointer && constant == 0) continue;
                const std::uint32_t outside = before_loop(b), place = outside == b ? merged_.leader[b] : outside;
                // A constant is made once for the kernel, a pointer read once a block.
                const auto key = std::tuple(pointer, pointer ? std::int64_t{v} : constant, pointer ? place : 0U);
                const auto [it, fresh] = known.emplace(key, static_cast<std::uint32_t>(classes_.width.size()));
                if (fresh) {
                    classes_.width.push_back(pointer ? 2 : 1);
                    bases_.push_back({outside, i, it->second, outside != b});
                }
                base_of_[i] = it->second;
            }
        }
    }
    std::stable_sort(bases_.begin(), bases_.end(), [](const Base& x, const Base& y) { return x.block < y.block; });
}

void PressureModel::make_base(const Base& base) {
    Node n;
    n.instruction = base.user;
    n.defs_begin = static_cast<std::uint32_t>(values_.size());
    values_.push_back(base.value);
    n.uses_begin = n.end = static_cast<std::uint32_t>(values_.size());
    n.latency = classes_.width[base.value] == 2 ? 40 : 0;
    n.synthetic = true;
    nodes_.push_back(n);
}

void PressureModel::make_node(std::uint32_t i, const std::function<std::uint32_t(const ptx::Function&)>& callee) {
    const ptx::Instruction& instruction = ir_.function->instructions[i];
    Node n;
    n.instruction = i;
    n.defs_begin = static_cast<std::uint32_t>(values_.size());
    append_values(ir_.writes(i));
    n.uses_begin = static_cast<std::uint32_t>(values_.size());
    append_values(ir_.reads(i));
    n.temporaries = temporaries_of(function_.table.machine_op[i]);
    n.latency = latency_of(function_.table.machine_op[i]);
    for (const ptx::Operand& o : module_.operands_of(instruction)) {
        if (o.kind != OperandKind::reg && o.kind != OperandKind::address_reg) continue;
        const std::uint32_t v = classes_.representative[o.index];
        if (o.kind == OperandKind::address_reg && classes_.address_base[o.index] && classes_.width[v] == 0)
            n.temporaries = std::max<std::uint8_t>(n.temporaries, 2);
    }
    if (base_of_[i] != kNoBase) values_.push_back(base_of_[i]);
    n.end = static_cast<std::uint32_t>(values_.size());
    if (const ptx::Function* f = called_function(module_, instruction))
        n.temporaries = static_cast<std::uint8_t>(std::min<std::uint32_t>(255, callee(*f)));
    nodes_.push_back(n);
}

void PressureModel::make_nodes(std::uint32_t sm, const std::function<std::uint32_t(const ptx::Function&)>& callee) {
    find_bases(sm);
    auto base = bases_.begin();
    blocks_.resize(ir_.blocks.size());
    for (std::uint32_t b = 0; b < ir_.blocks.size(); ++b) {
        blocks_[b].begin = static_cast<std::uint32_t>(nodes_.size());
        const auto first = base;
        while (base != bases_.end() && base->block == b) ++base;
        const auto hoisted = [&] {
            for (auto it = first; it != base; ++it)
                if (it->hoisted) make_base(*it);
        };
        const std::uint32_t end = ir_.blocks[b].end;
        for (std::uint32_t i = ir_.blocks[b].begin; i < end; ++i) {
            if (i + 1 == end && ends_block(module_, ir_.function->instructions[i])) hoisted();
            if (!classes_.needed[i]) continue;
            for (auto it = first; it != base; ++it)
                if (!it->hoisted && it->user == i) make_base(*it);
            make_node(i, callee);
        }
        if (ir_.blocks[b].begin < end && !ends_block(module_, ir_.function->instructions[end - 1])) hoisted();
        blocks_[b].end = static_cast<std::uint32_t>(nodes_.size());
    }
}

void PressureModel::find_live_values() {
    const std::size_t count = classes_.width.size();
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
                if (written[v] == b || (guarded && v < ir_.function->registers.size() && ir_.definitions_of(static_cast<ptx::RegId>(v)).size() > 1)) continue;
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
                // Far beyond any register file already: the answer is 255 and the memory would be quadratic.
                if (live_out[from] == v || blocks_[from].live_out.size() >= kMostLiveValues) continue;
                live_out[from] = v;
                blocks_[from].live_out.push_back(v);
                if (kills[from] == v || live_in[from] == v) continue;
                live_in[from] = v;
                work.push_back(from);
            }
        }
    }
}

/// A predicated write keeps the old value of lanes that are off: where that is read later, the write reads it too.
void PressureModel::keep_old_value(Node& n, std::span<const std::uint32_t> kept) {
    const auto is_kept = [&](std::uint32_t v) { return std::find(kept.begin(), kept.end(), v) != kept.end(); };
    const Node old = n;
    bool any = false;
    for (std::uint32_t k = old.defs_begin; k < old.uses_begin; ++k) any = any || is_kept(values_[k]);
    if (!any) return;
    n.defs_begin = static_cast<std::uint32_t>(values_.size());
    for (std::uint32_t k = old.defs_begin; k < old.uses_begin; ++k) values_.push_back(values_[k]);
    n.uses_begin = static_cast<std::uint32_t>(values_.size());
    for (std::uint32_t k = old.defs_begin; k < old.end; ++k) {
        const std::uint32_t v = values_[k];
        if ((k >= old.uses_begin || is_kept(v)) && std::find(values_.begin() + n.uses_begin, values_.end(), v) == values_.end()) values_.push_back(v);
    }
    n.end = static_cast<std::uint32_t>(values_.size());
}

/// Blocks that are one in machine code become one here: their nodes lie one after another already.
void PressureModel::merge_live_blocks() {
    std::uint32_t side = 0;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
        const std::uint32_t from = merged_.decided_by[b];
        if (merged_.leader[b] == b) side = 0;
        if (from == b) continue;
        ++side;
        for (std::uint32_t k = blocks_[b].begin; k < blocks_[b].end; ++k) {
            keep_old_value(nodes_[k], blocks_[from].live_out);
            nodes_[k].side = side;
        }
    }
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
        const std::uint32_t leader = merged_.leader[b];
        if (leader == b) continue;
        blocks_[leader].end = blocks_[b].end;
        blocks_[leader].live_out = std::move(blocks_[b].live_out);
        blocks_[b].begin = blocks_[b].end;
        blocks_[b].live_out.clear();
    }
}

void PressureModel::append_copies(Block& block, unsigned copies) {
    // Values that live within one iteration get a name of their own in each copy but the last.
    std::vector<std::uint32_t> seen, local;
    for (std::uint32_t k = block.begin; k < block.end; ++k) {
        for (const std::uint32_t v : uses(nodes_[k]))
            if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);   // read before written: carried
        for (const std::uint32_t v : defs(nodes_[k])) {
            if (std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
            seen.push_back(v);
            local.push_back(v);
        }
    }
    block.unrolled_begin = static_cast<std::uint32_t>(nodes_.size());
    for (unsigned copy = 0; copy < copies; ++copy) {
        const auto base = static_cast<std::uint32_t>(classes_.width.size());
        const bool last = copy + 1 == copies;
        if (!last)
            for (const std::uint32_t v : local) {
                classes_.width.push_back(classes_.width[v]);
                stored_.push_back(stored_[v]);
            }
        const auto named = [&](std::uint32_t v) {
            const auto at = std::find(local.begin(), local.end(), v);
            return last || at == local.end() ? v : base + static_cast<std::uint32_t>(at - local.begin());
        };
        for (std::uint32_t k = block.begin; k < block.end; ++k) {
            const bool branch = ends_block(module_, ir_.function->instructions[nodes_[k].instruction]);
            if (branch && !last) continue;
            Node n = nodes_[k];
            const Node old = n;
            n.defs_begin = static_cast<std::uint32_t>(values_.size());
            for (std::uint32_t v = old.defs_begin; v < old.uses_begin; ++v) values_.push_back(named(values_[v]));
            n.uses_begin = static_cast<std::uint32_t>(values_.size());
            for (std::uint32_t v = old.uses_begin; v < old.end; ++v) values_.push_back(named(values_[v]));
            n.end = static_cast<std::uint32_t>(values_.size());
            nodes_.push_back(n);
        }
    }
    block.unrolled_end = static_cast<std::uint32_t>(nodes_.size());
}

void PressureModel::unroll_loops() {
    constexpr std::uint32_t kLongestBody = 64;
    for (const Loop& loop : ir_.loops) {
        Block& block = blocks_[static_cast<std::uint32_t>(loop.header)];
        if (block.end - block.begin > kLongestBody || !counts_by_constant(ir_, module_, loop)) continue;
        bool simple = true;
        for (std::uint32_t k = block.begin; k < block.end; ++k) {
            const ptx::Instruction& i = ir_.function->instructions[nodes_[k].instruction];
            const auto kind = module_.form(i).instruction_class;
            simple = simple && kind != ptx::InstructionClass::barrier && module_.form(i).opcode != Opcode::call;
        }
        if (simple) append_copies(block, 4);
    }
}

/// A store to a 64-bit address reads a pair of registers: ptxas puts what it stores into an odd one.
void PressureModel::find_stored() {
    stored_.assign(classes_.width.size(), false);
    for (const ptx::Instruction& i : ir_.function->instructions) {
        const ptx::Form& form = module_.form(i);
        if (form.opcode != Opcode::st || (form.space != ptx::Space::global && form.space != ptx::Space::none)) continue;
        for (const ptx::Operand& o : module_.operands_of(i))
            if (o.kind == OperandKind::reg) stored_[classes_.representative[o.index]] = true;
    }
}

std::uint32_t PressureModel::block_in_order(const std::vector<std::uint32_t>& live_out, std::span<const std::uint32_t> order) const {
    ++round_;
    std::uint32_t alive = 0;
    std::int32_t odd = 0, even = 0;   // single registers that must be odd, and others
    const auto enters = [&](std::uint32_t v, std::int32_t by) {
        alive += static_cast<std::uint32_t>(by * classes_.width[v]);
        if (classes_.width[v] == 1) (stored_[v] ? odd : even) += by;
    };
    // Even registers beside odd ones that nothing else fills, in code of few registers: R0 and what R1 is beside go with them.
    const auto holes = [&] { return alive < kPacked ? static_cast<std::uint32_t>(std::clamp(odd + 2 - even, 0, kMostHoles)) : 0U; };
    for (const std::uint32_t v : live_out) {
        stamp_[v] = round_;
        enters(v, 1);
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
            enters(v, -1);
        }
        for (const std::uint32_t v : uses(n)) {
            if (stamp_[v] == round_) continue;
            stamp_[v] = round_;
            enters(v, 1);
        }
        most = std::max(most, alive + n.temporaries + holes());
    }
    return most;
}

std::vector<std::uint32_t> PressureModel::order_of_block(BlockScheduler& scheduler, std::uint32_t block, std::uint32_t limit) const {
    std::vector<std::uint32_t> instructions;
    for (const std::uint32_t node : scheduler.order(blocks_[block].begin, blocks_[block].end, blocks_[block].live_out, limit))
        if (!nodes_[node].synthetic) instructions.push_back(nodes_[node].instruction);
    return instructions;
}

/// Values made by simple operations on parameters, constants and indices: ptxas makes them again where keeping them is dear.
std::vector<bool> PressureModel::cheap_values() const {
    std::vector<bool> cheap(classes_.width.size());
    for (const Base& b : bases_) cheap[b.value] = true;
    for (std::uint32_t i = 0; i < ir_.function->instructions.size(); ++i) {
        const ptx::Instruction& instruction = ir_.function->instructions[i];
        const auto written = ir_.writes(i);
        if (!classes_.needed[i] || instruction.guard != ptx::RegId::none || written.size() != 1 || ir_.definitions_of(written[0]).size() != 1) continue;
        switch (function_.table.machine_op[i]) {
        case MachineOp::int_add: case MachineOp::shift: case MachineOp::logic: case MachineOp::move: case MachineOp::read_special: case MachineOp::int_mad:
        case MachineOp::int_add64: case MachineOp::int_mul: case MachineOp::int_mul_wide: case MachineOp::lop3: case MachineOp::convert_int_int64: break;
        default: continue;
        }
        const auto reads = ir_.reads(i);
        cheap[index_of(written[0])] = std::all_of(reads.begin(), reads.end(), [&](ptx::RegId r) {
            const std::uint32_t v = classes_.representative[index_of(r)];
            return classes_.width[v] == 0 || cheap[v];
        });
    }
    return cheap;
}

std::uint32_t PressureModel::remade_at_peak() const {
    const std::vector<bool> cheap = cheap_values();
    std::vector<std::uint32_t> touched(classes_.width.size(), kNoBase), order;
    std::uint32_t most = 0, remade = 0;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        order.clear();
        for (std::uint32_t k = block.begin; k < block.end; ++k) order.push_back(k);
        const std::uint32_t peak = block_in_order(block.live_out, order);
        if (peak <= most) continue;
        most = peak;
        for (const std::uint32_t k : order) {
            for (const std::uint32_t v : uses(nodes_[k])) touched[v] = b;
            for (const std::uint32_t v : defs(nodes_[k])) touched[v] = b;
        }
        remade = 0;
        for (const std::uint32_t v : block.live_out)
            if (touched[v] != b && cheap[v]) remade += classes_.width[v];
    }
    return remade;
}

Peaks PressureModel::least() const {
    Peaks peaks;
    BlockScheduler scheduler(*this);
    std::vector<std::uint32_t> text;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        if (block.begin == block.end) continue;
        text.clear();
        for (std::uint32_t k = block.begin; k < block.end; ++k) text.push_back(k);
        std::uint32_t fewest = block_in_order(block.live_out, text);
        fewest = std::min(fewest, block_in_order(block.live_out, scheduler.on_demand(block.begin, block.end, block.live_out)));
        fewest = std::min(fewest, block_in_order(block.live_out, scheduler.order(block.begin, block.end, block.live_out, 0)));
        std::uint32_t& most = ir_.blocks[b].loop == LoopId::none ? peaks.straight : peaks.in_loops;
        most = std::max(most, fewest);
    }
    return peaks;
}

Peaks PressureModel::scheduled(std::uint32_t limit) const {
    Peaks peaks;
    BlockScheduler scheduler(*this);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        if (block.begin == block.end) continue;
        const bool unrolled = block.unrolled_end > block.unrolled_begin;
        const std::uint32_t begin = unrolled ? block.unrolled_begin : block.begin, end = unrolled ? block.unrolled_end : block.end;
        std::uint32_t& most = ir_.blocks[b].loop == LoopId::none ? peaks.straight : peaks.in_loops;
        most = std::max(most, block_in_order(block.live_out, scheduler.order(begin, end, block.live_out, limit)));
    }
    return peaks;
}

}  // namespace flipflop
