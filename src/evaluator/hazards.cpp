// Races in shared memory and barriers that order nothing, in one block: its warps run in turn from barrier to barrier, every
// access with its lanes is seen, and each stretch between two barriers is compared with itself and with the next.
// Behind --experimental: docs/evaluator.md gives the share of findings that are wrong.
#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <unordered_map>

#include "evaluator/collect.hpp"
#include "evaluator/prepared.hpp"
#include "passes/source_lines.hpp"

namespace flipflop {

using namespace eval;

namespace {

/// Who touched a byte between two barriers. Lanes of one warp are in step, or are kept so by what the rule does not look at
/// (bar.warp.sync, shuffles): only different warps, or two lanes of one store, can meet.
struct Touch {
    u32 warp{kNone}, instruction{};
    bool other_warp{};                       ///< some second warp did too
};
struct Byte { Touch reads, writes; };

/// One stretch between barriers. Spaces apart: shared addresses are offsets.
struct Stretch {
    std::unordered_map<u64, Byte> shared, global;     ///< looked up and counted over, never listed in its own order
    bool lost{};                                      ///< an address was not known
};

class Watcher final : public Observer {
public:
    explicit Watcher(const Program& program) : p_(program) {}
    void operated(const Machine&, const MicroOp&, u32) override {}
    void accessed(const Machine&, const MicroOp& op, const MemoryOp& m, const std::array<u64, kLanes>& address, u32 known, u32 mask) override {
        if (m.access < 0) return;
        // Atomics do not race with each other, but a barrier beside them may well order something.
        if (m.atomic) { now().lost = true; return; }
        const bool shared = m.space == ptx::Space::shared, global = m.space == ptx::Space::global || m.space == ptx::Space::generic;
        if (!shared && !global) return;
        if ((m.kind != AccessKind::plain && m.kind != AccessKind::matrix) || lands_later(m)) { now().lost = true; return; }
        const u32 lanes = mask & m.lanes;
        if ((known & lanes) != lanes) { now().lost = true; return; }
        const u32 instruction = p_.functions[m.function].first_instruction + op.instruction;
        for (u32 left = lanes; left; left &= left - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(left));
            const SpaceWindow w = m.space == ptx::Space::generic ? window_of(p_.map, address[lane]) : SpaceWindow{m.space, 0};
            if (w.space != ptx::Space::shared && w.space != ptx::Space::global) continue;
            auto& bytes = w.space == ptx::Space::shared ? now().shared : now().global;
            for (u32 b = 0; b < std::max(1u, m.bytes); ++b) note(bytes[address[lane] + b], m.writes, instruction);
            bytes_seen += m.bytes;
        }
    }

    u32 warp{};                              ///< the one that runs
    std::size_t stretch{};                   ///< where it is
    u64 bytes_seen{};
    std::vector<Stretch> stretches{1};

private:
    Stretch& now() {
        while (stretches.size() <= stretch) stretches.emplace_back();
        return stretches[stretch];
    }
    /// cp.async writes at some time before it is waited for, maybe several barriers on.
    [[nodiscard]] bool lands_later(const MemoryOp& m) const {
        const ptx::Instruction& i = p_.functions[m.function].code->ir.function->instructions[m.instruction];
        return ptx::info(p_.module->form(i).opcode).name.starts_with("cp.async");
    }
    void note(Byte& byte, bool writes, u32 instruction) const {
        Touch& t = writes ? byte.writes : byte.reads;
        if (t.warp == kNone) { t.warp = warp; t.instruction = instruction; }
        else if (t.warp != warp) t.other_warp = true;
    }
    const Program& p_;
};

bool different(const Touch& a, const Touch& b) {
    return a.warp != kNone && b.warp != kNone && (a.warp != b.warp || a.other_warp || b.other_warp);
}

/// Would these accesses need an order between different warps?
bool conflict(const Byte& a, const Byte& b) { return different(a.writes, b.writes) || different(a.writes, b.reads) || different(a.reads, b.writes); }

bool conflict(const std::unordered_map<u64, Byte>& a, const std::unordered_map<u64, Byte>& b) {
    for (const auto& [address, byte] : a) {
        const auto it = b.find(address);
        if (it != b.end() && conflict(byte, it->second)) return true;
    }
    return false;
}

class Hunt {
public:
    Hunt(const Program& program, const Launch& launch) : p_(program), session_(program, launch), watcher_(program) {
        session_.budget = 400'000;
        session_.cooperative = true;
        session_.keep_records = false;
        session_.summarise = false;
        session_.observer = &watcher_;
    }

    HazardFacts run() {
        HazardFacts facts;
        follow();
        if (session_.steps > session_.budget || watcher_.bytes_seen > kMostBytes) {
            facts.why = "the block does too much to be followed access by access";
            return facts;
        }
        races(facts);
        redundant(facts);
        return facts;
    }

private:
    static constexpr u64 kMostBytes = u64{1} << 23;

    void follow() {
        const auto groups = group_warps(session_.launch.block, true);
        Place place;
        place.block = interior_block(session_.launch.grid);
        session_.shared.reset(p_.map.dynamic_shared + session_.launch.dynamic_shared_bytes);
        std::deque<Machine> machines;
        std::vector<bool> done(groups.size());
        for (const WarpGroup& g : groups) machines.emplace_back(session_).start(place, g);
        for (bool some = true; some; ++watcher_.stretch) {
            some = false;
            u32 barrier = kNone;
            for (u32 w = 0; w < groups.size(); ++w) {
                if (done[w]) continue;
                watcher_.warp = w;
                done[w] = machines[w].run() == Machine::Status::done;
                if (done[w]) continue;
                some = true;
                if (barrier != kNone && barrier != machines[w].phase()) apart_ = true;     // warps at different barriers
                barrier = machines[w].phase();
            }
            barriers_.push_back(barrier);
            if (session_.steps > session_.budget || watcher_.bytes_seen > kMostBytes) return;
        }
    }

    [[nodiscard]] std::pair<u32, std::optional<SourceLine>> line_of(u32 instruction) const {
        for (const FunctionProgram& f : p_.functions) {
            const auto& code = f.code->ir.function->instructions;
            if (instruction >= f.first_instruction && instruction - f.first_instruction < code.size()) {
                const ptx::Instruction& i = code[instruction - f.first_instruction];
                return {i.line, source_of(*p_.module, i)};
            }
        }
        return {0, std::nullopt};
    }

    void races(HazardFacts& facts) const {
        std::map<std::pair<u32, u32>, u64> found;      // by (writer, other): how many bytes
        for (const Stretch& s : watcher_.stretches)
            for (const auto& [address, byte] : s.shared) {
                if (byte.writes.other_warp) ++found[{byte.writes.instruction, byte.writes.instruction}];
                else if (different(byte.writes, byte.reads)) ++found[{byte.writes.instruction, byte.reads.instruction}];
            }
        for (const auto& [pair, bytes] : found) {
            HazardFacts::Race race;
            std::tie(race.ptx_line, race.source) = line_of(pair.first);
            std::tie(race.other_line, race.other_source) = line_of(pair.second);
            race.bytes = bytes;
            facts.races.push_back(std::move(race));
        }
    }

    /// Passes of a loop that stand for others, or a single one, do not show what its barriers order from pass to pass.
    [[nodiscard]] bool loops_seen(const Unit& unit) const {
        const FunctionProgram& f = p_.functions[unit.function];
        for (u32 l = f.blocks[unit.block].loop; l != kNone; l = f.loops[l].parent) {
            const u32 facts = f.loops[l].facts;
            const auto& events = session_.trace.pages[0].loops;
            const bool again = std::any_of(events.begin(), events.end(), [&](const LoopEvent& e) { return e.loop == facts && e.most >= 2; });
            if (session_.loop_doubt[facts] || !again) return false;
        }
        return true;
    }

    /// Is something read or written on both sides, and written on one? A block that has no work there says nothing of the barrier.
    static bool works(const Stretch& a, const Stretch& b) {
        const auto writes = [](const Stretch& s) {
            return std::any_of(s.shared.begin(), s.shared.end(), [](const auto& entry) { return entry.second.writes.warp != kNone; });
        };
        return !a.shared.empty() && !b.shared.empty() && (writes(a) || writes(b));
    }

    /// A barrier is redundant when no time it was passed there was anything to order across it.
    void redundant(HazardFacts& facts) const {
        if (apart_ || session_.launch.block.count() <= kLanes) return;     // one warp is in step anyway
        std::map<u32, bool> needed, worked;
        for (std::size_t k = 0; k < barriers_.size(); ++k) {
            if (barriers_[k] == kNone) continue;
            const u32 barrier = barriers_[k] - 1;
            bool needs = k + 1 >= watcher_.stretches.size();
            if (!needs) {
                const Stretch &a = watcher_.stretches[k], &b = watcher_.stretches[k + 1];
                worked[barrier] |= works(a, b);
                needs = a.lost || b.lost || conflict(a.shared, b.shared) || conflict(a.global, b.global);
            }
            needed[barrier] |= needs;
        }
        for (const auto& [barrier, needs] : needed) {
            if (needs || !worked[barrier] || barrier >= p_.barrier_units.size() || p_.barrier_units[barrier].first == kNone) continue;
            const auto& [unit, instruction] = p_.barrier_units[barrier];
            if (!p_.units[unit].has_barrier || !loops_seen(p_.units[unit])) continue;
            HazardFacts::Barrier b;
            std::tie(b.ptx_line, b.source) = line_of(p_.functions[p_.units[unit].function].first_instruction + instruction);
            b.barrier = barrier;
            facts.redundant_barriers.push_back(std::move(b));
        }
    }

    const Program& p_;
    Session session_;
    Watcher watcher_;
    std::vector<u32> barriers_;              ///< after each stretch: phase() of the warps, kNone at the end
    bool apart_{};
};

}  // namespace

HazardFacts Evaluator::hazards(const Launch& launch) const {
    const Program& program = prepared_->program;
    if (program.functions.empty() || launch.block.count() == 0 || launch.grid.count() == 0) return {};
    return Hunt(program, launch).run();
}

}  // namespace flipflop
