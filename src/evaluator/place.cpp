// Warps of a block as groups that move alike, and what the special registers hold at a place of the launch.
#include "evaluator/place.hpp"

#include <algorithm>

namespace flipflop::eval {

std::vector<WarpGroup> group_warps(const Dim3& block, bool one_by_one) {
    std::vector<WarpGroup> groups;
    const u64 threads = block.count();
    const auto warps = static_cast<u32>((threads + kLanes - 1) / kLanes);
    const u32 tail = static_cast<u32>(threads % kLanes);
    const auto valid = [&](u32 w) { return w + 1 == warps && tail ? (1u << tail) - 1 : kAllLanes; };
    const auto add = [&](u32 first, u32 n0, u32 n1, std::array<i64, 3> step0, std::array<i64, 3> step1) {
        if (n0 == 0 || n1 == 0) return;
        WarpGroup g;
        g.first = first;
        g.count = {n0, n1};
        g.tid_step = {step0, step1};
        g.warp_step = {1, i64{n0}};
        g.valid = valid(first);
        groups.push_back(g);
    };
    const auto singly = [&](u32 from) {
        for (u32 w = from; w < warps; ++w) add(w, 1, 1, {}, {});
    };
    const u32 x = block.x, y = block.y, z = block.z;
    if (one_by_one) {
        singly(0);
    } else if (x % kLanes == 0) {
        for (u32 k = 0; k < z; ++k) add(k * y * (x / kLanes), x / kLanes, y, {kLanes, 0, 0}, {0, 1, 0});
    } else if (y == 1 && z == 1) {
        add(0, x / kLanes, 1, {kLanes, 0, 0}, {});
        singly(x / kLanes);
    } else if (kLanes % x == 0) {
        const u32 rows = kLanes / x;
        if (y % rows == 0) {
            add(0, y / rows, z, {0, rows, 0}, {0, 0, 1});
        } else if (z == 1) {
            add(0, y / rows, 1, {0, rows, 0}, {});
            singly(y / rows);
        } else if (rows % y == 0) {
            const u32 planes = rows / y;
            add(0, z / planes, 1, {0, 0, planes}, {});
            singly(z / planes);
        } else {
            singly(0);
        }
    } else {
        singly(0);
    }
    return groups;
}

void set_special(Value& v, ptx::Special which, const SpecialContext& x) {
    using S = ptx::Special;
    const Dim3& b = x.launch.block;
    const Dim3& g = x.launch.grid;
    const auto flat = [&](u64 value) { v.lane.fill(value); v.known = kAllLanes; v.uniform = true; };
    const auto move = [&](unsigned axis, i64 step) {
        if (!step || x.domain.extent[axis] <= 1) return;
        v.stride[axis] += step;
        v.axes = static_cast<Axes>(v.axes | (1u << axis));
    };
    const u32 warp = x.group.first + static_cast<u32>(x.place.warp[0] * x.group.warp_step[0] + x.place.warp[1] * x.group.warp_step[1]);
    const auto thread = [&](unsigned dim) {
        for (u32 l = 0; l < kLanes; ++l) {
            const u64 t = u64{warp} * kLanes + l;
            v.lane[l] = dim == 0 ? t % b.x : dim == 1 ? t / b.x % b.y : t / b.x / b.y;
        }
        v.known = kAllLanes;
        v.uniform = std::all_of(v.lane.begin(), v.lane.end(), [&](u64 t) { return t == v.lane[0]; });
        for (unsigned k = 0; k < kWarpAxes; ++k) move(kBlockAxes + k, x.group.tid_step[k][dim]);
    };
    const auto block = [&](unsigned dim) { flat(x.place.block[dim]); move(dim, 1); };
    const Dim3 c = x.launch.cluster.value_or(Dim3{});
    const std::array<u32, 3> cluster{std::max(1u, c.x), std::max(1u, c.y), std::max(1u, c.z)};
    const std::array<u32, 3> grid{g.x, g.y, g.z};
    // Within one cluster the cluster's index stands still and the block's place in it moves.
    const auto within_cluster = [&](unsigned dim) {
        const u64 at = x.place.block[dim] % cluster[dim];
        if (cluster[dim] > 1) x.domain.set(dim, std::min<i64>(x.domain.extent[dim], static_cast<i64>(cluster[dim] - at)));
        return at;
    };
    switch (which) {
    case S::tid_x: thread(0); break;
    case S::tid_y: thread(1); break;
    case S::tid_z: thread(2); break;
    case S::ntid_x: flat(b.x); break;
    case S::ntid_y: flat(b.y); break;
    case S::ntid_z: flat(b.z); break;
    case S::ctaid_x: block(0); break;
    case S::ctaid_y: block(1); break;
    case S::ctaid_z: block(2); break;
    case S::nctaid_x: flat(g.x); break;
    case S::nctaid_y: flat(g.y); break;
    case S::nctaid_z: flat(g.z); break;
    case S::laneid: case S::lanemask_eq: case S::lanemask_le: case S::lanemask_lt: case S::lanemask_ge: case S::lanemask_gt:
        for (u32 l = 0; l < kLanes; ++l) {
            const u32 below = (1u << l) - 1, self = 1u << l;
            v.lane[l] = which == S::laneid        ? l
                        : which == S::lanemask_eq ? self
                        : which == S::lanemask_le ? below | self
                        : which == S::lanemask_lt ? below
                        : which == S::lanemask_ge ? ~below
                                                  : ~(below | self);
        }
        v.known = kAllLanes;
        break;
    case S::warpid:
        // The ISA allows it to change; every known implementation numbers warps by thread index (PTX ISA 10.4).
        flat(warp);
        for (unsigned k = 0; k < kWarpAxes; ++k) move(kBlockAxes + k, x.group.warp_step[k]);
        break;
    case S::nwarpid: break;
    case S::is_explicit_cluster: flat(x.launch.cluster.has_value()); break;
    case S::clusterid_x: case S::clusterid_y: case S::clusterid_z: {
        const auto dim = static_cast<unsigned>(which) - static_cast<unsigned>(S::clusterid_x);
        (void)within_cluster(dim);
        flat(x.place.block[dim] / cluster[dim]);
        if (cluster[dim] == 1) move(dim, 1);
        break;
    }
    case S::nclusterid_x: case S::nclusterid_y: case S::nclusterid_z: {
        const auto dim = static_cast<unsigned>(which) - static_cast<unsigned>(S::nclusterid_x);
        flat((grid[dim] + cluster[dim] - 1) / cluster[dim]);
        break;
    }
    case S::cluster_ctaid_x: case S::cluster_ctaid_y: case S::cluster_ctaid_z: {
        const auto dim = static_cast<unsigned>(which) - static_cast<unsigned>(S::cluster_ctaid_x);
        flat(within_cluster(dim));
        if (cluster[dim] > 1) move(dim, 1);
        break;
    }
    case S::cluster_nctaid_x: flat(cluster[0]); break;
    case S::cluster_nctaid_y: flat(cluster[1]); break;
    case S::cluster_nctaid_z: flat(cluster[2]); break;
    case S::cluster_ctarank: {
        u64 rank = 0, scale = 1;
        for (unsigned d = 0; d < 3; ++d) { rank += within_cluster(d) * scale; scale *= cluster[d]; }
        flat(rank);
        scale = 1;
        for (unsigned d = 0; d < 3; ++d) { if (cluster[d] > 1) move(d, static_cast<i64>(scale)); scale *= cluster[d]; }
        break;
    }
    case S::cluster_nctarank: flat(u64{cluster[0]} * cluster[1] * cluster[2]); break;
    case S::dynamic_smem_size: flat(x.launch.dynamic_shared_bytes); break;
    case S::total_smem_size: case S::aggr_smem_size:
        flat((x.map.static_shared + x.launch.dynamic_shared_bytes + 127) / 128 * 128);
        break;
    default: break;     // %clock, %smid, %gridid, ...: what the hardware decides
    }
}

GridBox cut_settled(GridBox box, const Domain& domain, std::vector<GridBox>& boxes) {
    for (unsigned k = kFirstLoopAxis; k-- > 0;) {
        const auto settled = static_cast<u64>(domain.extent[k]);
        if (settled >= box.extent[k]) continue;
        GridBox rest = box;
        rest.low[k] += settled;
        rest.extent[k] -= settled;
        boxes.push_back(rest);
        box.extent[k] = settled;
    }
    return box;
}

}  // namespace flipflop::eval
