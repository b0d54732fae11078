#include "occupancy_limits.hpp"

#include <algorithm>

namespace flipflop {

SmLimits::SmLimits(const ComputeCapability& cc) {
    const auto whole = [&](std::string_view name, double otherwise) {
        return static_cast<std::uint64_t>(cc.limit(name, otherwise));
    };
    const auto divisor = [&](std::string_view name) { return std::max<std::uint64_t>(1, whole(name, 1)); };
    warp_size = divisor("warp_size");
    max_threads_per_block = whole("max_threads_per_block", 0);
    max_warps = divisor("max_warps_per_sm");
    max_blocks = whole("max_blocks_per_sm", 0);
    registers_per_sm = whole("registers_per_sm", 0);
    registers_per_block = whole("registers_per_block", 0);
    max_registers_per_thread = whole("occupancy_max_registers_per_thread", 255);
    register_granularity = divisor("register_allocation_granularity");
    sub_partitions = divisor("sub_partitions");
    launch_check_partitions = std::max<std::uint64_t>(1, whole("launch_check_sub_partitions", static_cast<double>(sub_partitions)));
    shared_per_sm = whole("shared_mem_per_sm_bytes", 0);
    shared_per_block = whole("shared_mem_per_block_default_bytes", 0);
    shared_per_block_optin = whole("shared_mem_per_block_optin_bytes", 0);
    shared_reserved = whole("shared_mem_reserved_per_block_bytes", 0);
    shared_granularity = divisor("shared_mem_allocation_granularity_bytes");
    barriers = whole("block_barriers_per_sm", 0);
    barriers_limit = cc.major >= 9;
    virtual_resources = whole("virtual_resources_per_sm", 0);
    partitioned_caching = whole("partitioned_global_caching", 0) != 0;
    max_cluster = std::max(whole("max_cluster_size_portable", 0), whole("max_cluster_size_nonportable", 0));
    for (const auto kib : cc.shared_carveouts_kib) {
        carveouts.push_back(std::uint64_t{kib} * 1024);
    }
}

std::uint64_t SmLimits::next_carveout(std::uint64_t bytes) const {
    const auto at = std::lower_bound(carveouts.begin(), carveouts.end(), bytes);
    return at == carveouts.end() ? shared_per_sm : *at;
}

std::uint64_t SmLimits::carveout(std::optional<std::uint32_t> percent) const {
    if (!has_carveout()) {
        return shared_per_sm;   // 5.x and 6.x have shared memory of its own
    }
    return next_carveout(percent ? shared_per_sm * *percent / 100 : shared_per_sm);
}

}  // namespace flipflop
