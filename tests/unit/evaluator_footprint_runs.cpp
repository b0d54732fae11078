#include "evaluator/footprint.hpp"

#include <random>
#include <set>

#include "catch.hpp"

using namespace flipflop::eval;

namespace {

ShapeFacts piece(i64 width) {
    ShapeFacts shape;
    shape.intervals = {{0, width}};
    return shape;
}

}  // namespace

TEST_CASE("a matrix read by columns is as large as the matrix", "[evaluator][footprint]") {
    ByteSet set;
    for (u64 column = 0; column < 1024; ++column) set.add(piece(4), 4 * column, {{4096, 1024}});
    CHECK(set.size() == u64{4096} * 1024);
    REQUIRE(set.intervals().has_value());
    CHECK(set.intervals()->size() == 1);
}

TEST_CASE("sets of runs count each byte once, as enumeration does", "[evaluator][footprint]") {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        ByteSet set;
        std::set<i64> bytes;
        const int pieces = 1 + static_cast<int>(random() % 8);
        for (int i = 0; i < pieces; ++i) {
            const i64 width = 1 + static_cast<i64>(random() % 12), stride = 1 + static_cast<i64>(random() % 24), count = 1 + static_cast<i64>(random() % 9);
            const i64 outer = 1 + static_cast<i64>(random() % 90), times = 1 + static_cast<i64>(random() % 3);
            const u64 base = random() % 200;
            set.add(piece(width), base, {{stride, count}, {outer, times}});
            for (i64 o = 0; o < times; ++o)
                for (i64 k = 0; k < count; ++k)
                    for (i64 b = 0; b < width; ++b) bytes.insert(static_cast<i64>(base) + o * outer + k * stride + b);
        }
        INFO(round);
        CHECK(set.size() == bytes.size());
        CHECK(length(set.intervals().value()) == bytes.size());
    }
}
