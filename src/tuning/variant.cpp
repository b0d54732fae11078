#include "tuning/variant.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "advise/candidates.hpp"
#include "advise/compile.hpp"
#include "advise/complaints.hpp"
#include "advise/select_kernels.hpp"
#include "passes/names.hpp"
#include "tuning/arguments.hpp"

namespace flipflop::tuning {

namespace {

using advise::KernelName;

tl::unexpected<Failure> failed(std::string stage, std::string message) { return tl::unexpected(Failure{std::move(stage), std::move(message)}); }

std::string listed(const std::vector<KernelName>& names) {
    std::vector<std::string> words;
    for (const KernelName& n : names) words.push_back(n.demangled);
    return advise::list_some(words, 6);
}

/// Index of the kernel that is meant among those that are there.
tl::expected<std::size_t, std::string> pick(const Bench& bench, const std::vector<KernelName>& names) {
    if (names.empty()) return tl::unexpected(std::string("there is no kernel in what was compiled"));
    const std::vector<std::string>& patterns = bench.options->analyze.launch.kernels;
    if (!patterns.empty()) {
        const auto chosen = advise::select_kernels(names, patterns);
        if (!chosen) return tl::unexpected(chosen.error().message);
        if (chosen->size() == 1) return chosen->front();
        return tl::unexpected(fmt::format("--kernel selects {} kernels; one is tuned at a time", chosen->size()));
    }
    const std::string& wanted = bench.spec->kernel;
    if (wanted.empty()) {
        if (names.size() == 1) return std::size_t{0};
        return tl::unexpected(fmt::format("there are {} kernels ({}); --kernel names the one that is tuned", names.size(), listed(names)));
    }
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string bare = advise::bare_name(names[i].demangled);
        const std::string last = bare.substr(bare.rfind(':') == std::string::npos ? 0 : bare.rfind(':') + 1);
        if (names[i].name == wanted || names[i].demangled == wanted || bare == wanted || last == wanted) found.push_back(i);
    }
    if (found.size() == 1) return found.front();
    return tl::unexpected(found.empty() ? fmt::format("there is no kernel '{}' (there is {})", wanted, listed(names)) : fmt::format("'{}' is the name of {} kernels", wanted, found.size()));
}

/// Numbers among the parameters are names in --grid-x and --dynamic-smem.
void add_parameter_names(const Space& space, const std::uint16_t* configuration, advise::Names& names) {
    for (std::size_t p = 0; p < space.parameters().size(); ++p) {
        const Value& v = space.parameters()[p].values[configuration[p]];
        if (v.whole()) names.insert_or_assign(space.parameters()[p].name, advise::Number{v.integer});
        else if (v.kind == Value::Kind::real) names.insert_or_assign(space.parameters()[p].name, advise::Number{v.real});
    }
}

std::optional<Dim3> problem_of(const Spec& spec, const std::uint16_t* configuration) {
    if (!spec.problem_size) return std::nullopt;
    std::uint32_t sizes[3]{1, 1, 1};
    for (std::size_t i = 0; i < spec.problem_size->size(); ++i) {
        std::vector<const Value*> values;
        spec.space.values_for((*spec.problem_size)[i], configuration, values);
        const auto v = (*spec.problem_size)[i].evaluate(values);
        if (!v || !v->number() || v->as_real() < 1 || v->as_real() > 0x7fffffff) return std::nullopt;
        sizes[i] = static_cast<std::uint32_t>(v->as_real());
    }
    return Dim3{sizes[0], sizes[1], sizes[2]};
}

/// ptxas's answer, kept by content; empty where there is none, with the reason where it failed.
std::optional<PtxasKernel> ptxas_on(const Bench& bench, const Prepared& prepared, const std::string& architecture, std::string& trouble) {
    if (!bench.ptxas || bench.ptxas_timeouts >= kMostTimeouts) return std::nullopt;
    const std::string& name = prepared.code.facts.name;
    const auto report = run_ptxas(*bench.ptxas, *prepared.text, architecture, name, *bench.cache);
    if (!report) {
        if (report.error().id == "FF0603") ++bench.ptxas_timeouts;
        // A ptxas that took too long or crashed says nothing of the code: then the estimate stands.
        if (report.error().id == "FF0604" && report.error().message.find("error") != std::string::npos) trouble = report.error().message;
        return std::nullopt;
    }
    const PtxasKernel* const found = find_kernel(*report, name, architecture);
    return found ? std::optional(*found) : std::nullopt;
}

}  // namespace

tl::expected<std::unique_ptr<Prepared>, Failure> prepare(const Bench& bench, std::string ptx, const std::uint16_t* configuration, const Geometry& geometry) {
    auto out = std::make_unique<Prepared>();
    out->text = std::make_shared<const std::string>(std::move(ptx));
    out->parsed = std::make_unique<ptx::ParseResult>(ptx::parse(out->text, bench.spec->source));
    struct Place { const ptx::Module* module; std::uint32_t entry; };
    std::vector<KernelName> names;
    std::vector<Place> places;
    for (const ptx::Module& module : out->parsed->modules)
        for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
            const ptx::Function& function = module.functions[f];
            if (!function.is_entry || !function.has_body) continue;
            const std::string name(function.name);
            names.push_back({name, demangle(name), kernel_id(name)});
            places.push_back({&module, f});
        }
    // What is wrong with a compiler's PTX is mostly that it asks for too much, such as 64 KiB of static shared memory.
    for (const Diagnostic& d : out->parsed->diagnostics)
        if (d.severity == Severity::error) return failed("compile", fmt::format("its PTX cannot be used: {}", d.message));
    const auto chosen = pick(bench, names);
    if (!chosen) return failed("compile", chosen.error());
    out->module = places[*chosen].module;
    out->code = analyse_kernel(*out->module, places[*chosen].entry);
    auto file = bind_file(*bench.spec, out->code.facts.parameters.size());
    if (!file) return failed("launch", file.error());
    advise::Requests requests = bench.requests;
    for (advise::ArgumentRequest& argument : file->arguments) argument.level = advise::ArgumentLevel::file;   // the command line overrides them
    requests.arguments.insert(requests.arguments.begin(), std::make_move_iterator(file->arguments.begin()), std::make_move_iterator(file->arguments.end()));
    for (advise::DataRequest& d : file->data) {
        // A symbol may be left out by the compiler; then its contents matter to nobody.
        requests.data.insert(requests.data.begin(), std::move(d));
    }
    out->subject = advise::make_subject(out->code, requests, nullptr, {}, problem_of(*bench.spec, configuration));
    add_parameter_names(bench.spec->space, configuration, out->subject.names);
    std::uint64_t shared = file->local_bytes + geometry.shared_bytes.value_or(0);
    if (!out->subject.dynamic_smem && (geometry.shared_bytes || file->local_bytes > 0))
        if (auto e = advise::Expression::parse(std::to_string(shared), "SharedMemory")) out->subject.dynamic_smem = std::move(*e);
    out->assumptions = out->subject.assumptions;
    return out;
}

Launch launch_of(const Prepared& prepared, const Placed& placed) {
    const advise::Subject& s = prepared.subject;
    Launch launch;
    launch.block = placed.block;
    launch.grid = placed.grid;
    launch.dynamic_shared_bytes = placed.dynamic_shared_bytes;
    launch.cluster = s.cluster;
    launch.arguments = s.arguments.values;
    launch.parameter_data = s.parameter_data;
    launch.symbol_data = s.symbol_data;
    launch.policy = s.policy;
    return launch;
}

void evaluate(const Bench& bench, const Prepared& prepared, const Geometry& geometry, std::size_t gpu, TuneRow& row, std::optional<Placed>& placed) {
    const GpuProfile& profile = bench.gpus[gpu];
    const ptx::Module& module = *prepared.module;
    const std::string architecture = fmt::format("sm_{}{}", profile.cc.major, profile.cc.minor);
    Resources resources = prepared.code.facts.resources;
    std::string trouble;
    const auto measured = ptxas_on(bench, prepared, architecture, trouble);
    if (!measured || !measured->registers) estimate_registers(prepared.code, static_cast<std::uint32_t>(profile.cc.major * 10 + profile.cc.minor), resources);
    if (measured) resources = refine(resources, *measured);
    if (!trouble.empty()) {
        // What ptxas refuses, no driver runs: too much shared memory, an instruction that the GPU lacks.
        row.error = trouble;
        row.error_stage = "compile";
        return;
    }
    const Evaluator evaluator(prepared.code);
    advise::FactsBook book(prepared.code, evaluator, prepared.subject, advise::kSearchBudget);
    CodeChoice code = advise::choose_code({}, module, prepared.code.facts.name, profile.cc);
    const advise::Stage stage{&book, &profile, &bench.models[gpu], bench.paired[gpu], resources, std::move(code), bench.requests.options, bench.options->analyze.warm_cache};
    const Dim3 block = geometry.block.count() > 0 && row.has_block ? geometry.block : advise::reference_block(prepared.code.facts, bench.requests.options.ignore_launch_bounds);
    const advise::Trial trial = advise::try_block(stage, block, geometry.grid, false);
    row.block = trial.block;
    row.grid = trial.grid;
    row.has_block = true;
    row.has_grid = trial.launchable || geometry.grid.has_value();
    if (geometry.grid) row.grid = *geometry.grid;
    row.registers = resources.registers_per_thread;
    row.registers_basis = std::string(to_string(resources.registers_basis));
    row.shared_bytes = resources.static_shared_bytes + trial.dynamic_shared_bytes;
    row.spill_bytes = resources.spill_store_bytes;
    row.occupancy = trial.occupancy.fraction;
    if (trial.broken) {
        row.error = trial.broken->message;
        row.error_stage = "launch";
        return;
    }
    if (!trial.launchable || !trial.facts) {
        row.error = trial.obstacle.words.empty() ? "it cannot be launched" : trial.obstacle.words;
        row.error_stage = "launch";
        return;
    }
    placed = Placed{trial.block, trial.grid, trial.dynamic_shared_bytes};
    const Prediction p = advise::predict(stage, trial, *trial.facts, bench.point);
    row.time_us = p.time.total.value;
    row.time_low_us = p.time.interval.low;
    row.time_high_us = p.time.interval.high;
    row.floor_time_us = p.time.floor.value;
    row.bound_by = p.time.bound_by;
    if (p.power) {
        row.power_w = p.power->power.value;
        row.energy_mj = p.power->energy.value;
        row.energy_low_mj = p.power->energy_interval.low;
        row.energy_high_mj = p.power->energy_interval.high;
        row.edp = p.power->energy.value * p.time.total.value;
    }
}

}  // namespace flipflop::tuning
