// Residency of blocks on an SM, as cuda_occupancy.h of CUDA 13.0 answers it. The rules are the Programming Guide's
// ("Hardware Multithreading") with the details only the header shows: the launch check rounds warps up to whole
// sub-partitions, residency does not; the driver's reserve counts as static shared memory; a carve-out hint too small for
// one block is raised to the next size that holds it. tests/differential compares both on random inputs.
#include <algorithm>
#include <limits>

#include "occupancy_limits.hpp"

namespace flipflop {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t granularity) {
    return (value + granularity - 1) / granularity * granularity;
}

struct RegisterResult {
    std::uint64_t blocks{};
    std::uint64_t allocated{};
    bool partitioned{};      ///< partitioned global caching stays on
};

RegisterResult blocks_by_registers(const SmLimits& sm, const OccupancyInput& in, std::uint64_t partitions, bool partitioned) {
    RegisterResult result{0, 0, partitioned};
    const std::uint64_t warps = round_up(in.block_threads, sm.warp_size) / sm.warp_size;
    const std::uint64_t per_warp = round_up(std::uint64_t{in.registers_per_thread} * sm.warp_size, sm.register_granularity);
    result.allocated = per_warp * warps;
    // The hardware's launch check assumes that registers are taken from all sub-partitions at once.
    const std::uint64_t assumed = per_warp * round_up(warps, partitions);
    if (assumed > sm.registers_per_block || in.registers_per_thread > sm.max_registers_per_thread) {
        return result;
    }
    if (per_warp == 0) {
        result.blocks = kNoLimit;
        return result;
    }
    const std::uint64_t warps_per_partition = sm.registers_per_sm / partitions / per_warp;
    if (partitioned) {
        // A block may use one half of the SM only.
        result.blocks = warps_per_partition * (partitions / 2) / warps * 2;
        if (result.blocks > 0) {
            return result;
        }
        result.partitioned = false;   // the device turns the caching off rather than not launch
    }
    result.blocks = warps_per_partition * partitions / warps;
    return result;
}

std::uint64_t blocks_by_warps(const SmLimits& sm, const OccupancyInput& in, bool partitioned) {
    if (in.block_threads > sm.max_threads_per_block) {
        return 0;
    }
    const std::uint64_t warps = round_up(in.block_threads, sm.warp_size) / sm.warp_size;
    return partitioned ? sm.max_warps / 2 / warps * 2 : sm.max_warps / warps;
}

struct SharedResult {
    std::uint64_t blocks{};
    std::uint64_t allocated{};
    std::uint64_t capacity{};
    std::uint64_t block_limit{};   ///< most bytes a block may allocate, the reserve included
};

SharedResult blocks_by_shared(const SmLimits& sm, const OccupancyInput& in) {
    SharedResult result;
    const std::uint64_t used = in.static_shared_bytes + sm.shared_reserved + in.dynamic_shared_bytes;
    result.allocated = round_up(used, sm.shared_granularity);
    const bool opted_in = sm.has_carveout() && in.opt_in && used > sm.shared_per_block;
    result.block_limit = (opted_in ? sm.shared_per_block_optin : sm.shared_per_block) + sm.shared_reserved;
    result.capacity = sm.carveout(in.carveout_percent);
    if (result.allocated > result.block_limit) {
        return result;
    }
    if (result.capacity < result.allocated) {
        // The hint gives way to one block's need: the next larger size on unified memory.
        const auto raised = sm.has_carveout() ? sm.next_carveout(result.allocated) : sm.shared_per_sm;
        result.capacity = raised;
    }
    result.blocks = result.allocated == 0 ? kNoLimit : result.capacity / result.allocated;
    return result;
}

std::optional<std::uint32_t> as_limit(std::uint64_t blocks) {
    if (blocks == kNoLimit) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(blocks);
}

std::string number(std::uint64_t value) { return std::to_string(value); }

/// The first reason, in the order in which a launch would be refused.
std::string reason_of_zero(const SmLimits& sm, const OccupancyInput& in, const SharedResult& shared, const Occupancy& out) {
    if (in.block_threads > sm.max_threads_per_block) {
        return number(in.block_threads) + " threads a block, at most " + number(sm.max_threads_per_block);
    }
    if (in.registers_per_thread > sm.max_registers_per_thread) {
        return number(in.registers_per_thread) + " registers a thread, at most " + number(sm.max_registers_per_thread);
    }
    if (out.limits.registers == 0U) {
        return number(out.allocated_registers_per_block) + " registers a block (whole warps, all sub-partitions), at most " +
               number(sm.registers_per_block);
    }
    if (shared.allocated > shared.block_limit) {
        std::string text = number(shared.allocated) + " bytes of shared memory a block";
        if (sm.shared_reserved > 0) {
            text += " (the driver's " + number(sm.shared_reserved) + " included)";
        }
        text += ", at most " + number(shared.block_limit);
        if (!in.opt_in && sm.shared_per_block_optin > sm.shared_per_block) {
            text += " without opting in to more dynamic shared memory";
        }
        return text;
    }
    if (out.limits.barriers == 0U) {
        return number(in.barriers) + " barriers a block, the SM has " + number(sm.barriers);
    }
    if (out.limits.warps == 0U) {
        return number(in.block_threads) + " threads do not fit on an SM";
    }
    return "no resident block";
}

/// Refusals that cuda_occupancy.h does not know: it is asked about blocks that the launch itself would not allow.
bool refused_before(const SmLimits& sm, const OccupancyInput& in, Occupancy& out) {
    if (in.block_threads == 0) {
        out.limiters = {"block_size"};
        out.why_not = "a block has at least one thread";
    } else if (in.carveout_percent && *in.carveout_percent > 100) {
        out.limiters = {"carveout"};
        out.why_not = "a carve-out is 0 to 100 percent";
    } else if (in.kernel_max_threads && in.block_threads > *in.kernel_max_threads) {
        out.limiters = {"max_threads"};
        out.why_not = number(in.block_threads) + " threads a block, the kernel is compiled for at most " +
                      number(*in.kernel_max_threads) + " (.maxntid)";
    } else if (in.cluster_blocks > 1 && sm.max_cluster == 0) {
        out.limiters = {"cluster"};
        out.why_not = "no clusters on this compute capability";
    } else if (in.cluster_blocks > 1 && in.cluster_blocks > sm.max_cluster) {
        out.limiters = {"cluster"};
        out.why_not = "a cluster of " + number(in.cluster_blocks) + " blocks, at most " + number(sm.max_cluster) +
                      (sm.max_cluster <= 8 ? " are known to launch" : "");
    }
    return !out.limiters.empty();
}

/// Fills the result's block count and limiters. As in the header, what limited before barriers are counted stays named
/// when barriers then limit further.
void settle(Occupancy& out, std::optional<std::uint32_t> virtual_limit) {
    const std::pair<const char*, std::optional<std::uint32_t>> limits[] = {{"warps", out.limits.warps},
                                                                           {"registers", out.limits.registers},
                                                                           {"shared", out.limits.shared},
                                                                           {"blocks", out.limits.blocks},
                                                                           {"virtual_resources", virtual_limit}};
    std::uint32_t blocks = std::numeric_limits<std::uint32_t>::max();
    for (const auto& [name, limit] : limits) {
        blocks = std::min(blocks, limit.value_or(blocks));
    }
    for (const auto& [name, limit] : limits) {
        if (limit == blocks) {
            out.limiters.emplace_back(name);
        }
    }
    if (out.limits.barriers && *out.limits.barriers <= blocks) {
        blocks = *out.limits.barriers;
        out.limiters.emplace_back("barriers");
    }
    out.active_blocks_per_sm = blocks;
}

}  // namespace

Occupancy occupancy(const SmLimits& sm, const OccupancyInput& in) {
    Occupancy out;
    if (refused_before(sm, in, out)) {
        return out;
    }
    auto registers = blocks_by_registers(sm, in, sm.sub_partitions, sm.partitioned_caching && in.partitioned_global_caching);
    if (sm.launch_check_partitions != sm.sub_partitions && registers.blocks > 0) {
        // GP100 runs nothing that GP10x could not, so that binaries stay portable within the family.
        const auto sibling = blocks_by_registers(sm, in, sm.launch_check_partitions, registers.partitioned);
        if (sibling.blocks == 0) {
            registers.blocks = 0;
        }
    }
    const auto shared = blocks_by_shared(sm, in);
    const bool barriers_count = sm.barriers_limit && in.barriers > 0;
    const bool virtual_count = sm.virtual_resources > 0 && in.virtual_resources > 0;

    out.limits.registers = as_limit(registers.blocks);
    out.limits.warps = as_limit(blocks_by_warps(sm, in, registers.partitioned));
    out.limits.blocks = as_limit(sm.max_blocks);
    out.limits.shared = as_limit(shared.blocks);
    out.limits.barriers = barriers_count ? as_limit(sm.barriers / in.barriers) : std::nullopt;
    const auto virtual_limit = virtual_count ? as_limit(sm.virtual_resources / in.virtual_resources) : std::nullopt;
    out.allocated_registers_per_block = registers.allocated;
    out.allocated_shared_per_block = shared.allocated;
    out.shared_capacity_bytes = shared.capacity;

    settle(out, virtual_limit);
    const std::uint64_t warps = round_up(in.block_threads, sm.warp_size) / sm.warp_size;
    out.active_warps_per_sm = static_cast<std::uint32_t>(out.active_blocks_per_sm * warps);
    out.fraction = static_cast<double>(out.active_warps_per_sm) / static_cast<double>(sm.max_warps);
    if (out.active_blocks_per_sm == 0) {
        out.why_not = reason_of_zero(sm, in, shared, out);
    }
    return out;
}

Occupancy occupancy(const ComputeCapability& cc, const OccupancyInput& input) { return occupancy(SmLimits(cc), input); }

std::uint32_t max_potential_block_size(const ComputeCapability& cc, const OccupancyInput& per_block,
                                       const std::function<std::uint64_t(std::uint32_t)>& dynamic_bytes) {
    const SmLimits sm(cc);
    auto in = per_block;
    in.kernel_max_threads = std::nullopt;
    const auto limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(sm.max_threads_per_block, per_block.kernel_max_threads.value_or(kNoLimit & 0xffffffffU)));
    std::uint64_t best_threads = 0;
    std::uint32_t best_block = 0;
    for (auto aligned = round_up(limit, sm.warp_size); aligned > 0; aligned -= sm.warp_size) {
        in.block_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, aligned));
        if (dynamic_bytes) {
            in.dynamic_shared_bytes = dynamic_bytes(in.block_threads);
        }
        const auto threads = std::uint64_t{in.block_threads} * occupancy(sm, in).active_blocks_per_sm;
        if (threads > best_threads) {
            best_threads = threads;
            best_block = in.block_threads;
        }
        if (best_threads == sm.max_warps * sm.warp_size) {
            break;
        }
    }
    return best_block;
}

std::uint32_t max_potential_block_size(const ComputeCapability& cc, const OccupancyInput& per_block) {
    return max_potential_block_size(cc, per_block, nullptr);
}

}  // namespace flipflop
