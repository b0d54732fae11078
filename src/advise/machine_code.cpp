#include "advise/machine_code.hpp"

#include <algorithm>
#include <set>

#include "advise/compile.hpp"
#include "advise/select_kernels.hpp"
#include "passes/names.hpp"

namespace flipflop::advise {

namespace {

constexpr std::uint32_t kAssumedThreads = 256;

std::uint32_t threads_of(const std::array<std::uint32_t, 3>& block) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, Dim3{block[0], block[1], block[2]}.count()));
}

MachineKernel on_gpu(const Input& input, const CubinEntry& cubin, const CubinKernel& kernel, const std::string& demangled, const GpuProfile& gpu) {
    MachineKernel out{input.path, cubin.name, cubin.architecture, demangled, gpu.name, kernel, kAssumedThreads, kernel.required_block.has_value(), {}};
    if (kernel.required_block) out.block_threads = threads_of(*kernel.required_block);
    else if (kernel.max_block) out.block_threads = std::min(out.block_threads, threads_of(*kernel.max_block));
    if (!kernel.registers) return out;
    OccupancyInput in;
    in.block_threads = out.block_threads;
    in.registers_per_thread = *kernel.registers;
    in.static_shared_bytes = kernel.shared_bytes.value_or(0);
    in.barriers = kernel.barriers.value_or(1);
    if (kernel.cluster) in.cluster_blocks = threads_of(*kernel.cluster);
    if (kernel.max_block) in.kernel_max_threads = threads_of(*kernel.max_block);
    out.occupancy = occupancy(gpu.cc, in);
    return out;
}

}  // namespace

Result<std::vector<MachineKernel>> machine_kernels(const std::vector<Input>& inputs, const std::vector<std::string>& patterns, const std::vector<GpuProfile>& gpus) {
    struct Place { const Input* input; std::string name; };
    std::vector<Place> places;
    std::vector<KernelName> names;
    for (const Input& input : inputs) {
        if (!input.texts.empty()) continue;
        std::set<std::string> seen;
        for (const CubinEntry& cubin : input.cubins)
            for (const CubinKernel& kernel : cubin.kernels.value_or(std::vector<CubinKernel>{}))
                if (seen.insert(kernel.name).second) {
                    places.push_back({&input, kernel.name});
                    names.push_back({kernel.name, demangle(kernel.name), kernel_id(kernel.name)});
                }
    }
    std::vector<MachineKernel> all;
    if (places.empty()) return all;
    const auto chosen = select_kernels(names, patterns);
    if (!chosen) return tl::unexpected(chosen.error());
    for (const std::size_t i : *chosen)
        for (const GpuProfile& gpu : gpus) {
            const Place& place = places[i];
            const CubinEntry* const cubin = running_cubin(*place.input, place.name, gpu.cc);
            if (cubin == nullptr || !cubin->kernels) continue;
            for (const CubinKernel& kernel : *cubin->kernels)
                if (kernel.name == place.name) {
                    all.push_back(on_gpu(*place.input, *cubin, kernel, names[i].demangled, gpu));
                    break;
                }
        }
    return all;
}

}  // namespace flipflop::advise
