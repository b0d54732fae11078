// Owns: where in a launch a warp stands, and what its special registers hold there (PTX ISA section 10). Input: the
// launch, a place, the domain over which it moves. Invariant: what the hardware decides is not known.
#pragma once

#include <array>
#include <vector>

#include "evaluator/program.hpp"

namespace flipflop::eval {

/// A set of warps of a block whose thread indices are linear along two axes.
struct WarpGroup {
    u32 first{};                             ///< linear warp index of the corner
    std::array<u32, kWarpAxes> count{1, 1};
    std::array<std::array<i64, 3>, kWarpAxes> tid_step{};  ///< [axis][x, y, z]
    std::array<i64, kWarpAxes> warp_step{};
    u32 valid{kAllLanes};                    ///< lanes that are threads of the block
};
[[nodiscard]] std::vector<WarpGroup> group_warps(const Dim3& block, bool one_by_one);

struct Place { std::array<u64, 3> block{}; std::array<u32, kWarpAxes> warp{}; };

struct SpecialContext {
    const Launch& launch;
    const AddressMap& map;
    const Place& place;
    const WarpGroup& group;
    Domain& domain;
};
void set_special(Value& v, ptx::Special which, const SpecialContext& x);

/// A box of blocks and warps of one group that are to be run.
struct GridBox {
    std::array<u64, kFirstLoopAxis> low{}, extent{1, 1, 1, 1, 1};
    u32 group{};
    [[nodiscard]] double volume() const {
        double v = 1;
        for (const u64 e : extent) v *= static_cast<double>(e);
        return v;
    }
};

/// Cuts off what a run, whose domain is given, did not settle: the rests go to `boxes`, the settled part is returned.
GridBox cut_settled(GridBox box, const Domain& domain, std::vector<GridBox>& boxes);

}  // namespace flipflop::eval
