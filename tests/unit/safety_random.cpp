// Verdicts on kernels made at random, held against what running both launches with real numbers leaves behind.
#include <iostream>
#include <map>

#include "naive/naive_execution.hpp"
#include "naive/random_reblocking.hpp"
#include "safety_support.hpp"

using namespace safety;

namespace {

std::string word_of(const std::optional<bool>& safe) { return !safe ? "unverified" : *safe ? "safe" : "unsafe"; }

}  // namespace

TEST_CASE("re-blocking: verdicts on random kernels do not contradict what the kernels do", "[safety][naive]") {
    std::map<std::string, unsigned> pairs;
    const char* only = std::getenv("FLIPFLOP_SEED");
    const std::uint64_t first = only ? std::stoull(only) : 1, last = only ? first : 500;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        const naive::RandomReblocking made = naive::random_reblocking(seed);
        const Kernel kernel(made.text);
        const Launch reference = kernel.launch(made.reference, made.reference_grid, {{2, made.n}}), candidate = kernel.launch(made.candidate, made.candidate_grid, {{2, made.n}});
        const SafetyVerdict v = kernel.judge(reference, candidate);
        if (reference.block == candidate.block) continue;
        const auto mine = naive::execute(kernel.module(), kernel.entry(), reference, {}), theirs = naive::execute(kernel.module(), kernel.entry(), candidate, {});
        const naive::Judgement judged = naive::judge(mine, theirs);
        ++pairs[word(v) + " where execution says " + word_of(judged.safe)];
        INFO("seed " << seed << " blocks " << made.reference.x << "," << made.reference.y << " and " << made.candidate.x << "," << made.candidate.y << " n " << made.n << "\n" << made.text);
        INFO("said: " << word(v) << ": " << v.reason << "\nfound: " << word_of(judged.safe) << ": " << judged.why);
        // What breaks a rule in the reference too is left open by the one and not seen by the other.
        CHECK((!v.safe || !judged.safe || *v.safe == *judged.safe));
    }
    for (const auto& [what, count] : pairs) std::cout << "random re-blocking: " << count << " " << what << "\n";
    if (!only) CHECK(pairs["safe where execution says safe"] + pairs["unsafe where execution says unsafe"] >= 250);
}
