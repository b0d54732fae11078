// Owns: a launch as a user describes it (Launch) and what it does (LaunchFacts): the evaluator's input and output.
// Invariant: an optional that is empty means "not known", never zero; totals are over the whole grid unless a name
// says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flipflop/facts.hpp"

namespace flipflop {

/// A parameter's value for a launch. Bytes are little-endian, as long as the parameter; each byte may be unknown.
struct ArgumentValue {
    std::vector<std::uint8_t> bytes;
    std::vector<bool> known;                 ///< by byte; empty = all known
    bool given{};                            ///< by the user; else assumed
};

/// The contents of an array, for loads from it (`--data`).
struct ArrayData {
    std::vector<std::uint8_t> bytes;
    std::uint32_t element_bytes{4};
};

struct BranchPolicy {
    std::optional<double> taken_probability;                    ///< --assume-taken; empty: both ways are followed
    std::map<std::string, double> taken;                        ///< by "file:line" or branch id
    struct Trips { double mean{1}; std::optional<double> max; };
    std::optional<Trips> assumed_trips;                         ///< --assume-trips
    std::map<std::string, Trips> trips;                         ///< by "file:line" or loop id
};

struct Launch {
    Dim3 block, grid;
    std::uint64_t dynamic_shared_bytes{};
    std::optional<Dim3> cluster;
    std::vector<ArgumentValue> arguments;    ///< by parameter index
    std::map<std::uint32_t, ArrayData> parameter_data;   ///< by index of a pointer parameter
    std::map<std::string, ArrayData> symbol_data;        ///< by .const/.global symbol
    BranchPolicy policy;
};

/// How well a count is known (CONTRACT.md section 5).
enum class CountBasis : std::uint8_t { exact, sampled, assumed, wait, unknown };
[[nodiscard]] std::string_view to_string(CountBasis basis);

enum class Pattern : std::uint8_t { coalesced, strided, broadcast, misaligned, gather, scatter, conflict, piecewise, unknown };
[[nodiscard]] std::string_view to_string(Pattern pattern);

/// One memory instruction of one launch. Means are over requests.
struct AccessFacts {
    std::optional<double> requests;              ///< warp executions with an active lane, whole grid
    std::optional<double> requests_assumed;      ///< when the count is not known
    std::optional<double> sectors_per_request;   ///< 32-byte sectors; global, local, generic
    std::optional<double> ideal_sectors_per_request;
    std::optional<double> wavefronts_per_request;  ///< shared: passes over phases; 1.0 = no conflict
    std::optional<double> wavefront_total;       ///< shared: data passes over the whole grid (what the pipe is busy with)
    std::optional<double> lines_per_request;     ///< 128-byte lines, of each half (8-byte lanes) or quarter (16) of a warp
    double active_lanes{};                       ///< mean over requests
    Pattern pattern{Pattern::unknown};
    std::optional<std::int64_t> stride_bytes;
    std::optional<std::uint64_t> shared_overrun_bytes;   ///< how far past the block's shared memory it reaches
    double unaligned_share{};                    ///< of requests: a lane's address is no multiple of what it moves, which faults
    CountBasis basis{CountBasis::unknown};
    std::string why;                             ///< why it is not exact, or empty
};

struct LoopFacts {
    std::optional<double> trip_mean, trip_min, trip_max;   ///< body executions an entry, over threads that reach it
    CountBasis basis{CountBasis::unknown};
    std::string why;
};

using MachineOpCounts = std::array<double, kMachineOps>;

/// Operations along the longest dependence chain of one warp; models give each its latency.
struct LatencyChain {
    MachineOpCounts ops{};
};

/// What lies between two barriers (in text order of the barriers, loops folded): totals over an average block.
struct PhaseFacts {
    MachineOpCounts warp_ops{};                  ///< warp-level executions a block
    double shared_wavefronts{};                  ///< a block
    double shared_requests{};
    double global_load_sectors{}, global_store_sectors{}, local_sectors{};   ///< a block
    double global_lines{};                       ///< distinct 128 B lines of requests, or of their halves and quarters where lanes are wide: L1 tag passes
    double global_requests{};
    double atomic_sectors{};                     ///< spread atomics
    double atomic_serial_max{};                  ///< most lanes on one address in a request, summed
    double executions{1};                        ///< how often the phase is entered, a block
    LatencyChain chain;                          ///< of a mean warp, assuming L1 hits
    LatencyChain chain_miss;                     ///< the same path chosen with DRAM latency for global loads
};

/// A branch at which lanes of a warp parted. `excess` is what warps execute a block that they would not if each took one
/// side as a whole (the same share of lanes on either).
struct BranchFacts {
    std::uint32_t ptx_line{};
    std::optional<SourceLine> source;
    double executions{}, divergent{};            ///< by warps, whole grid
    bool ends_loop{};                            ///< it decides whether a loop goes on: trips differ between lanes
    MachineOpCounts excess{};
};

/// A barrier for the whole block that part of a block does not reach, in its interior or its last block.
struct PartialBarrierFacts {
    std::uint32_t ptx_line{};
    std::optional<SourceLine> source;
    double warps_reaching{}, warps{};            ///< of that block; reaching: as often as the warp that passes it most often
    bool part_of_warp{};                         ///< lanes of one warp are elsewhere when the others arrive, and have not exited
};

/// Warps of a block that execute the same copies, matrix multiplications, waits and register changes: the producers and
/// consumers of a warp-specialised kernel.
struct RoleFacts {
    double warps_per_block{};
    std::vector<std::string> does;               ///< "copies", "multiplies", "waits", "signals", "changes registers"; may be empty
    std::optional<std::uint32_t> registers;      ///< the last setmaxnreg it executes
    std::optional<std::uint32_t> ptx_line;       ///< its first instruction of these kinds
    double warp_instructions{};                  ///< of one of its warps, on average
    MachineOpCounts warp_ops{};                  ///< the same by operation
};

/// Where the global bytes of a launch lie. Sectors are 32 bytes. Empty when an address is unknown.
struct Footprint {
    std::optional<double> block_sectors;         ///< distinct sectors an average block reads: an interior one, or where that does nothing a working one times the share of such blocks
    std::optional<double> block_instruction_sectors;   ///< the same summed over instructions and executions of a block's warps, each instruction's set counted once
    std::optional<double> block_store_sectors;
    std::optional<double> overlap_x, overlap_y, overlap_z;   ///< share of a block's read sectors that its neighbour on that axis reads too
    std::optional<double> grid_read_sectors, grid_written_sectors;
    std::optional<double> unique_read_bytes, unique_written_bytes;
    std::string why;                             ///< what could not be followed
};

/// What one interior block does to shared memory between barriers, and which barriers order nothing. Experimental.
struct HazardFacts {
    struct Race {
        std::uint32_t ptx_line{}, other_line{};  ///< the store, and what another warp does to the same bytes before a barrier
        std::optional<SourceLine> source, other_source;
        std::uint64_t bytes{};
    };
    struct Barrier {
        std::uint32_t barrier{};                 ///< in text order
        std::uint32_t ptx_line{};
        std::optional<SourceLine> source;
    };
    std::vector<Race> races;
    std::vector<Barrier> redundant_barriers;
    std::string why;                             ///< why nothing can be said, or empty
};

struct LaunchFacts {
    Dim3 block, grid;                            ///< as launched; reuse between neighbouring blocks needs the grid's shape
    double blocks{}, warps_per_block{}, threads{};
    double warp_instructions{};                  ///< executed PTX instructions, warp level, whole grid
    std::vector<double> executions;              ///< the same by instruction: of the entry, then of each called function in turn
    ClassCounts thread_ops{};                    ///< thread-level executions by the contract's classes, whole grid
    MachineOpCounts thread_machine_ops{};        ///< thread-level, for energy
    std::optional<double> barriers_per_thread;
    std::optional<double> active_lane_share;     ///< active lanes over 32 * executions
    double tensor_fma{};                         ///< multiply-adds done by mma and wgmma, whole grid
    std::vector<LoopFacts> loops;                ///< parallel to KernelFacts::loops
    std::vector<AccessFacts> accesses;           ///< parallel to KernelFacts::accesses
    std::vector<PhaseFacts> phases;              ///< at least one
    std::vector<BranchFacts> branches;           ///< where lanes part, in text order
    std::vector<PartialBarrierFacts> partial_barriers;
    std::vector<RoleFacts> roles;                ///< empty unless warps of a block have different ones
    Footprint footprint;
    std::optional<std::uint64_t> dynamic_shared_touched;   ///< highest byte touched in extern .shared, plus one
    std::uint32_t divergent_branches{}, unknown_branches{};
    bool cut{};                                  ///< a loop was ended at the work limit: what was counted is the least that it does
    std::uint64_t evaluated_runs{}, evaluated_steps{};   ///< what finding this out took: warps (or blocks) run, operations carried out
    std::vector<std::string> unknowns;           ///< human-readable, each once: what could not be followed and where
    CountBasis basis{CountBasis::exact};         ///< the weakest of all counts
    double unknown_share{};                      ///< of warp_instructions that depend on something assumed
};

}  // namespace flipflop
