// FF902: how often a loop runs was assumed.
#include "advise/rules/rule.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flipflop::advise {

std::vector<Finding> ff902_assumed_trips(const RuleContext& context) {
    std::vector<Finding> found;
    for (std::size_t i = 0; i < context.facts().loops.size() && i < context.kernel().loops.size(); ++i) {
        const LoopFacts& loop = context.facts().loops[i];
        const LoopDescription& what = context.kernel().loops[i];
        if (loop.basis != CountBasis::assumed && loop.basis != CountBasis::unknown) continue;
        const std::string where = what.source ? fmt::format("{}:{}", what.source->file.substr(what.source->file.find_last_of('/') + 1), what.source->line) : what.id;
        const bool data = loop.basis == CountBasis::assumed || loop.why.empty();
        std::string text = fmt::format("the trips of loop {} ({}) {}", what.id, where, data ? "depend on data" : "are not known: " + loop.why);
        if (loop.trip_mean) text += fmt::format("{} {} assumed", data ? ":" : ",", short_number(*loop.trip_mean));
        Finding finding = make_finding(context, "FF902", text, {}, fmt::format("give them: --trips {}=N, or mean:N,max:M", where));
        finding.ptx_line = what.ptx_line;
        finding.source = what.source;
        found.push_back(std::move(finding));
    }
    return found;
}

}  // namespace flipflop::advise
