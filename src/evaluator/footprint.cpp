// Unions of lattices. A union is counted by cutting along the longest stride: within one step of it, items without that
// axis remain, and the same is done to them; plain intervals are merged.
#include "evaluator/footprint.hpp"

#include <algorithm>
#include <numeric>

namespace flipflop::eval {
namespace {

constexpr i64 kSector = 32;

i64 floor_to(i64 v, i64 unit) { return (v >= 0 ? v / unit : -((-v + unit - 1) / unit)) * unit; }

void sort_unique(std::vector<Lattice>& v) {
    if (!std::is_sorted(v.begin(), v.end())) std::sort(v.begin(), v.end());    // unrolled code comes in order
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

u64 merged_length(std::vector<std::pair<i64, i64>>& v) {
    std::sort(v.begin(), v.end());
    u64 total = 0;
    i64 reach = INT64_MIN;
    for (const auto& [b, e] : v) {
        const i64 from = std::max(b, reach);
        if (e > from) { total += static_cast<u64>(e - from); reach = e; }
    }
    return total;
}

/// Appends one more axis to a canonical item, its stride no less than those before; false: it must be spelled out.
bool append(Lattice& item, Repeat r) {
    if (r.count <= 1 || r.stride == 0) return true;
    if (item.axes.empty()) {
        if (r.stride <= item.width) { item.width += r.stride * (r.count - 1); return true; }
        item.axes.push_back(r);
        return true;
    }
    Repeat& last = item.axes.back();
    if (r.stride % last.stride == 0 && r.stride <= last.stride * last.count) {
        last.count += r.stride / last.stride * (r.count - 1);
        return true;
    }
    if (item.axes.size() == 1 && r.stride <= item.width && item.width + r.stride * (r.count - 1) <= last.stride) {
        item.width += r.stride * (r.count - 1);
        if (item.width == last.stride) { item.width *= last.count; item.axes.clear(); }
        return true;
    }
    if (r.stride >= item.span() && !item.axes.full()) { item.axes.push_back(r); return true; }
    return false;
}

struct Counter {
    std::size_t work{};
    static constexpr std::size_t kWork = 200'000;

    std::optional<u64> plain(std::span<const Lattice> items) {
        std::vector<std::pair<i64, i64>> v;
        v.reserve(items.size());
        for (const Lattice& i : items) v.emplace_back(i.base, i.base + i.width);
        work += v.size();
        return merged_length(v);
    }

    std::optional<u64> spelled_out(std::span<const Lattice> items) {
        std::vector<std::pair<i64, i64>> v;
        for (const Lattice& item : items) {
            u64 pieces = 1;
            for (const Repeat& r : item.axes) pieces *= static_cast<u64>(r.count);
            if (work + pieces > kWork) return std::nullopt;
            work += pieces;
            const std::size_t from = v.size();
            v.emplace_back(item.base, item.base + item.width);
            for (const Repeat& r : item.axes) {
                const std::size_t count = v.size();
                for (i64 k = 1; k < r.count; ++k)
                    for (std::size_t j = from; j < count; ++j) v.emplace_back(v[j].first + k * r.stride, v[j].second + k * r.stride);
            }
        }
        return merged_length(v);
    }

    /// Items of one cluster of overlapping ranges.
    std::optional<u64> cluster(std::span<const Lattice> items) {
        if (items.size() == 1) return items[0].size();
        if (++work > kWork) return std::nullopt;
        i64 step = 0, origin = INT64_MAX;
        for (const Lattice& i : items) {
            if (!i.axes.empty()) step = std::max(step, i.axes.back().stride);
            origin = std::min(origin, i.base);
        }
        if (step == 0) return plain(items);
        struct Slice { i64 first, count; Lattice inner; };
        std::vector<Slice> slices;
        std::vector<i64> cuts;
        for (const Lattice& item : items) {
            Slice s{0, 1, item};
            if (!item.axes.empty() && item.axes.back().stride == step) {
                s.count = item.axes.back().count;
                s.inner.axes.pop_back();
            }
            s.first = (item.base - origin) / step;
            s.inner.base = (item.base - origin) % step;
            const i64 over = s.inner.base + s.inner.span() - step;
            if (over > 0) {
                // What reaches into the next step is a piece of its own there.
                if (!s.inner.axes.empty()) return spelled_out(items);
                const i64 whole = s.inner.base + s.inner.width, steps = whole / step - 1, rest = whole % step;
                const auto add = [&](i64 after, i64 count, i64 width) {
                    if (count <= 0 || width <= 0) return;
                    slices.push_back({s.first + after, count, {0, width, {}}});
                    cuts.push_back(s.first + after);
                    cuts.push_back(s.first + after + count);
                };
                add(1, s.count == 1 ? steps : 0, step);   // a repeated item is no wider than its step
                add(steps + 1, s.count, rest);
                s.inner.width = step - s.inner.base;
            }
            cuts.push_back(s.first);
            cuts.push_back(s.first + s.count);
            slices.push_back(std::move(s));
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        u64 total = 0;
        std::vector<Lattice> previous, now;
        std::optional<u64> size = 0;
        for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
            now.clear();
            work += slices.size();
            if (work > kWork) return std::nullopt;
            for (const Slice& s : slices)
                if (s.first <= cuts[k] && s.first + s.count >= cuts[k + 1]) now.push_back(s.inner);
            sort_unique(now);
            if (now != previous) {
                size = count(now);
                if (!size) return std::nullopt;
                previous = now;
            }
            total += *size * static_cast<u64>(cuts[k + 1] - cuts[k]);
        }
        return total;
    }

    /// `items` sorted by base.
    std::optional<u64> count(std::span<const Lattice> items) {
        u64 total = 0;
        for (std::size_t from = 0; from < items.size();) {
            std::size_t to = from + 1;
            i64 reach = items[from].base + items[from].span();
            while (to < items.size() && items[to].base < reach) { reach = std::max(reach, items[to].base + items[to].span()); ++to; }
            const auto part = cluster(items.subspan(from, to - from));
            if (!part) return std::nullopt;
            total += *part;
            from = to;
        }
        return total;
    }
};

/// Axes ascend: what goes on along one begins at most one such step behind the end.
i64 last_stride(const Lattice& item) { return item.axes.empty() ? 0 : item.axes.back().stride; }

/// Can b join a? Same pieces side by side, or the same lattice going on along one axis.
bool join(Lattice& a, const Lattice& b) {
    if (a.axes == b.axes && b.base >= a.base && b.base <= a.base + a.width) {
        const i64 width = std::max(a.width, b.base + b.width - a.base);
        if (!a.axes.empty() && width > a.axes.front().stride) return false;
        a.width = width;
        return true;
    }
    if (a.width != b.width) return false;
    const std::size_t longer = std::max(a.axes.size(), b.axes.size());
    if (longer - std::min(a.axes.size(), b.axes.size()) > 1) return false;
    for (std::size_t k = 0; k < longer; ++k) {
        // All axes but the k-th of the longer one must agree.
        const Lattice &more = a.axes.size() >= b.axes.size() ? a : b, &less = a.axes.size() >= b.axes.size() ? b : a;
        const bool missing = less.axes.size() < more.axes.size();
        bool agree = missing || less.axes[k].stride == more.axes[k].stride;
        for (std::size_t j = 0; agree && j < longer; ++j) {
            if (j == k) continue;
            agree = more.axes[j] == less.axes[missing && j > k ? j - 1 : j];
        }
        if (!agree) continue;
        const i64 stride = more.axes[k].stride, n = more.axes[k].count, m = missing ? 1 : less.axes[k].count;
        if ((less.base - more.base) % stride != 0) continue;
        const i64 shift = (less.base - more.base) / stride;       // less begins `shift` steps after more
        if (shift > n || shift + m < 0) continue;
        const i64 first = std::min<i64>(0, shift), last = std::max(n, shift + m);
        Lattice joined = more;
        joined.base += first * stride;
        joined.axes[k].count = last - first;
        // The longer axis must still clear what lies within it.
        if (k + 1 < joined.axes.size() && stride * (joined.axes[k].count - 1) + joined.width > joined.axes[k + 1].stride) continue;
        a = std::move(joined);
        return true;
    }
    return false;
}

}  // namespace

void ByteSet::add(const ShapeFacts& shape, u64 base, AxisRepeats given) {
    if (given_up_ || shape.intervals.empty()) return;
    i64 start = static_cast<i64>(base);
    AxisRepeats axes;
    for (Repeat a : given) {
        if (a.stride == 0 || a.count <= 1) continue;
        if (a.stride < 0) {
            start += a.stride * (a.count - 1);
            a.stride = -a.stride;
        }
        axes.push_back(a);
    }
    // Equal pieces at equal distances are one more axis.
    const auto& v = shape.intervals;
    bool regular = true;
    const i64 width = v[0].second - v[0].first, gap = v.size() > 1 ? v[1].first - v[0].first : 0;
    for (std::size_t k = 1; k < v.size(); ++k) regular &= v[k].second - v[k].first == width && v[k].first - v[k - 1].first == gap;
    if (regular && v.size() > 1) axes.push_back({gap, static_cast<i64>(v.size())});
    std::sort(axes.begin(), axes.end());
    const std::span<const Repeat> along(axes.begin(), axes.end());
    if (regular) return add_lattice({start + v[0].first, width, {}}, along);
    for (const auto& [b, e] : v) add_lattice({start + b, e - b, {}}, along);
}

void ByteSet::add(const ByteSet& other) {
    tidied_ = false;
    given_up_ |= other.given_up_;
    items_.insert(items_.end(), other.items_.begin(), other.items_.end());
    if (items_.size() > limit_) given_up_ = true;
}

void ByteSet::add_lattice(Lattice item, std::span<const Repeat> axes) {
    tidied_ = false;
    for (std::size_t k = 0; k < axes.size(); ++k) {
        if (append(item, axes[k])) continue;
        if (items_.size() + static_cast<u64>(axes[k].count) > limit_) { given_up_ = true; return; }
        const std::span<const Repeat> rest = axes.subspan(k + 1);
        for (i64 j = 0; j < axes[k].count && !given_up_; ++j) {
            Lattice copy = item;
            copy.base += axes[k].stride * j;
            add_lattice(std::move(copy), rest);
        }
        return;
    }
    if (items_.size() >= limit_) { given_up_ = true; return; }
    items_.push_back(std::move(item));
    if (items_.size() >= next_tidy_) {
        tidy();
        next_tidy_ = std::max<std::size_t>(256, 2 * items_.size());
    }
}

/// Joins what can be joined: iterations run before a summary, the two sides of a cut box, the words of an unrolled loop.
void ByteSet::tidy() const {
    if (tidied_) return;
    tidied_ = true;
    // Neighbours in order of address are what joins; looking far back would be quadratic.
    constexpr std::size_t look_back = 12;
    std::vector<i64> reach;                  // of each item that is kept: what begins beyond cannot go on with it
    for (std::size_t before = 0; before != items_.size();) {
        sort_unique(items_);
        before = items_.size();
        reach.clear();
        for (std::size_t from = 0; from < before; ++from) {
            const Lattice& item = items_[from];
            const i64 step = last_stride(item);
            bool joined = false;
            for (std::size_t k = reach.size(); k-- > 0 && k + look_back >= reach.size() && !joined;) {
                Lattice& other = items_[k];
                if (item.base > reach[k] && item.base - other.base > step) continue;
                joined = join(other, item);
                if (!joined) continue;
                // Grown pieces may have closed their gaps.
                Lattice canonical{other.base, other.width, {}};
                bool fits = true;
                for (const Repeat& r : other.axes) fits = fits && append(canonical, r);
                if (fits) other = canonical;
                reach[k] = other.base + other.span() + last_stride(other);
            }
            if (joined) continue;
            reach.push_back(item.base + item.span() + step);
            if (reach.size() - 1 != from) items_[reach.size() - 1] = item;
        }
        items_.resize(reach.size());
    }
}

ByteSet ByteSet::sectors() const {
    ByteSet out(limit_);
    out.given_up_ = given_up_;
    if (given_up_) return out;
    tidy();
    out.reserve(items_.size());
    for (const Lattice& item : items_)
        if (!out.add_sectors(item)) { out.given_up_ = true; return out; }
    return out;
}

bool ByteSet::add_sectors(const Lattice& item) {
    const auto rounded = [](i64 base, i64 width) {
        const i64 from = floor_to(base, kSector);
        return Lattice{from, floor_to(base + width + kSector - 1, kSector) - from, {}};
    };
    // Axes that do not keep to sectors are split into ones that do; a stride of at most a sector leaves none out.
    i64 width = item.width;
    AxisRepeats even, odd;
    for (const Repeat& r : item.axes) {
        if (r.stride % kSector == 0) even.push_back(r);
        else if (odd.empty() && r.stride <= kSector) width += r.stride * (r.count - 1);
        else odd.push_back(r);
    }
    if (odd.empty()) {
        add_lattice(rounded(item.base, width), {even.begin(), even.end()});
        return !given_up_;
    }
    std::vector<Lattice> parts{{item.base, width, {}}};
    for (const Repeat& r : odd) {
        const i64 period = std::min<i64>(r.count, kSector / std::gcd(r.stride, kSector));
        if (parts.size() * static_cast<u64>(period) + items_.size() > limit_) return false;
        std::vector<Lattice> next;
        for (const Lattice& p : parts)
            for (i64 j = 0; j < period; ++j) {
                Lattice copy = p;
                copy.base += r.stride * j;
                copy.axes.push_back({r.stride * period, (r.count - j + period - 1) / period});
                next.push_back(std::move(copy));
            }
        parts = std::move(next);
    }
    for (const Lattice& p : parts) {
        AxisRepeats axes = even;
        for (const Repeat& r : p.axes)
            if (r.count > 1) axes.push_back(r);
        std::sort(axes.begin(), axes.end());
        add_lattice(rounded(p.base, p.width), {axes.begin(), axes.end()});
    }
    return !given_up_;
}

/// What lies within a plain interval counts for nothing more.
void ByteSet::drop_covered() const {
    std::vector<std::pair<i64, i64>> plain;
    for (const Lattice& i : items_) {
        if (!i.axes.empty()) continue;
        if (!plain.empty() && i.base <= plain.back().second) plain.back().second = std::max(plain.back().second, i.base + i.width);
        else plain.emplace_back(i.base, i.base + i.width);
    }
    std::erase_if(items_, [&](const Lattice& i) {
        if (i.axes.empty()) return false;
        auto it = std::upper_bound(plain.begin(), plain.end(), std::pair{i.base, INT64_MAX});
        return it != plain.begin() && (--it)->second >= i.base + i.span();
    });
}

std::optional<u64> ByteSet::size() const {
    if (given_up_) return std::nullopt;
    tidy();
    drop_covered();
    return Counter{}.count(items_);
}

}  // namespace flipflop::eval
