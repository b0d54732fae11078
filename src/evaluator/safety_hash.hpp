// Owns: the arithmetic of provenance. A byte at address a is the field element g^a modulo the prime 2^61 - 1; what a value
// derives from is the sum of its bytes' elements, so the order of adding does not matter and each byte counts as often as
// it is used. Moving every address of a sum by s multiplies the sum by g^s: what one block does is, times a power, what
// the blocks it stands for do, and their total over a box of blocks is a geometric series.
// Invariant: a sum kept in a register is below 2^61 + 8 ("loose"); products are below the prime.
#pragma once

#include "evaluator/value.hpp"

namespace flipflop::eval {

inline constexpr u64 kPrime = (u64{1} << 61) - 1;

[[nodiscard]] inline u64 fold(u64 x) { return (x & kPrime) + (x >> 61); }
[[nodiscard]] inline u64 reduced(u64 x) {
    x = fold(x);
    return x >= kPrime ? x - kPrime : x;
}
[[nodiscard]] inline u64 plus(u64 a, u64 b) { return fold(a + b); }
[[nodiscard]] inline u64 minus(u64 a, u64 b) { return reduced(reduced(a) + kPrime - reduced(b)); }
[[nodiscard]] inline u64 times(u64 a, u64 b) {
    const u128 t = static_cast<u128>(a) * b;
    return reduced((static_cast<u64>(t) & kPrime) + static_cast<u64>(t >> 61));
}
[[nodiscard]] u64 power(u64 base, u64 exponent);
[[nodiscard]] inline u64 inverse(u64 a) { return power(reduced(a), kPrime - 2); }
/// 1 + q + ... + q^(n-1)
[[nodiscard]] u64 series(u64 q, u64 n);

/// Powers of one base, by tables of a byte of the exponent each. Exponents may be negative.
class Powers {
public:
    explicit Powers(u64 base);
    [[nodiscard]] u64 of(u64 exponent) const {
        u64 r = table_[0][exponent & 0xff];
        for (unsigned k = 1; exponent >>= 8; ++k) r = times(r, table_[k][exponent & 0xff]);
        return r;
    }
    [[nodiscard]] u64 moved(i64 by) const { return of(by >= 0 ? static_cast<u64>(by) : negative(by)); }

private:
    [[nodiscard]] static u64 negative(i64 by);
    u64 table_[8][256];
};

/// Powers of the element that stands for one byte of what is read, and of the one for one byte of what is written. The
/// second is a power of the first with an exponent that no address has anything to do with.
[[nodiscard]] const Powers& source_powers();
[[nodiscard]] const Powers& target_powers();
/// Sum of the elements of `bytes` neighbouring bytes, relative to the first.
[[nodiscard]] u64 source_run(unsigned bytes);
[[nodiscard]] u64 target_run(unsigned bytes);
/// An element for a number of something, unrelated to those of addresses.
[[nodiscard]] u64 scrambled(u64 what);

}  // namespace flipflop::eval
