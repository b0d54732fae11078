// Owns: one block (or one warp of a kernel whose warps have nothing to do with each other) followed from start to end with
// the provenance of every value. Input: a place, a domain of other blocks. Output: what it writes, what it breaks, for the
// whole of the (possibly smaller) domain.
#pragma once

#include <memory>
#include <string>

#include "evaluator/memory_state.hpp"
#include "evaluator/place.hpp"
#include "evaluator/safety_global.hpp"
#include "evaluator/safety_traits.hpp"

namespace flipflop::eval {

/// A rule that holds without any reference was broken (CONTRACT.md section 5, (e) and (f)).
struct Breach {
    std::string what;                        ///< empty: none
    u32 rule{}, op{};                        ///< 'e' or 'f', and the instruction: to tell whether the reference does the same
};

struct AtomicRecord { u64 address{}; MovedBy stride{}; u32 op{}; std::uint8_t bytes{}; Element value; };

/// Bytes that one instruction touches: first and last over the lanes, and how they move.
struct Span { u32 op{}; MovedBy stride{}; u64 low{}, high{}; bool writes{}; };

struct BlockFindings {
    std::string unknown;                     ///< why something could not be followed; empty: all was
    Breach breach;
    std::vector<AtomicRecord> atomics;
    std::vector<Span> spans;
};

/// Which bytes count as sources in a run that looks for one byte (safety_witness.hpp): those whose hash begins with `path`,
/// sorted into classes by what comes next.
struct Sieve {
    static constexpr u32 kBranches = 6;
    std::vector<u32> path;
    /// The class of a source word, kBranches when it does not count.
    [[nodiscard]] u32 branch(u64 word) const;
};

/// What all blocks of a launch share.
struct SafetySession {
    const Program& program;
    const SafetyTraits& traits;
    const Launch& launch;
    LaunchMemory memory;
    std::vector<bool> watched;               ///< by MemoryOp: loads of arrays that the launch also writes
    std::set<Race> races;
    u64 steps{}, budget{};
    bool has_data{};
    bool entangled{};                        ///< met while running; see SafetyTraits
    /// An operation was met that may take away what another brought in (a difference, a quotient, a maximum, a choice): bytes
    /// that count more or less often need not change the result. Sums of products of functions of bytes always show it.
    bool cancels{};
    const Sieve* sieve{};                    ///< else all bytes count
    SafetySession(const Program& p, const SafetyTraits& t, const Launch& l);
};

class WarpRun;

class BlockRun {
public:
    explicit BlockRun(SafetySession& session);
    ~BlockRun();
    /// Follows all warps of the block at `place`; `groups` are its warps (one alone where they do not work together).
    void run(const Place& place, const std::vector<WarpGroup>& groups);

    Domain domain;
    ClassTable classes;
    SharedMemory shared;
    GlobalWrites global;
    Order order;
    BlockFindings findings;

    [[nodiscard]] SafetySession& session() { return s_; }
    [[nodiscard]] bool stopped() const { return stopped_; }
    void give_up(const std::string& why) {
        if (findings.unknown.empty()) findings.unknown = why;
        stopped_ = true;
    }
    /// `certain`: false inside code that may not run.
    void breach(u32 rule, u32 op, const std::string& what, bool certain = true);
    void note_span(u32 op, const MovedBy& stride, u64 low, u64 high, bool writes);

private:
    void meet();
    SafetySession& s_;
    std::vector<std::unique_ptr<WarpRun>> warps_;
    u32 count_{};
    bool stopped_{};
};

}  // namespace flipflop::eval
