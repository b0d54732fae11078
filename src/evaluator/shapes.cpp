// From the addresses of a warp's lanes to sectors, lines and bank passes.
#include <bit>

#include "evaluator/trace.hpp"

namespace flipflop::eval {
namespace {

u64 hash_of(const Shape& s) {
    constexpr u64 odd = 0xff51afd7ed558ccdull;
    // Four chains side by side: a multiplication waits for the one before it.
    std::array<u64, 4> h{0x9e3779b97f4a7c15ull ^ s.mask, s.bytes, static_cast<u64>(s.space), 1};
    for (unsigned l = 0; l < kLanes; l += 4)
        for (unsigned k = 0; k < 4; ++k) {
            h[k] = (h[k] ^ static_cast<u64>(s.offset[l + k])) * odd;
            h[k] ^= h[k] >> 29;
        }
    return ((h[0] * odd + h[1]) * odd + h[2]) * odd + h[3];
}

void merge(std::vector<std::pair<i64, i64>>& v) {
    std::sort(v.begin(), v.end());
    std::size_t n = 0;
    for (const auto& [b, e] : v) {
        if (n && b <= v[n - 1].second) v[n - 1].second = std::max(v[n - 1].second, e);
        else v[n++] = {b, e};
    }
    v.resize(n);
}

/// Bytes of device memory that the lanes touch. Local memory interleaves lanes: word w of lane L lies at w*128 + L*4.
std::vector<std::pair<i64, i64>> touched_bytes(const Shape& s, i64 base) {
    std::vector<std::pair<i64, i64>> v;
    for (u32 m = s.mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        const i64 at = base + s.offset[lane];
        if (s.space != ptx::Space::local) { v.emplace_back(at, at + s.bytes); continue; }
        for (i64 b = at; b < at + s.bytes;) {
            const i64 word = b >> 2, end = std::min<i64>((word + 1) << 2, at + s.bytes);
            const i64 place = word * 128 + i64{lane} * 4 + (b & 3);
            v.emplace_back(place, place + (end - b));
            b = end;
        }
    }
    merge(v);
    return v;
}

/// Pieces of 2^shift bytes that intervals touch when they lie `by` bytes further on.
unsigned count_units(const std::vector<std::pair<i64, i64>>& bytes, unsigned shift, i64 by) {
    unsigned n = 0;
    i64 last = INT64_MIN;
    for (const auto& [b, e] : bytes) {
        i64 first = (b + by) >> shift;
        const i64 final = (e + by - 1) >> shift;
        if (first == last) ++first;
        if (final >= first) { n += static_cast<unsigned>(final - first + 1); last = final; }
    }
    return n;
}

/// Passes of a shared access: phases of 32, 16 or 8 lanes; in each the most distinct words that fall on one of the 32
/// banks (CONTRACT.md section 5: conflicts are passes over phases).
std::pair<unsigned, unsigned> bank_passes(const Shape& s, unsigned residue) {
    const unsigned group = s.bytes <= 4 ? 32 : s.bytes <= 8 ? 16 : 8;
    unsigned phases = 0, passes = 0;
    for (unsigned from = 0; from < kLanes; from += group) {
        std::array<i64, 256> words;
        std::size_t n = 0;
        for (unsigned lane = from; lane < from + group; ++lane) {
            if (!(s.mask & (1u << lane))) continue;
            const i64 at = s.offset[lane] + residue;
            for (i64 w = at >> 2; w <= (at + std::max<i64>(1, std::min<u32>(s.bytes, 32)) - 1) >> 2 && n < words.size(); ++w) words[n++] = w;
        }
        if (!n) continue;
        ++phases;
        std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
        std::array<unsigned, 32> bank{};
        unsigned most = 0;
        for (std::size_t k = 0; k < n; ++k) {
            if (k && words[k] == words[k - 1]) continue;
            most = std::max(most, ++bank[static_cast<std::size_t>(words[k] & 31)]);
        }
        passes += most;
    }
    return {passes, phases};
}

ShapeFacts describe(const Shape& s) {
    ShapeFacts f;
    f.sectors.fill(-1);
    f.lines.fill(-1);
    f.intervals = touched_bytes(s, 0);
    for (const auto& [b, e] : f.intervals) f.distinct_bytes += static_cast<u32>(e - b);
    f.lanes = static_cast<u32>(std::popcount(s.mask));
    if (s.space == ptx::Space::shared) {
        for (unsigned r = 0; r < 4; ++r) {
            const auto [passes, phases] = bank_passes(s, r);
            f.passes[r] = static_cast<float>(passes);
            f.wavefronts[r] = phases ? static_cast<float>(passes) / static_cast<float>(phases) : 1.0f;
        }
    }
    std::vector<i64> sorted;
    unsigned first = kLanes, previous = kLanes;
    f.affine = true;
    for (u32 m = s.mask; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        sorted.push_back(s.offset[lane]);
        f.offset_bits |= static_cast<u64>(s.offset[lane]);
        if (first == kLanes) { first = previous = lane; continue; }
        const i64 gap = s.offset[lane] - s.offset[previous];
        const auto steps = static_cast<i64>(lane - previous);
        if (previous == first) { f.affine = gap % steps == 0; f.stride = gap / steps; }
        f.affine &= gap == f.stride * steps;
        previous = lane;
    }
    std::sort(sorted.begin(), sorted.end());
    u32 run = 0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
        run = k && sorted[k] == sorted[k - 1] ? run + 1 : 1;
        f.serial = std::max(f.serial, run);
    }
    return f;
}

}  // namespace

u32 ShapeTable::intern(const Shape& shape, u32 hint) {
    if (hint != kNone && shapes_[hint] == shape) return hint;
    const u64 h = hash_of(shape);
    for (auto [it, end] = index_.equal_range(h); it != end; ++it)
        if (shapes_[it->second] == shape) return it->second;
    const auto id = static_cast<u32>(shapes_.size());
    shapes_.push_back(shape);
    facts_.push_back(describe(shape));
    index_.emplace(h, id);
    return id;
}

unsigned ShapeTable::sectors(u32 id, unsigned residue) {
    std::int16_t& n = facts_[id].sectors[residue];
    if (n < 0) {
        const bool moves = shapes_[id].space != ptx::Space::local;
        const unsigned c = moves ? count_units(facts_[id].intervals, 5, residue) : count_units(touched_bytes(shapes_[id], residue & 3), 5, 0);
        n = static_cast<std::int16_t>(std::min(c, 32767u));
    }
    return static_cast<unsigned>(n);
}

unsigned ShapeTable::lines(u32 id, unsigned residue) {
    std::int16_t& n = facts_[id].lines[residue];
    if (n < 0) {
        const Shape& whole = shapes_[id];
        const bool moves = whole.space != ptx::Space::local;
        // Lanes of 8 and 16 bytes pass in halves and quarters of a warp, and each part looks its lines up for itself.
        const unsigned group = whole.bytes >= 16 ? 8 : whole.bytes >= 8 ? 16 : kLanes;
        unsigned count = 0;
        for (unsigned from = 0; from < kLanes; from += group) {
            Shape part = whole;
            if (group < kLanes) part.mask &= ((1u << group) - 1) << from;
            if (part.mask) count += count_units(touched_bytes(part, moves ? residue : residue & 3), 7, 0);
        }
        n = static_cast<std::int16_t>(std::min(count, 32767u));
    }
    return static_cast<unsigned>(n);
}

}  // namespace flipflop::eval
