// Unions of lattices against sets of bytes written out.
#include <random>
#include <set>

#include "catch.hpp"
#include "evaluator/footprint.hpp"

using namespace flipflop::eval;

TEST_CASE("sizes of unions and of their sectors are those of the bytes written out", "[evaluator][footprint]") {
    std::mt19937 random(7);
    const auto pick = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
    constexpr int strides[]{1, 4, 8, 12, 16, 32, 36, 64, 96, 100, 128, 132, 256, 512, -16, -4, 1000, 1024};
    for (int round = 0; round < 4000; ++round) {
        ByteSet set;
        std::set<long> bytes, sectors;
        const int items = pick(1, 7);
        const int common = strides[pick(0, std::size(strides) - 1)];
        for (int k = 0; k < items; ++k) {
            ShapeFacts shape;
            long at = 0;
            for (int pieces = pick(1, 3); pieces > 0; --pieces) {
                const long width = 4 * pick(1, 5);
                shape.intervals.emplace_back(at, at + width);
                at += width + 4 * pick(1, 6);
            }
            const long base = 4096 + 4 * pick(0, pick(0, 1) ? 20 : 300);
            std::vector<Repeat> axes;
            std::vector<long> places{base};
            for (int a = pick(0, 3); a > 0; --a) {
                const Repeat r{pick(0, 1) ? common : strides[pick(0, std::size(strides) - 1)], pick(1, 7)};
                axes.push_back(r);
                std::vector<long> next;
                for (const long p : places)
                    for (long j = 0; j < r.count; ++j) next.push_back(p + j * r.stride);
                places = next;
            }
            set.add(shape, static_cast<u64>(base), axes);
            for (const long p : places)
                for (const auto& [b, e] : shape.intervals)
                    for (long x = p + b; x < p + e; ++x) {
                        bytes.insert(x);
                        sectors.insert(x >> 5);
                    }
        }
        INFO("round " << round);
        const auto rounded = set.sectors().size();
        REQUIRE(rounded);
        REQUIRE(*rounded == sectors.size() * 32);
        const auto size = set.size();
        REQUIRE(size);
        REQUIRE(*size == bytes.size());
    }
}
