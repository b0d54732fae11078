// The register estimate, for when neither ptxas nor a cubin is at hand. docs/registers.md says how it was made, how good it
// is, and on what.
#include <algorithm>
#include <array>
#include <map>

#include "flipflop/passes.hpp"
#include "ir/accessed.hpp"
#include "passes/live_ranges.hpp"
#include "passes/pressure.hpp"
#include "passes/resources.hpp"

namespace flipflop {
namespace {

constexpr std::uint32_t kRegisterFile = 65536;

/// Counts that ptxas aims at: those where one more block of threads becomes resident.
constexpr std::array<std::uint32_t, 11> kTargets{32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255};

/// Threads and blocks that an SM holds (CUDA C++ Programming Guide, compute capabilities).
struct Residency { std::uint32_t threads, blocks; };

Residency residency(std::uint32_t sm) {
    switch (sm) {
    case 75: return {1024, 16};
    case 86: case 87: case 88: return {1536, 16};
    case 89: case 110: case 120: case 121: return {1536, 24};
    default: return {2048, 32};
    }
}

/// A kernel may use this many before fewer threads than an SM holds can be resident; ptxas starts there.
std::uint32_t first_target(std::uint32_t sm) { return kRegisterFile / residency(sm).threads / 8 * 8; }

/// What the allocator adds to the values alive: the stack pointer R1, two for the program counter of each thread (sm_70 and
/// later), and what pairs and quads lose to alignment. Fitted on our own kernels and a sample of library code.
constexpr std::uint32_t kOverheadAtLeast = 3, kOverhead = 4;

/// A call follows the ABI: at least the registers that a callee may use freely. ptxas puts short functions in place of their
/// calls, unless there is no body.
constexpr std::uint32_t kAbiLeast = 24;
constexpr std::size_t kShortFunction = 100;   ///< PTX instructions
constexpr std::uint32_t kSystemCallee = 16;   ///< printf and its like, beside what is alive across the call

struct Need { std::uint32_t least{}, wanted{}; };

/// The scheduler stops hoisting loads at this many; a share of what is alive that ptxas does not make again. Both chosen on
/// half `fit` of docs/registers.md.
constexpr std::uint32_t kHoistingEnds = 64;
constexpr double kKept = 0.6;

Need need_of(const PressureModel& model) {
    const Peaks patient = model.least(), eager = model.scheduled(kHoistingEnds);
    const std::uint32_t alive = std::max(patient.straight, patient.in_loops), cheap = std::min(alive, model.remade_at_peak());
    const std::uint32_t least = std::max(alive - cheap, static_cast<std::uint32_t>(kKept * alive));
    Need need;
    need.least = least + kOverheadAtLeast;
    need.wanted = std::max(std::max(eager.straight, eager.in_loops) + kOverhead, alive + kOverheadAtLeast);
    return need;
}

/// What launch bounds and .maxnreg leave to a thread. More blocks than an SM can hold are asked for in vain.
std::uint32_t cap_of(const LaunchBounds& bounds, std::uint32_t sm) {
    std::uint64_t cap = 255;
    if (bounds.max_threads && *bounds.max_threads > 0) {
        const std::uint64_t block = (std::uint64_t{*bounds.max_threads} + 31) / 32;
        const std::uint64_t fit = std::min<std::uint64_t>(residency(sm).blocks, residency(sm).threads / 32 / block);
        const std::uint64_t warps = block * std::max<std::uint64_t>(1, std::min<std::uint64_t>(fit, bounds.min_blocks_per_sm.value_or(1)));
        cap = std::min<std::uint64_t>(cap, std::max<std::uint64_t>(16, kRegisterFile / (warps * 32) / 8 * 8));
    }
    if (bounds.max_registers && *bounds.max_registers > 0) cap = std::min<std::uint64_t>(cap, *bounds.max_registers);
    return static_cast<std::uint32_t>(cap);
}

std::uint32_t settle(const Need& need, const LaunchBounds& bounds, std::uint32_t sm) {
    const std::uint32_t cap = cap_of(bounds, sm);
    std::uint32_t target = 255;
    if (bounds.min_blocks_per_sm && bounds.max_threads && (*bounds.min_blocks_per_sm > 1 || need.least > first_target(sm))) {
        target = cap;   // occupancy was chosen by the author: all of it is used, unless one block is all that was asked for and the first target does
    } else {
        for (auto it = kTargets.rbegin(); it != kTargets.rend(); ++it)
            if (*it >= first_target(sm) && *it >= need.least) target = *it;
    }
    std::uint32_t registers = std::max(std::min(need.wanted, target), need.least);
    if (registers < 32) registers += registers & 1U;   // pairs are aligned: small counts are mostly even
    return std::min(registers, cap);
}

/// Does machine code call anything: a function without a body, or a long one?
bool keeps_calls(const KernelCode& code) {
    const ptx::Module& module = *code.functions[0].ir.module;
    for (std::size_t f = 1; f < code.functions.size(); ++f)
        if (code.functions[f].ir.function->instructions.size() > kShortFunction) return true;
    for (const FunctionCode& function : code.functions)
        for (const ptx::Instruction& i : function.ir.function->instructions) {
            if (module.form(i).opcode != ptx::Opcode::call) continue;
            const ptx::Function* callee = called_function(module, i);
            if (callee == nullptr || !callee->has_body) return true;
        }
    return false;
}

}  // namespace

void estimate_registers(const KernelCode& code, std::uint32_t sm, Resources& resources) {
    if (code.functions.empty() || code.functions[0].ir.function == nullptr) return;
    const ptx::Module& module = *code.functions[0].ir.module;
    std::map<const ptx::Function*, std::uint32_t> known;
    const auto callee = [&](const ptx::Function& f) {
        const auto found = known.find(&f);
        return found == known.end() ? kSystemCallee : found->second;
    };
    Need need;
    for (const std::uint32_t f : callees_first(module, code)) {
        const PressureModel model(code.functions[f], sm, callee);
        need = need_of(model);
        known[code.functions[f].ir.function] = need.least - std::min(need.least, kOverheadAtLeast);
    }
    if (keeps_calls(code)) need = {std::max(need.least, kAbiLeast), std::max(need.wanted, kAbiLeast)};

    const LaunchBounds& bounds = code.facts.bounds;
    const std::uint32_t cap = cap_of(bounds, sm);
    const std::uint32_t registers = settle(need, bounds, sm);
    resources.registers_per_thread = registers;
    resources.registers_basis = RegistersBasis::estimate;
    // Nine of ten kernels of half `fit` of docs/registers.md lie within these bounds.
    resources.registers_low = std::min(registers, std::max(4U, static_cast<std::uint32_t>(std::max(0.0, 0.75 * registers - 1))));
    resources.registers_high = std::min(std::max(registers, static_cast<std::uint32_t>(1.2 * registers + 6)), std::min(cap, 255U));
    // Bytes a register beyond the cap costs: 7 was the median over our kernels squeezed to 32, 40 and 64 registers (0.3 to 38).
    const std::uint32_t beyond = need.least > cap ? need.least - cap : 0;
    resources.spill_store_bytes = 7ULL * beyond;
    resources.spill_load_bytes = 7ULL * beyond;
}

void estimate_registers_by_ranges(const KernelCode& code, Resources& resources) {
    std::uint32_t most = 0;
    for (const FunctionCode& function : code.functions)
        if (function.ir.function != nullptr) most = std::max(most, live_registers(function.ir));
    const std::uint32_t cap = cap_of(code.facts.bounds, code.functions.empty() ? 80 : code.functions[0].ir.module->target_number);
    const std::uint32_t needed = std::max(most + 6, code.functions.size() > 1 ? kAbiLeast : 0);
    const std::uint32_t registers = std::min((needed + 1) / 2 * 2, cap);
    resources.registers_per_thread = registers;
    resources.registers_basis = RegistersBasis::estimate;
    // 90 % of 114 kernels of libcusparse and libcublas (ptxas 13.0) lie within these bounds.
    resources.registers_low = std::min(registers, std::max(4U, registers * 3 / 5));
    resources.registers_high = std::min(registers * 29 / 20 + 1, std::min(cap, 255U));
    const std::uint32_t beyond = needed > cap ? needed - cap : 0;
    resources.spill_store_bytes = 7ULL * beyond;
    resources.spill_load_bytes = 7ULL * beyond;
}

}  // namespace flipflop
