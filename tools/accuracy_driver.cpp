// Answers what the models say of the launches that tools/accuracy describes. Built by the Python tools against libflipflop_core;
// not part of the product. Facts and predictions are two steps, so that a change of the models needs no second evaluation.
//
//   accuracy_driver facts FILE < jobs      one job a line, tab-separated KEY=VALUE:
//       ptx=PATH kernel=NAME block=X,Y,Z grid=X,Y,Z smem=BYTES log.75=PATH (ptxas -v for sm_75; as many as there are)
//       arg=PARAM=VALUE taken=P data=PARAM=FILE:TYPE (repeatable) target=ID;GPU;CLOCK;LIMIT;RESIDENT;COLD (repeatable; empty: default)
//   accuracy_driver show FILE                             what the evaluator found, for people
//   accuracy_driver predict FILE [KEY=VALUE of every profile]   CSV of all targets
//   accuracy_driver keep SIGMA < times                    1 or 0 a line: what the short list of a search keeps of these predicted times
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "advise/ranking.hpp"
#include "advise/subject.hpp"
#include "flipflop/inputs.hpp"
#include "flipflop/models.hpp"
#include "flipflop/ptx.hpp"
#include "passes/ptxas_resources.hpp"

using namespace flipflop;

namespace {

struct Target { std::string id, gpu, clock, limit, resident, cold; };
struct Record {
    LaunchFacts facts;
    std::map<int, Resources> resources;      ///< by sm; 0: estimated for the module's target
    KernelFacts kernel;                      ///< bounds only
    std::uint64_t dynamic_shared_bytes{};
    std::vector<Target> targets;
};

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts;
    std::string part;
    std::istringstream in(text);
    while (std::getline(in, part, by)) parts.push_back(part);
    if (!text.empty() && text.back() == by) parts.emplace_back();
    return parts;
}

Dim3 dim(const std::string& text) {
    const auto parts = split(text, ',');
    auto at = [&](std::size_t i) { return i < parts.size() ? static_cast<std::uint32_t>(std::stoul(parts[i])) : 1U; };
    return {at(0), at(1), at(2)};
}

// ---- one way to write and to read ----------------------------------------------------------------------------------
struct Writer {
    std::ofstream out;
    template <typename T> void raw(T& value) { out.write(reinterpret_cast<const char*>(&value), sizeof value); }
    void text(std::string& value) { auto n = value.size(); raw(n); out.write(value.data(), static_cast<std::streamsize>(n)); }
    template <typename T> std::size_t size(std::vector<T>& v) { auto n = v.size(); raw(n); return n; }
    bool has(bool value) { raw(value); return value; }
};
struct Reader {
    std::ifstream in;
    template <typename T> void raw(T& value) { in.read(reinterpret_cast<char*>(&value), sizeof value); }
    void text(std::string& value) { std::size_t n{}; raw(n); value.resize(n); in.read(value.data(), static_cast<std::streamsize>(n)); }
    template <typename T> std::size_t size(std::vector<T>& v) { std::size_t n{}; raw(n); v.resize(n); return n; }
    bool has(bool) { bool value{}; raw(value); return value; }
};
template <typename A, typename T> void maybe(A& a, std::optional<T>& value) {
    if (a.has(value.has_value())) {
        if (!value) value.emplace();
        a.raw(*value);
    } else {
        value.reset();
    }
}
template <typename A> void all(A& a, LaunchFacts& f) {
    a.raw(f.block); a.raw(f.grid); a.raw(f.blocks); a.raw(f.warps_per_block); a.raw(f.threads); a.raw(f.warp_instructions);
    a.raw(f.thread_ops); a.raw(f.thread_machine_ops); a.raw(f.tensor_fma); a.raw(f.unknown_branches); a.raw(f.divergent_branches); a.raw(f.unknown_share); a.raw(f.basis);
    maybe(a, f.active_lane_share); maybe(a, f.barriers_per_thread);
    a.size(f.phases);
    for (PhaseFacts& p : f.phases) a.raw(p);
    a.size(f.accesses);
    for (AccessFacts& x : f.accesses) {
        maybe(a, x.requests); maybe(a, x.sectors_per_request); maybe(a, x.wavefronts_per_request); maybe(a, x.wavefront_total); maybe(a, x.lines_per_request);
        a.raw(x.active_lanes); a.raw(x.pattern);
    }
    Footprint& p = f.footprint;
    for (auto* value : {&p.block_sectors, &p.block_instruction_sectors, &p.block_store_sectors, &p.overlap_x, &p.overlap_y, &p.overlap_z, &p.grid_read_sectors,
                        &p.grid_written_sectors, &p.unique_read_bytes, &p.unique_written_bytes}) maybe(a, *value);
    a.text(p.why);
}
template <typename A> void all(A& a, Resources& r) {
    a.raw(r.registers_per_thread); a.raw(r.registers_basis); a.raw(r.static_shared_bytes); a.raw(r.uses_dynamic_shared);
    maybe(a, r.local_bytes); maybe(a, r.spill_store_bytes); maybe(a, r.spill_load_bytes); maybe(a, r.barriers);
}
template <typename A> void all(A& a, Record& r) {
    all(a, r.facts);
    a.raw(r.dynamic_shared_bytes);
    maybe(a, r.kernel.bounds.max_threads);
    a.raw(r.kernel.instructions);
    a.size(r.kernel.accesses);
    for (AccessDescription& access : r.kernel.accesses) {
        a.raw(access.bytes_per_lane);
        a.raw(access.space);
        a.raw(access.reads);
        a.text(access.op);
    }
    std::vector<int> keys;
    for (const auto& [sm, _] : r.resources) keys.push_back(sm);
    a.size(keys);
    for (int& sm : keys) { a.raw(sm); all(a, r.resources[sm]); }
    a.size(r.targets);
    for (Target& t : r.targets) for (auto* word : {&t.id, &t.gpu, &t.clock, &t.limit, &t.resident, &t.cold}) a.text(*word);
}

// ---- facts ---------------------------------------------------------------------------------------------------------
struct Loaded {
    std::unique_ptr<ptx::ParseResult> parsed;
    std::map<std::string, std::unique_ptr<KernelCode>> kernels;
};

std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<KernelCode> load(const ptx::ParseResult& parsed, const std::string& name) {
    for (const ptx::Module& module : parsed.modules)
        for (std::uint32_t f = 0; f < module.functions.size(); ++f)
            if (module.functions[f].is_entry && module.functions[f].has_body && module.functions[f].name == name) return std::make_unique<KernelCode>(analyse_kernel(module, f));
    throw std::runtime_error("no kernel " + name);
}

Record evaluate(const std::string& line) {
    Record record;
    std::string path, kernel;
    Dim3 block, grid;
    LaunchOptions options;
    std::map<int, std::string> logs;
    for (const std::string& field : split(line, '\t')) {
        const auto equals = field.find('=');
        const std::string key = field.substr(0, equals), value = field.substr(equals + 1);
        if (key == "ptx") path = value;
        else if (key == "kernel") kernel = value;
        else if (key == "block") block = dim(value);
        else if (key == "grid") grid = dim(value);
        else if (key == "smem") record.dynamic_shared_bytes = std::stoull(value);
        else if (key == "arg") options.args.push_back(value);
        else if (key == "data") options.data.push_back(value);
        else if (key == "taken") options.assume_taken = std::stod(value);
        else if (key.starts_with("log.")) logs[std::stoi(key.substr(4))] = value;
        else if (key == "target") {
            auto parts = split(value, ';');
            parts.resize(6);
            record.targets.push_back({parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]});
        } else throw std::runtime_error("unknown field " + key);
    }
    static std::map<std::string, Loaded> known;
    if (known.size() > 64) known.clear();
    Loaded& loaded = known[path];
    if (!loaded.parsed) loaded.parsed = std::make_unique<ptx::ParseResult>(ptx::parse(std::make_shared<const std::string>(slurp(path)), path));
    auto& code = loaded.kernels[kernel];
    if (!code) code = load(*loaded.parsed, kernel);
    const auto requests = advise::read_requests(options);
    if (!requests) throw std::runtime_error(requests.error().message);
    const advise::Subject subject = advise::make_subject(*code, *requests);
    const Evaluator evaluator(*code);
    advise::FactsBook book(*code, evaluator, subject);
    record.facts = *book.facts(block, grid, record.dynamic_shared_bytes);
    record.kernel.bounds.max_threads = code->facts.bounds.max_threads;
    record.kernel.instructions = code->facts.instructions;
    record.kernel.accesses = code->facts.accesses;
    record.resources[0] = code->facts.resources;
    estimate_registers(*code, 80, record.resources[0]);
    for (const auto& [sm, log] : logs)
        if (const auto report = parse_ptxas_log(slurp(log)))
            if (const PtxasKernel* found = find_kernel(*report, kernel, "")) record.resources[sm] = refine(record.resources[0], *found);
    return record;
}

int facts_main(const char* file) {
    Writer writer{std::ofstream(file, std::ios::binary)};
    std::string line;
    std::size_t failed = 0;
    while (std::getline(std::cin, line)) {
        try {
            Record record = evaluate(line);
            all(writer, record);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", line.substr(0, 160).c_str(), error.what());
            ++failed;
        }
    }
    return failed > 0 ? 1 : 0;
}

// ---- predictions ---------------------------------------------------------------------------------------------------
struct Board { GpuProfile profile; std::unique_ptr<GpuModel> model; };

void predict(const Record& record, const Target& target, const Board& board) {
    const int sm = board.profile.cc.major * 10 + board.profile.cc.minor;
    const auto found = record.resources.find(sm);
    ResourceUse use{found != record.resources.end() ? found->second : record.resources.at(0), record.dynamic_shared_bytes, {}};
    OccupancyInput input;
    input.block_threads = static_cast<std::uint32_t>(record.facts.block.count());
    input.registers_per_thread = use.resources.registers_per_thread;
    input.static_shared_bytes = use.resources.static_shared_bytes;
    input.dynamic_shared_bytes = use.dynamic_shared_bytes;
    input.barriers = use.resources.barriers.value_or(1);
    input.kernel_max_threads = record.kernel.bounds.max_threads;
    use.occupancy = occupancy(board.profile.cc, input);
    if (!target.resident.empty()) use.occupancy.active_blocks_per_sm = static_cast<std::uint32_t>(std::stoul(target.resident));
    if (use.occupancy.active_blocks_per_sm == 0) return;
    OperatingPoint point;
    point.terms = false;
    if (!target.clock.empty()) point.clock_mhz = std::stod(target.clock);
    if (!target.limit.empty()) point.power_limit_w = std::stod(target.limit);
    point.warm_cache = target.cold.empty();
    const TimeEstimate time = estimate_time(record.kernel, record.facts, use, *board.model, point);
    const PowerResult power = estimate_power(record.kernel, record.facts, use, *board.model, point);
    const PowerEstimate* p = power.estimate ? &*power.estimate : nullptr;
    const TimeEstimate& t = p ? p->time : time;
    std::printf("%s,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%s,%u,%u,%.9g,%.9g\n", target.id.c_str(), t.total.value, t.interval.low, t.interval.high,
                p ? p->power.value : 0, p ? p->power_interval.low : 0, p ? p->power_interval.high : 0, p ? p->energy.value : 0, t.floor.value, use.occupancy.fraction, t.bound_by.c_str(),
                use.resources.registers_per_thread, use.occupancy.active_blocks_per_sm, t.clock_mhz, t.waves);
}

/// What the evaluator found of each launch, for people.
int show_main(const char* file) {
    Reader reader{std::ifstream(file, std::ios::binary)};
    while (reader.in.peek() != std::ifstream::traits_type::eof()) {
        Record r;
        all(reader, r);
        const Footprint& f = r.facts.footprint;
        const auto text = [](const std::optional<double>& v) { return v ? std::to_string(*v) : std::string("-"); };
        std::printf("%s blocks=%g warps=%g instructions=%g unknown=%.3f unknown_branches=%u lanes=%s\n  block=%s by_instruction=%s stores=%s overlap=%s,%s,%s grid=%s,%s %s\n", r.targets[0].id.c_str(), r.facts.blocks, r.facts.warps_per_block,
                    r.facts.warp_instructions, r.facts.unknown_share, r.facts.unknown_branches, text(r.facts.active_lane_share).c_str(), text(f.block_sectors).c_str(), text(f.block_instruction_sectors).c_str(),
                    text(f.block_store_sectors).c_str(), text(f.overlap_x).c_str(), text(f.overlap_y).c_str(), text(f.overlap_z).c_str(), text(f.grid_read_sectors).c_str(), text(f.grid_written_sectors).c_str(), f.why.c_str());
        for (const auto& [sm, resources] : r.resources) std::printf("  sm %d: %u registers, spill %llu + %llu bytes, %llu shared\n", sm, resources.registers_per_thread, static_cast<unsigned long long>(resources.spill_store_bytes.value_or(0)), static_cast<unsigned long long>(resources.spill_load_bytes.value_or(0)), static_cast<unsigned long long>(resources.static_shared_bytes));
        for (const PhaseFacts& p : r.facts.phases) {
            std::printf("  phase x%g: wavefronts=%g requests=%g loads=%g stores=%g lines=%g global=%g |", p.executions, p.shared_wavefronts, p.shared_requests, p.global_load_sectors, p.global_store_sectors, p.global_lines, p.global_requests);
            for (std::size_t i = 0; i < kMachineOps; ++i)
                if (p.warp_ops[i] > 0) std::printf(" %s=%g", std::string(to_string(static_cast<MachineOp>(i))).c_str(), p.warp_ops[i]);
            std::printf("\n    chain:");
            for (std::size_t i = 0; i < kMachineOps; ++i)
                if (p.chain.ops[i] > 0) std::printf(" %s=%g", std::string(to_string(static_cast<MachineOp>(i))).c_str(), p.chain.ops[i]);
            std::printf("\n");
        }
    }
    return 0;
}

int predict_main(const char* file, int count, char** settings) {
    Reader reader{std::ifstream(file, std::ios::binary)};
    std::map<std::string, Board> boards;
    std::puts("id,time_us,time_low_us,time_high_us,power_w,power_low_w,power_high_w,energy_mj,floor_us,occupancy,bound_by,registers,blocks_per_sm,clock_mhz,waves");
    while (reader.in.peek() != std::ifstream::traits_type::eof()) {
        Record record;
        all(reader, record);
        for (const Target& target : record.targets) {
            Board& board = boards[target.gpu];
            if (!board.model) {
                auto profile = load_gpu(target.gpu);
                if (!profile) return std::fprintf(stderr, "%s\n", profile.error().message.c_str()), 1;
                board.profile = std::move(*profile);
                for (int i = 0; i < count; ++i) {
                    const char* equals = std::strchr(settings[i], '=');
                    if (!equals) return std::fprintf(stderr, "%s is no KEY=VALUE\n", settings[i]), 1;
                    const std::string key(settings[i], static_cast<std::size_t>(equals - settings[i]));
                    auto& entry = board.profile.cc.throughput.contains(key) ? board.profile.cc.throughput[key] : board.profile.values[key];
                    entry.value = std::stod(equals + 1);
                    entry.basis = "measured";
                }
                board.model = std::make_unique<GpuModel>(board.profile);
            }
            predict(record, target, board);
        }
    }
    return 0;
}

int keep_main(const char* sigma) {
    std::vector<advise::Scored> all;
    for (std::string line; std::getline(std::cin, line);) {
        advise::Scored scored;
        scored.time_us = std::stod(line);
        all.push_back(scored);
    }
    const double each = std::stod(sigma);
    for (const bool kept : advise::short_list(all, {}, Objective::time, {each, each})) std::puts(kept ? "1" : "0");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 3 && std::string_view(argv[1]) == "facts") return facts_main(argv[2]);
        if (argc == 3 && std::string_view(argv[1]) == "show") return show_main(argv[2]);
        if (argc == 3 && std::string_view(argv[1]) == "keep") return keep_main(argv[2]);
        if (argc >= 3 && std::string_view(argv[1]) == "predict") return predict_main(argv[2], argc - 3, argv + 3);
    } catch (const std::exception& error) {
        return std::fprintf(stderr, "accuracy_driver: %s\n", error.what()), 1;
    }
    return std::fputs("accuracy_driver facts FILE < jobs | accuracy_driver predict FILE [KEY=VALUE...] | accuracy_driver keep SIGMA < times\n", stderr), 2;
}
