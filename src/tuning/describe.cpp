#include "tuning/describe.hpp"

#include "tuning/arguments.hpp"

namespace flipflop::tuning {

TuneReport describe(const Plan& plan, const TuneOptions& options) {
    const Spec& spec = plan.spec;
    TuneReport report;
    report.space_size = plan.space_size;
    report.space_product = plan.space_product;
    report.sampled = plan.sampled;
    report.spec = options.spec;
    report.t1 = spec.t1;
    report.kernel = spec.kernel;
    report.source = spec.source;
    report.objective = std::string(to_string(options.analyze.objective));
    report.considered = plan.configurations.size();
    report.choices = plan.configurations.flat;
    report.seed = options.seed;
    report.compiler_options = spec.compiler_options;
    for (std::size_t p = 0; p < spec.space.parameters().size(); ++p) {
        TuneParameter out{spec.space.parameters()[p].name, {}, {}, spec.defaults[p] ? spec.defaults[p]->words() : ""};
        for (const Value& v : spec.space.parameters()[p].values) {
            out.values.push_back(v.words());
            out.numeric.push_back(v.number());
        }
        report.parameters.push_back(std::move(out));
    }
    for (const Expression& e : spec.space.conditions()) report.conditions.push_back(e.text());
    for (const Expression& e : spec.problem_size.value_or(std::vector<Expression>{})) report.launch.problem_size.push_back(e.text());
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (spec.block[axis]) report.launch.block[axis] = spec.block[axis]->text();
        report.launch.has_divisors[axis] = spec.divisors[axis].has_value();
        for (const Expression& e : spec.divisors[axis].value_or(std::vector<Expression>{})) report.launch.divisors[axis].push_back(e.text());
    }
    for (const Argument& a : spec.arguments) {
        static constexpr const char* kMemory[]{"scalar", "vector", "local", "symbol"};
        TuneReport::Argument out{a.name, a.type, kMemory[static_cast<int>(a.memory)], a.fill, a.value ? a.value->literal() : "", {}, a.constant, a.output};
        if (a.elements)
            if (const auto n = elements_of(spec, a)) out.elements = *n;
        report.arguments.push_back(std::move(out));
    }
    report.notes = spec.notes;
    return report;
}

void list(const Plan& plan, TuneReport& report) {
    report.listed.resize(plan.configurations.size());
    for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
        TuneListing& out = report.listed[i];
        out.configuration = static_cast<std::uint32_t>(i);
        if (i >= plan.geometries.size()) continue;
        const Geometry& g = plan.geometries[i];
        out.has_block = plan.spec.block[0].has_value() && g.obstacle.empty();
        out.block = g.block;
        out.has_grid = g.grid.has_value();
        if (g.grid) out.grid = *g.grid;
        out.error = g.obstacle;
    }
}

TuneRow blank_row(const Plan& plan, std::size_t i) {
    TuneRow row;
    row.configuration = static_cast<std::uint32_t>(i);
    row.reference = plan.reference == i;
    if (i < plan.geometries.size()) {
        const Geometry& g = plan.geometries[i];
        row.has_block = plan.spec.block[0].has_value() && g.obstacle.empty();
        row.block = g.block;
        row.has_grid = g.grid.has_value();
        if (g.grid) row.grid = *g.grid;
        if (!g.obstacle.empty()) {
            row.error = g.obstacle;
            row.error_stage = "constraints";
        }
    }
    return row;
}

}  // namespace flipflop::tuning
