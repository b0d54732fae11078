// Owns: the bytes that a launch writes, listed one by one, to tell what differs between two launches that do differ.
#pragma once

#include <optional>
#include <unordered_map>

#include "evaluator/safety_launch.hpp"

namespace flipflop::eval {

/// Elements written, with a mark for those that several threads write: bits in pages.
class Listing {
public:
    bool complete{};
    void add(u64 element);
    void set_element_bytes(unsigned bytes) { bytes_ = bytes; }
    /// The lowest address of an element that is here and not in the other.
    [[nodiscard]] std::optional<u64> first_not_in(const Listing& other) const;
    /// The lowest address that several threads write here and one in the other.
    [[nodiscard]] std::optional<u64> first_several_not_in(const Listing& other) const;

private:
    static constexpr u64 kPageBits = 4096;
    struct Page { std::array<u64, kPageBits / 64> once{}, more{}; };
    template <class F>
    [[nodiscard]] std::optional<u64> lowest(const Listing& other, const F& differ) const;
    std::unordered_map<u64, Page> pages_;    ///< searched for the smallest: no order of its own shows
    unsigned bytes_{1};
};

/// Of the stores that data decides about, or of the others. Not complete when there are more than `limit`.
[[nodiscard]] Listing list_places(const LaunchRecord& record, bool conditional, u64 limit);

/// The block (or warp) that writes a byte, as a box of one point: the first of several.
[[nodiscard]] std::optional<GridBox> writer_of(const LaunchRecord& record, u64 address);

/// An address that both write from different bytes, among the first `limit` that the reference writes.
[[nodiscard]] std::optional<u64> first_other_origin(const LaunchRecord& reference, const LaunchRecord& candidate, u64 limit);

}  // namespace flipflop::eval
