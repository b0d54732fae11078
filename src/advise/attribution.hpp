// Owns: why two estimates differ, as shares of their terms. Input: two trees of the same model. Output: the same tree
// with, at every node, the part of the difference of the roots that it brings about. Invariant: the shares of a node's
// parts add up to its own, the root's is the whole difference (1e-9 relative).
//
// Method: the leaves move from one estimate to the other along a straight line; what each contributes is the integral
// of the root's derivative by it (Aumann and Shapley 1974, "Values of Non-Atomic Games": the only additive shares that
// treat a sum, a maximum and a norm alike and do not depend on an order).
#pragma once

#include <string>
#include <vector>

#include "flipflop/models.hpp"

namespace flipflop::advise {

struct Attribution {
    std::string id, unit;
    double from{}, to{};         ///< the term's own value in either estimate
    double delta{};              ///< its share of root(to) - root(from), in the root's unit
    std::vector<Attribution> parts;
};

/// Terms are paired by id, place and fold. A part that one side lacks counts as 0 in sums, norms and maxima; where the
/// structures differ otherwise the node is taken as a whole.
[[nodiscard]] Attribution attribute(const Term& from, const Term& to);

/// The most telling terms: from the root down, a term is replaced by its parts as long as these say more precisely where
/// the difference comes from. At most `most` of at least `least_share` of the largest, by size.
[[nodiscard]] std::vector<const Attribution*> telling_terms(const Attribution& root, std::size_t most = 4, double least_share = 0.05);

}  // namespace flipflop::advise
