// The verdict on another block shape: two launches' records, compared rule by rule (CONTRACT.md section 5, (a) to (f)).
#include <algorithm>
#include <map>

#include "evaluator/safety_compare.hpp"
#include "flipflop/evaluator.hpp"

namespace flipflop {

using namespace eval;

struct ReblockingJudge::Prepared {
    Program program;
    SafetyTraits traits;
    SafetyLimits limits;
    Launch reference;
    bool assumed{};
    LaunchRecord record;
};

ReblockingJudge::ReblockingJudge(const KernelCode& code, const Launch& reference, bool reference_is_assumed) : prepared_(std::make_unique<Prepared>()) {
    Prepared& p = *prepared_;
    p.program = prepare(code, {.whole = true});
    p.reference = reference;
    p.assumed = reference_is_assumed;
    if (p.program.functions.empty()) {
        p.traits.refused = "the kernel has no body";
        return;
    }
    p.traits = traits_of(p.program);
    if (p.traits.refused.empty()) p.record = follow_launch(p.program, p.traits, reference, {}, p.limits);
}
ReblockingJudge::~ReblockingJudge() = default;
ReblockingJudge::ReblockingJudge(ReblockingJudge&&) noexcept = default;
ReblockingJudge& ReblockingJudge::operator=(ReblockingJudge&&) noexcept = default;

SafetyVerdict ReblockingJudge::judge(const Launch& candidate) const {
    const Prepared& p = *prepared_;
    if (candidate.block == p.reference.block && candidate.grid == p.reference.grid) return {true, "the reference launch itself"};
    if (!p.traits.refused.empty()) return {std::nullopt, "not followed: " + p.traits.refused};
    if (candidate.block.count() == 0 || candidate.grid.count() == 0) return {std::nullopt, "an empty launch"};
    const LaunchRecord record = follow_launch(p.program, p.traits, candidate, p.record.watched, p.limits);
    return compare_launches({p.program, p.reference, p.assumed, p.limits.store_executions, nullptr}, p.record, record);
}

namespace {

/// Where a module's variables of constant and global memory lie, by name.
std::map<std::string, u64> places_of_symbols(const Program& program) {
    std::map<std::string, u64> places;
    for (const auto& [id, address] : program.map.symbols) {
        const ptx::Symbol& symbol = program.module->symbols[id];
        if (symbol.space == ptx::Space::constant || symbol.space == ptx::Space::global) places.emplace(std::string(symbol.name), address);
    }
    return places;
}

}  // namespace

SafetyVerdict ReblockingJudge::judge_variant(const KernelCode& variant, const Launch& candidate) const {
    const Prepared& p = *prepared_;
    const auto& mine = variant.facts.parameters;
    const auto& theirs = p.program.code->facts.parameters;
    const bool alike = std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), [](const ParameterFacts& a, const ParameterFacts& b) { return a.bytes == b.bytes; });
    if (!alike) return {std::nullopt, "the variant has other parameters than the reference"};
    if (!p.traits.refused.empty()) return {std::nullopt, "the reference is not followed: " + p.traits.refused};
    if (candidate.block.count() == 0 || candidate.grid.count() == 0) return {std::nullopt, "an empty launch"};
    const Program program = prepare(variant, {.whole = true});
    if (program.functions.empty()) return {std::nullopt, "the kernel has no body"};
    const SafetyTraits traits = traits_of(program);
    if (!traits.refused.empty()) return {std::nullopt, "not followed: " + traits.refused};
    if (places_of_symbols(program) != places_of_symbols(p.program)) return {std::nullopt, "its constant or global variables are others than the reference's, or lie elsewhere"};
    const LaunchRecord record = follow_launch(program, traits, candidate, {}, p.limits);
    return compare_launches({p.program, p.reference, p.assumed, p.limits.store_executions, &program}, p.record, record);
}

SafetyVerdict judge_reblocking(const KernelCode& code, const Launch& reference, const Launch& candidate, bool reference_is_assumed) {
    return ReblockingJudge(code, reference, reference_is_assumed).judge(candidate);
}

}  // namespace flipflop
