// tune, top to bottom: what is to be tuned; which configurations; compiled, put on each GPU, ranked, judged.
#include "flipflop/tune.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "advise/complaints.hpp"
#include "advise/machines.hpp"
#include "advise/parallel.hpp"
#include "inputs/file.hpp"
#include "inputs/source_compile.hpp"
#include "tuning/arguments.hpp"
#include "tuning/choose.hpp"
#include "tuning/variant.hpp"

namespace flipflop {

using namespace tuning;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 256;          ///< variants whose PTX is held at once

Diagnostic usage(const char* id, const char* option, std::string message, std::string help = {}) {
    return advise::complain(id, option, std::move(message), std::move(help));
}

/// One run, step by step; what a step needs of the ones before is a member.
class Run {
public:
    explicit Run(const TuneOptions& options) : options_(options) {}

    Result<TuneReport> run() {
        for (auto step : {&Run::read_spec, &Run::choose_configurations, &Run::place_them}) {
            if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
        }
        describe();
        if (options_.list_only) {
            list();
            return std::move(report_);
        }
        for (auto step : {&Run::set_up_bench, &Run::find_reference}) {
            if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
        }
        for (const std::string& architecture : architectures_)
            if (auto done = on_architecture(architecture); !done) return tl::unexpected(done.error());
        finish();
        return std::move(report_);
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
        spec_ = std::move(*spec);
        if (!options_.block.empty()) {
            auto block = block_of_option(options_.block, spec_.space);
            if (!block) return tl::unexpected(block.error());
            spec_.block = std::move(*block);
        }
        if (!options_.configurations.empty()) {
            auto named = configurations_of(spec_.space, table, options_.configurations);
            if (!named) return tl::unexpected(named.error());
            configurations_ = std::move(*named);
        }
        return {};
    }

    Step choose_configurations() {
        configurations_.width = spec_.space.parameters().size();
        if (!options_.configurations.empty()) return {};
        const auto count = spec_.space.count();
        if (!count) return tl::unexpected(count.error());
        report_.space_size = count->exact;
        report_.space_product = count->product;
        auto chosen = options_.sample ? spec_.space.sample(*options_.sample, options_.seed) : spec_.space.all(options_.most);
        if (!chosen) {
            Diagnostic d = chosen.error();
            if (d.file.empty()) d.file = options_.spec;
            return tl::unexpected(std::move(d));
        }
        configurations_ = std::move(*chosen);
        if (options_.sample) report_.sampled = configurations_.size();
        if (configurations_.size() == 0) return tl::unexpected(wrong("FF0847", "no configuration satisfies the conditions"));
        return {};
    }

    Step place_them() {
        if (auto added = add_reference(); !added) return tl::unexpected(added.error());
        geometries_.reserve(configurations_.size());
        for (std::size_t i = 0; i < configurations_.size(); ++i) {
            if (options_.list_only && !spec_.problem_size && !spec_.block[0]) break;
            auto geometry = geometry_of(spec_, configurations_[i]);
            if (!geometry) return tl::unexpected(geometry.error());
            if (geometry->obstacle.empty() && !options_.configurations.empty()) {
                const auto allowed = spec_.space.allows(configurations_[i]);
                if (!allowed) return tl::unexpected(allowed.error());
                if (!*allowed) geometry->obstacle = "the space's conditions leave it out";
            }
            if (options_.analyze.launch.grid || options_.analyze.launch.work || std::any_of(std::begin(options_.analyze.launch.grid_expression), std::end(options_.analyze.launch.grid_expression), [](const auto& e) { return e.has_value(); }))
                geometry->grid.reset();   // the command line's rule goes before the file's
            geometries_.push_back(std::move(*geometry));
        }
        return {};
    }

    /// --reference PARAM=VALUE,...: the rest by the file's defaults, or as the only value there is.
    Step add_reference() {
        if (options_.reference.empty()) return {};
        const auto& parameters = spec_.space.parameters();
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
            const auto p = equals == std::string_view::npos ? std::nullopt : spec_.space.find(part.substr(0, equals));
            if (!p) return tl::unexpected(usage("FF0788", "--reference", fmt::format("'{}' is not PARAM=VALUE of a tuning parameter", part), known_parameters()));
            if (!set(*p, value_of_text(std::string(part.substr(equals + 1)))))
                return tl::unexpected(usage("FF0788", "--reference", fmt::format("'{}' is none of the values of '{}'", part.substr(equals + 1), parameters[*p].name)));
        }
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            if (given[p]) continue;
            if (parameters[p].values.size() == 1) c[p] = 0;
            else if (!spec_.defaults[p] || !set(p, *spec_.defaults[p]))
                return tl::unexpected(usage("FF0788", "--reference", fmt::format("the value of '{}' is missing", parameters[p].name), "every parameter that has several values and no default is named"));
        }
        for (std::size_t i = 0; i < configurations_.size() && !reference_; ++i)
            if (std::equal(c.begin(), c.end(), configurations_[i])) reference_ = i;
        if (reference_) return {};
        const auto allowed = spec_.space.allows(c.data());
        if (!allowed) return tl::unexpected(allowed.error());
        if (!*allowed) return tl::unexpected(usage("FF0788", "--reference", "the space's conditions leave this configuration out"));
        reference_ = configurations_.size();
        configurations_.add(c.data());
        return {};
    }

    std::string known_parameters() const {
        std::vector<std::string> names;
        for (const Parameter& p : spec_.space.parameters()) names.push_back(p.name);
        return "the parameters are " + advise::list_some(names, 12);
    }

    Diagnostic wrong(const char* id, std::string message, std::string help = {}) const {
        Diagnostic d;
        d.id = id;
        d.file = options_.spec;
        d.message = std::move(message);
        d.help = std::move(help);
        return d;
    }

    void describe() {
        report_.spec = options_.spec;
        report_.t1 = spec_.t1;
        report_.kernel = spec_.kernel;
        report_.source = spec_.source;
        report_.objective = std::string(to_string(options_.analyze.objective));
        report_.considered = configurations_.size();
        report_.choices = configurations_.flat;
        report_.seed = options_.seed;
        report_.compiler_options = spec_.compiler_options;
        for (std::size_t p = 0; p < spec_.space.parameters().size(); ++p) {
            TuneParameter out{spec_.space.parameters()[p].name, {}, {}, spec_.defaults[p] ? spec_.defaults[p]->words() : ""};
            for (const Value& v : spec_.space.parameters()[p].values) {
                out.values.push_back(v.words());
                out.numeric.push_back(v.number());
            }
            report_.parameters.push_back(std::move(out));
        }
        for (const Expression& e : spec_.space.conditions()) report_.conditions.push_back(e.text());
        for (const Expression& e : spec_.problem_size.value_or(std::vector<Expression>{})) report_.launch.problem_size.push_back(e.text());
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (spec_.block[axis]) report_.launch.block[axis] = spec_.block[axis]->text();
            report_.launch.has_divisors[axis] = spec_.divisors[axis].has_value();
            for (const Expression& e : spec_.divisors[axis].value_or(std::vector<Expression>{})) report_.launch.divisors[axis].push_back(e.text());
        }
        for (const Argument& a : spec_.arguments) {
            static constexpr const char* kMemory[]{"scalar", "vector", "local", "symbol"};
            TuneReport::Argument out{a.name, a.type, kMemory[static_cast<int>(a.memory)], a.fill, a.value ? a.value->literal() : "", {}, a.constant, a.output};
            if (a.elements)
                if (const auto n = elements_of(spec_, a)) out.elements = *n;
            report_.arguments.push_back(std::move(out));
        }
        report_.notes = spec_.notes;
    }

    void list() {
        report_.listed.resize(configurations_.size());
        for (std::size_t i = 0; i < configurations_.size(); ++i) {
            TuneListing& out = report_.listed[i];
            out.configuration = static_cast<std::uint32_t>(i);
            if (i >= geometries_.size()) continue;
            Geometry& g = geometries_[i];
            out.has_block = spec_.block[0].has_value() && g.obstacle.empty();
            out.block = g.block;
            out.has_grid = g.grid.has_value();
            if (g.grid) out.grid = *g.grid;
            out.error = std::move(g.obstacle);
        }
    }

    TuneRow blank_row(std::size_t i) const {
        TuneRow row;
        row.configuration = static_cast<std::uint32_t>(i);
        row.reference = reference_ == i;
        if (i < geometries_.size()) {
            const Geometry& g = geometries_[i];
            row.has_block = spec_.block[0].has_value() && g.obstacle.empty();
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

    Step set_up_bench() {
        bench_.spec = &spec_;
        bench_.options = &options_;
        LaunchOptions launch = options_.analyze.launch;
        launch.blocks.clear();
        auto requests = advise::read_requests(launch);
        if (!requests) return tl::unexpected(requests.error());
        bench_.requests = std::move(*requests);
        auto points = advise::operating_points(options_.analyze);
        if (!points) return tl::unexpected(points.error());
        if (points->size() > 1) return tl::unexpected(usage("FF0789", "--clock", "variants are ranked at one operating point", "name one clock and one power limit"));
        bench_.point = points->front();
        auto gpus = advise::load_gpus(options_.analyze);
        if (!gpus) return tl::unexpected(gpus.error());
        bench_.gpus = std::move(*gpus);
        for (const GpuProfile& gpu : bench_.gpus) {
            bench_.models.emplace_back(gpu);
            bench_.paired.push_back(paired_error(gpu));
            const std::string architecture = architecture_of(gpu);
            if (std::find(architectures_.begin(), architectures_.end(), architecture) == architectures_.end()) architectures_.push_back(architecture);
            TuneResult result;
            result.gpu = gpu.name;
            result.gpu_note = gpu.alias_note;
            result.architecture = "compute_" + architecture;
            report_.results.push_back(std::move(result));
        }
        bench_.cache = std::make_unique<ContentCache>(options_.source.cache_folder);
        report_.used["ptxas"] = std::nullopt;
        if (options_.analyze.ptxas != PtxasUse::off) {
            const Environment& e = options_.analyze.environment;
            auto tool = find_ptxas({}, {e.path, e.cuda_home, e.temporary_directory});
            if (tool) {
                report_.used["ptxas"] = tool->version;
                bench_.ptxas = std::move(*tool);
            } else if (options_.analyze.ptxas == PtxasUse::require) {
                return tl::unexpected(tool.error());
            }
        }
        return open_source();
    }

    static std::string architecture_of(const GpuProfile& gpu) { return fmt::format("{}{}", gpu.cc.major, gpu.cc.minor); }

    Step open_source() {
        source_path_ = spec_.t1 ? (fs::path(options_.spec).parent_path() / spec_.source).string() : spec_.source;
        InputLimits limits;
        limits.max_file_bytes = 64ULL << 20;
        auto file = FileBytes::open(source_path_, limits);
        if (!file) {
            Diagnostic d = file.error();
            if (spec_.t1) d.help = fmt::format("{} names it as its KernelFile, relative to itself", options_.spec);
            return tl::unexpected(std::move(d));
        }
        source_ = std::string(file->view());
        return {};
    }

    Step find_reference() {
        if (options_.reference.empty() && options_.analyze.launch.current)
            return tl::unexpected(usage("FF0788", "--current", "of variants, --reference PARAM=VALUE,... names the one in use"));
        return {};
    }

    /// What a configuration defines. Kernel Tuner defines its own name too, and the grid where the source asks for it.
    std::vector<std::string> defines_of(std::size_t i) const {
        std::vector<std::string> defines;
        const auto& parameters = spec_.space.parameters();
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const Value& v = parameters[p].values[configurations_[i][p]];
            defines.push_back(fmt::format("{}={}", parameters[p].name, v.kind == Value::Kind::truth ? std::to_string(v.integer) : v.words()));
        }
        if (!spec_.t1) return defines;
        defines.emplace_back("kernel_tuner=1");
        if (source_.find("grid_size_") != std::string::npos && geometries_[i].grid) {
            const Dim3 g = *geometries_[i].grid;
            const std::uint32_t sizes[]{g.x, g.y, g.z};
            for (std::size_t axis = 0; axis < 3; ++axis) defines.push_back(fmt::format("grid_size_{}={}", "xyz"[axis], sizes[axis]));
        }
        static constexpr const char* kNames[]{"block_size_x", "block_size_y", "block_size_z"};
        const Dim3 b = geometries_[i].block;
        const std::uint32_t threads[]{b.x, b.y, b.z};
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (!spec_.space.find(kNames[axis]) && source_.find(kNames[axis]) != std::string::npos) defines.push_back(fmt::format("{}={}", kNames[axis], threads[axis]));
        return defines;
    }

    SourceOptions source_options(const std::string& architecture) const {
        SourceOptions source = options_.source;
        source.architecture = architecture;
        source.flags.insert(source.flags.begin(), spec_.compiler_options.begin(), spec_.compiler_options.end());
        return source;
    }

    /// The compiler for the run: the first of those that are there which makes PTX of a variant at all. NVRTC knows no host
    /// code, and a file that holds some is nvcc's.
    Result<std::unique_ptr<SourceCompiler>> pick_compiler(const std::string& architecture) {
        const SourceOptions source = source_options(architecture);
        auto tools = find_compilers(source, SourceLanguage::cuda, true);
        if (!tools) {
            Diagnostic d = tools.error();
            d.file = source_path_;
            return tl::unexpected(std::move(d));
        }
        const std::size_t n = configurations_.size();
        const std::set<std::size_t> probed{0, n / 2, n - 1};
        std::vector<std::vector<std::string>> probes;
        for (const std::size_t i : probed) probes.push_back(defines_of(i));
        std::optional<Diagnostic> refusal;
        std::unique_ptr<SourceCompiler> first;
        for (const CompilerTool& tool : *tools) {
            auto compiler = std::make_unique<SourceCompiler>(tool, source, SourceText{source_path_, source_path_, source_});
            if (auto refused = compiler->refusal()) {
                if (!refusal) refusal = std::move(refused);
                continue;
            }
            auto results = compiler->compile(probes, options_.analyze.threads);
            if (std::any_of(results.begin(), results.end(), [](const CompileResult& r) { return r.ptx.has_value(); })) {
                probed_.clear();
                for (auto [i, k] = std::pair(probed.begin(), std::size_t{0}); i != probed.end(); ++i, ++k) probed_[*i] = std::move(results[k]);
                return compiler;
            }
            const bool broken = std::all_of(results.begin(), results.end(), [](const CompileResult& r) { return r.tool_failed; });
            if (broken && !refusal) refusal = results.front().messages.front();
            if (!broken && !first) first = std::move(compiler);
        }
        if (first) return first;
        if (refusal->file.empty()) refusal->file = source_path_;
        return tl::unexpected(std::move(*refusal));
    }

    Step on_architecture(const std::string& architecture) {
        auto picked = pick_compiler(architecture);
        if (!picked) return tl::unexpected(picked.error());
        SourceCompiler* const compiler = picked->get();
        report_.used[compiler->tool().name()] = compiler->tool().version;
        std::vector<std::size_t> gpus;
        for (std::size_t g = 0; g < bench_.gpus.size(); ++g)
            if (architecture_of(bench_.gpus[g]) == architecture) gpus.push_back(g);
        for (const std::size_t g : gpus) {
            report_.results[g].rows.resize(configurations_.size());
            placed_[g].resize(configurations_.size());
        }
        for (std::size_t begin = 0; begin < configurations_.size(); begin += kChunk) compile_chunk(*compiler, begin, std::min(begin + kChunk, configurations_.size()), gpus);
        for (const std::size_t g : gpus) rank_on(g, *compiler);
        const std::string trouble = compiler->cache().trouble();
        if (!trouble.empty() && !cache_noted_) {
            Diagnostic d = wrong("FF0615", trouble);
            d.severity = Severity::note;
            report_.notes.push_back(std::move(d));
            cache_noted_ = true;
        }
        return {};
    }

    void compile_chunk(SourceCompiler& compiler, std::size_t begin, std::size_t end, const std::vector<std::size_t>& gpus) {
        std::vector<std::size_t> chosen;
        std::vector<std::vector<std::string>> defines;
        for (std::size_t i = begin; i < end; ++i) {
            if (!geometries_[i].obstacle.empty() || probed_.contains(i)) continue;
            chosen.push_back(i);
            defines.push_back(defines_of(i));
        }
        const auto progress = [&](std::size_t done) {
            if (options_.on_progress) options_.on_progress(begin + std::min(done, end - begin), configurations_.size());
        };
        std::vector<CompileResult> compiled = compiler.compile(defines, options_.analyze.threads, progress);
        std::vector<CompileResult*> result_of(end - begin);
        for (std::size_t k = 0; k < chosen.size(); ++k) result_of[chosen[k] - begin] = &compiled[k];
        for (auto& [i, result] : probed_)
            if (i >= begin && i < end && geometries_[i].obstacle.empty()) result_of[i - begin] = &result;
        std::mutex mutex;
        advise::parallel_for(end - begin, options_.analyze.threads, [&](std::size_t k) {
            const std::size_t i = begin + k;
            TuneRow blank = blank_row(i);
            CompileResult* const result = result_of[k];
            std::unique_ptr<Prepared> prepared;
            if (result && !result->ptx) {
                blank.error = message_of(*result);
                blank.error_stage = "compile";
            } else if (result) {
                auto made = prepare(bench_, std::move(*result->ptx), configurations_[i], geometries_[i]);
                if (made) prepared = std::move(*made);
                else {
                    blank.error = made.error().message;
                    blank.error_stage = made.error().stage;
                }
            }
            for (const std::size_t g : gpus) {
                TuneRow row = blank;
                if (prepared) evaluate(bench_, *prepared, geometries_[i], g, row, placed_[g][i]);
                report_.results[g].rows[i] = std::move(row);
            }
            if (!prepared) return;
            const std::lock_guard lock(mutex);
            if (named_by_ <= i) return;   // the first in order names the kernel, whatever thread comes first
            named_by_ = i;
            report_.kernel = prepared->code.facts.name;
            report_.kernel_parameters = prepared->code.facts.parameters.size();
            report_.kernel_demangled = prepared->code.facts.demangled;
            report_.assumptions = prepared->assumptions;
        });
    }

    static std::string message_of(const CompileResult& result) {
        if (result.messages.empty()) return "no PTX, and not a word why";
        const Diagnostic& d = result.messages.front();
        std::string place = result.tool_failed || d.file.empty() ? "" : d.at.line > 0 ? fmt::format("{}:{}: ", fs::path(d.file).filename().string(), d.at.line) : "";
        return place + d.message;
    }

    void rank_on(std::size_t g, SourceCompiler& compiler) {
        TuneResult& result = report_.results[g];
        for (TuneRow& row : result.rows) {
            if (row.error_stage == "compile") ++result.failed;
            else if (row.error_stage != "constraints") ++result.compiled;
            row.safe_reason = options_.reference.empty() ? "no reference variant is named (--reference)" : "not asked: it is not kept";
        }
        Judge judge;
        std::unique_ptr<Prepared> reference;
        std::unique_ptr<ReblockingJudge> judging;
        if (reference_ && placed_[g][*reference_]) {
            reference = prepared_again(compiler, *reference_);
            if (reference) {
                judging = std::make_unique<ReblockingJudge>(reference->code, launch_of(*reference, *placed_[g][*reference_]), false);
                judge = [&](const TuneRow& row) -> SafetyVerdict {
                    const std::size_t i = row.configuration;
                    const auto variant = prepared_again(compiler, i);
                    if (!variant || !placed_[g][i]) return {std::nullopt, "it could not be compiled again"};
                    return judging->judge_variant(variant->code, launch_of(*variant, *placed_[g][i]));
                };
                result.rows[*reference_].safe = true;
                result.rows[*reference_].safe_reason = "the reference itself";
            }
        } else if (reference_) {
            result.caveats.push_back(fmt::format("the reference cannot be launched, so nothing can be compared with it: {}", result.rows[*reference_].error));
        }
        choose(result, report_, options_.analyze.objective, {bench_.paired[g].time_log_sigma, bench_.paired[g].energy_log_sigma}, judge, options_.analyze.threads);
        add_caveats(g, result);
    }

    std::unique_ptr<Prepared> prepared_again(SourceCompiler& compiler, std::size_t i) {
        auto compiled = compiler.compile({defines_of(i)}, 1);
        if (!compiled.front().ptx) return nullptr;
        auto made = prepare(bench_, std::move(*compiled.front().ptx), configurations_[i], geometries_[i]);
        return made ? std::move(*made) : nullptr;
    }

    void add_caveats(std::size_t g, TuneResult& result) {
        if (!result.recommended) return;
        const TuneRow& best = result.rows[*result.recommended];
        if (!best.safe) result.caveats.push_back("unverified: " + best.safe_reason);
        if (best.registers_basis == "estimate") result.caveats.push_back("registers are estimated; ptxas would tell");
        if (!bench_.gpus[g].value("idle_power_w")) result.caveats.push_back("the board's idle power is not known: power and energy are left open");
        const LaunchOptions& launch = options_.analyze.launch;
        const bool rule = launch.grid || launch.work || launch.grid_expression[0] || launch.grid_expression[1] || launch.grid_expression[2];
        if (!rule && !geometries_[best.configuration].grid)
            result.caveats.push_back("no grid rule was given: every variant is launched with as many threads, whatever each thread does (--grid-x 'ceil(N / (block.x * TILE))')");
        if (report_.sampled && report_.space_size) result.caveats.push_back(fmt::format("{} of {} configurations were looked at", *report_.sampled, *report_.space_size));
        bool open = false;
        for (const Assumption& a : report_.assumptions) open = open || a.could_change.has_value();
        result.confidence = open || best.registers_basis == "estimate" || !best.safe ? "low" : "medium";
    }

    void finish() {
        bool any = false;
        std::string first;
        for (const TuneResult& result : report_.results) {
            any = any || result.launchable > 0;
            for (const TuneRow& row : result.rows)
                if (first.empty() && !row.error.empty()) first = row.error;
        }
        if (any) return;
        report_.notes.push_back(wrong("FF0848", fmt::format("no configuration can be compiled and launched; the first one: {}", first)));
    }

    const TuneOptions& options_;
    Spec spec_;
    Configurations configurations_;
    std::vector<Geometry> geometries_;
    std::optional<std::size_t> reference_;
    Bench bench_;
    std::vector<std::string> architectures_;
    std::string source_path_, source_;
    std::map<std::size_t, std::vector<std::optional<Placed>>> placed_;   ///< by GPU, by configuration
    std::map<std::size_t, CompileResult> probed_;   ///< compiled while the compiler was chosen, by configuration
    std::size_t named_by_{~std::size_t{0}};
    bool cache_noted_{};
    TuneReport report_;
};

}  // namespace

Result<TuneReport> tune(const TuneOptions& options) { return Run(options).run(); }

}  // namespace flipflop
