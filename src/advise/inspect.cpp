// From inputs to an InspectReport: parse, run the passes, keep the facts. A module is dropped as soon as its facts are
// known, so that the memory of a library of a thousand kernels is that of its facts, not of its code.
#include "flipflop/inspect.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "advise/select_kernels.hpp"
#include "advise/source_names.hpp"
#include "flipflop/passes.hpp"
#include "flipflop/ptx.hpp"

namespace flipflop {
namespace {

InspectedModule inspect_module(const ptx::Module& module, AnalysisDepth depth) {
    InspectedModule out;
    out.name = module.name;
    if (module.version_major != 0) { out.ptx_version = fmt::format("{}.{}", module.version_major, module.version_minor); }
    out.target = module.target;
    out.address_size = module.address_size;
    out.lines = module.line_count;
    out.bytes = module.own_text().size();
    out.line_table = module.has_dwarf || !module.locations.empty();
    out.instructions = module.instruction_count;
    for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
        const ptx::Function& function = module.functions[i];
        out.unknown_instructions += function.unknown_instructions;
        if (function.is_entry && function.has_body) {
            out.kernels.push_back(analyse_kernel(module, i, depth).facts);
        } else {
            std::string name(function.name);
            out.functions.push_back({name, demangle(name), function.has_body, function.instructions.size(), function.line});
        }
    }
    return out;
}

void inspect_text(std::vector<InspectedModule>& modules, const PtxText& text, AnalysisDepth depth) {
    ptx::ParseResult parsed = ptx::parse(text.text, text.name);
    const std::size_t first = modules.size();
    for (const ptx::Module& module : parsed.modules) { modules.push_back(inspect_module(module, depth)); }
    if (parsed.modules.empty()) {
        // A text without a module still has a name, a size and its diagnostics.
        InspectedModule empty;
        empty.name = text.name;
        empty.bytes = text.text ? text.text->size() : 0;
        modules.push_back(std::move(empty));
    }
    modules[first].diagnostics = std::move(parsed.diagnostics);
}

void count(InspectSummary& summary, const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& d : diagnostics) {
        summary.errors += d.severity == Severity::error;
        summary.warnings += d.severity == Severity::warning;
    }
}

void number_ids(InspectReport& report) {
    advise::IdNumbers numbers;
    for (InspectedInput& input : report.inputs) {
        for (InspectedModule& module : input.modules) {
            for (KernelFacts& kernel : module.kernels) { kernel.id = numbers.next(kernel.id); }
        }
    }
}

/// Keeps the kernels that the patterns select.
Result<void> filter(InspectReport& report, const std::vector<std::string>& patterns) {
    if (patterns.empty()) { return {}; }
    std::vector<advise::KernelName> names;
    for (const InspectedInput& input : report.inputs) {
        for (const InspectedModule& module : input.modules) {
            for (const KernelFacts& kernel : module.kernels) { names.push_back({kernel.name, kernel.demangled, kernel.id}); }
        }
    }
    const auto selected = advise::select_kernels(names, patterns);
    if (!selected) { return tl::unexpected(selected.error()); }
    std::vector<bool> keep(names.size());
    for (const std::size_t i : *selected) { keep[i] = true; }
    std::size_t at = 0;
    for (InspectedInput& input : report.inputs) {
        for (InspectedModule& module : input.modules) {
            std::erase_if(module.kernels, [&](const KernelFacts&) { return !keep[at++]; });
        }
    }
    return {};
}

/// Texts that wait for a thread, and the modules that came of each text.
constexpr std::uint64_t kMostWaiting = 16ULL << 20;
/// A text of this size alone is as good as a library.
constexpr std::uint64_t kOverviewFrom = 4ULL << 20;

struct Job {
    PtxText text;
    AnalysisDepth depth{AnalysisDepth::full};
    std::vector<InspectedModule>* modules{};
};

AnalysisDepth depth_for(const Input& input, const PtxText& text, bool full) {
    const bool container = input.kind == InputKind::elf || input.kind == InputKind::archive || input.kind == InputKind::fatbin;
    return !full && (container || (text.text && text.text->size() > kOverviewFrom)) ? AnalysisDepth::overview : AnalysisDepth::full;
}

}  // namespace

struct Inspector::Work {
    explicit Work(InspectOptions given) : options(std::move(given)) {}
    ~Work() { stop(); }

    void add(Job job) {
        const std::uint64_t bytes = job.text.text ? job.text.text->size() : 0;
        {
            const std::lock_guard lock(mutex);
            queue.push_back(std::move(job));
            waiting_bytes += bytes;
        }
        changed.notify_one();
        while (helpers.size() + 1 < options.threads && queue_is_long()) helpers.emplace_back([this] { help(); });
        while (queue_is_full()) run_one();
    }

    /// All texts so far are inspected when it returns. What a thread could not do is thrown here.
    void drain() {
        while (run_one()) {}
        std::unique_lock lock(mutex);
        idle.wait(lock, [this] { return running == 0; });
        if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    }

    std::deque<std::vector<InspectedModule>>& slots_of(const std::string& path) { return pending[path]; }

    InspectOptions options;
    std::map<std::string, std::deque<std::vector<InspectedModule>>> pending;   // by path, of inputs that are not whole yet
    InspectReport report;
    advise::SourceNames names;
    std::uint64_t errors{};

private:
    [[nodiscard]] bool queue_is_long() {
        const std::lock_guard lock(mutex);
        return queue.size() > 1;
    }
    /// Without other threads nothing waits.
    [[nodiscard]] bool queue_is_full() {
        const std::lock_guard lock(mutex);
        return !queue.empty() && (options.threads <= 1 || waiting_bytes > kMostWaiting);
    }

    /// Takes the oldest job, if there is one.
    bool run_one() {
        std::unique_lock lock(mutex);
        if (queue.empty()) return false;
        Job job = std::move(queue.front());
        queue.pop_front();
        ++running;
        lock.unlock();
        const std::uint64_t bytes = job.text.text ? job.text.text->size() : 0;
        std::exception_ptr thrown;
        try {
            inspect_text(*job.modules, job.text, job.depth);
        } catch (...) {
            thrown = std::current_exception();
        }
        job = {};
        lock.lock();
        waiting_bytes -= bytes;   // counted until it is done: what is in work is in memory too
        if (thrown) failure = thrown;
        if (--running == 0) idle.notify_all();
        return true;
    }

    void help() {
        for (;;) {
            {
                std::unique_lock lock(mutex);
                changed.wait(lock, [this] { return stopped || !queue.empty(); });
                if (stopped) return;
            }
            run_one();
        }
    }

    void stop() {
        {
            const std::lock_guard lock(mutex);
            stopped = true;
            queue.clear();
        }
        changed.notify_all();
        for (std::thread& helper : helpers) helper.join();
    }

    std::mutex mutex;
    std::condition_variable changed, idle;
    std::deque<Job> queue;
    std::uint64_t waiting_bytes{};
    unsigned running{};
    bool stopped{};
    std::exception_ptr failure;
    std::vector<std::thread> helpers;
};

Inspector::Inspector(InspectOptions options) : work_(std::make_unique<Work>(std::move(options))) {}
Inspector::Inspector(Inspector&&) noexcept = default;
Inspector& Inspector::operator=(Inspector&&) noexcept = default;
Inspector::~Inspector() = default;

std::uint64_t Inspector::errors() const { return work_->errors; }

void Inspector::add_text(const Input& input, PtxText text) {
    const AnalysisDepth depth = depth_for(input, text, work_->options.full);
    work_->add({std::move(text), depth, &work_->slots_of(input.path).emplace_back()});
}

void Inspector::add_input(const Input& input) {
    for (const PtxText& text : input.texts) { add_text(input, text); }
    work_->drain();
    InspectedInput& out = work_->report.inputs.emplace_back();
    out.path = input.path;
    out.kind = input.kind;
    out.sha256 = input.sha256;
    out.cubins = input.cubins;
    out.diagnostics = input.diagnostics;
    if (const auto found = work_->pending.find(input.path); found != work_->pending.end()) {
        for (std::vector<InspectedModule>& modules : found->second) {
            out.modules.insert(out.modules.end(), std::make_move_iterator(modules.begin()), std::make_move_iterator(modules.end()));
        }
        work_->pending.erase(found);
    }
    // Machine code without PTX is no error here: what can be seen of it is reported.
    for (Diagnostic& d : out.diagnostics)
        if (d.id == "FF0806") { d.severity = Severity::note; }
    for (InspectedModule& module : out.modules) {
        for (KernelFacts& kernel : module.kernels) { work_->names.apply(input, kernel); }
    }
    InspectSummary said;
    count(said, out.diagnostics);
    for (const InspectedModule& module : out.modules) { count(said, module.diagnostics); }
    work_->errors += said.errors;
}

InspectReport Inspector::finish() && {
    work_->drain();
    InspectReport report = std::move(work_->report);
    number_ids(report);
    if (const auto filtered = filter(report, work_->options.kernels); !filtered) { report.selection = filtered.error(); }
    InspectSummary& summary = report.summary;
    for (const InspectedInput& input : report.inputs) {
        ++summary.inputs;
        count(summary, input.diagnostics);
        for (const InspectedModule& module : input.modules) {
            summary.modules += !module.ptx_version.empty() || !module.kernels.empty();
            summary.kernels += module.kernels.size();
            summary.ptx_bytes += module.bytes;
            summary.instructions += module.instructions;
            summary.unknown_instructions += module.unknown_instructions;
            count(summary, module.diagnostics);
        }
    }
    return report;
}

Result<InspectReport> inspect(const std::vector<Input>& inputs, const InspectOptions& options) {
    Inspector inspector(options);
    for (const Input& input : inputs) { inspector.add_input(input); }
    InspectReport report = std::move(inspector).finish();
    if (report.selection) { return tl::unexpected(std::move(*report.selection)); }
    return report;
}

}  // namespace flipflop
