// Owns: the verdict on another variant of a computation: two kernels, compiled apart, each with its launch. Input: the
// variant in use and its launch, then any others. Output: whether one writes the same bytes from the same bytes as the
// variant in use (CONTRACT.md section 5, `safe`). Pointers of both launches must have the same meaning and values.
#pragma once

#include <memory>

#include "flipflop/evaluator.hpp"

namespace flipflop {

/// Follows the reference once. Const calls may run in parallel. The reference's code must outlive it.
class VariantJudge {
public:
    VariantJudge(const KernelCode& reference, const Launch& launch, bool reference_is_assumed);
    ~VariantJudge();
    VariantJudge(VariantJudge&&) noexcept;
    VariantJudge& operator=(VariantJudge&&) noexcept;

    /// Beside ReblockingJudge::judge: constants that went through operations, and matrix products, are compared within
    /// one code only; where variants differ in those, or in how wide they store, the verdict is null.
    [[nodiscard]] SafetyVerdict judge(const KernelCode& variant, const Launch& launch) const;

private:
    struct Prepared;
    std::unique_ptr<Prepared> prepared_;
};

}  // namespace flipflop
