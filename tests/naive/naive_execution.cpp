#include "naive_execution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "naive_grid.hpp"

namespace naive {
namespace {

std::uint8_t byte_at(std::uint64_t address, Numbers kind) {
    const std::uint64_t unit = kind == Numbers::halves ? 2 : 4, element = address / unit;
    const std::uint64_t h = mixed(0x5eed, element);
    std::uint32_t word = 0;
    switch (kind) {
        case Numbers::f32: word = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(h % 61) - 30)); break;
        case Numbers::spread: word = std::bit_cast<std::uint32_t>(static_cast<float>(h % 1000003)); break;
        case Numbers::u32: word = static_cast<std::uint32_t>(h); break;
        case Numbers::small: word = static_cast<std::uint32_t>(h % 1000); break;
        case Numbers::halves: word = 0x3c00 + static_cast<std::uint32_t>(h % 512); break;
        case Numbers::zero: break;
    }
    return static_cast<std::uint8_t>(word >> (8 * (address % unit)));
}

/// Notes who writes what, and who meets whom in shared memory.
class Notes : public Listener {
public:
    Notes(Execution& execution, std::uint64_t threads) : e_(execution), warps_((threads + 31) / 32) {}

    void begin_block(const Dim3&) override {
        cells_.clear();
        now_ = 1;
        passed_.assign(warps_ * warps_, 0);
    }
    void met(const std::vector<std::uint32_t>& threads) override {
        ++now_;
        std::set<std::size_t> who;
        for (const std::uint32_t t : threads) who.insert(t / 32);
        std::vector<std::uint64_t> known(warps_, 0);
        for (const std::size_t w : who)
            for (std::size_t k = 0; k < warps_; ++k) known[k] = std::max(known[k], passed_[w * warps_ + k]);
        for (const std::size_t w : who) known[w] = now_;
        for (const std::size_t w : who) std::copy(known.begin(), known.end(), passed_.begin() + static_cast<std::ptrdiff_t>(w * warps_));
    }
    void fault(const Instruction& instruction, const std::string& what) override { note_fault(instruction, what); }
    void touched(const Thread& thread, std::uint64_t, const Instruction& instruction, const Touch& touch) override {
        if (!touch.address) return;
        for (unsigned b = 0; b < touch.bytes; ++b) {
            const std::uint64_t at = *touch.address + b;
            if (touch.space == Space::shared) shared(thread, instruction, touch, at);
            if (touch.space != Space::global || !touch.writes) continue;
            if (touch.atomic) { e_.atomics.insert(at); continue; }
            const auto [it, added] = e_.written.try_emplace(at, Execution::Written{thread.number, false, touch.bytes});
            it->second.several = it->second.several || it->second.thread != thread.number;
        }
    }
    std::uint64_t shared_bytes{};

private:
    struct Visit { std::uint32_t thread{}, line{}; std::uint64_t when{}; bool atomic{}; };
    struct Cell { std::vector<Visit> writers, readers; };

    void note_fault(const Instruction& instruction, const std::string& what) {
        const std::string text = "line " + std::to_string(instruction.line) + ": " + what;
        if (std::find(e_.faults.begin(), e_.faults.end(), text) == e_.faults.end()) e_.faults.push_back(text);
    }
    [[nodiscard]] bool ordered(const Visit& v, const Thread& thread) const { return passed_[thread.warp() * warps_ + v.thread / 32] > v.when; }
    void meet(const std::vector<Visit>& others, const Thread& thread, const Visit& me) {
        for (const Visit& v : others)
            if (v.thread != thread.linear && !(v.atomic && me.atomic) && !ordered(v, thread))
                e_.races.emplace(std::min(v.line, me.line), std::max(v.line, me.line), v.thread / 32 == thread.warp());
    }
    void shared(const Thread& thread, const Instruction& instruction, const Touch& touch, std::uint64_t at) {
        if (at >= shared_bytes) {
            note_fault(instruction, "an access beyond shared memory");
            throw GiveUp("an access beyond shared memory");
        }
        Cell& c = cells_[at];
        const Visit me{thread.linear, instruction.line, now_, touch.atomic};
        meet(c.writers, thread, me);
        if (!touch.writes) {
            if (c.readers.empty() || c.readers.back().thread != me.thread || c.readers.back().when != me.when) c.readers.push_back(me);
            return;
        }
        meet(c.readers, thread, me);
        if (!touch.atomic || c.writers.empty() || !c.writers.back().atomic) c.writers.clear();
        c.readers.clear();
        c.writers.push_back(me);
    }

    Execution& e_;
    std::size_t warps_;
    std::uint64_t now_{1};
    std::vector<std::uint64_t> passed_;                 // [warp][other]: the last barrier both have passed
    std::unordered_map<std::uint64_t, Cell> cells_;
};

bool close(std::uint64_t a, std::uint64_t b, unsigned bytes) {
    if (a == b) return true;
    if (bytes % 4) return false;
    const auto number = [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
    const float x = number(a), y = number(b);
    return std::isfinite(x) && std::isfinite(y) && std::abs(x) > 1e-20f && std::abs(x - y) <= 1e-4f * std::max(std::abs(x), std::abs(y));
}

}  // namespace

Execution execute(const Module& module, std::uint32_t entry, const flipflop::Launch& launch, const std::map<std::uint64_t, Numbers>& kinds, std::uint64_t max_steps) {
    Execution e;
    e.global.untouched = [kinds](std::uint64_t address) {
        const auto it = kinds.find(address >> 36);
        return byte_at(address, it == kinds.end() ? Numbers::f32 : it->second);
    };
    Notes notes(e, launch.block.count());
    Grid grid(module, entry, launch, notes, {.max_steps = max_steps, .global = &e.global, .opaque = true});
    notes.shared_bytes = grid.shared_bytes();
    try {
        grid.run();
    } catch (const GiveUp& reason) {
        e.followed = false;
        e.why = reason.what();
    }
    e.global.untouched = nullptr;
    return e;
}

Judgement judge(const Execution& r, const Execution& c) {
    const auto address = [](std::uint64_t a) { return "byte " + std::to_string(a & ((1ull << 36) - 1)) + " of array " + std::to_string(a >> 36); };
    if (!r.faults.empty()) return {std::nullopt, "the reference: " + r.faults.front()};
    if (!c.faults.empty()) return {false, c.faults.front()};
    if (!r.followed || !c.followed) return {std::nullopt, r.followed ? c.why : r.why};
    for (const auto& race : c.races)
        if (!r.races.contains(race))
            return {false, "two threads at one byte of shared memory (lines " + std::to_string(std::get<0>(race)) + " and " + std::to_string(std::get<1>(race)) + ")"};
    for (const auto& [at, w] : r.written)
        if (!c.written.contains(at)) return {false, address(at) + " is left out"};
    for (const auto& [at, w] : c.written) {
        const auto it = r.written.find(at);
        if (it == r.written.end()) return {false, address(at) + " is written"};
        if (w.several && !it->second.several) return {false, address(at) + " is written by several threads"};
    }
    if (r.atomics != c.atomics) return {false, "atomic operations elsewhere"};
    std::set<std::uint64_t> words;
    for (const auto& [at, w] : r.written) words.insert(at / 4 * 4);
    for (const std::uint64_t at : r.atomics) words.insert(at / 4 * 4);
    for (const std::uint64_t at : words) {
        const Value a = r.global.load(at, 4), b = c.global.load(at, 4);
        if (a && b && !close(*a, *b, 4)) return {false, address(at) + " holds another number", true};
        if (a && b) continue;
        for (unsigned k = 0; k < 4; ++k)
            if (r.global.load(at + k, 1) != c.global.load(at + k, 1)) return {false, address(at + k) + " holds another byte", true};
    }
    return {true, {}};
}

}  // namespace naive
