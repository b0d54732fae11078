// Owns: what a run of warps did, for every point of its domain: counts, accesses, loops. Input: the machine's events.
// Invariant: counts of an open loop summary are folded into its parent when its extent is known; records keep the
// summary's number, whose extent says how often each happened.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "evaluator/program.hpp"

namespace flipflop::eval {

/// The worst thing a count depends on, in the order of badness.
enum class Doubt : std::uint8_t { none, assumed, unknown };

/// How the lanes of one request lie: offsets from the first active lane's address. Interned: most requests share one.
struct Shape {
    u32 mask{};
    u32 bytes{};                             ///< a lane
    ptx::Space space{};                      ///< global, shared, local or constant
    std::array<i64, kLanes> offset{};
    bool operator==(const Shape&) const = default;
};

/// What follows from a shape.
struct ShapeFacts {
    std::array<std::int16_t, 128> sectors{};    ///< by address modulo 128; -1: not asked yet
    std::array<std::int16_t, 128> lines{};
    std::array<float, 4> wavefronts{};       ///< shared: passes over phases, by address modulo 4
    std::array<float, 4> passes{};           ///< shared: passes
    std::vector<std::pair<i64, i64>> intervals;  ///< bytes touched, merged, relative to the first active lane
    u32 lanes{}, distinct_bytes{}, serial{};     ///< serial: most lanes on one address
    bool affine{};
    i64 stride{};
    u64 offset_bits{};                       ///< bits that any lane's offset has: tells what all of them are multiples of
};

class ShapeTable {
public:
    /// `hint`: a shape that it may well be, or kNone.
    u32 intern(const Shape& shape, u32 hint = kNone);
    [[nodiscard]] const Shape& shape(u32 id) const { return shapes_[id]; }
    [[nodiscard]] const ShapeFacts& facts(u32 id) const { return facts_[id]; }
    [[nodiscard]] unsigned sectors(u32 id, unsigned residue);
    [[nodiscard]] unsigned lines(u32 id, unsigned residue);
    [[nodiscard]] std::size_t size() const { return shapes_.size(); }

private:
    std::vector<Shape> shapes_;
    std::vector<ShapeFacts> facts_;
    std::unordered_multimap<u64, u32> index_;
};

struct AccessRecord {
    u32 memory{};                            ///< index into Program::memory
    u32 shape{kNone};                        ///< kNone: the address is not known
    u32 mask{};
    u32 frame{};
    u32 phase{};
    u32 occurrence{};                        ///< how many times this warp had done it before
    u32 bytes{};                             ///< a lane
    u64 base{};                              ///< address of the first active lane
    Strides stride{};
    Axes axes{};
    Doubt doubt{};
    ptx::Space space{};
    float weight{1};
    u32 reason{};
};

struct LoopEvent { u32 loop{}; double entries{}, trips{}, least{}, most{}; };

/// Counters of one level of loop summaries.
class Page {
public:
    struct Count { double warps{}, lanes{}, doubtful{}; };
    void add(u32 key, double warps, double lanes, double doubtful) {
        if (key >= counts_.size()) counts_.resize(std::max<std::size_t>(key + 1, counts_.size() * 2));
        Count& c = counts_[key];
        if (c.warps == 0) touched_.push_back(key);
        c.warps += warps;
        c.lanes += lanes;
        c.doubtful += doubtful;
    }
    void fold(Page& child, double times) {
        for (const u32 k : child.touched_) {
            const Count& c = child.counts_[k];
            add(k, c.warps * times, c.lanes * times, c.doubtful * times);
        }
        for (const LoopEvent& e : child.loops) loops.push_back({e.loop, e.entries * times, e.trips * times, e.least, e.most});
        barrier_lanes += child.barrier_lanes * times;
        child.clear();
    }
    /// Adds what another page counted, and leaves it as it is.
    void add_counts(const Page& other) {
        for (const u32 k : other.touched_) add(k, other.counts_[k].warps, other.counts_[k].lanes, other.counts_[k].doubtful);
    }
    void clear() {
        for (const u32 k : touched_) counts_[k] = {};
        touched_.clear();
        loops.clear();
        barrier_lanes = 0;
    }
    [[nodiscard]] const std::vector<u32>& touched() const { return touched_; }
    [[nodiscard]] const Count& count(u32 key) const { return counts_[key]; }

    std::vector<LoopEvent> loops;
    double barrier_lanes{};

private:
    std::vector<Count> counts_;
    std::vector<u32> touched_;
};

struct Trace {
    struct Frame { u32 parent{kNone}; unsigned axis{}; i64 extent{1}; };
    std::vector<Frame> frames{Frame{}};
    std::vector<AccessRecord> records;
    std::vector<Page> pages{1};              ///< by open summary, 0 = none
    u32 depth{}, frame{};                    ///< open summaries; the innermost
    bool truncated{};                        ///< the budget ran out
    bool dropped_records{};

    void clear() {
        frames.assign(1, {});
        records.clear();
        for (Page& p : pages) p.clear();
        depth = frame = 0;
        truncated = dropped_records = false;
    }
    Page& page() { return pages[depth]; }
};

}  // namespace flipflop::eval
