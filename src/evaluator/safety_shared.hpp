// Owns: one block's shared memory while it is being followed: what each element holds, what it derives from, who wrote and
// read it since when. Input: accesses by lane. Output: values, provenance, races. Invariant: an element counts once
// however it is split and put together again (a part of it carries its share).
#pragma once

#include <set>

#include "evaluator/safety_order.hpp"
#include "evaluator/safety_provenance.hpp"

namespace flipflop::eval {

/// Two accesses to one byte that nothing orders, at least one of them a store.
struct Race {
    u32 first{}, second{};                   ///< memory operations
    bool same_warp{}, certain{};
    auto operator<=>(const Race&) const = default;
};

/// One lane's value on its way to or from memory.
struct Element {
    u64 bits{};
    bool known{}, lost{}, junk{};            ///< junk: shared memory that nobody has written
    bool shaped{};                           ///< ProvenanceFile::shaped, of a known value
    ClassMask mask{};
    std::array<u64, kMaxClasses> sum{};
};

class SharedMemory {
public:
    struct Accessor { u32 thread{}, warp{}, op{}; bool atomic{}, certain{true}, silent{}; };

    explicit SharedMemory(std::set<Race>& races) : races_(races) {}
    void reset(u64 bytes, unsigned granule);
    void grow(u64 bytes);
    [[nodiscard]] u64 bytes() const { return cells_.size() * granule_; }

    /// Only that it is read.
    void note(u64 address, unsigned bytes, const Accessor& who, const Order& order) {
        for (u64 at = cell_of(address); at <= cell_of(address + bytes - 1); ++at) note_read(cells_[at], who, order);
    }
    /// The caller has checked the range.
    void read(u64 address, unsigned bytes, const Accessor& who, const Order& order, Element& e);
    void write(u64 address, unsigned bytes, const Accessor& who, const Order& order, const Element& e);
    /// An addition (or another operation whose order does not matter) of `e`.
    void merge(u64 address, unsigned bytes, const Accessor& who, const Order& order, const Element& e);
    /// A store that may have gone anywhere.
    void lose_all();

private:
    static constexpr u32 kMany = 0xffffffffu;
    struct Cell {
        u64 bits{};
        u32 serial{};
        u32 writer{}, written_at{}, write_op{};          ///< thread + 1
        u32 reader{}, read_at{}, read_op{}, reader_warps{};
        ClassMask mask{};
        std::uint8_t element{};
        bool known{}, lost{}, junk{true}, shaped{}, atomic{}, certain{};
    };
    void note_read(Cell& c, const Accessor& who, const Order& order);
    void note_write(Cell& c, const Accessor& who, const Order& order);
    void race(u32 first, const Accessor& who, bool same_warp, bool certain);
    void put(Cell& c, std::size_t index, u64 bits, const Element& e);
    [[nodiscard]] u64 cell_of(u64 address) const { return address >> granule_shift_; }
    [[nodiscard]] u64 sum_of(u32 c, std::size_t cell) const { return sums_[c].size() > cell ? sums_[c][cell] : 0; }

    std::set<Race>& races_;
    std::vector<Cell> cells_;
    std::array<std::vector<u64>, kMaxClasses> sums_;
    unsigned granule_{4}, granule_shift_{2};             ///< a power of two
    u32 serial_{};
    Race last_{};
};

}  // namespace flipflop::eval
