// Owns: an independent judge of re-blocking: it runs two launches with real contents of memory, thread by thread, and
// compares what they leave behind. Input: a module, two launches, what kind of numbers each array holds. Output: whether
// the second does what the first does (CONTRACT.md section 5, `safe`), as far as one set of data shows it.
// Numbers in float arrays are small integers, so that sums come out alike in any order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "flipflop/launch.hpp"
#include "naive_machine.hpp"

namespace naive {

/// What an array holds before the launch.
/// f32: few different ones, so that sums are exact; spread: many, for maxima.
enum class Numbers : std::uint8_t { f32, spread, u32, small, zero, halves };

struct Execution {
    bool followed{true};
    std::string why;                                    ///< what could not be followed
    Bytes global;
    struct Written { std::uint64_t thread{}; bool several{}; unsigned bytes{}; };
    std::map<std::uint64_t, Written> written;           ///< by byte; atomic operations apart
    std::set<std::uint64_t> atomics;                    ///< bytes
    /// Two threads at one byte of shared memory that no barrier orders: lines, and whether they are of one warp.
    std::set<std::tuple<std::uint32_t, std::uint32_t, bool>> races;
    std::vector<std::string> faults;                    ///< barriers missed, lanes that are not there, accesses too far
};

/// Contents follow from the address alone: arrays of a 2^36 range each are of the kind given for that range, else f32.
[[nodiscard]] Execution execute(const Module& module, std::uint32_t entry, const flipflop::Launch& launch, const std::map<std::uint64_t, Numbers>& kinds,
                                std::uint64_t max_steps = 30'000'000);

struct Judgement {
    std::optional<bool> safe;
    std::string why;
    bool by_values{};                                   ///< unsafe by nothing but other contents
};
[[nodiscard]] Judgement judge(const Execution& reference, const Execution& candidate);

}  // namespace naive
