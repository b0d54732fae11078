// Owns: what a whole launch writes and what that derives from, as a few field elements. Input: a kernel, a launch. Output:
// LaunchRecord. Method: a run of one block holds for a box of blocks; what the box writes is a geometric series of what
// the one wrote. Boxes are cut until the grid is covered: every block is accounted for, however large the grid is.
//
// With v^y standing for the written byte y, two launches that agree in `pairs` (the sum of v^y over all writing threads
// and bytes) write the same bytes with the same number of threads each; if they agree in `derived` (the sum of v^y times
// what byte y derives from) too, every byte derives from the same bytes. Both are polynomials in v: agreement by chance
// has a probability of about 2^-40 (Schwartz 1980, Zippel 1979).
#pragma once

#include "evaluator/safety_block.hpp"

namespace flipflop::eval {

struct WriteSums {
    u64 pairs{}, derived{}, vague{}, known{}, known_float{};
    double bytes{};                          ///< counted once a thread
    u64 low{~u64{0}}, high{};                ///< the first byte and the one past the last
    bool operator==(const WriteSums& o) const {
        return pairs == o.pairs && derived == o.derived && vague == o.vague && known == o.known && known_float == o.known_float;
    }
};

/// What the blocks of a box wrote, for whoever must list it byte by byte.
struct BoxWrites {
    GridBox box;                             ///< its corner and group; `extent` is what the run held for
    std::array<i64, kFirstLoopAxis> extent{};
    std::vector<ByteClass> classes;
    struct Item {
        u64 address{};
        MovedBy stride{};
        u32 thread{}, op{};
        std::uint8_t bytes{};
        bool conditional{};
        ClassMask mask{};
        std::array<u64, kMaxClasses> sum{};
    };
    std::vector<Item> items;
};

struct LaunchRecord {
    std::string unknown;                     ///< why something could not be followed; empty: all was
    bool beyond_limit{};                     ///< ... because it takes more than SafetyLimits::steps
    Breach breach;
    std::set<Race> races;
    WriteSums stores, conditional, atomics;
    std::set<std::pair<u64, u32>> atomic_places;         ///< address and bytes
    bool atomic_places_complete{true};
    bool certain{true};                      ///< a difference in what bytes derive from is a difference
    std::vector<BoxWrites> boxes;
    bool boxes_complete{true};
    std::vector<bool> watched;
    u64 steps{}, runs{};
};

struct SafetyLimits {
    u64 steps{12'000'000};                   ///< operations of warps
    u64 store_executions{u64{1} << 24};      ///< that are listed one by one
    std::size_t kept_items{1u << 18};        ///< elements whose boxes are kept for telling what differs
};

/// `watched`: loads known from another launch to read what the launch writes.
/// Where in a launch one run of a block (or warp) begins.
struct Corner { Place place; std::vector<WarpGroup> groups; };
[[nodiscard]] Corner corner_of(const SafetySession& session, const GridBox& box);

[[nodiscard]] LaunchRecord follow_launch(const Program& program, const SafetyTraits& traits, const Launch& launch,
                                         const std::vector<bool>& watched, const SafetyLimits& limits);

}  // namespace flipflop::eval
