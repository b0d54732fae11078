// Owns: a seeded maker of small PTX kernels with index arithmetic of every kind the evaluator must follow: affine, modulo,
// xor, shifts, nested loops with fixed and lane-dependent trips, divergent guards, staging of known values in shared memory.
#pragma once

#include <cstdint>
#include <string>

namespace naive {

struct RandomKernel {
    std::string text;
    std::uint32_t block_x{}, block_y{1}, grid_x{}, grid_y{1};
    std::int32_t n{};
};
[[nodiscard]] RandomKernel random_kernel(std::uint64_t seed);

}  // namespace naive
