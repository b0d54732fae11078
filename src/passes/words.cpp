// The words for what facts.hpp enumerates.
#include "flipflop/facts.hpp"

namespace flipflop {
namespace {

constexpr std::array<std::string_view, kMachineOps> kMachineOpNames{
    "nothing", "move", "read_special", "fp32_add", "fp32_mul", "fp32_fma", "fp32_minmax", "fp32_compare",
    "fp32_select", "fp32_abs_neg", "fp32_div_rn", "fp32_div_full", "fp32_div_approx", "fp32_rcp_rn",
    "fp32_rcp_approx", "fp32_sqrt_rn", "fp32_sqrt_approx", "fp32_rsqrt", "sfu_ex2", "sfu_lg2", "sfu_sin_cos",
    "sfu_tanh", "fp64_add", "fp64_mul", "fp64_fma", "fp64_minmax_compare", "fp64_div", "fp64_rcp", "fp64_sqrt",
    "fp16_op", "fp16_fma", "bf16_op", "bf16_fma", "int_add", "int_mul", "int_mad", "int_mul_wide", "int_mul_hi",
    "int_mul24", "int_minmax", "int_abs", "int_compare", "int_select", "int_sad", "int_dp4a", "int_add64",
    "int_mul64", "int_mad64", "int_compare64", "int_select64", "int_minmax64", "int_div_s32", "int_div_u32",
    "int_rem_s32", "int_rem_u32", "int_div64", "int_rem64", "logic", "logic64", "shift", "shift64",
    "funnel_shift", "bit_field", "popc", "clz_bfind", "brev", "permute", "lop3", "convert_int_int",
    "convert_int_int64", "convert_int_fp32", "convert_fp32_int", "convert_fp32_fp16", "convert_fp64_any",
    "convert_64_any", "convert_fp8", "convert_fp32_round", "video", "branch", "call_return", "exit",
    "predicate_op", "load_global", "store_global", "load_shared", "store_shared", "load_local", "store_local",
    "load_const_indexed", "texture", "surface", "atomic_global", "atomic_shared", "reduction_global",
    "reduction_shared", "async_copy", "bulk_copy", "tensor_copy", "ldmatrix", "stmatrix", "barrier", "mbarrier",
    "fence", "shuffle", "vote", "match", "redux", "elect", "mma_fp16", "mma_bf16", "mma_tf32", "mma_fp64",
    "mma_int8", "mma_int4", "mma_b1", "mma_fp8", "mma_fp4", "mma_sparse", "wgmma", "tcgen05", "nanosleep",
    "other", "unknown"};
static_assert(!kMachineOpNames.back().empty(), "one word an enumerator");

}  // namespace

std::string_view to_string(MachineOp op) {
    const auto index = static_cast<std::size_t>(op);
    return index < kMachineOps ? kMachineOpNames[index] : "unknown";
}

std::string_view to_string(MemorySpace space) {
    switch (space) {
    case MemorySpace::global: return "global";
    case MemorySpace::shared: return "shared";
    case MemorySpace::local: return "local";
    case MemorySpace::constant: return "const";
    case MemorySpace::generic: return "generic";
    case MemorySpace::texture: return "texture";
    }
    return "generic";
}

std::string_view to_string(RegistersBasis basis) {
    switch (basis) {
    case RegistersBasis::ptxas: return "ptxas";
    case RegistersBasis::cubin: return "cubin";
    case RegistersBasis::estimate: return "estimate";
    }
    return "estimate";
}

}  // namespace flipflop
