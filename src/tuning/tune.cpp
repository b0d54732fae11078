// tune, top to bottom: what is to be tuned; which configurations; compiled, put on each GPU, ranked, judged.
#include "flipflop/tune.hpp"
#include "flipflop/variants.hpp"

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
#include "tuning/describe.hpp"
#include "tuning/plan.hpp"
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
        auto plan = make_plan(options_);
        if (!plan) return tl::unexpected(plan.error());
        plan_ = std::move(*plan);
        report_ = describe(plan_, options_);
        if (options_.list_only) {
            list(plan_, report_);
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

    Step set_up_bench() {
        bench_.spec = &plan_.spec;
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
        bench_.cache = std::make_unique<ContentCache>(options_.source.cache_folder, options_.source.cache_limit_bytes);
        report_.used["ptxas"] = std::nullopt;
        if (options_.analyze.ptxas != PtxasUse::off) {
            const Environment& e = options_.analyze.environment;
            auto tool = find_ptxas({}, {e.path, e.cuda_home, e.temporary_directory});
            if (tool) {
                report_.used["ptxas"] = tool->version;
                tool->timeout = options_.source.timeout;
                bench_.ptxas = std::move(*tool);
            } else if (options_.analyze.ptxas == PtxasUse::require) {
                return tl::unexpected(tool.error());
            }
        }
        return open_source();
    }

    static std::string architecture_of(const GpuProfile& gpu) { return fmt::format("{}{}", gpu.cc.major, gpu.cc.minor); }

    Step open_source() {
        source_path_ = plan_.spec.t1 ? (fs::path(options_.spec).parent_path() / plan_.spec.source).string() : plan_.spec.source;
        InputLimits limits;
        limits.max_file_bytes = 64ULL << 20;
        auto file = FileBytes::open(source_path_, limits);
        if (!file) {
            Diagnostic d = file.error();
            if (plan_.spec.t1) d.help = fmt::format("{} names it as its KernelFile, relative to itself", options_.spec);
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
        const auto& parameters = plan_.spec.space.parameters();
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const Value& v = parameters[p].values[plan_.configurations[i][p]];
            defines.push_back(fmt::format("{}={}", parameters[p].name, v.kind == Value::Kind::truth ? std::to_string(v.integer) : v.words()));
        }
        if (!plan_.spec.t1) return defines;
        defines.emplace_back("kernel_tuner=1");
        if (source_.find("grid_size_") != std::string::npos && plan_.geometries[i].grid) {
            const Dim3 g = *plan_.geometries[i].grid;
            const std::uint32_t sizes[]{g.x, g.y, g.z};
            for (std::size_t axis = 0; axis < 3; ++axis) defines.push_back(fmt::format("grid_size_{}={}", "xyz"[axis], sizes[axis]));
        }
        static constexpr const char* kNames[]{"block_size_x", "block_size_y", "block_size_z"};
        const Dim3 b = plan_.geometries[i].block;
        const std::uint32_t threads[]{b.x, b.y, b.z};
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (!plan_.spec.space.find(kNames[axis]) && source_.find(kNames[axis]) != std::string::npos) defines.push_back(fmt::format("{}={}", kNames[axis], threads[axis]));
        return defines;
    }

    SourceOptions source_options(const std::string& architecture) const {
        SourceOptions source = options_.source;
        source.architecture = architecture;
        source.flags.insert(source.flags.begin(), plan_.spec.compiler_options.begin(), plan_.spec.compiler_options.end());
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
        const std::size_t n = plan_.configurations.size();
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
            report_.results[g].rows.resize(plan_.configurations.size());
            placed_[g].resize(plan_.configurations.size());
        }
        for (std::size_t begin = 0; begin < plan_.configurations.size(); begin += kChunk) compile_chunk(*compiler, begin, std::min(begin + kChunk, plan_.configurations.size()), gpus);
        for (const std::size_t g : gpus) rank_on(g, *compiler);
        const std::string trouble = compiler->cache().trouble();
        if (!trouble.empty() && !cache_noted_) {
            Diagnostic d = wrong_in(options_.spec, "FF0615", trouble);
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
            if (!plan_.geometries[i].obstacle.empty() || probed_.contains(i)) continue;
            chosen.push_back(i);
            defines.push_back(defines_of(i));
        }
        const auto progress = [&](std::size_t done) {
            if (options_.on_progress) options_.on_progress(begin + std::min(done, end - begin), plan_.configurations.size());
        };
        std::vector<CompileResult> compiled = compiler.compile(defines, options_.analyze.threads, progress);
        std::vector<CompileResult*> result_of(end - begin);
        for (std::size_t k = 0; k < chosen.size(); ++k) result_of[chosen[k] - begin] = &compiled[k];
        for (auto& [i, result] : probed_)
            if (i >= begin && i < end && plan_.geometries[i].obstacle.empty()) result_of[i - begin] = &result;
        std::mutex mutex;
        advise::parallel_for(end - begin, options_.analyze.threads, [&](std::size_t k) {
            const std::size_t i = begin + k;
            TuneRow blank = blank_row(plan_, i);
            CompileResult* const result = result_of[k];
            std::unique_ptr<Prepared> prepared;
            if (result && !result->ptx) {
                blank.error = message_of(*result);
                blank.error_stage = "compile";
            } else if (result) {
                auto made = prepare(bench_, std::move(*result->ptx), plan_.configurations[i], plan_.geometries[i]);
                if (made) prepared = std::move(*made);
                else {
                    blank.error = made.error().message;
                    blank.error_stage = made.error().stage;
                }
            }
            for (const std::size_t g : gpus) {
                TuneRow row = blank;
                if (prepared) evaluate(bench_, *prepared, plan_.geometries[i], g, row, placed_[g][i]);
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
        std::unique_ptr<VariantJudge> judging;
        if (plan_.reference && placed_[g][*plan_.reference]) {
            reference = prepared_again(compiler, *plan_.reference);
            if (reference) {
                judging = std::make_unique<VariantJudge>(reference->code, launch_of(*reference, *placed_[g][*plan_.reference]), false);
                judge = [&](const TuneRow& row) -> SafetyVerdict {
                    const std::size_t i = row.configuration;
                    const auto variant = prepared_again(compiler, i);
                    if (!variant || !placed_[g][i]) return {std::nullopt, "it could not be compiled again"};
                    return judging->judge(variant->code, launch_of(*variant, *placed_[g][i]));
                };
                result.rows[*plan_.reference].safe = true;
                result.rows[*plan_.reference].safe_reason = "the reference itself";
            }
        } else if (plan_.reference) {
            result.caveats.push_back(fmt::format("the reference cannot be launched, so nothing can be compared with it: {}", result.rows[*plan_.reference].error));
        }
        choose(result, report_, options_.analyze.objective, {bench_.paired[g].time_log_sigma, bench_.paired[g].energy_log_sigma}, judge, options_.analyze.threads);
        add_caveats(g, result);
    }

    std::unique_ptr<Prepared> prepared_again(SourceCompiler& compiler, std::size_t i) {
        auto compiled = compiler.compile({defines_of(i)}, 1);
        if (!compiled.front().ptx) return nullptr;
        auto made = prepare(bench_, std::move(*compiled.front().ptx), plan_.configurations[i], plan_.geometries[i]);
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
        if (!rule && !plan_.geometries[best.configuration].grid)
            result.caveats.push_back("no grid rule was given: every variant is launched with as many threads, whatever each thread does (--grid-x 'ceil(N / (block.x * TILE))')");
        if (report_.sampled && report_.space_size) result.caveats.push_back(fmt::format("{} of {} configurations were looked at", *report_.sampled, *report_.space_size));
        bool open = false;
        for (const Assumption& a : report_.assumptions) open = open || a.could_change.has_value();
        result.confidence = open || best.registers_basis == "estimate" || !best.safe ? "low" : "medium";
    }

    void finish() {
        if (bench_.ptxas_timeouts > 0) {
            Diagnostic d = wrong_in(options_.spec, "FF0603", fmt::format("ptxas took longer than {} s for {} of the variants{}", options_.source.timeout.count() / 1000, bench_.ptxas_timeouts.load(), bench_.ptxas_timeouts >= kMostTimeouts ? " and was not run again" : ""),
                                    "their registers are estimated; --compile-timeout N gives it more, --ptxas off does without");
            d.severity = Severity::warning;
            report_.notes.push_back(std::move(d));
        }
        bool any = false;
        std::string first;
        for (const TuneResult& result : report_.results) {
            any = any || result.launchable > 0;
            for (const TuneRow& row : result.rows)
                if (first.empty() && !row.error.empty()) first = row.error;
        }
        if (any) return;
        report_.notes.push_back(wrong_in(options_.spec, "FF0848", fmt::format("no configuration can be compiled and launched; the first one: {}", first)));
    }

    const TuneOptions& options_;
    Plan plan_;
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
