#include "evaluator/footprint.hpp"

#include <algorithm>

namespace flipflop::eval {

void merge_intervals(std::vector<Interval>& v) {
    std::sort(v.begin(), v.end());
    std::size_t n = 0;
    for (const auto& [b, e] : v) {
        if (n && b <= v[n - 1].second) v[n - 1].second = std::max(v[n - 1].second, e);
        else v[n++] = {b, e};
    }
    v.resize(n);
}

u64 length(const std::vector<Interval>& v) {
    u64 n = 0;
    for (const auto& [b, e] : v) n += static_cast<u64>(e - b);
    return n;
}

u64 common_length(const std::vector<Interval>& a, const std::vector<Interval>& b) {
    u64 n = 0;
    for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
        const i64 from = std::max(a[i].first, b[k].first), to = std::min(a[i].second, b[k].second);
        if (to > from) n += static_cast<u64>(to - from);
        (a[i].second < b[k].second ? i : k) += 1;
    }
    return n;
}

void ByteSet::add(const ShapeFacts& shape, u64 base, AxisList axes) {
    if (given_up_ || shape.intervals.empty()) return;
    i64 start = static_cast<i64>(base);
    std::erase_if(axes, [](const auto& a) { return a.first == 0 || a.second <= 1; });
    for (auto& [stride, extent] : axes) {
        if (stride > 0) continue;
        start += stride * (extent - 1);
        stride = -stride;
    }
    // Equal pieces at equal distances are one more axis.
    const auto& v = shape.intervals;
    bool regular = true;
    const i64 width = v[0].second - v[0].first, gap = v.size() > 1 ? v[1].first - v[0].first : 0;
    for (std::size_t k = 1; k < v.size(); ++k)
        regular &= v[k].second - v[k].first == width && v[k].first - v[k - 1].first == gap;
    if (regular && v.size() > 1) axes.emplace_back(gap, static_cast<i64>(v.size()));
    std::sort(axes.begin(), axes.end());
    if (regular) return add_run({start + v[0].first, width, 0, 1}, axes);
    for (const auto& [b, e] : v) add_run({start + b, e - b, 0, 1}, axes);
}

void ByteSet::add_run(Run run, const AxisList& axes) {
    std::vector<Run> now{run};
    for (const auto& [stride, extent] : axes) {
        Run& r = now.front();
        const bool single = now.size() == 1;
        if (single && r.count == 1 && stride <= r.width) {
            r.width += stride * (extent - 1);
        } else if (single && r.count == 1) {
            r.stride = stride;
            r.count = extent;
        } else if (single && stride % r.stride == 0 && stride <= r.stride * r.count) {
            r.count += stride / r.stride * (extent - 1);
        } else if (single && stride <= r.width && r.width + stride * (extent - 1) <= r.stride) {
            r.width += stride * (extent - 1);
        } else {
            if (now.size() * static_cast<u64>(extent) + runs_.size() > limit_) { given_up_ = true; return; }
            const std::size_t count = now.size();
            for (i64 k = 1; k < extent; ++k)
                for (std::size_t j = 0; j < count; ++j) {
                    Run copy = now[j];
                    copy.begin += stride * k;
                    now.push_back(copy);
                }
        }
        for (Run& each : now)
            if (each.count > 1 && each.width >= each.stride) {
                each.width += each.stride * (each.count - 1);
                each.stride = 0;
                each.count = 1;
            }
    }
    if (runs_.size() + now.size() > limit_) { given_up_ = true; return; }
    runs_.insert(runs_.end(), now.begin(), now.end());
}

ByteSet ByteSet::sectors() const {
    ByteSet out(limit_);
    out.given_up_ = given_up_;
    if (given_up_) return out;
    const auto down = [](i64 v) { return v >> 5 << 5; };
    for (const Run& r : runs_) {
        if (r.count > 1 && r.stride > 32 && r.stride % 32 != 0) {
            if (out.runs_.size() + static_cast<u64>(r.count) > limit_) { out.given_up_ = true; return out; }
            for (i64 k = 0; k < r.count; ++k) {
                const i64 b = r.begin + k * r.stride;
                out.runs_.push_back({down(b), down(b + r.width + 31) - down(b), 0, 1});
            }
            continue;
        }
        Run s = r;
        s.begin = down(r.begin);
        if (r.count == 1 || r.stride <= 32) {
            s = {down(r.begin), down(r.end() + 31) - down(r.begin), 0, 1};
        } else {
            s.width = down(r.begin + r.width + 31) - s.begin;
            if (s.width >= s.stride) s = {s.begin, s.width + s.stride * (s.count - 1), 0, 1};
        }
        out.runs_.push_back(s);
    }
    return out;
}

std::optional<std::vector<Interval>> ByteSet::intervals() const {
    if (given_up_) return std::nullopt;
    std::vector<Run> runs = runs_;
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    u64 pieces = 0;
    for (const Run& r : runs) pieces += static_cast<u64>(r.count);
    if (pieces > (u64{1} << 20)) return std::nullopt;
    std::vector<Interval> v;
    v.reserve(pieces);
    for (const Run& r : runs)
        for (i64 k = 0; k < r.count; ++k) v.emplace_back(r.begin + k * r.stride, r.begin + k * r.stride + r.width);
    merge_intervals(v);
    return v;
}

namespace {

/// Runs of one stride are rectangles: phase within the stride by index. The area of their union, in bytes.
u64 rectangles(const std::vector<Run>& runs, i64 stride) {
    struct Rect { i64 phase, width, first, count; };
    std::vector<Rect> rects;
    std::vector<i64> cuts;
    for (const Run& r : runs) {
        i64 phase = r.begin % stride, first = r.begin / stride;
        if (phase < 0) { phase += stride; --first; }
        const i64 head = std::min(r.width, stride - phase);
        rects.push_back({phase, head, first, r.count});
        if (r.width > head) rects.push_back({0, r.width - head, first + 1, r.count});
    }
    for (const Rect& r : rects) { cuts.push_back(r.phase); cuts.push_back(r.phase + r.width); }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    u64 area = 0;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
        std::vector<Interval> v;
        for (const Rect& r : rects)
            if (r.phase <= cuts[k] && r.phase + r.width >= cuts[k + 1]) v.emplace_back(r.first, r.first + r.count);
        merge_intervals(v);
        area += length(v) * static_cast<u64>(cuts[k + 1] - cuts[k]);
    }
    return area;
}

std::optional<u64> component(const std::vector<Run>& runs) {
    bool plain = true, one_stride = true;
    i64 stride = 0;
    for (const Run& r : runs) {
        if (r.count == 1) continue;
        plain = false;
        one_stride &= stride == 0 || stride == r.stride;
        stride = r.stride;
    }
    if (!plain && one_stride && runs.size() <= 512) {
        const bool narrow = std::all_of(runs.begin(), runs.end(), [&](const Run& r) { return r.width <= stride; });
        if (narrow) return rectangles(runs, stride);
    }
    u64 pieces = 0;
    for (const Run& r : runs) pieces += static_cast<u64>(r.count);
    if (pieces > (u64{1} << 20)) return std::nullopt;
    std::vector<Interval> v;
    for (const Run& r : runs)
        for (i64 k = 0; k < r.count; ++k) v.emplace_back(r.begin + k * r.stride, r.begin + k * r.stride + r.width);
    merge_intervals(v);
    return length(v);
}

}  // namespace

std::optional<u64> ByteSet::size() const {
    if (given_up_) return std::nullopt;
    std::vector<Run> runs = runs_;
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    u64 total = 0;
    for (std::size_t from = 0; from < runs.size();) {
        std::size_t to = from + 1;
        i64 reach = runs[from].end();
        while (to < runs.size() && runs[to].begin < reach) reach = std::max(reach, runs[to++].end());
        const auto part = component(std::vector<Run>(runs.begin() + static_cast<std::ptrdiff_t>(from), runs.begin() + static_cast<std::ptrdiff_t>(to)));
        if (!part) return std::nullopt;
        total += *part;
        from = to;
    }
    return total;
}

}  // namespace flipflop::eval
