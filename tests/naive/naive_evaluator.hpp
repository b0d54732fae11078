// Owns: a second evaluator, written apart from src/evaluator and sharing nothing with it but the parser: every thread of
// every block runs by itself, one instruction at a time. Slow and plain on purpose; tests hold the fast one against it.
// Lanes of a warp are put together afterwards: executions of one instruction with the same iteration numbers of the
// loops around it (and the same call path) are one request. That is the contract's lane rule without a scheduler.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "flipflop/launch.hpp"
#include "flipflop/ptx.hpp"

namespace naive {

struct Access {
    double requests{}, lanes{}, sectors{}, wavefront_ratio{};  ///< summed over requests
    bool unknown{};                                            ///< an address was not known
};

struct Outcome {
    bool followed{true};
    std::string why;                                                            ///< what could not be followed
    std::map<std::tuple<std::uint32_t, flipflop::ptx::Space>, Access> accesses;  ///< by PTX line and space
    std::array<double, flipflop::ptx::kInstructionClasses> thread_ops{};
    double warp_instructions{};
    double unique_read_bytes{}, unique_written_bytes{};
    bool unique_known{true};
    double barriers{};                                                          ///< thread-level
    std::uint64_t threads{};
};

/// Runs the whole grid of `launch` on function `entry`. Gives up (followed = false) on a branch on an unknown value, on
/// an instruction it does not know in a position that matters, or after `max_steps` thread instructions.
[[nodiscard]] Outcome run(const flipflop::ptx::Module& module, std::uint32_t entry, const flipflop::Launch& launch,
                          std::uint64_t max_steps = 400'000'000);

}  // namespace naive
