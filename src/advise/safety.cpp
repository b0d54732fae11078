#include "safety.hpp"

namespace flipflop::advise {

SafetyVerdict verdict_on(const Stage& stage, const Trial& reference, const Trial& candidate) {
    if (candidate.block == reference.block && candidate.grid == reference.grid) return {true, "the reference launch itself"};
    if constexpr (kSafetyIsFollowed) {
        FactsBook& book = *stage.facts;
        return book.verdict(book.launch(reference.block, reference.grid, reference.dynamic_shared_bytes),
                            book.launch(candidate.block, candidate.grid, candidate.dynamic_shared_bytes));
    } else {
        static_cast<void>(stage);
        return {std::nullopt, "whether it computes the same as the reference launch is not followed yet"};
    }
}

}  // namespace flipflop::advise
