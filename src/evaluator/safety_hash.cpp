#include "evaluator/safety_hash.hpp"

namespace flipflop::eval {

namespace {

constexpr u64 kSource = 37;                          // generates the whole multiplicative group
constexpr u64 kTargetExponent = 0x0f3c9d4b7a5e8125;  // odd, nothing up its sleeve: no factor in common with 2^61 - 2

}  // namespace

u64 power(u64 base, u64 exponent) {
    u64 r = 1;
    for (base = reduced(base); exponent; exponent >>= 1) {
        if (exponent & 1) r = times(r, base);
        base = times(base, base);
    }
    return r;
}

u64 series(u64 q, u64 n) {
    q = reduced(q);
    if (n == 1) return 1;
    if (q == 1) return n % kPrime;
    return times(minus(power(q, n), 1), inverse(minus(q, 1)));
}

Powers::Powers(u64 base) {
    base = reduced(base);
    for (auto& row : table_) {
        row[0] = 1;
        for (unsigned k = 1; k < 256; ++k) row[k] = times(row[k - 1], base);
        base = times(row[255], base);
    }
}

u64 Powers::negative(i64 by) {
    // g^(p-1) = 1
    const i128 order = static_cast<i128>(kPrime) - 1;
    const i128 r = static_cast<i128>(by) % order;
    return static_cast<u64>(r < 0 ? r + order : r);
}

const Powers& source_powers() {
    static const Powers powers(kSource);
    return powers;
}

const Powers& target_powers() {
    static const Powers powers(power(kSource, kTargetExponent));
    return powers;
}

namespace {

struct Runs {
    u64 sum[33];
    explicit Runs(u64 base) {
        sum[0] = 0;
        for (u64 k = 0, at = 1; k < 32; ++k, at = times(at, base)) sum[k + 1] = reduced(sum[k] + at);
    }
};

}  // namespace

u64 source_run(unsigned bytes) {
    static const Runs runs(kSource);
    return bytes <= 32 ? runs.sum[bytes] : series(kSource, bytes);
}

u64 target_run(unsigned bytes) {
    static const Runs runs(target_powers().of(1));
    return bytes <= 32 ? runs.sum[bytes] : series(target_powers().of(1), bytes);
}

u64 scrambled(u64 what) {
    // The finaliser of splitmix64 (Steele, Lea, Flood 2014).
    what += 0x9e3779b97f4a7c15;
    what = (what ^ (what >> 30)) * 0xbf58476d1ce4e5b9;
    what = (what ^ (what >> 27)) * 0x94d049bb133111eb;
    return reduced((what ^ (what >> 31)) & kPrime) | 1;
}

}  // namespace flipflop::eval
