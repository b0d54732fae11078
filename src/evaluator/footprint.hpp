// Owns: sets of bytes as a grid touches them, without listing them: pieces of equal width at equal distances.
// Input: records with the extents of their axes. Invariant: sizes are exact, or not given.
#pragma once

#include <optional>
#include <vector>

#include "evaluator/trace.hpp"

namespace flipflop::eval {

/// `count` pieces of `width` bytes, `stride` apart.
struct Run {
    i64 begin{}, width{}, stride{}, count{1};
    [[nodiscard]] i64 end() const { return begin + stride * (count - 1) + width; }
    friend bool operator==(const Run&, const Run&) = default;
    friend auto operator<=>(const Run&, const Run&) = default;
};

using Interval = std::pair<i64, i64>;
using AxisList = std::vector<std::pair<i64, i64>>;   ///< (stride, extent)

/// A union that grows. `limit` bounds the work: past it the set is given up.
class ByteSet {
public:
    explicit ByteSet(std::size_t limit = 1u << 16) : limit_(limit) {}
    /// Adds a shape's bytes at `base`, repeated along the axes.
    void add(const ShapeFacts& shape, u64 base, AxisList axes);
    [[nodiscard]] bool given_up() const { return given_up_; }
    /// Every byte rounded out to whole sectors.
    [[nodiscard]] ByteSet sectors() const;
    [[nodiscard]] std::optional<u64> size() const;
    /// As disjoint sorted intervals.
    [[nodiscard]] std::optional<std::vector<Interval>> intervals() const;
    [[nodiscard]] bool empty() const { return runs_.empty(); }

private:
    void add_run(Run run, const AxisList& axes);
    std::vector<Run> runs_;
    std::size_t limit_;
    bool given_up_{};
};

[[nodiscard]] u64 length(const std::vector<Interval>& v);
[[nodiscard]] u64 common_length(const std::vector<Interval>& a, const std::vector<Interval>& b);
void merge_intervals(std::vector<Interval>& v);

}  // namespace flipflop::eval
