// Owns: what a register of a warp holds (Value) and for which other warps, blocks and loop iterations that is true
// (Domain). Input: none. Invariant: lane i of a Value, at a point d of the Domain's box, is lane[i] + sum over axes of
// stride[a] * d[a], modulo the register's width; stride[a] is 0 where bit a of `axes` is clear.
//
// This is what makes the evaluator's cost independent of the launch: one warp is run, at the lowest corner of a box of
// warps and blocks, and every step that would differ elsewhere in the box shrinks the box instead. What is left is a
// box for which the one run is a proof. docs/evaluator.md says more.
#pragma once

#include <array>
#include <cstdint>

namespace flipflop::eval {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

inline constexpr unsigned kLanes = 32;
/// Axes of a Domain: the block index, two that enumerate the warps of a block, and the open loops.
inline constexpr unsigned kAxes = 8, kBlockAxes = 3, kWarpAxes = 2, kFirstLoopAxis = kBlockAxes + kWarpAxes;
inline constexpr u32 kAllLanes = 0xffffffffu;
using Axes = std::uint8_t;
using Strides = std::array<i64, kAxes>;

struct Value {
    alignas(64) std::array<u64, kLanes> lane{};   ///< canonical: zero-extended from the register's width
    Strides stride{};
    u32 known{};                ///< by lane; the rest of `lane` means nothing
    u32 tainted{};              ///< lanes written under undecided branches
    u64 written_under{};        ///< ... and which ways of them had been taken (Machine::Context)
    u32 reason{};               ///< where the unknown came from: 1 + global instruction number, 0 = never written
    u64 anchor{};               ///< which addresses that nobody gave are in it (anchors.hpp), 0 = none
    Axes axes{};
    bool uniform{};             ///< all 32 entries of `lane` are equal
};

/// The box for which the current run holds: d[a] in [0, extent[a]).
class Domain {
public:
    std::array<i64, kAxes> extent{1, 1, 1, 1, 1, 1, 1, 1};

    /// Lanes that move along an axis: all, but on a loop's axis only those in the loop.
    std::array<u32, kAxes> movers{kAllLanes, kAllLanes, kAllLanes, kAllLanes, kAllLanes, kAllLanes, kAllLanes, kAllLanes};

    [[nodiscard]] Axes live() const { return live_; }
    void set(unsigned axis, i64 count) {
        extent[axis] = count;
        if (count > 1) live_ = static_cast<Axes>(live_ | (1u << axis));
        else live_ = static_cast<Axes>(live_ & ~(1u << axis));
    }
    /// Shrinks the box so that value + sum stride * d <= bound everywhere in it. It must hold at d = 0.
    void at_most(i128 value, const Strides& stride, i128 bound) { limit(bound - value, stride, 1); }
    void at_least(i128 value, const Strides& stride, i128 bound) { limit(value - bound, stride, -1); }
    /// Keeps only d[a] = 0 on these axes.
    void tie(unsigned axes) {
        for (unsigned a = 0; a < kAxes; ++a)
            if (axes & live_ & (1u << a)) set(a, 1);
    }

private:
    void limit(i128 slack, const Strides& stride, int sign);
    Axes live_{};
};

[[nodiscard]] inline u64 width_mask(unsigned width) { return width >= 64 ? ~u64{0} : (u64{1} << width) - 1; }
[[nodiscard]] inline i64 sign_extend(u64 value, unsigned width) {
    const unsigned shift = 64 - width;
    return static_cast<i64>(value << shift) >> shift;
}

}  // namespace flipflop::eval
