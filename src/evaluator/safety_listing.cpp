#include "evaluator/safety_listing.hpp"

#include <bit>

namespace flipflop::eval {
namespace {

double copies_of(const BoxWrites& box) {
    double n = 1;
    for (const i64 e : box.extent) n *= static_cast<double>(e);
    return n;
}

/// Calls f(place) for every point of the box; false from f ends it.
template <class F>
bool for_each_point(const BoxWrites& box, const F& f) {
    std::array<i64, kFirstLoopAxis> at{};
    for (;;) {
        if (!f(at)) return false;
        unsigned k = 0;
        for (; k < kFirstLoopAxis; ++k) {
            if (++at[k] < box.extent[k]) break;
            at[k] = 0;
        }
        if (k == kFirstLoopAxis) return true;
    }
}

i64 displacement(const MovedBy& stride, const std::array<i64, kFirstLoopAxis>& at) {
    i64 d = 0;
    for (unsigned k = 0; k < kFirstLoopAxis; ++k) d += stride[k] * at[k];
    return d;
}

u64 origin_of(const BoxWrites& box, const BoxWrites::Item& item, const std::array<i64, kFirstLoopAxis>& at) {
    u64 sum = 0;
    for (unsigned m = item.mask; m; m &= m - 1) {
        const auto c = static_cast<std::size_t>(std::countr_zero(m));
        if (box.classes[c].vague) continue;
        sum = plus(sum, times(item.sum[c], source_powers().moved(displacement(box.classes[c].stride, at))));
    }
    return reduced(sum);
}

}  // namespace

void Listing::add(u64 element) {
    Page& page = pages_[element / kPageBits];
    u64& once = page.once[element % kPageBits / 64];
    const u64 bit = u64{1} << (element % 64);
    if (once & bit) page.more[element % kPageBits / 64] |= bit;
    once |= bit;
}

template <class F>
std::optional<u64> Listing::lowest(const Listing& other, const F& differ) const {
    std::optional<u64> best;
    static const Page empty{};
    for (const auto& [number, page] : pages_) {
        const auto it = other.pages_.find(number);
        const Page& theirs = it == other.pages_.end() ? empty : it->second;
        for (std::size_t w = 0; w < page.once.size(); ++w) {
            const u64 bits = differ(page.once[w], page.more[w], theirs.once[w], theirs.more[w]);
            if (!bits) continue;
            const u64 element = number * kPageBits + w * 64 + static_cast<u64>(std::countr_zero(bits));
            if (!best || element < *best) best = element;
            break;
        }
    }
    if (best) *best *= bytes_;
    return best;
}

std::optional<u64> Listing::first_not_in(const Listing& other) const {
    return lowest(other, [](u64 mine, u64, u64 theirs, u64) { return mine & ~theirs; });
}
std::optional<u64> Listing::first_several_not_in(const Listing& other) const {
    return lowest(other, [](u64, u64 mine, u64, u64 theirs) { return mine & ~theirs; });
}

Listing list_places(const LaunchRecord& record, bool conditional, u64 limit) {
    Listing listing;
    double total = 0;
    for (const BoxWrites& box : record.boxes) total += static_cast<double>(box.items.size()) * copies_of(box);
    if (!record.boxes_complete || total > static_cast<double>(limit)) return listing;
    for (const BoxWrites& box : record.boxes) {
        if (box.items.empty()) continue;
        listing.set_element_bytes(box.items.front().bytes);
        for_each_point(box, [&](const auto& at) {
            for (const BoxWrites::Item& item : box.items)
                if (item.conditional == conditional) listing.add((item.address + static_cast<u64>(displacement(item.stride, at))) / item.bytes);
            return true;
        });
    }
    listing.complete = true;
    return listing;
}

std::optional<GridBox> writer_of(const LaunchRecord& record, u64 address) {
    std::optional<GridBox> found;
    for (const BoxWrites& box : record.boxes) {
        for_each_point(box, [&](const auto& at) {
            for (const BoxWrites::Item& item : box.items) {
                const u64 first = item.address + static_cast<u64>(displacement(item.stride, at));
                if (address - first >= item.bytes) continue;
                found = box.box;
                for (unsigned k = 0; k < kFirstLoopAxis; ++k) {
                    found->low[k] += static_cast<u64>(at[k]);
                    found->extent[k] = 1;
                }
                return false;
            }
            return true;
        });
        if (found) break;
    }
    return found;
}

std::optional<u64> first_other_origin(const LaunchRecord& reference, const LaunchRecord& candidate, u64 limit) {
    std::unordered_map<u64, u64> origins;    // looked up only
    u64 count = 0;
    for (const BoxWrites& box : reference.boxes) {
        const bool more = for_each_point(box, [&](const auto& at) {
            for (const BoxWrites::Item& item : box.items) origins[item.address + static_cast<u64>(displacement(item.stride, at))] = origin_of(box, item, at);
            count += box.items.size();
            return count < limit;
        });
        if (!more) break;
    }
    std::optional<u64> best;
    count = 0;
    for (const BoxWrites& box : candidate.boxes) {
        const bool more = for_each_point(box, [&](const auto& at) {
            for (const BoxWrites::Item& item : box.items) {
                const u64 address = item.address + static_cast<u64>(displacement(item.stride, at));
                const auto it = origins.find(address);
                if (it != origins.end() && it->second != origin_of(box, item, at) && (!best || address < *best)) best = address;
            }
            count += box.items.size();
            return count < limit;
        });
        if (!more) break;
    }
    return best;
}

}  // namespace flipflop::eval
