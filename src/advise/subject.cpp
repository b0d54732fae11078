#include "subject.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "candidates.hpp"
#include "complaints.hpp"
#include "data_reads.hpp"
#include "launches_file.hpp"
#include "passes/source_lines.hpp"
#include "policy.hpp"
#include "program_extent.hpp"

namespace flipflop::advise {

namespace {

Result<void> check_blocks(const LaunchOptions& options) {
    const auto zero = [](Dim3 b) { return b.x == 0 || b.y == 0 || b.z == 0; };
    const auto complain_zero = [](const char* option) {
        return tl::unexpected(complain("FF0750", option, "a block of 0 threads cannot be launched", "every axis takes 1 or more"));
    };
    for (const Dim3& block : options.blocks)
        if (zero(block)) return complain_zero("--block");
    if (options.current && zero(*options.current)) return complain_zero("--current");
    if (options.cluster && zero(*options.cluster)) return complain_zero("--cluster");
    if (options.current_grid && !options.current)
        return tl::unexpected(complain("FF0751", "--current-grid", "--current-grid needs --current: the block that the grid is of"));
    if (options.carveout_percent && *options.carveout_percent > 100)
        return tl::unexpected(complain("FF0753", "--carveout", fmt::format("{} is not a percentage from 0 to 100", *options.carveout_percent)));
    return {};
}

/// The work of an assumed rule: a given argument that guards an axis tells its extent; else the contract's default.
/// `programs`: of a kernel whose blocks are programs, what each covers; else null.
Dim3 assumed_work(const KernelCode& code, const BoundArguments& arguments, const ProgramExtents* programs, std::vector<Assumption>& assumptions) {
    const Dim3 standard = default_work(code.facts.dimensions);
    std::uint32_t extent[3]{standard.x, standard.y, standard.z};
    std::string from;
    for (int axis = 0; axis < std::min(3, code.facts.dimensions); ++axis)
        if (const auto given = given_extent(code.facts, arguments, axis)) {
            extent[axis] = static_cast<std::uint32_t>(*given);
            from += fmt::format("{}{}", from.empty() ? "" : ", ", "xyz"[axis]);
        }
    const Dim3 work{extent[0], extent[1], extent[2]};
    // Told on every axis: not for certain, but another value would speak against what was given.
    const bool told = std::count(from.begin(), from.end(), ',') + 1 == std::clamp(code.facts.dimensions, 1, 3) && !from.empty();
    const bool covers = programs && programs->covers(code.facts.dimensions);
    if (covers)
        assumptions.push_back({"elements of a program", programs->words(), "what its code multiplies the program's id by; the grid is the work over that", std::nullopt});
    else if (programs)
        assumptions.push_back({kProgramsAssumption, "as many as a thread each would need", "how many elements a program covers does not show in its code, and no grid was given: --grid-x EXPR, with --variant-table FILE.csv for what was compiled in",
                               "time, energy, waves and which variant is best"});
    assumptions.push_back({"work", fmt::format("{} {}", words_of(work), covers ? "elements" : "threads"),
                           from.empty() ? fmt::format("no grid, work or guard argument was given{}", code.facts.reads_grid_size ? "; the code reads the grid's size: where it steps over its data with the grid, give --grid or --grid-x 'gpu.sms * blocks_per_sm'" : "") : fmt::format("the argument compared with the global index ({}) tells it", from),
                           told ? std::nullopt : std::optional<std::string>("time, energy, waves and which block is best")});
    return work;
}

/// Threads on each axis: of the work, or of the reference launch under a rule that is not work.
void extents_of(const GridRule& rule, Dim3 reference, std::uint64_t (&extents)[3]) {
    const std::uint32_t block[3]{reference.x, reference.y, reference.z};
    for (std::size_t i = 0; i < 3; ++i) {
        const AxisRule& axis = rule.axis[i];
        extents[i] = axis.kind == AxisRule::Kind::fixed ? axis.number * block[i] : axis.number;
        if (axis.kind == AxisRule::Kind::expression) {
            const Dim3 work = rule.work.value_or(default_work(1));   // what the rule makes of it depends on the block
            extents[i] = i == 0 ? work.x : i == 1 ? work.y : work.z;
        }
    }
}

void bind_data(const KernelCode& code, const Requests& requests, Subject& subject) {
    for (const DataRequest& request : requests.data) {
        std::string why;
        if (const auto index = find_parameter(code.facts, request.name)) {
            if (code.facts.parameters[*index].kind == ParameterKind::pointer) why = data_misfit(code, static_cast<std::uint32_t>(*index), request);
            if (why.empty() && code.facts.parameters[*index].kind == ParameterKind::pointer) subject.parameter_data[static_cast<std::uint32_t>(*index)] = request.data;
            else if (why.empty()) why = fmt::format("parameter '{}' is no pointer", request.name);
        } else {
            const auto& symbols = code.functions.front().ir.module->symbols;
            const bool found = std::any_of(symbols.begin(), symbols.end(), [&](const ptx::Symbol& s) {
                return s.name == request.name && s.kind == ptx::Symbol::Kind::variable && (s.space == ptx::Space::constant || s.space == ptx::Space::global);
            });
            if (found) subject.symbol_data[request.name] = request.data;
            else why = fmt::format("there is no parameter and no .const or .global symbol '{}'", request.name);
        }
        subject.data_misfits.push_back(std::move(why));
    }
}

/// Is there a conditional branch at each place of --taken?
void fit_branches(const KernelCode& code, const Requests& requests, Subject& subject) {
    for (const auto& [place, probability] : requests.policy.taken) {
        bool found = false;
        for (const FunctionCode& function : code.functions) {
            const ptx::Module& module = *function.ir.module;
            for (const ptx::Instruction& i : function.ir.function->instructions) {
                if (found || i.guard == ptx::RegId::none) continue;
                const auto names = place_names(module, i);
                found = std::find(names.begin(), names.end(), place) != names.end();
            }
        }
        subject.taken_misfits.push_back(found ? "" : fmt::format("no branch is at '{}'", place));
    }
}

}  // namespace

namespace {

Result<Requests> read_all(const LaunchOptions& options) {
    Requests requests;
    requests.options = options;
    if (auto r = check_blocks(options); !r) return tl::unexpected(r.error());
    for (const std::string& text : options.args) {
        auto request = parse_argument(text);
        if (!request) return tl::unexpected(request.error());
        request->level = requests.arguments.size() < options.file_args ? ArgumentLevel::file : ArgumentLevel::command;
        requests.arguments.push_back(std::move(*request));
    }
    if (auto r = refuse_repeated(requests.arguments, "--arg"); !r) return tl::unexpected(r.error());
    auto cases = read_cases(options);
    if (!cases) return tl::unexpected(cases.error());
    requests.cases = std::move(*cases);
    auto rule = read_grid_rule(options);
    if (!rule) return tl::unexpected(rule.error());
    requests.rule = std::move(*rule);
    auto policy = read_policy(options);
    if (!policy) return tl::unexpected(policy.error());
    requests.policy = std::move(*policy);
    if (options.dynamic_smem) {
        auto expression = Expression::parse(*options.dynamic_smem, "--dynamic-smem");
        if (!expression) return tl::unexpected(expression.error());
        requests.dynamic_smem = std::move(*expression);
    }
    for (const std::string& text : options.data) {
        auto data = read_data(text);
        if (!data) return tl::unexpected(data.error());
        requests.data.push_back(std::move(*data));
    }
    return requests;
}

/// The work of a rule that leaves it to an expression over the arguments. Only given ones count: an assumed one would make
/// the whole launch an assumption, quietly.
std::optional<Diagnostic> settle_work(const KernelCode& code, const BoundArguments& arguments, const Requests& requests, GridRule& rule) {
    Names given = requests.names;
    add_argument_names(code.facts, arguments, given, /*given_only=*/true);
    std::uint32_t extent[3]{1, 1, 1};
    bool any = false;
    for (std::size_t i = 0; i < 3; ++i) {
        AxisRule& axis = rule.axis[i];
        if (axis.kind == AxisRule::Kind::work && axis.expression) {
            add_field_names(code.facts, arguments, requests.fields, *axis.expression, given, /*given_only=*/true);
            const auto threads = axis.expression->evaluate_count(given, 1);
            if (!threads) {
                Diagnostic error = threads.error();
                if (error.id == "FF0742") {
                    Names all;
                    add_argument_names(code.facts, arguments, all, /*given_only=*/false, /*whatever=*/true);
                    add_field_names(code.facts, arguments, requests.fields, *axis.expression, all, /*given_only=*/false, /*whatever=*/true);
                    const auto name = std::find_if(all.begin(), all.end(), [&](const auto& n) { return error.message.find("'" + n.first + "'") != std::string::npos; });
                    if (name != all.end()) error.help = fmt::format("{} is {}, and no value is given for it: --arg {}=VALUE", name->first, name->first.find_first_of(".+") == std::string::npos ? "a parameter" : "a field of one", name->first);
                }
                return error;
            }
            if (*threads > 0xffffffffu) return complain_at("FF0744", "--work", axis.expression->text(), 1, fmt::format("{} threads on an axis are too many", *threads));
            axis.number = *threads;
            any = true;
        }
        if (axis.kind == AxisRule::Kind::work) extent[i] = static_cast<std::uint32_t>(axis.number);
    }
    if (any) rule.work = Dim3{extent[0], extent[1], extent[2]};
    return std::nullopt;
}

}  // namespace

Result<Requests> read_requests(const LaunchOptions& options) {
    auto requests = read_all(options);
    if (!requests) return tl::unexpected(at_origin(requests.error(), options.origins));
    return requests;
}

Subject make_subject(const KernelCode& code, const Requests& requests, const Case* chosen, const std::vector<ArgumentRequest>& extra, std::optional<Dim3> work) {
    Subject subject;
    const LaunchOptions& options = requests.options;
    std::vector<ArgumentRequest> all = requests.arguments;
    if (chosen) all.insert(all.end(), chosen->arguments.begin(), chosen->arguments.end());
    all.insert(all.end(), extra.begin(), extra.end());
    use_field_names(requests.fields, all);
    subject.fields = requests.fields;
    subject.chosen = chosen;
    subject.arguments = bind_arguments(code.facts, all);
    subject.policy = requests.policy;
    // A place given as file:line is turned into the loop's id, which is what the evaluator goes by.
    for (const auto& [location, trips] : requests.policy.trips) {
        bool found = false;
        for (const LoopDescription& loop : code.facts.loops) {
            if (!names_loop(location, loop, code.facts.module)) continue;
            subject.policy.trips[loop.id] = trips;
            found = true;
        }
        subject.trips_misfits.push_back(found ? "" : fmt::format("no loop is at '{}'", location));
    }
    subject.rule = requests.rule;
    subject.dynamic_smem = requests.dynamic_smem;
    subject.cluster = options.cluster ? options.cluster : code.facts.bounds.cluster;
    subject.reference = options.current.value_or(reference_block(code.facts, options.ignore_launch_bounds));
    subject.reference_given = options.current.has_value();
    subject.reference_basis = subject.reference_given ? "given" : code.facts.bounds.required_block ? "required" : "assumed";
    if (chosen) apply_grid(*chosen, subject.rule);
    if (auto broken = settle_work(code, subject.arguments, requests, subject.rule)) subject.broken = at_origin(std::move(*broken), options.origins);
    if (subject.rule.assumed || work) {
        const ProgramExtents extents = requests.programs && subject.rule.assumed ? program_extents(code) : ProgramExtents{};
        const Dim3 threads = work ? *work : assumed_work(code, subject.arguments, requests.programs ? &extents : nullptr, subject.assumptions);
        set_work(subject.rule, threads, extents);
    }
    std::uint64_t extents[3]{1, 1, 1};
    extents_of(subject.rule, subject.reference, extents);
    assume_the_rest(code.facts, extents, subject.rule.work ? words_of(*subject.rule.work) + " threads" : "grid x block of the reference", subject.arguments, requests.fields);
    subject.assumptions.insert(subject.assumptions.end(), subject.arguments.assumptions.begin(), subject.arguments.assumptions.end());
    subject.names = requests.names;
    add_argument_names(code.facts, subject.arguments, subject.names);
    for (const AxisRule& axis : subject.rule.axis)
        if (axis.expression) add_field_names(code.facts, subject.arguments, requests.fields, *axis.expression, subject.names);
    if (subject.dynamic_smem) add_field_names(code.facts, subject.arguments, requests.fields, *subject.dynamic_smem, subject.names);
    bind_data(code, requests, subject);
    fit_branches(code, requests, subject);
    return subject;
}

Launch FactsBook::launch(Dim3 block, Dim3 grid, std::uint64_t dynamic_shared_bytes) const {
    Launch launch;
    launch.block = block;
    launch.grid = grid;
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.cluster = subject_.cluster;
    launch.arguments = subject_.arguments.values;
    launch.parameter_data = subject_.parameter_data;
    launch.symbol_data = subject_.symbol_data;
    launch.policy = subject_.policy;
    return launch;
}

std::shared_ptr<const LaunchFacts> FactsBook::facts(Dim3 b, Dim3 g, std::uint64_t dynamic_shared_bytes, std::optional<double> taken, std::optional<std::uint64_t> budget) {
    if (!budget) budget = budget_;
    const std::vector<std::uint64_t> key{b.x, b.y, b.z, g.x, g.y, g.z, dynamic_shared_bytes, taken ? std::bit_cast<std::uint64_t>(*taken) : ~std::uint64_t{0}, budget.value_or(0)};
    std::unique_ptr<Launch> mine;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
        if (!idle_.empty()) {
            mine = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (!mine) mine = std::make_unique<Launch>(launch(b, g, dynamic_shared_bytes));
    mine->block = b;
    mine->grid = g;
    mine->dynamic_shared_bytes = dynamic_shared_bytes;
    mine->policy.taken_probability = taken ? taken : subject_.policy.taken_probability;
    auto facts = std::make_shared<const LaunchFacts>(evaluator_.evaluate(*mine, budget));
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(mine));
    return known_.emplace(key, std::move(facts)).first->second;
}

namespace {

/// Does the code read %dynamic_smem_size or its like?
bool reads_shared_size(const KernelCode& code) {
    const auto asks = [](const ptx::Operand& o) {
        if (o.kind != ptx::OperandKind::special) return false;
        const auto which = static_cast<ptx::Special>(o.index);
        return which == ptx::Special::dynamic_smem_size || which == ptx::Special::total_smem_size || which == ptx::Special::aggr_smem_size;
    };
    for (const FunctionCode& f : code.functions)
        for (const ptx::Instruction& i : f.ir.function->instructions)
            for (const ptx::Operand& o : f.ir.module->operands_of(i))
                if (asks(o)) return true;
    return false;
}

}  // namespace

std::shared_ptr<const LaunchFacts> FactsBook::facts_settling(Dim3 b, Dim3 g, std::uint64_t& settled, std::optional<std::uint64_t> budget) {
    constexpr std::uint64_t most = 232448;      // what any GPU of today gives a block: room for all that it may store
    if (!budget) budget = budget_;
    auto first = facts(b, g, most, {}, budget);
    settled = (first->dynamic_shared_touched.value_or(0) + 15) / 16 * 16;
    const std::lock_guard lock(mutex_);
    if (!reads_shared_size_) reads_shared_size_ = reads_shared_size(code_);
    if (!*reads_shared_size_) known_.emplace(std::vector<std::uint64_t>{b.x, b.y, b.z, g.x, g.y, g.z, settled, ~std::uint64_t{0}, budget.value_or(0)}, first);
    return first;
}

SafetyVerdict FactsBook::verdict(const Launch& reference, const Launch& candidate, VerdictWork& work) {
    if (work.left == std::uint64_t{0}) return {std::nullopt, "not followed: the verdicts of this search had reached their work limit"};
    std::shared_ptr<const ReblockingJudge> judge;
    {
        const std::lock_guard lock(judging_);    // one follows the reference, the others wait for it
        for (const Judge& j : judges_)
            if (j.block == reference.block && j.grid == reference.grid && j.dynamic_shared_bytes == reference.dynamic_shared_bytes) judge = j.judge;
        if (!judge) {
            judge = std::make_shared<const ReblockingJudge>(code_, reference, !subject_.reference_given, verdict_budget(kVerdictOfBudget));
            judges_.push_back({reference.block, reference.grid, reference.dynamic_shared_bytes, judge});
        }
    }
    const SafetyVerdict verdict = judge->judge(candidate, work.left);
    if (work.left) {
        const std::uint64_t spent = verdict.steps + (work.reference_counted ? 0 : judge->reference_steps());
        work.left = *work.left - std::min(spent, *work.left);
        work.reference_counted = true;
    }
    return verdict;
}

}  // namespace flipflop::advise
