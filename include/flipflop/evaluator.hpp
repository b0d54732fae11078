// Owns: the step from a kernel and a launch to what that launch does. Static: no GPU, no data but what is given.
// Input: KernelCode, Launch. Output: LaunchFacts. Invariant: what cannot be followed is reported as unknown with a
// reason; nothing is invented. Deterministic.
#pragma once

#include <cstdint>
#include <memory>

#include "flipflop/launch.hpp"
#include "flipflop/passes.hpp"

namespace flipflop {

struct EvaluatorOptions {
    /// Warp-instruction executions after which loops are sampled and the rest extrapolated (marked `sampled`).
    std::uint64_t budget{2'000'000};
    /// Grids of at most this many blocks, or warps, are evaluated whole, as far as the budget goes.
    std::uint32_t whole_grid_blocks{64}, whole_grid_warps{8192};
    /// Every warp of every block by itself, every iteration of every loop: slow, for tests of what is summarised.
    bool one_by_one{};
};

/// Prepared once a kernel (slices, register numbering, control structure), then asked for many launches.
/// Const calls may run in parallel.
class Evaluator {
public:
    explicit Evaluator(const KernelCode& code, EvaluatorOptions options = {});
    ~Evaluator();
    Evaluator(Evaluator&&) noexcept;
    Evaluator& operator=(Evaluator&&) noexcept;

    /// What the launch does. The block's shape must be 1..1024 threads and the grid not empty; arguments must be as many
    /// as parameters. Never throws on any kernel the parser accepts.
    /// `budget` replaces the options' one, for a search over many launches.
    [[nodiscard]] LaunchFacts evaluate(const Launch& launch, std::optional<std::uint64_t> budget = {}) const;

    /// One block followed access by access: races in shared memory and barriers that order nothing. Experimental.
    [[nodiscard]] HazardFacts hazards(const Launch& launch) const;

private:
    struct Prepared;
    std::unique_ptr<Prepared> prepared_;
};

/// Verdict on a candidate block against the reference launch (CONTRACT.md section 5, `safe`).
struct SafetyVerdict {
    std::optional<bool> safe;
    std::string reason;              ///< why not, or why it cannot be said
    std::uint64_t steps{};           ///< operations of warps that were followed for it, the reference's not among them
};

/// One kernel and the launch in use, followed once with the provenance of what it writes; then any number of candidates.
/// Const calls may run in parallel. The code must outlive it.
class ReblockingJudge {
public:
    /// `steps`: most operations of warps that a launch is followed for; empty: 12 million. What takes more is null.
    ReblockingJudge(const KernelCode& code, const Launch& reference, bool reference_is_assumed, std::optional<std::uint64_t> steps = {});
    ~ReblockingJudge();
    ReblockingJudge(ReblockingJudge&&) noexcept;
    ReblockingJudge& operator=(ReblockingJudge&&) noexcept;

    /// Is `candidate` the same computation as the reference? Exact over the whole grid, else null with a reason. Against an
    /// assumed reference a mismatch is null; what breaks a rule by itself (an overrun, a barrier that is missed) is false.
    /// `steps`: most operations followed for this candidate, where that is less than the judge's own limit.
    [[nodiscard]] SafetyVerdict judge(const Launch& candidate, std::optional<std::uint64_t> steps = {}) const;
    /// Operations that following the reference took.
    [[nodiscard]] std::uint64_t reference_steps() const;

private:
    struct Prepared;
    std::unique_ptr<Prepared> prepared_;
};

/// The same for a single candidate.
[[nodiscard]] SafetyVerdict judge_reblocking(const KernelCode& code, const Launch& reference, const Launch& candidate,
                                             bool reference_is_assumed);

}  // namespace flipflop
