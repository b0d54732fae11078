#include "safety.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flipflop::advise {

Contradiction contradiction(const LaunchFacts& reference, const LaunchFacts& candidate) {
    const auto differ = [](double a, double b) { return std::abs(a - b) > 1e-9 * std::max(a, b); };
    const auto& theirs = reference.footprint.unique_written_bytes;
    const auto& mine = candidate.footprint.unique_written_bytes;
    // Fewer or more distinct bytes are other bytes; as many may still be others, which only the verdict can tell.
    if (theirs && mine && differ(*theirs, *mine))
        return {fmt::format("it writes {:.0f} distinct bytes, the reference launch {:.0f}", *mine, *theirs), true};
    const auto stores = static_cast<std::size_t>(std::find(kClassNames.begin(), kClassNames.end(), "store_global") - kClassNames.begin());
    const bool exact = reference.basis == CountBasis::exact && candidate.basis == CountBasis::exact;
    if (exact && differ(reference.thread_ops[stores], candidate.thread_ops[stores]))
        return {fmt::format("it stores {:.0f} times, the reference launch {:.0f}", candidate.thread_ops[stores], reference.thread_ops[stores]), false};
    return {};
}

VerdictWork verdict_work(const Stage& stage) {
    return {stage.facts->verdict_budget(kVerdictsOfBudget), false};
}

SafetyVerdict verdict_on(const Stage& stage, const Trial& reference, const Trial& candidate, VerdictWork& work) {
    if (candidate.block == reference.block && candidate.grid == reference.grid) return {true, "the reference launch itself"};
    if constexpr (kSafetyIsFollowed) {
        FactsBook& book = *stage.facts;
        return book.verdict(book.launch(reference.block, reference.grid, reference.dynamic_shared_bytes),
                            book.launch(candidate.block, candidate.grid, candidate.dynamic_shared_bytes), work);
    } else {
        static_cast<void>(stage), static_cast<void>(work);
        return {std::nullopt, "whether it computes the same as the reference launch is not followed yet"};
    }
}

}  // namespace flipflop::advise
