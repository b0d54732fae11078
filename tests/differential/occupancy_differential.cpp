// Random launches, answered by us and by cuda_occupancy.h: every field must be equal. Seeded, so a failure can be had again.
// Usage: occupancy_differential COUNT [SEED]
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <cuda_occupancy.h>

#include "flipflop/models.hpp"

namespace {

using namespace flipflop;

cudaOccDeviceProp properties_of(const ComputeCapability& cc) {
    cudaOccDeviceProp p;
    const auto whole = [&](const char* name) { return static_cast<int>(cc.limit(name)); };
    p.computeMajor = cc.major;
    p.computeMinor = cc.minor;
    p.maxThreadsPerBlock = whole("max_threads_per_block");
    p.maxThreadsPerMultiprocessor = whole("max_threads_per_sm");
    p.regsPerBlock = whole("registers_per_block");
    p.regsPerMultiprocessor = whole("registers_per_sm");
    p.warpSize = whole("warp_size");
    p.sharedMemPerBlock = static_cast<std::size_t>(whole("shared_mem_per_block_default_bytes"));
    p.sharedMemPerMultiprocessor = static_cast<std::size_t>(whole("shared_mem_per_sm_bytes"));
    p.sharedMemPerBlockOptin = static_cast<std::size_t>(whole("shared_mem_per_block_optin_bytes"));
    p.reservedSharedMemPerBlock = static_cast<std::size_t>(whole("shared_mem_reserved_per_block_bytes"));
    p.numSms = 1;
    return p;
}

class RandomLaunch {
public:
    explicit RandomLaunch(std::uint32_t seed) : engine_(seed) {}

    std::uint32_t up_to(std::uint32_t highest) { return std::uniform_int_distribution<std::uint32_t>(0, highest)(engine_); }

    /// Half uniform, half beside the sizes where something changes.
    std::uint64_t shared_bytes(const ComputeCapability& cc) {
        const auto largest = static_cast<std::uint32_t>(cc.limit("shared_mem_per_sm_bytes")) + 4096;
        switch (up_to(5)) {
            case 0: return 0;
            case 1: return up_to(largest);
            case 2: return up_to(16 * 1024);
            case 3: return near(static_cast<std::uint32_t>(cc.limit("shared_mem_per_block_default_bytes")));
            case 4: return near(static_cast<std::uint32_t>(cc.limit("shared_mem_per_block_optin_bytes")));
            default: return near(largest / (1 + up_to(31)));
        }
    }

    OccupancyInput launch(const ComputeCapability& cc) {
        OccupancyInput in;
        in.block_threads = up_to(3) == 0 ? 32 * (1 + up_to(31)) : 1 + up_to(1099);
        in.registers_per_thread = up_to(2) == 0 ? 8 * up_to(33) : up_to(270);
        in.dynamic_shared_bytes = up_to(1) == 0 ? shared_bytes(cc) : 0;
        in.static_shared_bytes = up_to(1) == 0 ? shared_bytes(cc) : 0;
        in.barriers = up_to(2) == 0 ? up_to(17) : 1;
        if (up_to(1) == 0) {
            in.carveout_percent = up_to(100);
        }
        in.opt_in = up_to(3) != 0;
        in.partitioned_global_caching = up_to(2) == 0;
        in.virtual_resources = up_to(3) == 0 ? up_to(140) : 0;
        return in;
    }

private:
    std::uint32_t near(std::uint32_t middle) {
        const auto at = middle + up_to(2100);
        return at > 1100 ? at - 1100 : 0;
    }
    std::mt19937 engine_;
};

cudaOccFuncAttributes attributes_of(const OccupancyInput& in) {
    cudaOccFuncAttributes a;
    a.maxThreadsPerBlock = INT_MAX;
    a.numRegs = static_cast<int>(in.registers_per_thread);
    a.sharedSizeBytes = in.static_shared_bytes;
    a.partitionedGCConfig = in.partitioned_global_caching ? PARTITIONED_GC_ON : PARTITIONED_GC_OFF;
    a.shmemLimitConfig = in.opt_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
    a.maxDynamicSharedSizeBytes = in.dynamic_shared_bytes;
    a.numBlockBarriers = static_cast<int>(in.barriers);
    a.virtualResourceCount = static_cast<int>(in.virtual_resources);
    return a;
}

int as_int(const std::optional<std::uint32_t>& limit) { return limit ? static_cast<int>(*limit) : INT_MAX; }

unsigned factors_of(const std::vector<std::string>& limiters) {
    static const std::map<std::string, unsigned> known{{"warps", OCC_LIMIT_WARPS},         {"registers", OCC_LIMIT_REGISTERS},
                                                       {"shared", OCC_LIMIT_SHARED_MEMORY}, {"blocks", OCC_LIMIT_BLOCKS},
                                                       {"barriers", OCC_LIMIT_BARRIERS},   {"virtual_resources", OCC_LIMIT_VIRTUAL_RESOURCES}};
    unsigned bits = 0;
    for (const auto& name : limiters) {
        const auto found = known.find(name);
        bits |= found == known.end() ? 0x1000U : found->second;   // a name that the header does not have is a difference
    }
    return bits;
}

bool equal(const Occupancy& ours, const cudaOccResult& theirs) {
    return ours.active_blocks_per_sm == static_cast<std::uint32_t>(theirs.activeBlocksPerMultiprocessor) &&
           factors_of(ours.limiters) == theirs.limitingFactors && as_int(ours.limits.registers) == theirs.blockLimitRegs &&
           as_int(ours.limits.shared) == theirs.blockLimitSharedMem && as_int(ours.limits.warps) == theirs.blockLimitWarps &&
           as_int(ours.limits.blocks) == theirs.blockLimitBlocks && as_int(ours.limits.barriers) == theirs.blockLimitBarriers &&
           ours.allocated_registers_per_block == static_cast<std::uint64_t>(theirs.allocatedRegistersPerBlock) &&
           ours.allocated_shared_per_block == theirs.allocatedSharedMemPerBlock;
}

void print_case(const ComputeCapability& cc, const OccupancyInput& in, const Occupancy& ours, const cudaOccResult& theirs) {
    std::printf("cc %s block %u regs %u smem %llu+%llu barriers %u carveout %d opt-in %d partitioned %d virtual %u\n", cc.version().c_str(),
                in.block_threads, in.registers_per_thread, static_cast<unsigned long long>(in.static_shared_bytes),
                static_cast<unsigned long long>(in.dynamic_shared_bytes), in.barriers,
                in.carveout_percent ? static_cast<int>(*in.carveout_percent) : -1, in.opt_in, in.partitioned_global_caching, in.virtual_resources);
    std::printf("  ours  blocks %u limiters %x regs %d shared %d warps %d blocks %d barriers %d alloc %llu %llu\n", ours.active_blocks_per_sm,
                factors_of(ours.limiters), as_int(ours.limits.registers), as_int(ours.limits.shared), as_int(ours.limits.warps),
                as_int(ours.limits.blocks), as_int(ours.limits.barriers), static_cast<unsigned long long>(ours.allocated_registers_per_block),
                static_cast<unsigned long long>(ours.allocated_shared_per_block));
    std::printf("  theirs blocks %d limiters %x regs %d shared %d warps %d blocks %d barriers %d alloc %d %zu\n",
                theirs.activeBlocksPerMultiprocessor, theirs.limitingFactors, theirs.blockLimitRegs, theirs.blockLimitSharedMem,
                theirs.blockLimitWarps, theirs.blockLimitBlocks, theirs.blockLimitBarriers, theirs.allocatedRegistersPerBlock,
                theirs.allocatedSharedMemPerBlock);
}

struct Tally {
    long compared{}, different{}, launchable{};
};

void compare_residency(const ComputeCapability& cc, const OccupancyInput& in, Tally& tally) {
    const auto properties = properties_of(cc);
    const auto attributes = attributes_of(in);
    cudaOccDeviceState state;
    state.carveoutConfig = in.carveout_percent ? static_cast<int>(*in.carveout_percent) : -1;
    cudaOccResult theirs{};
    const auto status = cudaOccMaxActiveBlocksPerMultiprocessor(&theirs, &properties, &attributes, &state,
                                                                static_cast<int>(in.block_threads), in.dynamic_shared_bytes);
    const auto ours = occupancy(cc, in);
    ++tally.compared;
    tally.launchable += theirs.activeBlocksPerMultiprocessor > 0;
    if (status != CUDA_OCC_SUCCESS || !equal(ours, theirs)) {
        if (++tally.different <= 5) {
            std::printf("status %d\n", static_cast<int>(status));
            print_case(cc, in, ours, theirs);
        }
    }
}

void compare_heuristic(const ComputeCapability& cc, OccupancyInput in, std::uint32_t max_threads, Tally& tally) {
    in.kernel_max_threads = max_threads;
    const auto properties = properties_of(cc);
    auto attributes = attributes_of(in);
    attributes.maxThreadsPerBlock = static_cast<int>(max_threads);
    cudaOccDeviceState state;
    state.carveoutConfig = in.carveout_percent ? static_cast<int>(*in.carveout_percent) : -1;
    int grid = 0, block = 0;
    const auto status = cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, &properties, &attributes, &state, in.dynamic_shared_bytes);
    const auto ours = max_potential_block_size(cc, in);
    ++tally.compared;
    if (status != CUDA_OCC_SUCCESS || ours != static_cast<std::uint32_t>(block)) {
        if (++tally.different <= 5) {
            std::printf("heuristic, cc %s, at most %u threads: ours %u, theirs %d (status %d)\n", cc.version().c_str(), max_threads, ours,
                        block, static_cast<int>(status));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (__CUDA_OCC_MAJOR__ != 12 || __CUDA_OCC_MINOR__ != 1) {
        std::printf("skipped: this cuda_occupancy.h knows capabilities up to %d.%d; ours follows CUDA 13.0 (12.1)\n", __CUDA_OCC_MAJOR__,
                    __CUDA_OCC_MINOR__);
        return 77;
    }
    const long count = argc > 1 ? std::atol(argv[1]) : 100000;
    const auto seed = static_cast<std::uint32_t>(argc > 2 ? std::atol(argv[2]) : 20260101);
    std::vector<ComputeCapability> capabilities;
    for (const auto& version : list_compute_capabilities()) {
        capabilities.push_back(*load_compute_capability(version));
    }
    RandomLaunch random(seed);
    Tally residency, heuristic;
    for (long i = 0; i < count; ++i) {
        const auto& cc = capabilities[random.up_to(static_cast<std::uint32_t>(capabilities.size() - 1))];
        const auto in = random.launch(cc);
        compare_residency(cc, in, residency);
        if (i % 50 == 0) {
            compare_heuristic(cc, in, random.up_to(1) == 0 ? 1024 : 1 + random.up_to(1023), heuristic);
        }
    }
    std::printf("%ld launches on %zu compute capabilities (%ld of them resident): %ld different; %ld block-size heuristics: %ld different\n",
                residency.compared, capabilities.size(), residency.launchable, residency.different, heuristic.compared, heuristic.different);
    // A generator that only makes launches that fail, or only ones that succeed, would test little.
    const bool balanced = residency.launchable * 10 > residency.compared && residency.launchable * 10 < residency.compared * 9;
    return residency.different == 0 && heuristic.different == 0 && heuristic.compared > 0 && balanced ? 0 : 1;
}
