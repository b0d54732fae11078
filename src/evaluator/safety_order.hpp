// Owns: which accesses of a block's threads happen before which. Time is the number of barriers completed so far; each warp
// knows, of each other warp, the last barrier that both have passed (directly or through others). An access is ordered
// before what a warp does now when that barrier came after it.
#pragma once

#include <algorithm>
#include <vector>

#include "evaluator/value.hpp"

namespace flipflop::eval {

class Order {
public:
    void reset(u32 warps) {
        warps_ = warps;
        now_ = 1;
        passed_.assign(std::size_t{warps} * warps, 0);
        floor_.assign(warps, 0);
    }
    [[nodiscard]] u32 now() const { return now_; }
    /// Everything before this time is ordered before what warp `w` does now, whoever did it.
    [[nodiscard]] u32 floor(u32 w) const { return floor_[w]; }
    [[nodiscard]] bool before(u32 other, u32 time, u32 w) const { return passed_[std::size_t{w} * warps_ + other] > time; }

    /// A barrier among these warps.
    void meet(const std::vector<u32>& who) {
        ++now_;
        std::vector<u32> known(warps_, 0);
        for (const u32 w : who)
            for (u32 k = 0; k < warps_; ++k) known[k] = std::max(known[k], passed_[std::size_t{w} * warps_ + k]);
        for (const u32 w : who) known[w] = now_;
        for (const u32 w : who) {
            std::copy(known.begin(), known.end(), passed_.begin() + static_cast<std::ptrdiff_t>(std::size_t{w} * warps_));
            floor_[w] = *std::min_element(known.begin(), known.end());
        }
    }

private:
    u32 warps_{1}, now_{1};
    std::vector<u32> passed_, floor_;
};

}  // namespace flipflop::eval
