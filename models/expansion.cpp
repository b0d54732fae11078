#include "models/expansion.hpp"

namespace flipflop {
namespace {

struct Row {
    MachineOp op;
    int from;
    PipeCounts counts;
};

constexpr Row kRows[] = {
#define FF_EXPANSION(op, from, fma, imad, alu, half, xu, fp64, lsu, control, uniform) \
    {MachineOp::op, from, {float(fma), float(imad), float(alu), float(half), float(xu), float(fp64), float(lsu), \
                           float(control), float(uniform)}},
#include "models/expansion.def"
#include "models/expansion_memory.def"
#undef FF_EXPANSION
};

}  // namespace

Expansion expansion_for(int capability) {
    Expansion result;
    std::array<bool, kMachineOps> seen{};
    for (const Row& row : kRows) {  // rows of one operation are sorted by capability
        const auto at = static_cast<std::size_t>(row.op);
        if (seen[at] && row.from > capability) continue;
        result.by_op[at] = row.counts;
        seen[at] = true;
    }
    return result;
}

}  // namespace flipflop
