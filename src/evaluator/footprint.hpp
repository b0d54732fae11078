// Owns: sets of bytes as a grid touches them, without listing them: pieces repeated along axes.
// Input: records with the extents of their axes. Invariant: sizes are exact, or not given.
#pragma once

#include <optional>
#include <vector>

#include "evaluator/trace.hpp"

namespace flipflop::eval {

struct Repeat {
    i64 stride{}, count{};
    friend bool operator==(const Repeat&, const Repeat&) = default;
    friend auto operator<=>(const Repeat&, const Repeat&) = default;
};

/// `width` bytes at `base`, repeated along axes. Canonical: strides ascend, each clears what lies within it.
struct Lattice {
    i64 base{}, width{};
    std::vector<Repeat> axes;
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
    void add(const ShapeFacts& shape, u64 base, std::vector<Repeat> axes);
    void add(const ByteSet& other);
    /// Every byte rounded out to whole sectors.
    [[nodiscard]] ByteSet sectors() const;
    [[nodiscard]] std::optional<u64> size() const;

private:
    void add_lattice(Lattice item, const std::vector<Repeat>& axes);
    void tidy() const;
    mutable std::vector<Lattice> items_;
    std::size_t limit_;
    bool given_up_{};
};

}  // namespace flipflop::eval
