// Owns: a launch that any kernel can be asked about, for tests and benchmarks that go over all examples: a block of 256
// threads (or the one the code is fixed to), pointers far apart, every other argument 1024.
#pragma once

#include "flipflop/launch.hpp"

namespace flipflop {

inline Launch example_launch(const KernelFacts& kernel, Dim3 grid) {
    Launch launch;
    launch.block = kernel.dimensions == 1 ? Dim3{256, 1, 1} : Dim3{32, 8, 1};
    if (kernel.bounds.required_block) launch.block = *kernel.bounds.required_block;
    launch.grid = grid;
    launch.dynamic_shared_bytes = 16384;
    for (const ParameterFacts& p : kernel.parameters) {
        ArgumentValue a;
        const std::uint64_t value = p.kind == ParameterKind::pointer ? std::uint64_t{0x1000000000} * (p.index + 1) : 1024;
        for (std::uint32_t k = 0; k < p.bytes; ++k) a.bytes.push_back(k < 8 ? static_cast<std::uint8_t>(value >> (8 * k)) : 0);
        launch.arguments.push_back(std::move(a));
    }
    return launch;
}

}  // namespace flipflop
