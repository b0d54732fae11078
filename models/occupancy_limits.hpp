// Owns: the numbers of a compute capability that occupancy needs, read once. Input: ComputeCapability. Invariant: every
// divisor is at least 1.
#pragma once

#include <cstdint>
#include <vector>

#include "flipflop/models.hpp"

namespace flipflop {

struct SmLimits {
    explicit SmLimits(const ComputeCapability& cc);

    std::uint64_t warp_size{32}, max_threads_per_block{}, max_warps{}, max_blocks{};
    std::uint64_t registers_per_sm{}, registers_per_block{}, max_registers_per_thread{}, register_granularity{};
    std::uint64_t sub_partitions{}, launch_check_partitions{};
    std::uint64_t shared_per_sm{}, shared_per_block{}, shared_per_block_optin{}, shared_reserved{}, shared_granularity{};
    std::uint64_t barriers{}, virtual_resources{}, max_cluster{};
    bool barriers_limit{};         ///< cuda_occupancy.h counts barriers from 9.0 on
    bool partitioned_caching{};    ///< 5.2, 5.3, 6.1, 6.2
    std::vector<std::uint64_t> carveouts;   ///< bytes, ascending

    [[nodiscard]] bool has_carveout() const { return !carveouts.empty(); }
    /// The smallest size that holds `bytes`; the whole SM where none does.
    [[nodiscard]] std::uint64_t next_carveout(std::uint64_t bytes) const;
    /// What a preference in percent yields; none: the whole SM.
    [[nodiscard]] std::uint64_t carveout(std::optional<std::uint32_t> percent) const;
};

[[nodiscard]] Occupancy occupancy(const SmLimits& sm, const OccupancyInput& input);

}  // namespace flipflop
