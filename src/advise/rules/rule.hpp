// Owns: what a rule is: a question put to one launch, with what it would cost to leave things as they are. One file a
// rule (ffNNN.cpp), its line in rules.def and its page in docs/rules/. Input: facts and a prediction. Invariant: a cost is
// the model's answer with the fact at its ideal, never a guess; a rule that cannot know its cost leaves it empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/trials.hpp"

namespace flipflop::advise {

struct RuleContext {
    const Stage& stage;
    const Trial& trial;
    const Prediction& now;
    OperatingPoint point;

    [[nodiscard]] const KernelFacts& kernel() const { return stage.facts->code().facts; }
    [[nodiscard]] const LaunchFacts& facts() const { return *trial.facts; }
};

struct Cost { std::optional<double> us, mj; };

/// What the launch costs more now than with `ideal` facts, shared memory and occupancy as they are.
[[nodiscard]] Cost cost_against(const RuleContext& context, const LaunchFacts& ideal);
/// The same with other resources, and so another occupancy.
[[nodiscard]] Cost cost_against(const RuleContext& context, const Resources& ideal);

/// `severity` from the share of the time that the cost is: a warning from 3 % on, a note below.
[[nodiscard]] Finding make_finding(const RuleContext& context, const char* rule, std::string message, Cost cost, std::string help);
/// The same at an access.
[[nodiscard]] Finding make_finding(const RuleContext& context, const char* rule, std::size_t access, std::string message, Cost cost, std::string help);

/// The same at any line.
[[nodiscard]] Finding make_finding_at(const RuleContext& context, const char* rule, std::uint32_t ptx_line, const std::optional<SourceLine>& source,
                                      std::string message, Cost cost, std::string help);

/// "load", "store", "atomic", "copy"
[[nodiscard]] std::string_view kind_of(const AccessDescription& access);
/// "transpose.cu:9", else "PTX line 42"
[[nodiscard]] std::string place_of(std::uint32_t ptx_line, const std::optional<SourceLine>& source);
[[nodiscard]] std::string place_of(const AccessDescription& access);
/// At most three significant digits.
[[nodiscard]] std::string short_number(double value);

/// Copies of the facts with one access at its ideal.
[[nodiscard]] LaunchFacts with_ideal_sectors(const LaunchFacts& facts, const KernelFacts& kernel, std::size_t access);
[[nodiscard]] LaunchFacts without_conflicts(const LaunchFacts& facts, std::size_t access);
/// Per block: requests of an access, known or assumed.
[[nodiscard]] double requests_per_block(const LaunchFacts& facts, const AccessFacts& access);

#define RULE(id, function, family, title) [[nodiscard]] std::vector<Finding> function(const RuleContext& context);
#include "advise/rules/rules.def"
#undef RULE

/// All rules over one launch, worst first; equal ones in the order of rules and lines.
[[nodiscard]] std::vector<Finding> find_all(const RuleContext& context);

}  // namespace flipflop::advise
