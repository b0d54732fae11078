// How a box shrinks under a linear bound: the axis that moves the value most gives way first, because that cuts off the
// fewest points (the last block of a grid and not the last warp of every block).
#include <utility>

#include "evaluator/value.hpp"

namespace flipflop::eval {

void Domain::limit(i128 slack, const Strides& stride, int sign) {
    i128 reach = 0;
    std::array<unsigned, kAxes> order{};
    unsigned count = 0;
    const auto step = [&](unsigned axis) { return static_cast<i128>(stride[axis]) * sign; };
    for (unsigned a = 0; a < kAxes; ++a) {
        if (!(live_ & (1u << a)) || step(a) <= 0) continue;
        reach += step(a) * (extent[a] - 1);
        order[count++] = a;
    }
    if (reach <= slack) return;
    for (unsigned k = 1; k < count; ++k)
        for (unsigned j = k; j > 0 && step(order[j]) > step(order[j - 1]); --j) std::swap(order[j], order[j - 1]);
    for (unsigned k = 0; k < count && reach > slack; ++k) {
        const unsigned a = order[k];
        const i128 others = reach - step(a) * (extent[a] - 1);
        const i128 fits = others <= slack ? (slack - others) / step(a) : 0;
        reach = others + step(a) * fits;
        set(a, static_cast<i64>(fits) + 1);
    }
}

}  // namespace flipflop::eval
