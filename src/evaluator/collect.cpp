// Sums over boxes: what each access, loop and counter adds up to.
#include "evaluator/collect.hpp"

#include "evaluator/anchors.hpp"

#include <bit>
#include <cmath>
#include <numeric>

namespace flipflop::eval {
namespace {

/// How the address modulo 128 is spread over the axes that move it by something else than multiples of 128.
std::vector<std::pair<unsigned, double>> residues_of(const AxisRepeats& axes) {
    struct { std::array<double, 128> share{}; } r;
    r.share[0] = 1;
    for (const auto& [stride, extent] : axes) {
        const auto step = static_cast<unsigned>(static_cast<u64>(stride) & 127);
        if (extent <= 1 || step == 0) continue;
        const unsigned period = 128 / std::gcd(step, 128u);
        const i64 whole = extent / period, rest = extent % period;
        std::array<double, 128> next{};
        for (unsigned k = 0; k < period; ++k) {
            const double part = static_cast<double>(whole + (k < rest ? 1 : 0)) / static_cast<double>(extent);
            if (part == 0) continue;
            for (unsigned b = 0; b < 128; ++b)
                if (r.share[b] != 0) next[(b + k * step) & 127] += r.share[b] * part;
        }
        r.share = next;
    }
    std::vector<std::pair<unsigned, double>> out;
    for (unsigned b = 0; b < 128; ++b)
        if (r.share[b] != 0) out.emplace_back(b, r.share[b]);
    return out;
}

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// Does one way out of the block leave its loop?
bool ends(const FunctionProgram& f, const BlockProgram& from) {
    const LoopProgram& loop = f.loops[from.loop];
    const auto leaves = [&](u32 to) { return to == kNone || f.blocks[to].order < loop.order_begin || f.blocks[to].order >= loop.order_end; };
    return leaves(from.fall_through) || std::any_of(from.targets.begin(), from.targets.end(), leaves);
}

}  // namespace

/// Does a lane's address fail to be a multiple of what it moves (PTX ISA 6.4.1)? Axes only add whole strides.
bool Collector::unaligned(const AccessRecord& r, const AxisRepeats& axes) const {
    const MemoryOp& m = p_.memory[r.memory];
    if (m.bytes < 2 || (m.bytes & (m.bytes - 1))) return false;
    u64 low = r.base | s_.shapes.facts(r.shape).offset_bits;      // the first active lane lies at the base itself
    for (const auto& [stride, n] : axes) low |= static_cast<u64>(stride);
    return (low & (m.bytes - 1)) != 0;
}

void Collector::classify(Access& a, const AccessRecord& r, double times, double sectors) {
    const MemoryOp& m = p_.memory[r.memory];
    const Shape& shape = s_.shapes.shape(r.shape);
    const ShapeFacts& f = s_.shapes.facts(r.shape);
    Pattern pattern = Pattern::piecewise;
    const double dense = ceil_div(static_cast<double>(f.lanes) * shape.bytes, 32);
    if (r.space == ptx::Space::shared && f.wavefronts[r.base & 3] > 1.0f) pattern = Pattern::conflict;
    else if (f.lanes == 1 || (f.affine && f.stride == 0)) pattern = Pattern::broadcast;
    else if (f.affine && std::abs(f.stride) == static_cast<i64>(shape.bytes))
        pattern = r.space == ptx::Space::global && sectors > dense + 1e-9 ? Pattern::misaligned : Pattern::coalesced;
    else if (f.affine) pattern = Pattern::strided;
    if (m.kind == AccessKind::bulk && f.lanes == 1) pattern = Pattern::coalesced;
    // A lone lane has no neighbours to lie beside: it tells only where there is nothing else.
    a.patterns[static_cast<std::size_t>(pattern)] += f.lanes == 1 ? times * 1e-9 : times;
    if (f.affine && f.lanes > 1 && times > a.stride_weight) {
        a.stride_weight = times;
        a.stride = f.stride;
    }
}

void Collector::add_record(const AccessRecord& r, const BoxInfo& box, double volume, KeptBox& kept) {
    const MemoryOp& m = p_.memory[r.memory];
    Access& a = accesses_[static_cast<u32>(m.access)];
    std::array<i64, kAxes> extent{};
    extent.fill(1);
    for (unsigned k = 0; k < kFirstLoopAxis; ++k) extent[k] = s_.domain.extent[k];
    double times = volume * r.weight;
    for (u32 f = r.frame; f != 0 && f != kNone; f = s_.trace.frames[f].parent) {
        extent[s_.trace.frames[f].axis] = s_.trace.frames[f].extent;
        times *= static_cast<double>(s_.trace.frames[f].extent);
    }
    const int lanes = std::popcount(r.mask);
    a.requests += times;
    a.lanes += times * lanes;
    a.space = r.space;
    a.assumed |= r.doubt == Doubt::assumed;
    a.undecided |= r.doubt == Doubt::unknown;
    PhaseSums& phase = phase_sums_[r.phase];
    const bool shared = r.space == ptx::Space::shared, local = r.space == ptx::Space::local;
    const bool device = r.space == ptx::Space::global || r.space == ptx::Space::generic;
    double sectors = ceil_div(static_cast<double>(lanes) * r.bytes, 32), lines = ceil_div(static_cast<double>(lanes) * r.bytes, 128);
    double passes = std::max(1.0, ceil_div(static_cast<double>(lanes) * std::min(r.bytes, 16u), 128)), serial = 1;
    if (r.shape == kNone) {
        a.unknown += times;
        if (!a.reason) a.reason = r.reason ? r.reason : 1 + p_.functions[m.function].first_instruction + m.instruction;
        if (device && m.kind != AccessKind::texture && m.kind != AccessKind::prefetch) global_unknown_ = true;
        // A tensor copy's bytes may be known without its sectors: they are taken as dense.
        const bool sized = m.kind == AccessKind::tensor && m.bytes > 0;
        if ((m.kind == AccessKind::tensor && !sized) || m.kind == AccessKind::texture) sectors = lines = 0;
        if (sized && shared) passes = ceil_div(static_cast<double>(lanes) * m.bytes, 128);
    } else {
        const ShapeFacts& f = s_.shapes.facts(r.shape);
        AxisRepeats axes;
        for (unsigned k = 0; k < kAxes; ++k)
            if ((r.axes & (1u << k)) && extent[k] > 1) axes.push_back({r.stride[k], extent[k]});
        serial = f.serial;
        if (shared) {
            passes = f.passes[r.base & 3];
            // A bulk copy moves 128 bytes a pass, whoever started it.
            if (m.kind == AccessKind::bulk) passes = std::max(passes, ceil_div(static_cast<double>(lanes) * r.bytes, 128));
            a.wavefronts += times * static_cast<double>(f.wavefronts[r.base & 3]);
            a.passes += times * passes;
            u64 top = r.base;
            for (const auto& [stride, n] : axes)
                if (stride > 0) top += static_cast<u64>(stride) * static_cast<u64>(n - 1);
            i64 reach = 0;
            for (const auto& [b, e] : f.intervals) reach = std::max(reach, e);
            top += static_cast<u64>(reach);
            const u64 end = p_.map.uses_dynamic_shared ? p_.map.dynamic_shared + s_.launch.dynamic_shared_bytes : p_.map.static_shared;
            if (top > end && m.kind != AccessKind::tensor) a.overrun = std::max(a.overrun, top - end);
            if (p_.map.uses_dynamic_shared && top > p_.map.dynamic_shared)
                dynamic_touched_ = std::max(dynamic_touched_.value_or(0), top - p_.map.dynamic_shared);
        } else if (device || local) {
            const auto low = static_cast<unsigned>(r.base & 127);
            AxisRepeats moving;
            for (const auto& [stride, n] : axes)
                if (stride & 127) moving.push_back({stride & 127, n});
            if (moving.empty()) {
                sectors = s_.shapes.sectors(r.shape, low);
                lines = s_.shapes.lines(r.shape, low);
            } else {
                auto known = std::find_if(residues_.begin(), residues_.end(), [&](const auto& e) { return e.first == moving; });
                if (known == residues_.end()) {
                    if (residues_.size() > 64) residues_.clear();
                    residues_.emplace_back(moving, residues_of(moving));
                    known = residues_.end() - 1;
                }
                sectors = lines = 0;
                for (const auto& [shift, share] : known->second) {
                    sectors += share * s_.shapes.sectors(r.shape, (low + shift) & 127);
                    lines += share * s_.shapes.lines(r.shape, (low + shift) & 127);
                }
            }
            a.sectors += times * sectors;
            a.lines += times * lines;
            a.ideal += times * ceil_div(f.distinct_bytes, 32);
        }
        a.located += times;
        if (m.kind == AccessKind::plain && unaligned(r, axes)) a.unaligned += times;
        classify(a, r, times, sectors);
        if (device && m.kind != AccessKind::prefetch) {
            if (kept_records_ < (1u << 17)) {
                kept.records.push_back({r.memory, r.shape, r.occurrence, r.base, r.stride, extent, r.space});
                ++kept_records_;
            } else {
                footprint_lost_ = true;
                footprint_why_ = "more distinct accesses than are kept";
            }
        }
    }
    (void)box;
    if (shared) {
        phase.wavefronts += times * passes;
        phase.shared_requests += times;
        if (m.atomic) phase.serial += times * serial;
    } else if (local) {
        phase.local_sectors += times * sectors;
        phase.global_requests += times;
        phase.lines += times * lines;
    } else if (device && m.kind != AccessKind::prefetch) {
        if (m.atomic) {
            phase.atomic_sectors += times * sectors;
            phase.serial += times * serial;
        } else if (m.writes && !m.reads) {
            phase.store_sectors += times * sectors;
        } else {
            phase.load_sectors += times * sectors;
        }
        phase.lines += times * lines;
        phase.global_requests += times;
    }
}

void Collector::add(const BoxInfo& box) {
    double volume = box.weight;
    for (unsigned k = 0; k < kFirstLoopAxis; ++k) volume *= static_cast<double>(s_.domain.extent[k]);
    Page& page = s_.trace.pages[0];
    for (const u32 key : page.touched()) {
        const Page::Count& c = page.count(key);
        Page::Count& sum = key < p_.first_event() ? counts_[key] : events_[key];
        sum.warps += c.warps * volume;
        sum.lanes += c.lanes * volume;
        sum.doubtful += c.doubtful * volume;
    }
    if (box.sampled && box.weight == 0 && box.low == folding_.folded(interior_block(s_.launch.grid))) {
        interior_cut_ |= s_.trace.truncated;
        for (const u32 key : page.touched())
            if (key < p_.first_event()) interior_executions_ += page.count(key).warps;
    }
    barrier_lanes_ += page.barrier_lanes * volume;
    for (const LoopEvent& e : page.loops) {
        LoopEvent& sum = loops_[e.loop];
        const bool first = sum.entries == 0;
        sum.entries += e.entries * volume;
        sum.trips += e.trips * volume;
        sum.least = first ? e.least : std::min(sum.least, e.least);
        sum.most = std::max(sum.most, e.most);
    }
    KeptBox kept{box, {}};
    const auto on_device = [](const AccessRecord& r) { return r.shape != kNone && (r.space == ptx::Space::global || r.space == ptx::Space::generic); };
    kept.records.reserve(static_cast<std::size_t>(std::count_if(s_.trace.records.begin(), s_.trace.records.end(), on_device)));
    for (unsigned k = 0; k < kBlockAxes; ++k) kept.box.extent[k] = static_cast<u64>(s_.domain.extent[k]);
    for (const AccessRecord& r : s_.trace.records) add_record(r, box, volume, kept);
    if (!kept.records.empty()) kept_.push_back(std::move(kept));
    truncated_ |= s_.trace.truncated;
    sampled_ |= box.sampled;
    if (s_.trace.dropped_records) {
        truncated_ = true;
        footprint_lost_ = true;
        footprint_why_ = "a loop without a recurring pattern was cut short";
    }
}

std::uint8_t Collector::loop_doubt_of(u32 function, u32 instruction) const {
    const FunctionProgram& f = p_.functions[function];
    std::uint8_t worst = 0;
    const u32 block = static_cast<u32>(f.code->ir.block_of[instruction]);
    for (u32 l = f.blocks[block].loop; l != kNone; l = f.loops[l].parent) worst = std::max(worst, s_.loop_doubt[f.loops[l].facts]);
    return worst;
}

std::string Collector::reason_text(u32 reason) const {
    if (reason & 0x80000000u) return "%" + std::string(ptx::to_string(static_cast<ptx::Special>(reason & 0xffff))) + ", which the hardware decides";
    if (reason == 0) return "a register that was never written";
    const bool distance = by_distance(reason);
    u32 number = (reason & ~kDistanceReason) - 1;
    for (const FunctionProgram& f : p_.functions) {
        const auto& code = f.code->ir.function->instructions;
        if (number < f.first_instruction || number - f.first_instruction >= code.size()) continue;
        const ptx::Instruction& i = code[number - f.first_instruction];
        const ptx::Form& form = p_.module->form(i);
        const std::string where = " (PTX line " + std::to_string(i.line) + ")";
        if (distance) return "the distance of two pointers" + where;
        if (form.opcode == ptx::Opcode::ld && form.space == ptx::Space::param) return "a parameter whose value is not given" + where;
        if (form.reads_memory) return "data loaded by " + std::string(form.text) + where;
        if (form.opcode == ptx::Opcode::call) return "what a called function returns" + where;
        return "the result of " + std::string(form.text) + where;
    }
    return "something unknown";
}

void Collector::access_facts(LaunchFacts& facts) const {
    facts.accesses.resize(accesses_.size());
    std::vector<std::pair<u32, u32>> where(accesses_.size(), {kNone, 0});
    for (const MemoryOp& m : p_.memory)
        if (m.access >= 0) where[static_cast<u32>(m.access)] = {m.function, m.instruction};
    for (std::size_t k = 0; k < accesses_.size(); ++k) {
        const Access& a = accesses_[k];
        AccessFacts& f = facts.accesses[k];
        const std::uint8_t loop = where[k].first == kNone ? 0 : loop_doubt_of(where[k].first, where[k].second);
        CountBasis basis = CountBasis::exact;
        if (sampled_) { basis = CountBasis::sampled; f.why = "representative blocks stand for the grid"; }
        if (a.assumed || loop == 2) { basis = CountBasis::assumed; f.why = "depends on an assumed branch or trip count"; }
        if (loop == 1) { basis = CountBasis::wait; f.why = "inside a loop that waits: one pass is counted"; }
        if (a.undecided || loop == 3) { basis = CountBasis::unknown; f.why = "how often it runs depends on data"; }
        if (loop >= 4) { basis = CountBasis::unknown; f.why = loop == 4 ? "inside a loop that was cut at the work limit" : "inside a loop that nothing ends"; }
        const bool countable = basis == CountBasis::exact || basis == CountBasis::sampled;
        if (countable) f.requests = a.requests;
        else f.requests_assumed = a.requests;
        f.active_lanes = a.requests > 0 ? a.lanes / a.requests : 0;
        const AccessDescription& d = p_.code->facts.accesses[k];
        if (a.unknown > 0) {
            basis = CountBasis::unknown;
            if (d.space == MemorySpace::texture) f.why = "what a texture access touches depends on the texture";
            else f.why = "its address depends on " + reason_text(a.reason);
            f.pattern = d.space == MemorySpace::texture ? Pattern::unknown : d.writes && !d.reads ? Pattern::scatter : Pattern::gather;
        } else if (a.located > 0) {
            const bool shared = a.space == ptx::Space::shared;
            if (shared) {
                f.wavefronts_per_request = a.wavefronts / a.located;
                f.wavefront_total = a.passes;
            } else if (a.space != ptx::Space::constant && a.space != ptx::Space::param) {
                f.sectors_per_request = a.sectors / a.located;
                f.ideal_sectors_per_request = a.ideal / a.located;
                f.lines_per_request = a.lines / a.located;
            }
            f.unaligned_share = a.unaligned / a.located;
            if (a.overrun) f.shared_overrun_bytes = a.overrun;
            f.pattern = static_cast<Pattern>(std::max_element(a.patterns.begin(), a.patterns.end()) - a.patterns.begin());
            if (a.stride_weight > 0 && f.pattern != Pattern::piecewise && f.pattern != Pattern::conflict) f.stride_bytes = a.stride;
            if (f.pattern == Pattern::conflict && a.stride_weight > 0) f.stride_bytes = a.stride;
        }
        f.basis = basis;
    }
}

/// May a loop also end by a count that is known? Then that bounds it, whatever the data.
bool Collector::counted(std::size_t loop) const {
    for (const FunctionProgram& f : p_.functions)
        for (const LoopProgram& l : f.loops)
            if (l.facts == loop) return !l.counted_exits.empty();
    return false;
}

std::string Collector::exit_words(std::size_t loop) const {
    const u32 reason = s_.loop_reason[loop];
    return by_distance(reason) ? "bounded by the distance of two pointers, whose addresses are not given" : "its exit depends on data";
}

void Collector::loop_facts(LaunchFacts& facts) const {
    facts.loops.resize(loops_.size());
    for (std::size_t k = 0; k < loops_.size(); ++k) {
        LoopFacts& f = facts.loops[k];
        f.basis = sampled_ || truncated_ ? CountBasis::sampled : CountBasis::exact;
        switch (s_.loop_doubt[k]) {
        case 1: f.basis = CountBasis::wait; f.why = "it waits for another thread: one pass is counted"; break;
        case 2: f.basis = CountBasis::assumed; f.why = exit_words(k) + ": an assumed trip count is used"; break;
        case 3: f.basis = CountBasis::unknown; f.why = exit_words(k); break;
        case 4: f.basis = CountBasis::unknown; f.why = "it was cut at the work limit"; break;
        case 5: f.basis = CountBasis::unknown; f.why = "nothing in it ends it"; break;
        default: break;
        }
        if (loops_[k].entries <= 0) continue;
        if (s_.loop_doubt[k] >= 3) {
            // Passes that stand for what is not known are no trip counts; a counted exit is a bound.
            if (s_.loop_doubt[k] == 3 && counted(k) && s_.loop_reason[k] == 0) f.trip_max = loops_[k].most;
            continue;
        }
        f.trip_mean = loops_[k].trips / loops_[k].entries;
        f.trip_min = loops_[k].least;
        f.trip_max = std::max(loops_[k].most, s_.loop_doubt[k] == 2 ? s_.loop_most[k] : 0);
    }
}

void Collector::totals(LaunchFacts& facts) const {
    const auto units = static_cast<u32>(p_.units.size());
    std::vector<u32> keys;
    for (const auto& [key, c] : counts_) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    double lanes = 0, weighted = 0, doubtful = 0;
    std::size_t instructions = 0;
    for (const FunctionProgram& f : p_.functions) instructions = std::max(instructions, f.first_instruction + f.code->ir.function->instructions.size());
    facts.executions.assign(instructions, 0);
    for (const u32 key : keys) {
        const Page::Count& c = counts_.at(key);
        const Unit& u = p_.units[key % units];
        for (const auto& [k, n] : u.classes) facts.thread_ops[k] += c.lanes * n;
        for (const auto& [k, n] : u.machine) facts.thread_machine_ops[k] += c.lanes * n;
        facts.warp_instructions += c.warps * u.instructions;
        for (const u32 i : u.members) facts.executions[p_.functions[u.function].first_instruction + i] += c.warps;
        facts.tensor_fma += c.warps * u.tensor_fma;
        lanes += c.lanes * u.instructions;
        weighted += c.warps * u.instructions;
        const std::uint8_t loop = loop_doubt_of(u.function, p_.functions[u.function].code->ir.blocks[u.block].begin);
        doubtful += (loop >= 2 ? c.warps : c.doubtful) * u.instructions;
    }
    if (weighted > 0) {
        facts.active_lane_share = lanes / (weighted * kLanes);
        facts.unknown_share = doubtful / weighted;
    }
    facts.barriers_per_thread = facts.threads > 0 ? barrier_lanes_ / facts.threads : 0;
}

void Collector::phases(LaunchFacts& facts) const {
    const auto units = static_cast<u32>(p_.units.size());
    facts.phases.resize(p_.barriers + 1);
    std::vector<u32> keys;
    for (const auto& [key, c] : counts_) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    const double blocks = facts.blocks, warps = facts.blocks * facts.warps_per_block;
    for (const u32 key : keys) {
        const Page::Count& c = counts_.at(key);
        const Unit& u = p_.units[key % units];
        PhaseFacts& phase = facts.phases[key / units];
        for (const auto& [k, n] : u.machine) phase.warp_ops[k] += c.warps * n / blocks;
        for (const auto& [k, n] : u.chain) phase.chain.ops[k] += c.warps * n / warps;
        for (const auto& [k, n] : u.chain_miss) phase.chain_miss.ops[k] += c.warps * n / warps;
    }
    for (u32 k = 0; k < facts.phases.size(); ++k) {
        PhaseFacts& phase = facts.phases[k];
        if (k > 0) {
            phase.executions = 0;
            // A phase is entered when its barrier is passed, by all warps of the block at once.
            for (const FunctionProgram& f : p_.functions)
                for (const BlockProgram& b : f.blocks) {
                    u32 unit = kNone;
                    for (u32 o = b.begin; o < b.end; ++o) {
                        if (f.ops[o].op == Op::count && f.ops[o].guard == kNone) unit = f.ops[o].payload;
                        if (f.ops[o].op != Op::barrier || f.ops[o].payload + 1 != k || unit == kNone) continue;
                        for (const u32 key : keys)
                            if (key % units == unit) phase.executions += counts_.at(key).warps / warps;
                    }
                }
        }
        const auto it = phase_sums_.find(k);
        if (it == phase_sums_.end()) continue;
        const PhaseSums& s = it->second;
        phase.shared_wavefronts = s.wavefronts / blocks;
        phase.shared_requests = s.shared_requests / blocks;
        phase.global_load_sectors = s.load_sectors / blocks;
        phase.global_store_sectors = s.store_sectors / blocks;
        phase.local_sectors = s.local_sectors / blocks;
        phase.global_lines = s.lines / blocks;
        phase.global_requests = s.global_requests / blocks;
        phase.atomic_sectors = s.atomic_sectors / blocks;
        phase.atomic_serial_max = s.serial / blocks;
    }
}

bool Collector::unknowns(LaunchFacts& facts) const {
    bool calls_skipped = false;
    std::vector<std::string>& out = facts.unknowns;
    const auto add = [&](std::string text) {
        if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    };
    for (const std::string& n : p_.notes) add(n);
    for (std::size_t k = 0; k < facts.accesses.size(); ++k) {
        const AccessDescription& d = p_.code->facts.accesses[k];
        if (accesses_[k].unknown > 0 && d.space != MemorySpace::texture)
            add("address of " + d.op + " at PTX line " + std::to_string(d.ptx_line) + ": depends on " + reason_text(accesses_[k].reason));
    }
    for (std::size_t k = 0; k < facts.loops.size(); ++k)
        if (facts.loops[k].basis == CountBasis::unknown || facts.loops[k].basis == CountBasis::assumed)
            add("trips of the loop at PTX line " + std::to_string(p_.code->facts.loops[k].ptx_line) + ": " + facts.loops[k].why);
    for (const FunctionProgram& f : p_.functions) {
        const auto& code = f.code->ir.function->instructions;
        for (u32 i = 0; i < code.size(); ++i) {
            if (const u32 skipped = s_.skipped_calls[f.first_instruction + i]) {
                add("what is called at PTX line " + std::to_string(code[i].line) +
                    (skipped == 2 ? ": calls are followed 24 deep and within the work limit" : ": it is called through a register, or the module has no body of it"));
                calls_skipped = true;
            }
            facts.divergent_branches += s_.divergent[f.first_instruction + i] != 0;
            const u32 undecided = s_.undecided[f.first_instruction + i];
            if (!undecided) continue;
            const BlockProgram& from = f.blocks[static_cast<u32>(f.code->ir.block_of[i])];
            // What ends a loop that waits, or whose trips are assumed, is said of the loop: it goes one way a pass, not both.
            if (from.loop != kNone && s_.loop_doubt[f.loops[from.loop].facts] != 0 && ends(f, from)) continue;
            ++facts.unknown_branches;
            add("branch at PTX line " + std::to_string(code[i].line) + (undecided == 2 ? ": depends on the distance of two pointers, whose addresses are not given" : ": depends on data"));
        }
    }
    return calls_skipped;
}

LaunchFacts Collector::finish() {
    LaunchFacts facts;
    const Launch& launch = s_.launch;
    facts.block = launch.block;
    facts.grid = launch.grid;
    facts.blocks = static_cast<double>(launch.grid.count());
    facts.warps_per_block = static_cast<double>((launch.block.count() + kLanes - 1) / kLanes);
    facts.threads = facts.blocks * static_cast<double>(launch.block.count());
    totals(facts);
    roles(facts);
    branches(facts);
    partial_barriers(facts);
    phases(facts);
    access_facts(facts);
    loop_facts(facts);
    footprint(facts);
    const bool calls_skipped = unknowns(facts);
    facts.dynamic_shared_touched = dynamic_touched_;
    facts.evaluated_runs = s_.runs;
    facts.evaluated_steps = s_.all_steps;
    if (sampled_ || truncated_) facts.basis = CountBasis::sampled;
    facts.cut = std::any_of(s_.loop_doubt.begin(), s_.loop_doubt.end(), [](std::uint8_t doubt) { return doubt == 4; });
    for (const LoopFacts& l : facts.loops)
        if (l.basis == CountBasis::wait || l.basis == CountBasis::assumed || l.basis == CountBasis::unknown) facts.basis = std::max(facts.basis, l.basis);
    for (const AccessFacts& a : facts.accesses)
        if (a.requests_assumed) facts.basis = std::max(facts.basis, a.basis);
    if ((facts.unknown_branches || calls_skipped) && facts.basis == CountBasis::exact) facts.basis = CountBasis::unknown;
    return facts;
}

}  // namespace flipflop::eval
