// The register estimate, for when neither ptxas nor a cubin is at hand. See docs/registers.md for how good it is.
#include <algorithm>
#include <map>

#include "flipflop/passes.hpp"
#include "passes/pressure.hpp"

namespace flipflop {

void estimate_registers(const KernelCode& code, std::uint32_t sm, Resources& resources) {
    (void)sm;
    if (code.functions.empty()) return;
    const PressureModel model(code.functions[0], [](const ptx::Function&) { return 8U; });
    resources.registers_per_thread = std::max(8U, model.in_text_order() + 2);
    resources.registers_low = resources.registers_per_thread;
    resources.registers_high = resources.registers_per_thread;
    resources.registers_basis = RegistersBasis::estimate;
}

}  // namespace flipflop
