#include "tuning/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "advise/complaints.hpp"
#include "inputs/file.hpp"

namespace flipflop::tuning {

namespace {

Diagnostic usage(const char* id, const char* option, std::string message, std::string help = {}) {
    return advise::complain(id, option, std::move(message), std::move(help));
}

/// Step by step; what a step needs of the ones before is a member.
class Planner {
public:
    explicit Planner(const TuneOptions& options) : options_(options) {}

    Result<Plan> plan() {
        for (auto step : {&Planner::read_spec, &Planner::choose_configurations, &Planner::add_reference, &Planner::place_them})
            if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
        return std::move(plan_);
    }

private:
    using Step = Result<void>;

    Step read_spec() {
        std::vector<std::vector<std::string>> table;
        if (!options_.configurations.empty()) {
            auto read = read_table(options_.configurations);
            if (!read) return tl::unexpected(read.error());
            table = std::move(*read);
        }
        InputLimits limits;
        limits.max_file_bytes = 64ULL << 20;
        const auto file = FileBytes::open(options_.spec, limits);
        if (!file) return tl::unexpected(file.error());
        const std::string_view text = file->view();
        const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
        const bool json = first != std::string_view::npos && text[first] == '{';
        auto spec = json ? read_t1(std::string(text), options_.spec, table, options_) : spec_of_options(options_, table);
        if (!spec) return tl::unexpected(spec.error());
        plan_.spec = std::move(*spec);
        if (!options_.block.empty()) {
            auto block = block_of_option(options_.block, plan_.spec.space);
            if (!block) return tl::unexpected(block.error());
            plan_.spec.block = std::move(*block);
        }
        if (!options_.configurations.empty()) {
            auto named = configurations_of(plan_.spec.space, table, options_.configurations);
            if (!named) return tl::unexpected(named.error());
            plan_.configurations = std::move(*named);
        }
        return {};
    }

    Step choose_configurations() {
        plan_.configurations.width = plan_.spec.space.parameters().size();
        if (!options_.configurations.empty()) return {};
        const auto count = plan_.spec.space.count();
        if (!count) return tl::unexpected(count.error());
        plan_.space_size = count->exact;
        plan_.space_product = count->product;
        auto chosen = options_.sample ? plan_.spec.space.sample(*options_.sample, options_.seed) : plan_.spec.space.all(options_.most);
        if (!chosen) {
            Diagnostic d = chosen.error();
            if (d.file.empty()) d.file = options_.spec;
            return tl::unexpected(std::move(d));
        }
        plan_.configurations = std::move(*chosen);
        if (options_.sample) plan_.sampled = plan_.configurations.size();
        if (plan_.configurations.size() == 0) return tl::unexpected(wrong_in(options_.spec, "FF0847", "no configuration satisfies the conditions"));
        return {};
    }

    Step place_them() {
        plan_.geometries.reserve(plan_.configurations.size());
        for (std::size_t i = 0; i < plan_.configurations.size(); ++i) {
            if (options_.list_only && !plan_.spec.problem_size && !plan_.spec.block[0]) break;
            auto geometry = geometry_of(plan_.spec, plan_.configurations[i]);
            if (!geometry) return tl::unexpected(geometry.error());
            if (geometry->obstacle.empty() && !options_.configurations.empty()) {
                const auto allowed = plan_.spec.space.allows(plan_.configurations[i]);
                if (!allowed) return tl::unexpected(allowed.error());
                if (!*allowed) geometry->obstacle = "the space's conditions leave it out";
            }
            if (options_.analyze.launch.grid || options_.analyze.launch.work || std::any_of(std::begin(options_.analyze.launch.grid_expression), std::end(options_.analyze.launch.grid_expression), [](const auto& e) { return e.has_value(); }))
                geometry->grid.reset();   // the command line's rule goes before the file's
            plan_.geometries.push_back(std::move(*geometry));
        }
        return {};
    }

    /// --reference PARAM=VALUE,...: the rest by the file's defaults, or as the only value there is.
    Step add_reference() {
        if (options_.reference.empty()) return {};
        const auto& parameters = plan_.spec.space.parameters();
        std::vector<std::uint16_t> c(parameters.size());
        std::vector<bool> given(parameters.size());
        const auto set = [&](std::size_t p, const Value& v) {
            const auto found = std::find_if(parameters[p].values.begin(), parameters[p].values.end(), [&](const Value& o) { return equal(o, v); });
            if (found == parameters[p].values.end()) return false;
            c[p] = static_cast<std::uint16_t>(found - parameters[p].values.begin());
            given[p] = true;
            return true;
        };
        std::string_view rest = options_.reference;
        while (!rest.empty()) {
            const std::string_view part = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(rest.size(), part.size() + 1));
            const std::size_t equals = part.find('=');
            const auto p = equals == std::string_view::npos ? std::nullopt : plan_.spec.space.find(part.substr(0, equals));
            if (!p) return tl::unexpected(usage("FF0788", "--reference", fmt::format("'{}' is not PARAM=VALUE of a tuning parameter", part), known_parameters()));
            if (!set(*p, value_of_text(std::string(part.substr(equals + 1)))))
                return tl::unexpected(usage("FF0788", "--reference", fmt::format("'{}' is none of the values of '{}'", part.substr(equals + 1), parameters[*p].name)));
        }
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            if (given[p]) continue;
            if (parameters[p].values.size() == 1) c[p] = 0;
            else if (!plan_.spec.defaults[p] || !set(p, *plan_.spec.defaults[p]))
                return tl::unexpected(usage("FF0788", "--reference", fmt::format("the value of '{}' is missing", parameters[p].name), "every parameter that has several values and no default is named"));
        }
        for (std::size_t i = 0; i < plan_.configurations.size() && !plan_.reference; ++i)
            if (std::equal(c.begin(), c.end(), plan_.configurations[i])) plan_.reference = i;
        if (plan_.reference) return {};
        const auto allowed = plan_.spec.space.allows(c.data());
        if (!allowed) return tl::unexpected(allowed.error());
        if (!*allowed) return tl::unexpected(usage("FF0788", "--reference", "the space's conditions leave this configuration out"));
        plan_.reference = plan_.configurations.size();
        plan_.configurations.add(c.data());
        return {};
    }

    std::string known_parameters() const {
        std::vector<std::string> names;
        for (const Parameter& p : plan_.spec.space.parameters()) names.push_back(p.name);
        return "the parameters are " + advise::list_some(names, 12);
    }

    const TuneOptions& options_;
    Plan plan_;
};

}  // namespace

Diagnostic wrong_in(const std::string& file, const char* id, std::string message, std::string help) {
    Diagnostic d;
    d.id = id;
    d.file = file;
    d.message = std::move(message);
    d.help = std::move(help);
    return d;
}

Result<Plan> make_plan(const TuneOptions& options) { return Planner(options).plan(); }

}  // namespace flipflop::tuning
