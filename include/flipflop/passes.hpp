// Owns: the step from code to facts. Input: a module's function and its IR. Output: KernelFacts, and the side tables
// (per instruction) that the evaluator needs. One file a pass in src/passes/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/facts.hpp"
#include "flipflop/ir.hpp"

namespace flipflop {

/// Per-instruction lookups shared by passes and evaluator.
struct InstructionTable {
    std::vector<MachineOp> machine_op;           ///< by instruction index
    std::vector<std::uint8_t> contract_class;    ///< index into kClassNames
    std::vector<std::int32_t> access;            ///< index into KernelFacts::accesses of the first side, -1 for none
    std::vector<std::int32_t> access2;           ///< shared side of an asynchronous copy, -1 for none
    std::vector<std::uint32_t> tensor_fma;       ///< multiply-adds of one warp-level execution (mma), else 0
};

/// A function of a kernel's call tree that has a body.
struct FunctionCode {
    KernelIr ir;
    InstructionTable table;
    std::vector<std::uint32_t> loop_index;       ///< by LoopId: index into KernelFacts::loops
};

/// Everything known of one kernel. `functions[0]` is the entry; called .func bodies follow. Keeps pointers into the
/// module, which must outlive it.
struct KernelCode {
    KernelFacts facts;
    std::vector<FunctionCode> functions;
    std::vector<std::int32_t> function_of_symbol;  ///< by module function index: index into `functions` or -1
};

/// `overview`: KernelFacts without fingerprint and list of accesses, and with registers by live ranges alone; the tables
/// per instruction and dominators are left out. At the speed of the parser, for libraries of thousands of kernels.
enum class AnalysisDepth : std::uint8_t { full, overview };

/// All passes over one entry of `module`. `entry` is an index into module.functions.
[[nodiscard]] KernelCode analyse_kernel(const ptx::Module& module, std::uint32_t entry, AnalysisDepth depth = AnalysisDepth::full);

/// Register need by liveness, with what ptxas is known to do (64-bit pairs, predicates apart, launch bounds as caps).
/// `sm` is the target, 80 for sm_80. Sets the registers_* and spill fields of `resources`.
void estimate_registers(const KernelCode& code, std::uint32_t sm, Resources& resources);

/// The same by live ranges alone: a fiftieth of the time, and wider bounds.
void estimate_registers_by_ranges(const KernelCode& code, Resources& resources);

[[nodiscard]] MachineOp machine_op_of(const ptx::Form& form, std::span<const ptx::Operand> operands);

/// Demangled name (Itanium ABI), or the name itself.
[[nodiscard]] std::string demangle(const std::string& name);

}  // namespace flipflop
