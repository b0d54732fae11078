// Owns: what one block (or warp) writes to global memory while it is being followed, element by element and thread by
// thread, and which bytes it read of arrays that are written too. Invariant: of several stores of one thread to one byte
// the last counts.
#pragma once

#include <unordered_map>

#include "evaluator/safety_shared.hpp"

namespace flipflop::eval {

struct StoreRecord {
    u64 address{};
    MovedBy stride{};
    Element value;
    MovedBy value_stride{};                  ///< of a known value
    u32 thread{}, op{}, time{};
    std::uint8_t bytes{};
    bool conditional{}, is_float{};
};

class GlobalWrites {
public:
    struct Entry { u64 granule{}; u32 record{}, next{}; };   ///< next: 1 + entry of another thread, 0 = none

    void reset(unsigned granule);
    [[nodiscard]] unsigned granule() const { return granule_; }
    /// False: another thread read that byte, and nothing says whether before or after.
    [[nodiscard]] bool store(const StoreRecord& r, u32 warp, const Order& order);
    /// Was the byte range written by this block? Empty optional: no. False: by a thread that is not ordered before.
    enum class Found : std::uint8_t { nothing, value, unordered };
    [[nodiscard]] Found find(u64 address, unsigned bytes, const MovedBy& stride, u32 thread, u32 warp, const Order& order, Element& e, MovedBy& value_stride) const;
    void note_read(u64 address, unsigned bytes, const MovedBy& stride, u32 thread, u32 time);
    /// Are all noted reads of bytes that this block itself writes, moving alike?
    [[nodiscard]] bool reads_are_own() const;

    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
    [[nodiscard]] const std::vector<StoreRecord>& records() const { return records_; }
    [[nodiscard]] bool touches(u64 address, unsigned bytes) const { return address < high_ && address + bytes > low_; }

private:
    struct Read { MovedBy stride{}; u32 thread{}, time{}, warps{}; bool many{}; };
    unsigned granule_{4};
    u64 low_{~u64{0}}, high_{};
    std::vector<StoreRecord> records_;
    std::vector<Entry> entries_;
    std::unordered_map<u64, u32> first_;     ///< granule -> 1 + entry; never iterated
    std::unordered_map<u64, Read> reads_;    ///< iterated only for "all of them"
};

}  // namespace flipflop::eval
