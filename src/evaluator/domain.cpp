// How a box shrinks under a linear bound. Blocks and warps first, as far as the bound does not hold for them even without
// any loop going on: the axis that moves the value most gives way, because that cuts off the fewest points (the last
// block of a grid and not the last warp of every block). Then the loops, which begin without any end of their own.
#include "evaluator/value.hpp"

#include <utility>

namespace flipflop::eval {

void Domain::limit(i128 slack, const Strides& stride, int sign) {
    const auto step = [&](unsigned axis) { return static_cast<i128>(stride[axis]) * sign; };
    const auto shrink = [&](unsigned from, unsigned to, i128 reach) {
        std::array<unsigned, kAxes> order{};
        unsigned count = 0;
        for (unsigned a = from; a < to; ++a) {
            if (!(live_ & (1u << a)) || step(a) <= 0) continue;
            reach += step(a) * (extent[a] - 1);
            order[count++] = a;
        }
        if (reach <= slack) return reach;
        for (unsigned k = 1; k < count; ++k)
            for (unsigned j = k; j > 0 && step(order[j]) > step(order[j - 1]); --j) std::swap(order[j], order[j - 1]);
        for (unsigned k = 0; k < count && reach > slack; ++k) {
            const unsigned a = order[k];
            const i128 others = reach - step(a) * (extent[a] - 1);
            const i128 fits = others <= slack ? (slack - others) / step(a) : 0;
            reach = others + step(a) * fits;
            set(a, static_cast<i64>(fits) + 1);
        }
        return reach;
    };
    const i128 reach = shrink(0, kFirstLoopAxis, 0);
    shrink(kFirstLoopAxis, kAxes, reach);
}

}  // namespace flipflop::eval
