// Owns: from rows of numbers to an order, a short list, a recommendation and what the parameters are worth.
#pragma once

#include <functional>

#include "flipflop/evaluator.hpp"
#include "flipflop/tune.hpp"
#include "advise/ranking.hpp"

namespace flipflop::tuning {

/// Verdict on a row against the reference; asked for few.
using Judge = std::function<SafetyVerdict(const TuneRow&)>;

/// Ranks, keeps, asks for verdicts on what is kept until nothing unsafe is, sorts the rows (best first, errors last), and
/// fills effects and recommendation. `judge` may be empty: then nothing is known to be safe but the reference.
void choose(TuneResult& result, const TuneReport& report, Objective objective, const advise::RankError& error, const Judge& judge, unsigned threads);

}  // namespace flipflop::tuning
