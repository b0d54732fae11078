#include "subject.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "candidates.hpp"
#include "complaints.hpp"
#include "passes/source_lines.hpp"
#include "policy.hpp"

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
Dim3 assumed_work(const KernelCode& code, const BoundArguments& arguments, std::vector<Assumption>& assumptions) {
    const Dim3 standard = default_work(code.facts.dimensions);
    std::uint32_t extent[3]{standard.x, standard.y, standard.z};
    std::string from;
    for (int axis = 0; axis < std::min(3, code.facts.dimensions); ++axis)
        if (const auto given = given_extent(code.facts, arguments, axis)) {
            extent[axis] = static_cast<std::uint32_t>(*given);
            from += fmt::format("{}{}", from.empty() ? "" : ", ", "xyz"[axis]);
        }
    const Dim3 work{extent[0], extent[1], extent[2]};
    assumptions.push_back({"work", fmt::format("{} threads", words_of(work)),
                           from.empty() ? fmt::format("no grid, work or guard argument was given{}", code.facts.reads_grid_size ? "; the code reads the grid's size: where it steps over its data with the grid, give --grid or --grid-x 'gpu.sms * blocks_per_sm'" : "") : fmt::format("the argument compared with the global index ({}) tells it", from),
                           "time, energy, waves and which block is best"});
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
            if (code.facts.parameters[*index].kind == ParameterKind::pointer) subject.parameter_data[static_cast<std::uint32_t>(*index)] = request.data;
            else why = fmt::format("parameter '{}' is no pointer", request.name);
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

Result<Requests> read_requests(const LaunchOptions& options) {
    Requests requests;
    requests.options = options;
    if (auto r = check_blocks(options); !r) return tl::unexpected(r.error());
    for (const std::string& text : options.args) {
        auto request = parse_argument(text);
        if (!request) return tl::unexpected(request.error());
        requests.arguments.push_back(std::move(*request));
    }
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

Subject make_subject(const KernelCode& code, const Requests& requests, const std::vector<ArgumentRequest>& extra, std::optional<Dim3> work) {
    Subject subject;
    const LaunchOptions& options = requests.options;
    std::vector<ArgumentRequest> all = requests.arguments;
    all.insert(all.end(), extra.begin(), extra.end());
    subject.arguments = bind_arguments(code.facts, all, requests.arguments.size());
    subject.policy = requests.policy;
    // A place given as file:line is turned into the loop's id, which is what the evaluator goes by.
    for (const auto& [location, trips] : requests.policy.trips)
        for (const LoopDescription& loop : code.facts.loops)
            if (names_loop(location, loop)) subject.policy.trips[loop.id] = trips;
    subject.rule = requests.rule;
    subject.dynamic_smem = requests.dynamic_smem;
    subject.cluster = options.cluster ? options.cluster : code.facts.bounds.cluster;
    subject.reference = options.current.value_or(reference_block(code.facts, options.ignore_launch_bounds));
    subject.reference_given = options.current.has_value();
    subject.reference_basis = subject.reference_given ? "given" : code.facts.bounds.required_block ? "required" : "assumed";
    if (subject.rule.assumed || work) {
        const Dim3 threads = work ? *work : assumed_work(code, subject.arguments, subject.assumptions);
        set_work(subject.rule, threads);
    }
    std::uint64_t extents[3]{1, 1, 1};
    extents_of(subject.rule, subject.reference, extents);
    assume_the_rest(code.facts, extents, subject.rule.work ? words_of(*subject.rule.work) + " threads" : "grid x block of the reference", subject.arguments);
    subject.assumptions.insert(subject.assumptions.end(), subject.arguments.assumptions.begin(), subject.arguments.assumptions.end());
    add_argument_names(code.facts, subject.arguments, subject.names);
    bind_data(code, requests, subject);
    fit_branches(code, requests, subject);
    return subject;
}

FitBook::FitBook(const Requests& requests, std::size_t kernels) : requests_(requests) {
    const auto add = [&](const char* option, const std::string& text) {
        entries_.push_back({option, text, std::vector<std::string>(kernels), std::vector<std::string>(kernels)});
    };
    for (const ArgumentRequest& request : requests.arguments) add("--arg", request.text);
    for (const DataRequest& request : requests.data) add("--data", request.text);
    for (const auto& [location, trips] : requests.policy.trips) add("--trips", location);
    for (const auto& [location, probability] : requests.policy.taken) add("--taken", location);
}

void FitBook::record(std::size_t kernel, const std::string& name, const Subject& subject, const std::vector<LoopDescription>& loops) {
    const std::size_t arguments = requests_.arguments.size(), data = arguments + requests_.data.size(), trips = data + requests_.policy.trips.size();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        entry.names[kernel] = name;
        if (i < arguments) entry.why[kernel] = subject.arguments.misfits[i];
        else if (i < data) entry.why[kernel] = subject.data_misfits[i - arguments];
        else if (i >= trips) entry.why[kernel] = subject.taken_misfits[i - trips];
        else if (std::none_of(loops.begin(), loops.end(), [&](const LoopDescription& l) { return names_loop(entry.text, l); }))
            entry.why[kernel] = fmt::format("no loop is at '{}'", entry.text);
    }
}

std::optional<Diagnostic> FitBook::misfit() const {
    for (const Entry& entry : entries_) {
        if (entry.why.empty() || std::any_of(entry.why.begin(), entry.why.end(), [](const std::string& w) { return w.empty(); })) continue;
        const std::string where = entry.why.size() == 1 ? "the kernel" : "any of the kernels";
        Diagnostic d = complain(entry.option == "--arg" ? "FF0711" : entry.option == "--data" ? "FF0723" : "FF0731", entry.option,
                                fmt::format("'{}' does not fit {}: {}", entry.text, where, entry.why.front()));
        d.help = "flipflop inspect shows each kernel's parameters and loops";
        return d;
    }
    return std::nullopt;
}

std::vector<Diagnostic> FitBook::notes() const {
    std::vector<Diagnostic> notes;
    for (const Entry& entry : entries_) {
        std::vector<std::string> missed;
        std::string first;
        for (std::size_t i = 0; i < entry.why.size(); ++i) {
            if (entry.why[i].empty()) continue;
            missed.push_back(entry.names[i]);
            if (first.empty()) first = entry.why[i];
        }
        if (missed.empty()) continue;
        Diagnostic d = complain("FF0712", entry.option, fmt::format("'{}' does not apply to {} ({})", entry.text, list_some(missed, 4), first));
        d.severity = Severity::note;
        notes.push_back(std::move(d));
    }
    return notes;
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

std::shared_ptr<const LaunchFacts> FactsBook::facts(Dim3 b, Dim3 g, std::uint64_t dynamic_shared_bytes, std::optional<double> taken) {
    const std::vector<std::uint64_t> key{b.x, b.y, b.z, g.x, g.y, g.z, dynamic_shared_bytes, taken ? std::bit_cast<std::uint64_t>(*taken) : ~std::uint64_t{0}};
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
    auto facts = std::make_shared<const LaunchFacts>(evaluator_.evaluate(*mine, budget_));
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

std::shared_ptr<const LaunchFacts> FactsBook::facts_settling(Dim3 b, Dim3 g, std::uint64_t& settled) {
    constexpr std::uint64_t most = 232448;      // what any GPU of today gives a block: room for all that it may store
    auto first = facts(b, g, most);
    settled = (first->dynamic_shared_touched.value_or(0) + 15) / 16 * 16;
    const std::lock_guard lock(mutex_);
    if (!reads_shared_size_) reads_shared_size_ = reads_shared_size(code_);
    if (!*reads_shared_size_) known_.emplace(std::vector<std::uint64_t>{b.x, b.y, b.z, g.x, g.y, g.z, settled, ~std::uint64_t{0}}, first);
    return first;
}

SafetyVerdict FactsBook::verdict(const Launch& reference, const Launch& candidate) {
    std::shared_ptr<const ReblockingJudge> judge;
    {
        const std::lock_guard lock(judging_);    // one follows the reference, the others wait for it
        for (const Judge& j : judges_)
            if (j.block == reference.block && j.grid == reference.grid && j.dynamic_shared_bytes == reference.dynamic_shared_bytes) judge = j.judge;
        if (!judge) {
            judge = std::make_shared<const ReblockingJudge>(code_, reference, !subject_.reference_given);
            judges_.push_back({reference.block, reference.grid, reference.dynamic_shared_bytes, judge});
        }
    }
    return judge->judge(candidate);
}

}  // namespace flipflop::advise
