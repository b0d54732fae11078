// Unions of lattices against sets of bytes written out.
#include <random>
#include <set>

#include "evaluator/footprint.hpp"
#include "evaluator_kernel.hpp"

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
            AxisRepeats axes;
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

namespace {

using flipflop::Dim3;

/// A kernel of one load at %rd1 + offset (%r30, in bytes), and the offset by thread and block.
struct Pattern {
    const char* name;
    const char* body;
    long (*offset)(long bx, long by, long tx, long ty, long n);
    unsigned bytes;
};

std::set<long> sectors_of_block(const Pattern& p, Dim3 block, long bx, long by, long n, std::set<long>* bytes = nullptr) {
    std::set<long> sectors;
    for (long ty = 0; ty < block.y; ++ty)
        for (long tx = 0; tx < block.x; ++tx) {
            const long at = p.offset(bx, by, tx, ty, n);
            for (long b = at; b < at + p.bytes; ++b) {
                sectors.insert(b >> 5);
                if (bytes) bytes->insert(b);
            }
        }
    return sectors;
}

}  // namespace

TEST_CASE("footprints of a block, its neighbours and the grid are those of every thread written out", "[evaluator][footprint]") {
    // %r2 tid.x, %r3 ctaid.x, %r1 n; %r12 tid.y, %r13 ctaid.y.
    static const Pattern patterns[]{
        {"row", "shl.b32 %r30, %r5, 2;", [](long bx, long, long tx, long, long) { return 4 * (bx * 64 + tx); }, 4},
        {"shifted", "shl.b32 %r30, %r5, 2; add.u32 %r30, %r30, 20;", [](long bx, long, long tx, long, long) { return 4 * (bx * 64 + tx) + 20; }, 4},
        {"stride 3", "mul.lo.u32 %r30, %r5, 12;", [](long bx, long, long tx, long, long) { return 12 * (bx * 64 + tx); }, 4},
        {"window", "mad.lo.u32 %r30, %r3, 48, %r2; shl.b32 %r30, %r30, 2;", [](long bx, long, long tx, long, long) { return 4 * (bx * 48 + tx); }, 4},
        {"plane", "mad.lo.u32 %r14, %r13, 4, %r12; mad.lo.u32 %r30, %r14, %r1, %r5; shl.b32 %r30, %r30, 2;",
         [](long bx, long by, long tx, long ty, long n) { return 4 * ((by * 4 + ty) * n + bx * 64 + tx); }, 4},
        {"transposed", "mad.lo.u32 %r14, %r13, 4, %r12; mad.lo.u32 %r30, %r5, %r1, %r14; shl.b32 %r30, %r30, 2;",
         [](long bx, long by, long tx, long ty, long n) { return 4 * ((bx * 64 + tx) * n + by * 4 + ty); }, 4},
        {"modulo", "rem.u32 %r14, %r5, 96; shl.b32 %r30, %r14, 2;", [](long bx, long, long tx, long, long) { return 4 * ((bx * 64 + tx) % 96); }, 4},
        {"swizzle", "xor.b32 %r14, %r2, 5; mad.lo.u32 %r30, %r3, 64, %r14; shl.b32 %r30, %r30, 2;", [](long bx, long, long tx, long, long) { return 4 * (bx * 64 + (tx ^ 5)); }, 4},
        {"bytes of rows", "mad.lo.u32 %r30, %r13, 100, %r5;", [](long bx, long by, long tx, long, long) { return by * 100 + bx * 64 + tx; }, 1},
    };
    const Dim3 block{64, 4, 1}, grid{6, 5, 1};
    constexpr long n = 400;
    for (const Pattern& p : patterns) {
        INFO(p.name);
        const flipflop::testing::Kernel k(fmt::format("mov.u32 %r12, %tid.y;\nmov.u32 %r13, %ctaid.y;\n{}\ncvt.u64.u32 %rd30, %r30;\nadd.s64 %rd31, %rd1, %rd30;\n"
                                                      "ld.global.{} [%rd31];\n", p.body, p.bytes == 1 ? "u8 %rs1," : "u32 %r31,"));
        const auto f = flipflop::Evaluator(k.code).evaluate(k.launch(block, grid, n)).footprint;
        std::set<long> bytes, sectors;
        for (long by = 0; by < grid.y; ++by)
            for (long bx = 0; bx < grid.x; ++bx) sectors.merge(sectors_of_block(p, block, bx, by, n, &bytes));
        CHECK(f.unique_read_bytes == static_cast<double>(bytes.size()));
        CHECK(f.grid_read_sectors == static_cast<double>(sectors.size()));
        const std::set<long> own = sectors_of_block(p, block, 3, 2, n);
        CHECK(f.block_sectors == static_cast<double>(own.size()));
        const auto share = [&](long bx, long by) {
            const std::set<long> other = sectors_of_block(p, block, bx, by, n);
            double both = 0;
            for (const long s : own) both += other.contains(s);
            return both / static_cast<double>(own.size());
        };
        REQUIRE(f.overlap_x);
        REQUIRE(f.overlap_y);
        CHECK(*f.overlap_x == Approx(share(4, 2)));
        CHECK(*f.overlap_y == Approx(share(3, 3)));
    }
}

TEST_CASE("blocks that leave at once are not taken for the average block of the grid", "[evaluator][footprint]") {
    // Only the first 10 of 64 blocks have work: the interior block, number 32, reads nothing.
    const flipflop::testing::Kernel k("setp.ge.u32 %p1, %r3, 10;\n@%p1 bra END;\nshl.b32 %r30, %r5, 2;\ncvt.u64.u32 %rd30, %r30;\n"
                                      "add.s64 %rd31, %rd1, %rd30;\nld.global.u32 %r31, [%rd31];\nst.global.u32 [%rd31], %r31;\nEND:\n");
    const auto f = flipflop::Evaluator(k.code).evaluate(k.launch({64, 1, 1}, {64, 1, 1}, 4096)).footprint;
    CHECK(f.unique_read_bytes == 10 * 256.0);
    CHECK(f.block_sectors == Approx(8.0 * 10 / 64));
    CHECK(f.block_store_sectors == Approx(8.0 * 10 / 64));
    CHECK(f.block_instruction_sectors == Approx(8.0 * 10 / 64));
    CHECK(f.overlap_x == 0.0);
}
