// Owns: sets of bytes as a grid touches them, without listing them: pieces repeated along axes.
// Input: records with the extents of their axes. Invariant: sizes are exact, or not given.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "evaluator/trace.hpp"

namespace flipflop::eval {

struct Repeat {
    i64 stride{}, count{};
    friend bool operator==(const Repeat&, const Repeat&) = default;
    friend auto operator<=>(const Repeat&, const Repeat&) = default;
};

/// A handful of axes without an allocation.
template <std::size_t Most>
class Repeats {
public:
    static constexpr std::size_t kMost = Most;
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] bool full() const { return count_ == kMost; }
    [[nodiscard]] Repeat* begin() { return items_.data(); }
    [[nodiscard]] Repeat* end() { return items_.data() + count_; }
    [[nodiscard]] const Repeat* begin() const { return items_.data(); }
    [[nodiscard]] const Repeat* end() const { return items_.data() + count_; }
    [[nodiscard]] Repeat& operator[](std::size_t k) { return items_[k]; }
    [[nodiscard]] const Repeat& operator[](std::size_t k) const { return items_[k]; }
    [[nodiscard]] Repeat& front() { return items_[0]; }
    [[nodiscard]] Repeat& back() { return items_[count_ - 1]; }
    [[nodiscard]] const Repeat& back() const { return items_[count_ - 1]; }
    void push_back(Repeat r) { items_[count_++] = r; }
    void pop_back() { --count_; }
    void clear() { count_ = 0; }
    friend bool operator==(const Repeats& a, const Repeats& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
    friend auto operator<=>(const Repeats& a, const Repeats& b) {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    std::array<Repeat, kMost> items_{};
    std::size_t count_{};
};
using RepeatList = Repeats<7>;               ///< of a piece
using AxisRepeats = Repeats<kAxes + 1>;      ///< of an access: every axis, and its lanes

/// `width` bytes at `base`, repeated along axes. Canonical: strides ascend, each clears what lies within it.
struct Lattice {
    i64 base{}, width{};
    RepeatList axes;
    [[nodiscard]] i64 span() const {
        i64 s = width;
        for (const Repeat& r : axes) s += r.stride * (r.count - 1);
        return s;
    }
    [[nodiscard]] u64 size() const {
        u64 n = static_cast<u64>(width);
        for (const Repeat& r : axes) n *= static_cast<u64>(r.count);
        return n;
    }
    friend bool operator==(const Lattice&, const Lattice&) = default;
    friend auto operator<=>(const Lattice&, const Lattice&) = default;
};

/// A union that grows. `limit` bounds its pieces: past it the set is given up.
class ByteSet {
public:
    explicit ByteSet(std::size_t limit = 1u << 14) : limit_(limit) {}
    /// Adds a shape's bytes at `base`, repeated along the axes (any order, any sign).
    void add(const ShapeFacts& shape, u64 base, AxisRepeats axes);
    void add(const ByteSet& other);
    void reserve(std::size_t pieces) { items_.reserve(std::min(pieces, limit_)); }
    /// Every byte rounded out to whole sectors.
    [[nodiscard]] ByteSet sectors() const;
    [[nodiscard]] std::optional<u64> size() const;

private:
    void add_lattice(Lattice item, std::span<const Repeat> axes);
    /// Adds the sectors of one piece; false when there are more of them than are followed.
    bool add_sectors(const Lattice& item);
    void tidy() const;
    void drop_covered() const;
    mutable std::vector<Lattice> items_;
    std::size_t limit_;
    std::size_t next_tidy_{256};
    bool given_up_{};
    mutable bool tidied_{};                  ///< nothing was added since the last tidy()
};

}  // namespace flipflop::eval
