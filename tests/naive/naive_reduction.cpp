// From the machine's events to the figures of LaunchFacts: lanes of a warp are put together, requests counted.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "naive_evaluator.hpp"
#include "naive_grid.hpp"

namespace naive {

using flipflop::ptx::Opcode;

namespace {

struct Recorded {
    std::uint64_t address{};
    unsigned bytes{};
    bool known{};
};

/// One warp-level execution being put together: which lanes came by, and with what addresses.
struct Request {
    std::uint32_t line{};
    Space space{};
    std::map<unsigned, Recorded> lanes;
};

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Sorted and joined.
void tidy(Ranges& ranges) {
    std::sort(ranges.begin(), ranges.end());
    Ranges out;
    for (const auto& [from, to] : ranges) {
        if (!out.empty() && from <= out.back().second) out.back().second = std::max(out.back().second, to);
        else out.emplace_back(from, to);
    }
    ranges = std::move(out);
}

double covered(const Ranges& ranges) {
    double bytes = 0;
    for (const auto& [from, to] : ranges) bytes += static_cast<double>(to - from);
    return bytes;
}

class Reduction : public Listener {
public:
    void executed(const Thread& thread, std::uint64_t key, const Instruction&, const Form& form, bool active) override {
        executed_.insert(mixed(key, thread.warp()));
        if (active) outcome.thread_ops[static_cast<std::size_t>(form.instruction_class)] += 1;
        if (active && (form.opcode == Opcode::bar || form.opcode == Opcode::barrier)) outcome.barriers += 1;
    }
    void touched(const Thread& thread, std::uint64_t key, const Instruction& instruction, const Touch& touch) override {
        Request& request = requests_[mixed(mixed(key, touch.side), thread.warp())];
        request.line = instruction.line;
        request.space = touch.space;
        request.lanes[thread.lane()] = {touch.address.value_or(0), touch.bytes, touch.address.has_value()};
        if (touch.space != Space::global && touch.space != Space::generic) return;
        if (!touch.address) outcome.unique_known = false;
        else if (touch.reads) reads_.emplace_back(*touch.address, *touch.address + touch.bytes);
        if (touch.address && touch.writes) writes_.emplace_back(*touch.address, *touch.address + touch.bytes);
    }
    void end_block() override;
    void finish();

    Outcome outcome;

private:
    std::unordered_map<std::uint64_t, Request> requests_;      // by key and warp; only summed over
    std::unordered_set<std::uint64_t> executed_;
    Ranges reads_, writes_;
};

void Reduction::end_block() {
    outcome.warp_instructions += static_cast<double>(executed_.size());
    for (const auto& [where, request] : requests_) {
        Access& access = outcome.accesses[{request.line, request.space}];
        access.requests += 1;
        access.lanes += static_cast<double>(request.lanes.size());
        std::set<std::uint64_t> sectors;
        bool known = true;
        unsigned bytes = 0;
        for (const auto& [lane, at] : request.lanes) {
            known = known && at.known;
            bytes = at.bytes;
            if (request.space == Space::local) {              // word w of lane L lies at w * 128 + L * 4
                for (std::uint64_t word = at.address / 4; word <= (at.address + at.bytes - 1) / 4; ++word) sectors.insert((word * 128 + lane * 4) / 32);
            } else {
                for (std::uint64_t s = at.address / 32; s <= (at.address + at.bytes - 1) / 32; ++s) sectors.insert(s);
            }
        }
        if (!known) {
            access.unknown = true;
            continue;
        }
        access.sectors += static_cast<double>(sectors.size());
        if (request.space != Space::shared) continue;
        const unsigned group = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
        double passes = 0, phases = 0;
        for (unsigned first = 0; first < 32; first += group) {
            std::map<std::uint64_t, std::set<std::uint64_t>> banks;
            for (const auto& [lane, at] : request.lanes)
                if (lane >= first && lane < first + group)
                    for (std::uint64_t word = at.address / 4; word <= (at.address + at.bytes - 1) / 4; ++word) banks[word % 32].insert(word);
            std::size_t most = 0;
            for (const auto& [bank, words] : banks) most = std::max(most, words.size());
            passes += static_cast<double>(most);
            phases += banks.empty() ? 0 : 1;
        }
        access.wavefront_ratio += passes / phases;
    }
    requests_.clear();
    executed_.clear();
    tidy(reads_);
    tidy(writes_);
}


void Reduction::finish() {
    outcome.unique_read_bytes = covered(reads_);
    outcome.unique_written_bytes = covered(writes_);
}

}  // namespace

Outcome run(const Module& module, std::uint32_t entry, const Launch& launch, std::uint64_t max_steps) {
    Reduction reduction;
    reduction.outcome.threads = launch.block.count() * launch.grid.count();
    try {
        Grid(module, entry, launch, reduction, {.max_steps = max_steps}).run();
    } catch (const GiveUp& reason) {
        reduction.outcome.followed = false;
        reduction.outcome.why = reason.what();
    }
    reduction.finish();
    return reduction.outcome;
}

}  // namespace naive
