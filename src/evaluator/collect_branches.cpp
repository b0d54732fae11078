// Single instructions that a finding may be about: branches that part the lanes of a warp, barriers that part of a block
// does not reach.
#include <cmath>

#include "evaluator/collect.hpp"
#include "passes/source_lines.hpp"

namespace flipflop::eval {

/// How often a unit ran, over all phases.
Page::Count Collector::unit_total(u32 unit) const {
    Page::Count sum;
    const auto units = static_cast<u32>(p_.units.size());
    for (u32 phase = 0; phase <= p_.barriers; ++phase) {
        const auto it = counts_.find(phase * units + unit);
        if (it == counts_.end()) continue;
        sum.warps += it->second.warps;
        sum.lanes += it->second.lanes;
    }
    return sum;
}

/// The unit of a block's unguarded instructions: of its first stretch, or of its last.
u32 Collector::plain_unit(const FunctionProgram& f, u32 block, bool last) const {
    u32 unit = kNone;
    for (u32 o = f.blocks[block].begin; o < f.blocks[block].end; ++o) {
        if (f.ops[o].op != Op::count || f.ops[o].guard != kNone) continue;
        unit = f.ops[o].payload;
        if (!last) break;
    }
    return unit;
}

/// Warps that took both sides would, as whole warps, take each in proportion to its lanes.
MachineOpCounts Collector::excess_of(const FunctionProgram& f, u32 block, bool& ends_loop) const {
    MachineOpCounts excess{};
    const KernelIr& ir = f.code->ir;
    const auto density = [&](u32 unit) {
        const Page::Count c = unit == kNone ? Page::Count{} : unit_total(unit);
        return c.warps > 0 ? c.lanes / c.warps : 0.0;
    };
    const auto save = [&](u32 b, double share) {
        for (u32 o = f.blocks[b].begin; o < f.blocks[b].end; ++o) {
            if (f.ops[o].op != Op::count) continue;
            const Unit& u = p_.units[f.ops[o].payload];
            const double warps = unit_total(f.ops[o].payload).warps * share / static_cast<double>(s_.launch.grid.count());
            for (const auto& [op, n] : u.machine) excess[op] += warps * n;
        }
    };
    for (u32 l = f.blocks[block].loop; l != kNone; l = f.loops[l].parent) {
        const Loop& loop = ir.loops[l];
        if (std::find(loop.exiting.begin(), loop.exiting.end(), static_cast<BlockId>(block)) == loop.exiting.end()) continue;
        ends_loop = true;
        const BlockId before = ir.block(loop.header).immediate_dominator;
        const double entering = before == BlockId::none ? kLanes : density(plain_unit(f, static_cast<u32>(before), true));
        const double inside = density(plain_unit(f, f.loops[l].header, false));
        if (entering > 0 && inside < entering)
            for (const BlockId b : ir.blocks_of(loop)) save(static_cast<u32>(b), 1 - inside / entering);
        return excess;
    }
    const double arriving = density(plain_unit(f, block, true));
    if (arriving <= 0) return excess;
    for (const BlockId side : ir.blocks[block].successors) {
        if (side == ir.blocks[block].immediate_post_dominator || ir.block(side).immediate_dominator != static_cast<BlockId>(block)) continue;
        const double here = density(plain_unit(f, static_cast<u32>(side), false));
        if (here >= arriving) continue;
        // What this side alone leads to: blocks that it dominates.
        for (u32 b = 0; b < ir.blocks.size(); ++b) {
            BlockId up = static_cast<BlockId>(b);
            while (up != BlockId::none && up != side && ir.block(up).order > ir.block(side).order) up = ir.block(up).immediate_dominator;
            if (up == side && ir.blocks[b].reachable) save(b, 1 - here / arriving);
        }
    }
    return excess;
}

void Collector::branches(LaunchFacts& facts) const {
    for (const FunctionProgram& f : p_.functions) {
        const auto& code = f.code->ir.function->instructions;
        for (u32 i = 0; i < code.size(); ++i) {
            const auto it = events_.find(p_.first_event() + f.first_instruction + i);
            if (it == events_.end()) continue;
            BranchFacts b;
            b.ptx_line = code[i].line;
            b.source = source_of(*p_.module, code[i]);
            const u32 block = static_cast<u32>(f.code->ir.block_of[i]);
            const u32 unit = plain_unit(f, block, true);
            b.executions = unit == kNone ? 0 : unit_total(unit).warps;
            b.divergent = it->second.warps;
            b.excess = excess_of(f, block, b.ends_loop);
            facts.branches.push_back(std::move(b));
        }
    }
    std::stable_sort(facts.branches.begin(), facts.branches.end(), [](const BranchFacts& a, const BranchFacts& b) { return a.ptx_line < b.ptx_line; });
}

void Collector::add_barriers(const Page& page, double warps, std::size_t which) {
    if (p_.barriers == 0) return;
    const auto units = static_cast<u32>(p_.units.size());
    std::vector<Passed>& passed = passed_[which];
    passed.resize(p_.barriers);
    std::map<u32, Page::Count> counts;
    for (const u32 key : page.touched()) {
        if (key >= p_.first_event() || !p_.units[key % units].has_barrier) continue;
        counts[key % units].warps += page.count(key).warps;
        counts[key % units].doubtful += page.count(key).doubtful;
    }
    for (u32 b = 0; b < p_.barriers; ++b) {
        const u32 unit = p_.barrier_units[b].first;
        if (unit == kNone || !p_.units[unit].has_barrier) continue;
        const Page::Count& c = counts[unit];
        passed[b].doubtful |= c.doubtful > 0;
        passed[b].warps[c.warps] += warps;
    }
}

void Collector::partial_barriers(LaunchFacts& facts) const {
    for (u32 b = 0; b < p_.barriers; ++b) {
        const auto [unit, instruction] = p_.barrier_units[b];
        if (unit == kNone) continue;
        const FunctionProgram& f = p_.functions[p_.units[unit].function];
        const ptx::Instruction& i = f.code->ir.function->instructions[instruction];
        PartialBarrierFacts p;
        p.part_of_warp = events_.contains(p_.first_event() + p_.instructions + f.first_instruction + instruction);
        for (const std::vector<Passed>& passed : passed_) {
            if (b >= passed.size() || passed[b].doubtful || passed[b].warps.size() < 2 || p.warps > 0) continue;
            p.warps_reaching = passed[b].warps.rbegin()->second;
            for (const auto& [times, warps] : passed[b].warps) p.warps += warps;
        }
        if (!p.part_of_warp && p.warps == 0) continue;
        p.ptx_line = i.line;
        p.source = source_of(*p_.module, i);
        facts.partial_barriers.push_back(std::move(p));
    }
}

}  // namespace flipflop::eval
