// Owns: a kernel made ready for the interpreter: its slice as micro-operations over dense slots, and everything that can
// be said of a block of code without running it. Input: KernelCode. Invariant: every slot, block and unit index is in
// range; slots of constants are never written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "evaluator/value.hpp"
#include "flipflop/launch.hpp"
#include "flipflop/passes.hpp"

namespace flipflop::eval {

inline constexpr u32 kNone = 0xffffffffu;

enum class Op : std::uint8_t {
    count,                                   ///< `unit` was executed
    mov, cvt, add, sub, mul_lo, mul_hi, mul_wide, mad_lo, mad_hi, mad_wide, sad, div, rem, abs, neg, min, max,
    popc, clz, bfind, brev, bfe, bfi, szext, bmsk, fns, dp4a, dp2a,
    and_, or_, xor_, not_, cnot, lop3, shf, shl, shr, prmt, setp, set, selp, slct, addc, subc, madc,
    fadd, fsub, fmul, ffma, fdiv, fmin, fmax, fneg, fabs, fsqrt, frcp, frsqrt, fex2, flg2, fsin, fcos, copysign, testp,
    ftanh, pack, unpack, packed16,
    shfl, vote, match, activemask, redux, elect, isspacep, cvta, mapa, ctarank,
    unknown,                                 ///< the result is not known
    load, store, access,                     ///< memory; `access` is any other operation on memory, results unknown
    branch, brx, leave, call, barrier,
};

/// Kinds of numbers an operation works on.
enum class Kind : std::uint8_t { unsigned_int, signed_int, f32, f64, f16, bf16, tf32, pred, other };

struct MicroOp {
    Op op{};
    Kind kind{Kind::unsigned_int}, kind2{Kind::unsigned_int};  ///< kind2: source of cvt, compared type of set
    std::uint8_t width{32}, width2{32};      ///< bits of the operation, of cvt's source
    std::uint8_t reg_width{32};              ///< bits of the destination register
    ptx::Compare compare{};
    ptx::BoolOp bool_op{};
    ptx::Rounding rounding{};
    bool sat{}, hi{}, ftz{}, carry_in{}, carry_out{}, guard_negated{}, negate_last{};
    std::uint8_t mode{};                     ///< shfl/vote/prmt/shf/redux/min/cvt variant, see decode_arithmetic.cpp
    std::uint8_t sources{};                  ///< how many of src are used
    u32 dst[2]{kNone, kNone};
    u32 src[4]{kNone, kNone, kNone, kNone};  ///< src[3] of an exchange: the member mask; barrier: src[0] id, src[1] threads
    u32 guard{kNone};
    u32 list{}, list_count{};                ///< slots of a vector, children of a pack, call arguments; of `unknown` and
                                             ///< `access`: the registers read, for provenance
    u32 instruction{};                       ///< index within the function
    u32 payload{};                           ///< unit, memory descriptor, call descriptor
    i64 immediate{};
};

enum class AccessKind : std::uint8_t { plain, matrix, bulk, tensor, texture, wmma, prefetch };

/// What a memory operation touches. Sides of a copy are two of these.
struct MemoryOp {
    std::int32_t access{-1};                 ///< index into KernelFacts::accesses
    ptx::Space space{};
    AccessKind kind{AccessKind::plain};
    bool reads{}, writes{}, atomic{};
    bool tracked{};                          ///< a store whose values the slice may read back
    bool is_param{};
    std::uint8_t element_bytes{4}, vector{1};
    u32 bytes{4};                            ///< a lane
    u32 address{kNone};                      ///< slot
    i64 offset{};
    u32 size{kNone};                         ///< slot with the byte count (bulk), the leading dimension (wmma)
    u32 lanes{kAllLanes};                    ///< lanes that supply an address (ldmatrix)
    u32 rows{}, row_bytes{};                 ///< wmma: rows of the fragment in memory
    u32 function{}, instruction{};
};

struct CallOp {
    u32 callee{kNone};                       ///< index into Program::functions; kNone: not known
    std::vector<std::pair<u32, u32>> in, out;   ///< caller's slot -> callee's slot; callee's slot -> caller's slot
};

/// What tells the warps of a specialised kernel apart.
enum RoleDuty : std::uint8_t { duty_copies = 1, duty_multiplies = 2, duty_waits = 4, duty_signals = 8, duty_registers = 16 };

/// Instructions of a run without a barrier that execute together: under the same guard, counted by one counter.
struct Unit {
    u32 function{}, block{};
    std::vector<std::pair<u32, std::uint16_t>> classes, machine;   ///< (index, how many)
    u32 instructions{};
    std::vector<u32> members;                ///< indices into the function's instructions
    double tensor_fma{};
    std::uint8_t role{};                     ///< RoleDuty bits of its instructions
    bool has_barrier{};                      ///< it ends with a barrier that waits for the whole block
    u32 registers{}, role_instruction{kNone};   ///< of the last setmaxnreg, 0: none; the first instruction with a duty
    std::vector<std::pair<u32, float>> chain, chain_miss;          ///< operations on the longest dependence chain
};

struct BlockProgram {
    u32 begin{}, end{};                      ///< micro-operations
    u32 order{}, post_dominator{kNone}, loop{kNone};
    u32 fall_through{kNone};                 ///< block, kNone: leaves the function
    std::vector<u32> targets;                ///< of the branch; kNone: leaves the function
};

struct LoopProgram {
    u32 header{}, order_begin{}, order_end{}, parent{kNone}, depth{1};
    u32 facts{};                             ///< index into KernelFacts::loops
    std::vector<u32> carried;                ///< slots live at the header that the loop writes
    std::vector<u32> written;                ///< all slots the loop writes
    std::vector<u32> variant;                ///< slots whose value may differ from one iteration to the next
    std::vector<u32> counted_exits;          ///< blocks with an exit that does not depend on loaded data
    std::vector<u32> spins;                  ///< blocks that go back to the header when another thread is not ready: a wait that
                                             ///< shares its header with the loop around it
    bool waits{};                            ///< it spins on something another thread does
    bool has_barrier{}, writes_tracked{};
    bool tests_at_top{};                     ///< the header only tests: the body is what follows it
    u32 ptx_line{};
};

struct FunctionProgram {
    const FunctionCode* code{};
    std::vector<MicroOp> ops;
    std::vector<u32> lists;
    std::vector<BlockProgram> blocks;
    std::vector<u32> by_order;               ///< block of an order
    std::vector<LoopProgram> loops;
    std::vector<std::pair<u32, u64>> constants;               ///< (slot, bits)
    std::vector<std::pair<u32, ptx::Special>> specials;       ///< (slot, register)
    std::vector<u32> variables;              ///< slots to clear on entry
    std::vector<u64> slot_mask;              ///< width of what a slot holds, as a mask
    u32 slots{};
    u64 local_bytes{};
    u32 first_instruction{};                 ///< number of its first instruction among all functions'
};

/// Where a kernel's variables lie. Spaces have windows of their own in the generic address space.
struct AddressMap {
    u64 shared_window{}, local_window{}, constant_window{}, parameter_window{}, symbol_base{};
    u64 window_bytes{};
    u64 static_shared{}, dynamic_shared{}, local_bytes{};     ///< dynamic_shared: where extern arrays begin
    bool uses_dynamic_shared{};
    std::unordered_map<u32, u64> symbols;    ///< SymbolId -> address within its space (generic for .global)
    std::vector<u64> parameters;             ///< offset of each kernel parameter
    struct Object { u64 address{}, bytes{}; u32 symbol{}; };
    std::vector<Object> constants, globals;  ///< with initialisers or data, by address
};

/// The space that a generic address lies in, and where that space's window begins.
struct SpaceWindow { ptx::Space space{}; u64 base{}; };
[[nodiscard]] inline SpaceWindow window_of(const AddressMap& map, u64 address) {
    if (address - map.shared_window < map.window_bytes) return {ptx::Space::shared, map.shared_window};
    if (address - map.local_window < map.window_bytes) return {ptx::Space::local, map.local_window};
    if (address - map.constant_window < map.window_bytes) return {ptx::Space::constant, map.constant_window};
    if (address - map.parameter_window < map.window_bytes) return {ptx::Space::param, map.parameter_window};
    return {ptx::Space::global, 0};
}

/// What lies at an address before the launch: an initialised variable, an array given with --data. Never copied.
struct MemoryImage {
    u64 address{};
    std::span<const std::uint8_t> bytes;     ///< of `own`, or of the launch
    std::vector<bool> known;                 ///< by byte; empty = all
    std::vector<std::uint8_t> own;
    u32 symbol{kNone};                       ///< of the module, when it is one
};
using MemoryImages = std::vector<std::shared_ptr<const MemoryImage>>;

struct Program {
    const KernelCode* code{};
    const ptx::Module* module{};
    std::vector<FunctionProgram> functions;
    std::vector<Unit> units;
    std::vector<MemoryOp> memory;
    std::vector<CallOp> calls;
    AddressMap map;
    MemoryImages constants, globals;         ///< initialised variables, by address
    bool shared_is_read{};                   ///< the slice reads shared memory back
    bool local_is_read{};
    bool has_roles{};                        ///< warps may be specialised: it waits on mbarriers, or changes register counts
    u32 barriers{};                          ///< in text order; phase k + 1 begins after barrier k
    std::vector<std::pair<u32, u32>> barrier_units;   ///< by barrier: the unit it executes with, its instruction in that function
    u32 instructions{};                      ///< of all functions
    /// Events of single instructions are counted behind the units of all phases: lanes that part, lanes that miss a barrier.
    [[nodiscard]] u32 first_event() const { return (barriers + 1) * static_cast<u32>(units.size()); }
    std::vector<std::string> notes;          ///< what cannot be followed at all, for LaunchFacts::unknowns
};

struct PrepareOptions {
    bool whole{};                            ///< keep every instruction, not only the slice (provenance needs it)
};

[[nodiscard]] Program prepare(const KernelCode& code, const PrepareOptions& options = {});

}  // namespace flipflop::eval
