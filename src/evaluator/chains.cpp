// The longest dependence chain of a run of instructions, as operations: models give each its latency. Which path is the
// longest depends on what a global load costs, so it is taken twice: loads that hit L1, and loads that go to DRAM.
// Reference latencies in cycles are those of research on sm_80 (Abdelkhalik et al. 2022, Jia et al. 2018); only their
// order matters here.
#include <algorithm>
#include <unordered_map>

#include "evaluator/prepare.hpp"
#include "passes/unrolling.hpp"

namespace flipflop::eval {
namespace {

unsigned reference_latency(MachineOp op, unsigned global) {
    using M = MachineOp;
    if (op >= M::fp32_div_rn && op <= M::fp32_rsqrt) return op == M::fp32_div_rn || op == M::fp32_sqrt_rn || op == M::fp32_rcp_rn ? 60 : 24;
    if (op >= M::sfu_ex2 && op <= M::sfu_tanh) return 18;
    if (op >= M::fp64_add && op <= M::fp64_sqrt) return op >= M::fp64_div ? 120 : 16;
    if (op >= M::int_div_s32 && op <= M::int_rem_u32) return 80;
    if (op == M::int_div64 || op == M::int_rem64) return 180;
    if (op >= M::mma_fp16 && op <= M::tcgen05) return 18;
    switch (op) {
    case M::nothing: case M::move: case M::store_global: case M::store_shared: case M::store_local: case M::async_copy:
    case M::bulk_copy: case M::tensor_copy: case M::reduction_global: case M::reduction_shared: return 0;
    case M::load_global: case M::load_local: case M::texture: case M::surface: return global;
    case M::atomic_global: return std::max(200u, global);
    case M::load_shared: case M::ldmatrix: case M::shuffle: case M::vote: case M::match: case M::redux: return 23;
    case M::atomic_shared: return 60;
    case M::load_const_indexed: return 30;
    case M::read_special: case M::convert_fp32_int: case M::convert_int_fp32: return 18;
    case M::fp32_add: case M::fp32_mul: case M::fp32_fma: return 4;
    case M::branch: case M::exit: case M::call_return: case M::barrier: case M::fence: return 8;
    default: return 5;
    }
}

void one_chain(const FunctionCode& code, u32 begin, u32 end, unsigned global, std::vector<std::pair<u32, float>>& out) {
    std::vector<u32> finish(end - begin, 0), from(end - begin, kNone);
    std::unordered_map<u32, u32> writer;
    u32 last = kNone, longest = 0;
    for (u32 i = begin; i < end; ++i) {
        u32 start = 0;
        for (const ptx::RegId r : code.ir.reads(i)) {
            const auto it = writer.find(static_cast<u32>(r));
            if (it == writer.end() || finish[it->second - begin] <= start) continue;
            start = finish[it->second - begin];
            from[i - begin] = it->second;
        }
        finish[i - begin] = start + reference_latency(code.table.machine_op[i], global);
        if (finish[i - begin] > longest) { longest = finish[i - begin]; last = i; }
        for (const ptx::RegId r : code.ir.writes(i)) writer[static_cast<u32>(r)] = i;
    }
    for (; last != kNone; last = from[last - begin]) {
        const u32 op = static_cast<u32>(code.table.machine_op[last]);
        auto it = std::find_if(out.begin(), out.end(), [&](const auto& p) { return p.first == op; });
        if (it == out.end()) out.emplace_back(op, 1.0F);
        else ++it->second;
    }
}

}  // namespace

void longest_chains(const FunctionCode& code, u32 begin, u32 end, Unit& unit) {
    if (begin >= end) return;
    one_chain(code, begin, end, 33, unit.chain);
    one_chain(code, begin, end, 533, unit.chain_miss);
    // Loads of the iterations that ptxas unrolls together are in flight together: one of them is waited for.
    const BlockId at = code.ir.block_of[begin];
    for (const Loop& loop : code.ir.loops) {
        if (loop.header != at) continue;
        const auto copies = static_cast<float>(assembler_copies(code.ir, *code.ir.module, loop));
        for (auto* chain : {&unit.chain, &unit.chain_miss})
            for (auto& [op, n] : *chain)
                if (op == static_cast<u32>(MachineOp::load_global)) n /= copies;
    }
}

}  // namespace flipflop::eval
