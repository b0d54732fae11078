// The verdict on another block shape, or on another variant of a kernel: two launches' records, compared rule by rule
// (CONTRACT.md section 5, (a) to (f)).
#include <algorithm>
#include <map>

#include "evaluator/safety_compare.hpp"
#include "flipflop/variants.hpp"

namespace flipflop {

using namespace eval;

namespace {

/// A kernel made ready to be followed with everything it does.
struct Followed {
    Program program;
    SafetyTraits traits;
    explicit Followed(const KernelCode& code) : program(prepare(code, {.whole = true})) {
        if (program.functions.empty()) traits.refused = "the kernel has no body";
        else traits = traits_of(program);
    }
};

/// Where a module's variables of constant and global memory lie, by name.
std::map<std::string, u64> places_of_symbols(const Program& program) {
    std::map<std::string, u64> places;
    for (const auto& [id, address] : program.map.symbols) {
        const ptx::Symbol& symbol = program.module->symbols[id];
        if (symbol.space == ptx::Space::constant || symbol.space == ptx::Space::global) places.emplace(std::string(symbol.name), address);
    }
    return places;
}

bool same_parameters(const Program& a, const Program& b) {
    const auto& mine = a.code->facts.parameters;
    const auto& theirs = b.code->facts.parameters;
    return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), [](const ParameterFacts& x, const ParameterFacts& y) { return x.bytes == y.bytes; });
}

/// A kernel and the launch in use.
struct Reference {
    Followed kernel;
    SafetyLimits limits;
    Launch launch;
    bool assumed{};
    LaunchRecord record;

    Reference(const KernelCode& code, const Launch& used, bool is_assumed, std::optional<u64> steps = {}) : kernel(code), launch(used), assumed(is_assumed) {
        if (steps) {
            limits.steps = *steps;
            limits.store_executions = std::min(limits.store_executions, u64{1} << 20);   // telling which byte differs is the dearer part
        }
        if (kernel.traits.refused.empty()) record = follow_launch(kernel.program, kernel.traits, launch, {}, limits);
    }
    [[nodiscard]] SafetyVerdict judge(const Followed& other, const Launch& candidate, std::optional<u64> steps = {}) const {
        for (const Followed* k : {&kernel, &other})
            if (!k->traits.refused.empty()) return {std::nullopt, "not followed: " + k->traits.refused};
        if (candidate.block.count() == 0 || candidate.grid.count() == 0) return {std::nullopt, "an empty launch"};
        const std::vector<bool> watched = &other == &kernel ? record.watched : std::vector<bool>{};
        SafetyLimits own = limits;
        if (steps) own.steps = std::min(own.steps, *steps);
        // A reference beyond the work limit proves nothing, however far the candidate is followed.
        if (record.beyond_limit) return {std::nullopt, "the reference launch: " + record.unknown};
        const LaunchRecord theirs = follow_launch(other.program, other.traits, candidate, watched, own);
        SafetyVerdict verdict = compare_launches({{kernel.program, kernel.traits, launch}, {other.program, other.traits, candidate}, assumed, own}, record, theirs);
        verdict.steps = theirs.steps;
        return verdict;
    }
};

}  // namespace

struct ReblockingJudge::Prepared : Reference { using Reference::Reference; };

ReblockingJudge::ReblockingJudge(const KernelCode& code, const Launch& reference, bool reference_is_assumed, std::optional<std::uint64_t> steps)
    : prepared_(std::make_unique<Prepared>(code, reference, reference_is_assumed, steps)) {}
ReblockingJudge::~ReblockingJudge() = default;
ReblockingJudge::ReblockingJudge(ReblockingJudge&&) noexcept = default;
ReblockingJudge& ReblockingJudge::operator=(ReblockingJudge&&) noexcept = default;

SafetyVerdict ReblockingJudge::judge(const Launch& candidate, std::optional<std::uint64_t> steps) const {
    const Prepared& p = *prepared_;
    if (candidate.block == p.launch.block && candidate.grid == p.launch.grid) return {true, "the reference launch itself"};
    return p.judge(p.kernel, candidate, steps);
}

std::uint64_t ReblockingJudge::reference_steps() const { return prepared_->record.steps; }

SafetyVerdict judge_reblocking(const KernelCode& code, const Launch& reference, const Launch& candidate, bool reference_is_assumed) {
    return ReblockingJudge(code, reference, reference_is_assumed).judge(candidate);
}

struct VariantJudge::Prepared : Reference { using Reference::Reference; };

VariantJudge::VariantJudge(const KernelCode& reference, const Launch& launch, bool reference_is_assumed)
    : prepared_(std::make_unique<Prepared>(reference, launch, reference_is_assumed)) {}
VariantJudge::~VariantJudge() = default;
VariantJudge::VariantJudge(VariantJudge&&) noexcept = default;
VariantJudge& VariantJudge::operator=(VariantJudge&&) noexcept = default;

SafetyVerdict VariantJudge::judge(const KernelCode& variant, const Launch& launch) const {
    const Program& reference = prepared_->kernel.program;
    const Followed other(variant);
    if (!same_parameters(reference, other.program)) return {std::nullopt, "the variant has other parameters than the reference"};
    if (places_of_symbols(reference) != places_of_symbols(other.program))
        return {std::nullopt, "its constant or global variables are others than the reference's, or lie elsewhere"};
    return prepared_->judge(other, launch);
}

}  // namespace flipflop
