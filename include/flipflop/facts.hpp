// Owns: what can be said of a kernel before any launch is known (KernelFacts) and the words for it. No parser type
// appears here, so that models and reports need none. Invariant: indices of `loops` and `accesses` are the order of
// the contract's JSON arrays.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flipflop {

struct Dim3 {
    std::uint32_t x{1}, y{1}, z{1};
    [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    friend bool operator==(const Dim3&, const Dim3&) = default;
};

struct SourceLine {
    std::string file;
    std::uint32_t line{};
};

/// The contract's instruction classes, in its order (CONTRACT.md section 5).
inline constexpr std::array<std::string_view, 29> kClassNames{
    "fp32", "fp64", "fp16", "bf16", "int32", "int64", "sfu", "conversion", "logic", "predicate", "move", "control", "tensor",
    "load_global", "store_global", "load_shared", "store_shared", "load_local", "store_local", "load_const", "load_param",
    "texture", "atomic", "async_copy", "barrier", "fence", "shuffle", "vote", "other"};
using ClassCounts = std::array<double, kClassNames.size()>;

/// What an instruction costs is looked up by this: finer than the contract's classes, still free of any GPU.
/// models/expansion turns one MachineOp into native instructions per architecture.
enum class MachineOp : std::uint8_t {
    nothing,            ///< costs no issue slot: ld.param, cvta, cvt.u64.u32, predicate logic folded by ptxas
    move,               ///< mov, half of which ptxas removes
    read_special,       ///< mov from %tid and friends
    fp32_add, fp32_mul, fp32_fma, fp32_minmax, fp32_compare, fp32_select, fp32_abs_neg,
    fp32_div_rn, fp32_div_full, fp32_div_approx, fp32_rcp_rn, fp32_rcp_approx, fp32_sqrt_rn, fp32_sqrt_approx, fp32_rsqrt,
    sfu_ex2, sfu_lg2, sfu_sin_cos, sfu_tanh,
    fp64_add, fp64_mul, fp64_fma, fp64_minmax_compare, fp64_div, fp64_rcp, fp64_sqrt,
    fp16_op, fp16_fma, bf16_op, bf16_fma,
    int_add, int_mul, int_mad, int_mul_wide, int_mul_hi, int_mul24, int_minmax, int_abs, int_compare, int_select, int_sad, int_dp4a,
    int_add64, int_mul64, int_mad64, int_compare64, int_select64, int_minmax64,
    int_div_s32, int_div_u32, int_rem_s32, int_rem_u32, int_div64, int_rem64,
    logic, logic64, shift, shift64, funnel_shift, bit_field, popc, clz_bfind, brev, permute, lop3,
    convert_int_int, convert_int_int64, convert_int_fp32, convert_fp32_int, convert_fp32_fp16, convert_fp64_any, convert_64_any,
    convert_fp8, convert_fp32_round,
    video,
    branch, call_return, exit, predicate_op,
    load_global, store_global, load_shared, store_shared, load_local, store_local, load_const_indexed, texture, surface,
    atomic_global, atomic_shared, reduction_global, reduction_shared,
    async_copy, bulk_copy, tensor_copy, ldmatrix, stmatrix,
    barrier, mbarrier, fence, shuffle, vote, match, redux, elect,
    mma_fp16, mma_bf16, mma_tf32, mma_fp64, mma_int8, mma_int4, mma_b1, mma_fp8, mma_fp4, mma_sparse,
    wgmma, tcgen05, nanosleep, other, unknown,
    count_,
};
inline constexpr std::size_t kMachineOps = static_cast<std::size_t>(MachineOp::count_);
[[nodiscard]] std::string_view to_string(MachineOp op);

enum class ParameterKind : std::uint8_t { pointer, scalar, aggregate };

struct ParameterUse {
    std::string what;              ///< "guard", "loop bound", "condition", "address base", "address offset", "address stride",
                                   ///< "shift", "divisor", "stored value"; each once a parameter, with its first line
    std::uint32_t ptx_line{};
};

struct ParameterField {
    std::uint32_t offset{};        ///< bytes from the parameter's start
    std::string type;              ///< as read: "u32", "f32", "u64"
    ParameterKind kind{ParameterKind::scalar};
    std::vector<ParameterUse> uses;
    int guard_axis{-1};            ///< as ParameterFacts::guard_axis
};

struct ParameterFacts {
    std::uint32_t index{};
    std::string name;              ///< PTX name
    std::string short_name;        ///< "param_2"
    std::string source_name;       ///< empty when unknown
    std::string type;              ///< "u64", "b8[32]"
    std::uint32_t bytes{};
    ParameterKind kind{ParameterKind::scalar};
    std::vector<ParameterField> fields;  ///< what the code reads of it
    std::vector<ParameterUse> uses;
    int guard_axis{-1};            ///< 0..2: compared with the global index of that axis; -1: not
};

struct LoopDescription {
    std::string id;                ///< "L0", stable in one module
    std::uint32_t ptx_line{};      ///< of the header's first instruction
    std::optional<SourceLine> source;
    std::uint32_t depth{1};
    std::optional<std::uint32_t> parent;   ///< index into KernelFacts::loops
};

enum class MemorySpace : std::uint8_t { global, shared, local, constant, generic, texture };
[[nodiscard]] std::string_view to_string(MemorySpace space);  ///< "const" for constant

struct AccessDescription {
    std::uint32_t ptx_line{};
    std::optional<SourceLine> source;
    std::string op;                ///< "ld", "st", "atom", "red", "cp.async", "ldmatrix", ...
    MemorySpace space{MemorySpace::global};
    std::uint32_t bytes_per_lane{};  ///< 0: not fixed in the text (textures, prefetches, bulk copies sized by a register)
    bool reads{}, writes{}, atomic{};
    std::string function;          ///< of a called .func, else empty
};

enum class RegistersBasis : std::uint8_t { ptxas, cubin, estimate };
[[nodiscard]] std::string_view to_string(RegistersBasis basis);

/// Per-architecture resources of a kernel.
struct Resources {
    std::uint32_t registers_per_thread{};
    RegistersBasis registers_basis{RegistersBasis::estimate};
    std::uint32_t registers_low{}, registers_high{};       ///< equal to registers_per_thread when not an estimate
    std::uint64_t static_shared_bytes{};
    bool uses_dynamic_shared{};
    std::optional<std::uint64_t> local_bytes;              ///< per thread
    std::optional<std::uint64_t> spill_store_bytes, spill_load_bytes;  ///< static bytes a thread
    std::optional<std::uint32_t> barriers;
    bool complete{true};           ///< false: something (a called function without body, alloca) could not be counted
};

struct LaunchBounds {
    std::optional<std::uint32_t> max_threads;              ///< product of .maxntid
    std::optional<Dim3> max_block;
    std::optional<Dim3> required_block;                    ///< .reqntid
    std::optional<std::uint32_t> min_blocks_per_sm;
    std::optional<std::uint32_t> max_registers;
    std::optional<Dim3> cluster;
};

struct StaticMix {
    ClassCounts counts{};
    double unknown_share{};        ///< instructions whose opcode is not in the table, over all
};

struct KernelFacts {
    std::string id;                ///< short and stable, derived from the mangled name
    std::string name, demangled, short_name;
    std::string module, target;
    std::string fingerprint;       ///< of the code, whatever it is called (passes/fingerprint.hpp)
    std::optional<SourceLine> source;
    std::uint32_t ptx_line{};
    LaunchBounds bounds;
    std::vector<ParameterFacts> parameters;
    StaticMix mix;
    std::vector<LoopDescription> loops;
    std::vector<AccessDescription> accesses;
    Resources resources;           ///< estimate for the module's own target; per-GPU ones are refined from it
    int dimensions{1};             ///< 1, 2 or 3: the highest axis whose ids the code reads
    int block_dimensions{1};       ///< the same for a thread's place in its block alone: %tid and %ntid
    std::uint32_t instructions{};
    bool uses_cluster{}, grid_barrier{};
    bool reads_grid_size{};        ///< %nctaid: it may step over its data with the grid
    bool has_named_barriers{};
};

}  // namespace flipflop
